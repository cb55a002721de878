"""What conditions say of single inputs: bounds, fixed bits, values left out.

Most conditions that a controller asks compare an input, or some of its bits, with a number.  A
`Allowed` holds what such conditions come to together.  The solver then need not search where they
contradict each other or leave one value, and a reader need not read what follows from the rest.

Classes of packets are split again and again by conditions that share most of their parts.  Much of what
a solver would have to find out about them is plain to see: an input that must have one value has no
other, and what was excluded does not come back.  Nothing here is needed for an answer to be right; it saves
the solver questions.

Digits of a number, or what is left of a text without its ends, are divisions and remainders, and Z3 is slow
at these.  A port has 65,536 values, and to try them all takes a tenth of a second.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final, NamedTuple

from penstock._concolic.solving.compiled import compile_term
from penstock._concolic.space import Variable
from penstock._concolic.terms import FALSE, TRUE, Term, both, either, negation, substitute, subterms, truth


def conjuncts(condition: Term) -> Iterator[Term]:
    """Yield conditions that hold together exactly when this one does, as small as they get."""
    condition = truth(condition)
    inner = condition.operands[0] if condition.op == "not" else condition
    if condition.op == "and":
        for part in condition.operands:
            yield from conjuncts(part)
    elif condition.op == "not" and inner.op == "or":
        for part in inner.operands:
            yield from conjuncts(negation(truth(part)))
    elif condition.value != 1:
        yield condition


class Slice(NamedTuple):
    """Some bits of an input that lie side by side; `of` is how many it has in all."""

    name: str
    start: int
    width: int
    of: int

    @property
    def whole(self) -> bool:
        """Whether it is all of the input."""
        return self.width == self.of


def slice_of(term: Term) -> Slice | None:
    """Return which bits of which input a term is, if it is nothing else."""
    if term.op == "var":
        whole = term.high.bit_length()
        return Slice(str(term.args[0]), 0, whole, whole)
    if term.op == "bits" and term.operands[0].op == "var":
        base, start, width = term.args
        assert isinstance(base, Term) and isinstance(start, int) and isinstance(width, int)
        return Slice(str(base.args[0]), start, width, base.high.bit_length())
    return None


class Comparison(NamedTuple):
    """Bits of an input that are (or are not) equal to a number, or below it."""

    bits: Slice
    op: str
    number: int
    holds: bool


def comparison(condition: Term) -> Comparison | None:
    """Return a condition as a comparison of an input's bits with a number, if it is one."""
    holds = condition.op != "not"
    atom = condition if holds else condition.operands[0]
    if atom.op not in ("==", "<"):
        return None
    one, other = atom.operands
    bits, number = slice_of(one), other.value
    return Comparison(bits, atom.op, number, holds) if bits is not None and number is not None else None


@dataclass(slots=True)
class Allowed:
    """The values that an input of so many bits may have."""

    width: int
    low: int = 0
    high: int = field(default=-1)
    mask: int = 0
    fixed: int = 0
    without: set[int] = field(default_factory=set)
    empty: bool = False

    def __post_init__(self) -> None:
        if self.high < 0:
            self.high = (1 << self.width) - 1

    def learn(self, condition: Term) -> bool:
        """Take in a condition on the input, and tell whether nothing of it is left to check."""
        found = comparison(condition)
        if found is None:
            return False
        bits, op, number, holds = found
        if op == "==":
            return self._learn_equality(bits, number, holds)
        if bits.start + bits.width < bits.of:
            return False
        # Of the topmost bits, the others do not matter: they only make the steps larger.
        limit = number << bits.start
        if holds:
            self.high = min(self.high, limit - 1)
        else:
            self.low = max(self.low, limit)
        return True

    def _learn_equality(self, bits: Slice, number: int, holds: bool) -> bool:
        if not 0 <= number < 1 << bits.width:
            self.empty |= holds
            return True
        if not holds and bits.width == 1:
            holds, number = True, 1 - number
        if holds:
            mask = (1 << bits.width) - 1 << bits.start
            number <<= bits.start
            self.empty |= bool((self.fixed ^ number) & self.mask & mask)
            self.mask |= mask
            self.fixed |= number
            return True
        if bits.whole:
            self.without.add(number)
        return bits.whole

    def __contains__(self, value: int) -> bool:
        return (
            self.low <= value <= self.high
            and value & self.mask == self.fixed
            and value not in self.without
            and not self.empty
        )

    def forced(self, value: int) -> int:
        """Return a value with the bits that are fixed put in."""
        return value & ~self.mask | self.fixed

    def neighbours(self) -> list[int]:
        """Return the values beside those left out, and the bounds.

        If no bits are fixed, one of these is allowed unless nothing is.
        """
        left_out = sorted(self.without)
        above, below = [value + 1 for value in left_out], [value - 1 for value in left_out]
        return [*above, *below, self.low, self.high]

    def values(self, most: int) -> list[int] | None:
        """Return all values, lowest first, or None if there may be more than so many."""
        if self.empty or self.low > self.high:
            return []
        if self.high - self.low < most:
            return [value for value in range(self.low, self.high + 1) if value in self]
        free = [1 << at for at in range(self.width) if not self.mask >> at & 1]
        if 1 << len(free) > most:
            return None
        found = [self.fixed]
        for bit in free:
            found += [value | bit for value in found]
        return [value for value in found if value in self]


# What is left of a condition where others are known to hold.


class Assumed:
    """Conditions that hold, and what they say of others."""

    def __init__(self, conditions: Iterable[Term]) -> None:
        self._values: dict[str, Term] = {}
        """The inputs that have one value."""
        self._facts: dict[Term, Term] = {}
        """Conditions whose truth is known."""
        for condition in conditions:
            self._facts[condition] = TRUE
            if condition.op == "not":
                self._facts[condition.operands[0]] = FALSE
            elif condition.op == "==":
                one, other = condition.operands
                if one.op == "var" and other.value is not None:
                    self._values[str(one.args[0])] = other

    def left_of(self, condition: Term) -> Term:
        """Return what a condition comes to."""
        return self._judged(substitute(condition, self._values))

    def _judged(self, condition: Term) -> Term:
        known = self._facts.get(condition)
        if known is not None:
            return known
        match condition.op:
            case "not":
                return negation(self._judged(condition.operands[0]))
            case "and":
                return both(*map(self._judged, condition.operands))
            case "or":
                return either(*map(self._judged, condition.operands))
            case _:
                return condition


# Inputs of few bits: which of their values satisfy what is asked of them alone, found by trying all.


WIDEST: Final = 16
"""How many bits an input may have for all its values to be tried."""

_MOST_LIKELY: Final = 16
"""How many values are proposed, of those that will do."""


def is_arithmetic(conditions: Sequence[Term]) -> bool:
    """Tell whether conditions ask for quotients or remainders."""
    return any(map(_divides, conditions))


@lru_cache(maxsize=1 << 14)
def _divides(condition: Term) -> bool:
    return any(part.op in ("//", "%") for part in subterms(condition))


def narrowed(variable: Variable, conditions: Sequence[Term]) -> Variable | None:
    """Return an input with values to try first that satisfy conditions on it alone; None if none does."""
    suits = compile_term(both(*conditions), [variable.name])
    values = [value for value in range(1 << variable.width) if suits(value)]
    if not values:
        return None
    known = set(values)
    preferred = [value for value in variable.preferred if value in known]
    return replace(variable, preferred=tuple(dict.fromkeys([*preferred, *values[:_MOST_LIKELY]])))
