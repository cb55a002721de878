"""Sets and dictionaries that a program writes down: `{a, b}`, `{k: v, **others}`, comprehensions.

Which of their elements are the same may depend on the inputs, so they are put together one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock._concolic.code import lookups
from penstock._concolic.run import Run


def set_maker() -> Callable[[list[Any]], set[Any]]:
    """Return what makes a set of the elements in a list."""
    return set if Run.current is None else lookups.set_of


def dict_maker() -> Callable[[list[Any]], dict[Any, Any]]:
    """Return what makes a dictionary of the pairs in a list."""
    return dict if Run.current is None else lookups.dict_of


def pairs(mapping: Any) -> list[tuple[Any, Any]]:
    """Return the pairs of a mapping that is merged into another by `**`."""
    try:
        keys = mapping.keys()
    except AttributeError:
        raise TypeError(f"{type(mapping).__name__!r} object is not a mapping") from None
    return [(key, mapping[key]) for key in keys]
