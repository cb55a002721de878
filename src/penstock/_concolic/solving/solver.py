"""Inputs for which given conditions hold: always the same ones for the same conditions.

A packet found by the search is shown to people, kept in traces and compared between runs.  So the
answer must depend on nothing but the set of conditions: not on their order, on earlier questions, on
hash seeds, or on which of many solutions Z3 happens to find.

1. The conditions, with those that always hold, fall into groups that share no inputs.  Each group is
   solved by itself and its answer kept: from one question to the next, a path search mostly changes one.
   An input that no condition mentions takes its first preferred value.
2. Likely values are tried first (`guesses`).  That settles nearly all questions that handlers raise.  Where
   digits or remainders of an input of few bits are asked for, all its values are tried before
   (`enumeration`).
3. If that does not, Z3 is asked.  Where there is a solution, the one to answer is found input by input:
   the first preferred value that still leaves a solution, else the least value that does.

Z3 has a time limit.  When it gives up, the answer is as if there were no solution, and `unknown` counts
it: what was searched with the answer is then not complete.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Final

from penstock._concolic.solving.allowed import WIDEST, conjuncts, is_arithmetic, narrowed
from penstock._concolic.solving.compiled import Evaluator
from penstock._concolic.solving.guesses import GivenUp, guess
from penstock._concolic.space import Space, Variable
from penstock._concolic.terms import FALSE, Term

if TYPE_CHECKING:
    from penstock._concolic.solving.z3_terms import Translator

SECONDS_PER_QUERY: Final = 5.0
"""How long Z3 may think about one question."""


class Solver:
    """Finds inputs of a space, and remembers what it found.

    `queries`, `hits` (groups answered from memory), `z3_calls`, `z3_seconds` and `unknown` say what
    it has done so far.
    """

    def __init__(self, space: Space, seconds_per_query: float = SECONDS_PER_QUERY) -> None:
        self.space = space
        self.queries = 0
        self.hits = 0
        self.z3_calls = 0
        self.z3_seconds = 0.0
        self.unknown = 0
        self._seconds = seconds_per_query
        self._evaluator = Evaluator()
        self._first_choice = {variable.name: (*variable.preferred, 0)[0] for variable in space.variables}
        self._order = {variable.name: index for index, variable in enumerate(space.variables)}
        self._parts: dict[Term, tuple[Term, ...]] = {}
        self._answers: dict[frozenset[Term], dict[str, int] | None] = {}
        self._given_up: set[frozenset[Term]] = set()
        self._contradictions: dict[Term, list[frozenset[Term]]] = {}
        self._translator: Translator | None = None
        self._narrow: dict[tuple[str, frozenset[Term]], Variable | None] = {}
        self._asking = True
        """Whether Z3 may be asked."""
        self._unlikely: set[frozenset[Term]] = set()
        """What no likely values satisfy, as far as they were tried."""

    def solve(self, constraints: Iterable[Term]) -> dict[str, int] | None:
        """Return a value for every input such that all conditions hold; None if none was found."""
        self.queries += 1
        conditions = [
            part for constraint in (*self.space.constraints, *constraints) for part in self._split(constraint)
        ]
        if FALSE in conditions:
            return None
        values = dict(self._first_choice)
        for group in _groups(conditions):
            answer = self._answer(frozenset(group))
            if answer is None:
                return None
            values.update(answer)
        return values

    def likely(self, constraints: Iterable[Term]) -> dict[str, int] | None:
        """Return a solution among likely values, without asking Z3; None also where only it could tell."""
        self._asking = False
        try:
            return self.solve(constraints)
        except GivenUp:
            return None
        finally:
            self._asking = True

    def may_have(self, constraints: Iterable[Term]) -> bool:
        """Tell whether there may be a solution: there is one, or it could not be found out."""
        before = self.unknown
        return self.solve(constraints) is not None or self.unknown > before

    def _split(self, constraint: Term) -> tuple[Term, ...]:
        known = self._parts.get(constraint)
        if known is None:
            known = self._parts[constraint] = tuple(conjuncts(constraint))
        return known

    def _answer(self, group: frozenset[Term]) -> dict[str, int] | None:
        """Return values for the inputs of conditions that hang together."""
        if group in self._answers:
            self.hits += 1
            self.unknown += group in self._given_up
            return self._answers[group]
        answer = None
        if not any(core <= group for condition in group for core in self._contradictions.get(condition, ())):
            before = self.unknown
            answer = self._work_out(group)
            if self.unknown > before:
                self._given_up.add(group)
        self._answers[group] = answer
        return answer

    def _work_out(self, group: frozenset[Term]) -> dict[str, int] | None:
        names = frozenset[str]().union(*(condition.variables for condition in group))
        variables = [self.space.variables[index] for index in sorted(self._order[name] for name in names)]
        conditions = sorted(group, key=lambda condition: condition.order)
        if is_arithmetic(conditions):
            few = self._narrowed(variables, conditions)
            if few is None:
                return None
        else:
            few = variables
        if group not in self._unlikely:
            try:
                return guess(few, conditions, self._evaluator)
            except GivenUp:
                self._unlikely.add(group)
        if not self._asking:
            raise GivenUp
        return self._ask_z3(variables, conditions)

    def _narrowed(self, variables: list[Variable], conditions: Sequence[Term]) -> list[Variable] | None:
        """Return inputs with values that satisfy what is asked of each alone; None if there are no such."""
        found: list[Variable] = []
        for variable in variables:
            alone = frozenset(each for each in conditions if each.variables == {variable.name})
            if variable.width > WIDEST or not alone:
                found.append(variable)
                continue
            if (variable.name, alone) not in self._narrow:
                self._narrow[variable.name, alone] = narrowed(
                    variable, sorted(alone, key=lambda one: one.order)
                )
            narrow = self._narrow[variable.name, alone]
            if narrow is None:
                return None
            found.append(narrow)
        return found

    def _ask_z3(self, variables: Sequence[Variable], conditions: Sequence[Term]) -> dict[str, int] | None:
        # Z3 takes a tenth of a second to load, and most explorations never need it.
        from penstock._concolic.solving.z3_terms import Question, Translator

        started = perf_counter()
        if self._translator is None:
            self._translator = Translator()
        question = Question(variables, conditions, self._translator, self._seconds)
        answer = question.solution()
        self.z3_calls += question.checks
        self.z3_seconds += perf_counter() - started
        self.unknown += not question.in_time
        if question.contradiction:
            # Filed under any of its conditions; which one does not matter.
            filed_under = next(iter(question.contradiction))
            self._contradictions.setdefault(filed_under, []).append(question.contradiction)
        return answer


def _groups(conditions: Iterable[Term]) -> list[list[Term]]:
    """Return the conditions in groups that share no inputs."""
    groups: dict[str, list[Term]] = {}
    for condition in conditions:
        touched = {id(groups[name]): groups[name] for name in condition.variables if name in groups}
        if not touched:
            joined: list[Term] = []
        else:
            joined, *others = sorted(touched.values(), key=len, reverse=True)
            for other in others:
                joined += other
                groups.update(dict.fromkeys((name for member in other for name in member.variables), joined))
        joined.append(condition)
        groups.update(dict.fromkeys(condition.variables, joined))
    return list({id(group): group for group in groups.values()}.values())
