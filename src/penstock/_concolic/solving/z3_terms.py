"""Terms for Z3: mathematical integers as bit-vectors that are wide enough.

Every term has bounds.  One that cannot be below zero becomes an unsigned bit-vector of as many bits
as its upper bound needs, any other one a two's complement number.  An operation is carried out in a
width that holds its operands and its result, so nothing wraps around, and the result is cut back to
what its own bounds need.  Conditions are booleans of Z3, and numbers only where they are used as such.

Which solution Z3 finds is its own affair.  So that is only the start: input by input, in their order,
the first preferred value is taken that still leaves a solution, and if none does, the least value, bit
by bit from the top.  Whether a solution is left is a matter of fact, so the outcome does not depend on
how Z3 goes about it, unless the time runs out; then the solution is any.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import Any, Final

import z3

from penstock._concolic.space import Variable
from penstock._concolic.terms import Term, is_condition, parts_of, subterms

Expression = Any
"""Something of Z3's, which has no types."""


class Translator:
    """Turns terms into Z3's expressions and remembers them."""

    def __init__(self) -> None:
        self._known: dict[Term, Expression] = {}

    def condition(self, term: Term) -> Expression:
        """Return as a boolean whether a term is other than 0."""
        self._translate(term)
        return self._truth(term)

    def number(self, term: Term) -> Expression:
        """Return a term as a bit-vector: unsigned if it cannot be below zero, else two's complement."""
        self._translate(term)
        return self._in(term, _width(term))

    def _translate(self, term: Term) -> None:
        if term not in self._known:
            for part in subterms(term):
                if part not in self._known:
                    self._known[part] = self._expression(part)

    def _truth(self, term: Term) -> Expression:
        known = self._known[term]
        return known if _is_boolean(term) else known != 0

    def _in(self, term: Term, width: int) -> Expression:
        """Return a number in so many bits, which are enough for it."""
        known = self._known[term]
        if _is_boolean(term):
            return z3.If(known, z3.BitVecVal(1, width), z3.BitVecVal(0, width))
        more = width - _width(term)
        if not more:
            return known
        return z3.SignExt(more, known) if term.low < 0 else z3.ZeroExt(more, known)

    def _expression(self, term: Term) -> Expression:
        """Return a term of which all parts are known: a boolean for a condition, else a number."""
        match term.op:
            case "const":
                return z3.BitVecVal(term.value, _width(term))
            case "var":
                return z3.BitVec(str(term.args[0]), _width(term))
            case "not":
                return z3.Not(self._truth(term.operands[0]))
            case "and":
                return z3.And(*map(self._truth, term.operands))
            case "or":
                return z3.Or(*map(self._truth, term.operands))
            case "ite":
                condition, one, other = term.operands
                width = _width(term)
                return z3.If(self._truth(condition), self._in(one, width), self._in(other, width))
            case "bits":
                base, start, length = term.args
                assert isinstance(base, Term) and isinstance(start, int) and isinstance(length, int)
                return z3.Extract(start + length - 1, start, self._in(base, _width(base)))
            case "join":
                return self._join(term)
            case op:
                return self._operation(op, term)

    def _join(self, term: Term) -> Expression:
        """Return numbers laid side by side, without the zeros above the first."""
        (first, _), *others = parts_of(term)
        return z3.Concat(self._in(first, _width(first)), *(self._in(part, width) for part, width in others))

    def _operation(self, op: str, term: Term) -> Expression:
        """Return what comes of two numbers, worked out in a width in which nothing is cut off."""
        one, other = term.operands
        signed = min(one.low, other.low, term.low) < 0
        width = max(_width(part, signed) for part in (one, other, term))
        found = (_SIGNED if signed else _UNSIGNED)[op](self._in(one, width), self._in(other, width))
        if _is_boolean(term) or width == _width(term):
            return found
        return z3.Extract(_width(term) - 1, 0, found)


def _is_boolean(term: Term) -> bool:
    return term.op != "const" and is_condition(term)


def _width(term: Term, signed: bool | None = None) -> int:
    """Return how many bits a term needs: with a sign if that is asked for, or if it may be below zero."""
    # The complement of a number below zero is as long as the number without its sign.
    length = max((bound if bound >= 0 else ~bound).bit_length() for bound in (term.low, term.high))
    return length + 1 if (term.low < 0 if signed is None else signed) else max(length, 1)


def _floor_division(one: Expression, other: Expression) -> Expression:
    """Return the quotient rounded down, which Z3 rounds towards zero."""
    return z3.If(z3.SRem(one, other) < 0, one / other - 1, one / other)


_RING: Final[Mapping[str, Callable[[Expression, Expression], Expression]]] = {
    "+": lambda one, other: one + other,
    "-": lambda one, other: one - other,
    "*": lambda one, other: one * other,
    "&": lambda one, other: one & other,
    "|": lambda one, other: one | other,
    "^": lambda one, other: one ^ other,
    "<<": lambda one, other: one << other,
    "==": lambda one, other: one == other,
}
"""What is the same with and without a sign."""

_UNSIGNED: Final = {**_RING, "//": z3.UDiv, "%": z3.URem, ">>": z3.LShR, "<": z3.ULT}

_SIGNED: Final = {
    **_RING,
    "//": _floor_division,
    "%": lambda one, other: one % other,
    ">>": lambda one, other: one >> other,
    "<": lambda one, other: one < other,
}


# Z3's answer to one question, made canonical.


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
