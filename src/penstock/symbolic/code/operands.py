"""Operators whose left operand would not let the right one be followed.

Python asks the left operand first, unless the right one is of a class that derives from the left one's.  A
`bool`, a float or a member of an enumeration reads a number that depends on the inputs without asking.  A
stand-in has the right one answer.  Dictionaries and sets compare by hashes, so where some have keys that
depend on the inputs, their stand-in decides which of them are the same.

The rest is about sets: `a | b`, `a & b`, `a - b`, `a ^ b`, and the same with `=`.  An operand that is a set
(a view of keys, a dictionary for `|`) is replaced by a stand-in that decides which elements are the same,
where that depends on the inputs; all others are handed back.  `|=` between dictionaries is not followed.
"""

from __future__ import annotations

import enum
import operator
from collections.abc import Callable
from typing import Any, Final

from penstock.symbolic.code import lookups
from penstock.symbolic.run import Run, lose
from penstock.symbolic.values.escapes import Unfollowed
from penstock.symbolic.values.integers import Followed
from penstock.symbolic.values.tables import tabulated

_SETS: Final[tuple[Any, ...]] = (set, frozenset, lookups.KEYS_VIEW)


def operand(value: Any) -> Any:
    """Return what a program is to use on the left of any operator but those of sets."""
    run = Run.current
    if run is None:
        return value
    kind = type(value)
    if kind is bool or kind is float or isinstance(value, enum.Enum):
        return _Number(value) if isinstance(value, int | float) else value
    if run.holders and isinstance(value, (*_SETS, dict)):
        return _Container(value)
    return value


def left(value: Any) -> Any:
    """Return what a program is to use on the left of an operator of sets."""
    if Run.current is None:
        return value
    return _Left(value) if isinstance(value, (*_SETS, dict)) else operand(value)


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


class _Number:
    """Stands in for a number whose class would read another one without asking."""

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        self._value = value

    __hash__ = None  # type: ignore[assignment]


def _answered(name: str) -> Callable[[Any, Any], Any]:
    """Return a method of such a stand-in."""
    operation = getattr(operator, name)

    def method(self: _Number, other: Any) -> Any:
        value = self._value
        if isinstance(other, _Number):
            other = other._value
        if not isinstance(other, Followed):
            return operation(value, other)
        if isinstance(value, int):
            return operation(int(value), other)
        try:
            return tabulated(operation, value, other)
        except Unfollowed:
            lose("float")
        return operation(value, other.plain)

    method.__name__ = name
    return method


for _name in (
    *("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__add__", "__sub__", "__mul__"),
    *("__floordiv__", "__truediv__", "__mod__", "__pow__", "__lshift__", "__rshift__"),
    *("__and__", "__or__", "__xor__"),
):
    setattr(_Number, _name, _answered(_name))


class _Container:
    """Stands in for a dictionary or a set that is compared while some have keys that depend on the inputs."""

    __slots__ = ("_operand",)

    def __init__(self, operand: Any) -> None:
        self._operand = operand

    def __eq__(self, other: Any) -> Any:
        return _same(self._operand, _unwrapped(other))

    def __ne__(self, other: Any) -> Any:
        return not _same(self._operand, _unwrapped(other))

    def __le__(self, other: Any) -> Any:
        return _within(operator.le, self._operand, _unwrapped(other))

    def __ge__(self, other: Any) -> Any:
        return _within(operator.le, _unwrapped(other), self._operand)

    def __lt__(self, other: Any) -> Any:
        one, more = self._operand, _unwrapped(other)
        return _within(operator.lt, one, more) and len(one) < len(more)

    def __gt__(self, other: Any) -> Any:
        one, less = self._operand, _unwrapped(other)
        return _within(operator.lt, less, one) and len(less) < len(one)

    __hash__ = None  # type: ignore[assignment]


def _unwrapped(value: Any) -> Any:
    return value._operand if isinstance(value, _Container) else value


def _same(one: Any, other: Any) -> bool:
    """Tell whether two containers have the same contents."""
    if isinstance(one, dict) and isinstance(other, dict):
        if len(one) != len(other):
            return False
        return all(
            lookups.is_in(other, key) and lookups.equal(value, lookups.fetch(other, key))
            for key, value in dict.items(one)
        )
    if isinstance(one, _SETS) and isinstance(other, _SETS):
        return len(one) == len(other) and lookups.is_subset(one, other)
    return bool(one == other)


def _within(operation: Callable[..., Any], one: Any, other: Any) -> Any:
    if isinstance(one, _SETS) and isinstance(other, _SETS):
        return lookups.is_subset(one, other)
    return operation(one, other)


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
