"""What one input would have to be for a condition to go a given way, the other inputs staying as they are.

Arithmetic is undone step by step from the outside in: for `(x[8:16] + 3) == y` to hold, those bits of
x must be y - 3.  Bits of the input that the condition does not look at stay as they are.  Where an
input occurs more than once, this looks at one occurrence at a time.  So what comes out are likely
values, not certain ones; whoever asks has to check them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from penstock._concolic.terms import Term, evaluate, is_condition, parts_of

_MOST_STEPS: Final = 300
"""How many steps may be undone for one condition: parts that are shared could make it endless."""


def likely_values(condition: Term, outcome: bool, name: str, inputs: Mapping[str, int]) -> set[int]:
    """Return values of an input that may make a condition go a given way."""
    return set(_Inversion(name, dict(inputs)).make(condition, outcome))


class _Inversion:
    """One input to be found, beside given values of all."""

    def __init__(self, name: str, inputs: dict[str, int]) -> None:
        self._name = name
        self._inputs = inputs
        self._steps = _MOST_STEPS

    def _now(self, term: Term) -> int:
        return evaluate(term, self._inputs)

    def make(self, condition: Term, outcome: bool) -> Iterator[int]:
        """Yield values for which a condition may go a given way."""
        self._steps -= 1
        if self._name not in condition.variables or self._steps < 0:
            return
        match condition.op:
            case "not":
                yield from self.make(condition.operands[0], not outcome)
            case "and" | "or":
                for part in condition.operands:
                    yield from self.make(part, outcome)
                if outcome == (condition.op == "and"):
                    yield from self._reach_all((part, int(outcome)) for part in condition.operands)
            case "==":
                one, other = condition.operands
                for step in (0,) if outcome else (1, -1):
                    yield from self.reach(one, self._now(other) + step)
                    yield from self.reach(other, self._now(one) + step)
            case "<":
                one, other = condition.operands
                yield from self.reach(one, self._now(other) - outcome)
                yield from self.reach(other, self._now(one) + outcome)
            case _:
                yield from self.reach(condition, int(outcome))

    def reach(self, term: Term, target: int) -> Iterator[int]:
        """Yield values for which a term may come to a given number."""
        self._steps -= 1
        if self._name not in term.variables or not term.low <= target <= term.high or self._steps < 0:
            return
        if is_condition(term):
            yield from self.make(term, bool(target))
            return
        match term.op:
            case "var":
                yield target
            case "bits":
                (base,) = term.operands
                start, width = term.args[1], term.args[2]
                assert isinstance(start, int) and isinstance(width, int)
                rest = self._now(base) & ~((1 << width) - 1 << start)
                yield from self.reach(base, rest | target << start)
            case "join":
                pieces = []
                for part, width in reversed(parts_of(term)):
                    pieces.append((part, target & (1 << width) - 1))
                    target >>= width
                yield from self._reach_all(pieces)
            case "ite":
                condition, one, other = term.operands
                yield from self.reach(one, target)
                yield from self.reach(other, target)
                if self._now(one) == target:
                    yield from self.make(condition, True)
                if self._now(other) == target:
                    yield from self.make(condition, False)
            case _:
                one, other = term.operands
                if self._name in one.variables:
                    inner = _undo_left(term.op, target, self._now(one), self._now(other))
                    yield from self.reach(one, inner) if inner is not None else ()
                else:
                    inner = _undo_right(term.op, target, self._now(one), self._now(other))
                    yield from self.reach(other, inner) if inner is not None else ()

    def _reach_all(self, targets: Iterable[tuple[Term, int]]) -> Iterator[int]:
        """Yield a value that may suit several terms, by seeing to one after the other."""
        inputs = self._inputs
        for term, target in targets:
            value = next(self.reach(term, target), None)
            if value is not None:
                self._inputs = {**self._inputs, self._name: value}
        found, self._inputs = self._inputs, inputs
        yield found[self._name]


def _undo_left(op: str, target: int, one: int, other: int) -> int | None:
    """Return what the left side of an operation must be, near what it is, for a given result."""
    match op:
        case "+":
            return target - other
        case "-":
            return target + other
        case "*" if other and target % other == 0:
            return target // other
        case "^":
            return target ^ other
        case "&" if not target & ~other:
            return one & ~other | target
        case "|" if not other & ~target:
            return target & ~other | one & other
        case "<<" if (target >> other) << other == target:
            return target >> other
        case ">>":
            return target << other | one & (1 << other) - 1
        case "//":
            return target * other + one % other
        case "%" if target < other:
            return one - one % other + target
        case _:
            return None


def _undo_right(op: str, target: int, one: int, other: int) -> int | None:
    """Return what the right side of an operation must be, near what it is, for a given result."""
    if op == "-":
        return one - target
    return _undo_left(op, target, other, one) if op in ("+", "*", "^", "&", "|") else None
