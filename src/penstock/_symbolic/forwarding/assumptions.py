"""What is taken for granted on one branch of an analysis: conditions that hold together.

Most questions about packets compare a field with a number.  Where one such comparison is taken for
granted, others about the same field answer themselves, so a solver need not be asked: under
`eth_dst == 1`, a rule on `eth_dst == 2` does not match, and not to have met it goes without saying.
"""

from __future__ import annotations

from typing import Final

from penstock._concolic.terms import FALSE, TRUE, Term, both, either, negation


class Assumptions:
    """Conditions that hold together, as an immutable value."""

    __slots__ = ("_fixed", "_held", "conditions")

    conditions: tuple[Term, ...]

    def __init__(self, conditions: tuple[Term, ...] = ()) -> None:
        self.conditions = conditions
        self._held = frozenset(conditions)
        equalities = (condition.operands for condition in conditions if condition.op == "==")
        self._fixed = frozenset(number for number, other in equalities if other.value is not None)

    def __repr__(self) -> str:
        return f"<{self.all}>"

    @property
    def all(self) -> Term:
        """The conditions as one."""
        return both(*self.conditions)

    def imply(self, others: Assumptions) -> bool:
        """Tell whether all that others take for granted is among these."""
        return others._held <= self._held

    def also(self, condition: Term) -> Assumptions | None:
        """Return these and one more, or None where it plainly contradicts them."""
        left = self._reduced(condition)
        if left.value is not None:
            return self if left.value else None
        parts = left.operands if left.op == "and" else (left,)
        return Assumptions((*self.conditions, *parts))

    def _reduced(self, condition: Term) -> Term:
        """Return what is left to ask of a condition under these."""
        if condition in self._held:
            return TRUE
        match condition.op:
            case "not":
                return negation(self._reduced(condition.operands[0]))
            case "and":
                return both(*map(self._reduced, condition.operands))
            case "or":
                return either(*map(self._reduced, condition.operands))
            case "==":
                number, other = condition.operands
                if other.value is not None and number in self._fixed:
                    return FALSE
        return FALSE if negation(condition) in self._held else condition


NOTHING: Final = Assumptions()
"""What is taken for granted of any packet."""
