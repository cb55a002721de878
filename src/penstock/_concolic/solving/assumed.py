"""What is left of a condition where others are known to hold.

Classes of packets are split again and again by conditions that share most of their parts.  Much of what
a solver would have to find out about them is plain to see: an input that must have one value has no
other, and what was excluded does not come back.  Nothing here is needed for an answer to be right; it saves
the solver questions.
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock._concolic.terms import FALSE, TRUE, Term, both, either, negation, substitute


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
