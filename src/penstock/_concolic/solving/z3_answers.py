"""Z3's answer to one question, made canonical.

Which solution Z3 finds is its own affair.  So that is only the start: input by input, in their order,
the first preferred value is taken that still leaves a solution, and if none does, the least value, bit
by bit from the top.  Whether a solution is left is a matter of fact, so the outcome does not depend on
how Z3 goes about it, unless the time runs out; then the solution is any.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic

import z3

from penstock._concolic.solving.z3_terms import Expression, Translator
from penstock._concolic.space import Variable
from penstock._concolic.terms import Term


class OutOfTime(Exception):
    """Z3 gave up on a question."""


class Question:
    """Conditions for which a solution is wanted, and how long it may take to find it.

    Afterwards `checks` says how often Z3 was called, `contradiction` which of the conditions cannot hold
    together, and `in_time` whether nothing was left open.
    """

    def __init__(
        self,
        variables: Sequence[Variable],
        conditions: Sequence[Term],
        translator: Translator,
        seconds: float,
    ) -> None:
        self.checks = 0
        self.contradiction: frozenset[Term] = frozenset()
        self.in_time = True
        self._variables = variables
        self._deadline = monotonic() + seconds
        self._inputs = {variable.name: translator.number(variable.term) for variable in variables}
        self._solver = z3.SimpleSolver()
        # An interruption is the user's, and not for Z3 to answer.
        self._solver.set("ctrl_c", False)
        self._labels = {f"condition {index}": condition for index, condition in enumerate(conditions)}
        for label, condition in self._labels.items():
            self._solver.assert_and_track(translator.condition(condition), label)

    def solution(self) -> dict[str, int] | None:
        """Return the canonical solution; None if there is none or none was found in time."""
        try:
            found = self._model()
        except OutOfTime:
            self.in_time = False
            return None
        if found is None:
            self.contradiction = frozenset(self._labels[str(label)] for label in self._solver.unsat_core())
            return None
        try:
            for variable in self._variables:
                found = self._settle(variable, found)
        except OutOfTime:
            self.in_time = False
        return found

    def _settle(self, variable: Variable, found: dict[str, int]) -> dict[str, int]:
        """Return a solution in which an input has its canonical value, and insist on that from now on."""
        number = self._inputs[variable.name]
        for value in variable.preferred:
            better = found if found[variable.name] == value else self._model(number == value)
            if better is not None:
                found = better
                break
        else:
            found = self._least(variable, found)
        self._solver.add(number == found[variable.name])
        return found

    def _least(self, variable: Variable, found: dict[str, int]) -> dict[str, int]:
        """Return a solution with the least value of an input, starting from any."""
        number = self._inputs[variable.name]
        for bit in reversed(range(variable.width)):
            above = found[variable.name] >> bit
            if above & 1:
                better = self._model(z3.Extract(variable.width - 1, bit, number) == above - 1)
                found = found if better is None else better
        return found

    def _model(self, *assumptions: Expression) -> dict[str, int] | None:
        """Return some solution under assumptions, or None if there is none."""
        left = self._deadline - monotonic()
        if left <= 0:
            raise OutOfTime
        self.checks += 1
        self._solver.set("timeout", max(1, int(left * 1000)))
        outcome = self._solver.check(*assumptions)
        if outcome == z3.unknown:
            raise OutOfTime
        if outcome == z3.unsat:
            return None
        model = self._solver.model()
        return {
            name: model.eval(number, model_completion=True).as_long() for name, number in self._inputs.items()
        }
