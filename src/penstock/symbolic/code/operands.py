"""Operators between sets: `a | b`, `a & b`, `a - b`, `a ^ b`, and the same with `=`.

An operand that is a set (a view of keys, a dictionary for `|`) is replaced by a stand-in that decides
which elements are the same, where that depends on the inputs; all others are handed back.  `|=` between
dictionaries is not followed.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

from penstock.symbolic.code import lookups
from penstock.symbolic.run import Run, lose

_SETS: Final = (set, frozenset, lookups.KEYS_VIEW)


def left(operand: Any) -> Any:
    """Return what a program is to use as the left operand."""
    if Run.current is None:
        return operand
    return _Left(operand) if isinstance(operand, (*_SETS, dict)) else operand


def right(operand: Any) -> Any:
    """Return what a program is to use as the right operand of an assignment such as `|=`."""
    run = Run.current
    if run is None:
        return operand
    if isinstance(operand, dict):
        # A dictionary takes whatever has keys, and puts them in by their hash.
        if lookups.varies(operand):
            lose("|=")
        return operand
    # A set of the program's own kind is to get the object itself, wherever that makes no difference.
    if isinstance(operand, _SETS) and (run.holders or lookups.varies(operand)):
        return _Right(operand)
    return operand


class _Left:
    """Stands in for a set on the left of an operator."""

    __slots__ = ("_operand",)

    def __init__(self, operand: Any) -> None:
        self._operand = operand

    def __or__(self, other: Any) -> Any:
        return _combined(operator.or_, self._operand, other)

    def __and__(self, other: Any) -> Any:
        return _combined(operator.and_, self._operand, other)

    def __sub__(self, other: Any) -> Any:
        return _combined(operator.sub, self._operand, other)

    def __xor__(self, other: Any) -> Any:
        return _combined(operator.xor, self._operand, other)


class _Right:
    """Stands in for a set that another one is changed by."""

    __slots__ = ("_operand",)

    def __init__(self, operand: Any) -> None:
        self._operand = operand

    def __ror__(self, target: Any) -> Any:
        return _changed(operator.ior, operator.or_, target, self._operand)

    def __rand__(self, target: Any) -> Any:
        return _changed(operator.iand, operator.and_, target, self._operand)

    def __rsub__(self, target: Any) -> Any:
        return _changed(operator.isub, operator.sub, target, self._operand)

    def __rxor__(self, target: Any) -> Any:
        return _changed(operator.ixor, operator.xor, target, self._operand)


_WAYS: Final[dict[Callable[..., Any], Callable[..., set[Any]]]] = {
    operator.or_: lookups.union,
    operator.and_: lookups.intersection,
    operator.sub: lookups.difference,
    operator.xor: lookups.symmetric_difference,
}


def _combined(operation: Callable[..., Any], one: Any, other: Any) -> Any:
    if isinstance(one, _SETS) and isinstance(other, _SETS) and lookups.varies(one, other):
        made = _WAYS[operation](one, other)
        return lookups.frozen(made) if isinstance(one, frozenset) else made
    if operation is operator.or_ and isinstance(one, dict) and isinstance(other, dict):
        return lookups.dict_of([*one.items(), *other.items()]) if type(one) is dict else one | other
    return operation(one, other)


def _changed(in_place: Callable[..., Any], operation: Callable[..., Any], target: Any, other: Any) -> Any:
    """Change a set by another one and return it, as `target |= other` does."""
    if isinstance(target, set) and isinstance(other, _SETS) and lookups.varies(target, other):
        return lookups.become(target, _WAYS[operation](target, other))
    if isinstance(target, frozenset):
        return _combined(operation, target, other)
    return in_place(target, other)
