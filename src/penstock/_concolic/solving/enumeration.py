"""Inputs of few bits: which of their values satisfy what is asked of them alone, found by trying all.

Digits of a number, or what is left of a text without its ends, are divisions and remainders, and Z3 is slow
at these.  A port has 65,536 values, and to try them all takes a tenth of a second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final

from penstock._concolic.solving.compiled import compile_term
from penstock._concolic.space import Variable
from penstock._concolic.terms import Term, both, subterms

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
