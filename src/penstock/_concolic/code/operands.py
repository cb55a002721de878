"""Operators whose left operand would not let the right one be followed.

Python asks the left operand first, unless the right one is of a class that derives from the left one's, and
many classes read a number that depends on the inputs without asking (see `values.readers`).  A stand-in for
the left operand has all values of the input tried, or notes the loss (`operated`).  Sequences are compared
element by element.  Dictionaries and sets compare by hashes, so where some have keys that depend on the
inputs, their stand-in decides which of them are the same.

The rest is about sets: `a | b`, `a & b`, `a - b`, `a ^ b`.  An operand that is a set (a view of keys, a
dictionary for `|`) is replaced by a stand-in that decides which elements are the same, where that depends on
the inputs; all others are handed back.  `|=` between dictionaries is not followed.  Assignments such as
`a += b` are done by `in_place`, which knows both operands.
"""

from __future__ import annotations

import operator
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import fields as fields_of
from dataclasses import is_dataclass
from types import FunctionType, MethodType
from typing import Any, Final

from penstock._concolic.code import lookups
from penstock._concolic.code.summaries.formatting import template
from penstock._concolic.run import Run, lose
from penstock._concolic.terms import TooWide
from penstock._concolic.values import unknown
from penstock._concolic.values.escapes import Unfollowed
from penstock._concolic.values.integers import boolean
from penstock._concolic.values.parts import bears, concrete, equality, holds, is_generated, is_symbolic
from penstock._concolic.values.readers import answers_by_parts, behind, has_reader, reads
from penstock._concolic.values.tables import tabulated

_SETS: Final[tuple[Any, ...]] = (set, frozenset, lookups.KEYS_VIEW)
_ITEMS: Final[Any] = type({}.items())
_HASHING: Final[tuple[Any, ...]] = (*_SETS, dict, _ITEMS)
"""Containers that compare what they hold by hashes."""


def operand(value: Any) -> Any:
    """Return what a program is to use on the left of any operator but those of sets."""
    if Run.current is None:
        return value
    kind: Any = type(value)
    if isinstance(value, _SEQUENCES) or reads(value) or answers_by_parts(kind):
        return _Operand(value)
    return _Operand(value) if isinstance(value, _HASHING) else value


def left_of_mod(value: Any) -> Any:
    """Return what a program is to use on the left of `%`."""
    return template(value) if Run.current is not None and _is_template(value) else operand(value)


def _is_template(value: Any) -> bool:
    """Tell whether `%` writes something into a value."""
    return isinstance(value, str) or (isinstance(value, bytes | bytearray) and not is_symbolic(value))


def left(value: Any) -> Any:
    """Return what a program is to use on the left of an operator of sets."""
    if Run.current is None:
        return value
    return _Left(value) if isinstance(value, (*_SETS, dict)) else operand(value)


def in_place(name: str, target: Any, other: Any) -> Any:
    """Return what `target += other` leaves in the target, for any operator by its name."""
    change, operation = getattr(operator, f"__i{name}__"), getattr(operator, f"__{name}__")
    if Run.current is None:
        return change(target, other)
    if isinstance(other, dict) and isinstance(target, dict):
        # A dictionary takes whatever has keys, and puts them in by their hash.
        if lookups.varies(other, target):
            lose("|=")
        return change(target, other)
    if operation in _WAYS and isinstance(target, set | frozenset) and isinstance(other, _SETS):
        return _changed(change, operation, target, other)
    if not (bears(target) or bears(other)):
        return change(target, other)
    if hasattr(type(target), f"__i{name}__"):
        if isinstance(method := getattr(type(target), f"__i{name}__"), FunctionType):
            found = _by_method(method, target, other)
            return operated(operation, target, other) if found is NotImplemented else found
        if is_symbolic(target) or not reads(target):
            return change(target, other)
        # It changes itself, by what C reads.
        lose(f"{name} in place")
        return change(target, concrete(other))
    return operated(operation, target, other)


def operated(operation: Callable[[Any, Any], Any], one: Any, other: Any) -> Any:
    """Return what an operator gives, whichever class of the operands would answer."""
    if Run.current is None or not (_varies(one) or _varies(other)):
        return operation(one, other)
    if operation is operator.mod and _is_template(one):
        return template(one) % other
    if isinstance(one, unknown.Unknown) or isinstance(other, unknown.Unknown):
        return operation(unknown.known(one), unknown.known(other))
    if operation in _WAYS and (isinstance(one, _ITEMS) or isinstance(other, _ITEMS)):
        lose(operation.__name__.strip("_"))
        return operation(set(concrete(list(one))), set(concrete(list(other))))
    if operation in _COMPARISONS and isinstance(one, _HASHING) and isinstance(other, _HASHING):
        if operation not in (operator.eq, operator.ne) and (isinstance(one, dict) or isinstance(other, dict)):
            return _by_library(operation, one, other)
        if not (_own_method(one, operation) or _own_method(other, operation)):
            return _compared_by_hash(operation, one, other)
    if operation in _COMPARISONS and isinstance(one, _SEQUENCES) and isinstance(other, _SEQUENCES):
        return _compared(operation, one, other)
    if type(one) is type(other) and (fields := _compared_fields(one, operation)):
        parts = (tuple(getattr(each, name) for name in fields) for each in (one, other))
        return _compared(operation, *parts)
    kind: Any = type(one)
    if not is_symbolic(one) and answers_by_parts(kind) and has_reader(one):
        lose(operation.__name__.strip("_"))
        return operation(one, other)
    if is_symbolic(one):
        return operation(one, other)
    if (method := _own_method(one, operation)) is not None:
        found = _by_method(method, one, other)
        return operation(one, other) if found is NotImplemented else found
    if (method := _reflected_method(one, other, operation)) is not None:
        found = _by_method(method, other, one)
        return operation(one, other) if found is NotImplemented else found
    one = _as_plain(one)
    if type(one) in (bytearray, memoryview) and operation in _COMPARISONS:
        one = bytes(one)
    if not reads(one):
        return operation(one, other)
    try:
        return tabulated(operation, one, other)
    except (Unfollowed, TooWide):
        lose(operation.__name__.strip("_"))
    return operation(concrete(one), concrete(other))


def _compared_fields(value: Any, operation: Callable[[Any, Any], Any]) -> tuple[str, ...]:
    """Return by which attributes an operator compares dataclasses, if Python wrote it."""
    if operation not in _COMPARISONS or not is_dataclass(value) or isinstance(value, type):
        return ()
    method = getattr(type(value), f"__{operation.__name__}__", None)
    if operation is operator.ne:
        method = type(value).__eq__
    if not is_generated(method):
        return ()
    return tuple(field.name for field in fields_of(value) if field.compare)


def _as_plain(value: Any) -> Any:
    """Return the number, text or bytes that an object of a class derived from these stands for."""
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, str | bytes):
        kind: Any = str if isinstance(value, str) else bytes
        return kind.__getitem__(value, slice(None))
    return value


_SEQUENCES: Final = (list, tuple, deque)
_COMPARISONS: Final = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)


def _compared(operation: Callable[[Any, Any], Any], one: Any, other: Any) -> Any:
    """Compare sequences element by element, as Python does."""
    if _own_method(one, operation) or _own_method(other, operation) or not _are_alike(one, other):
        return operation(one, other)
    if operation is operator.eq or operation is operator.ne:
        condition = equality(one, other)
        if condition is not None:
            found = boolean(concrete(one) == concrete(other), condition)
            return found if operation is operator.eq else not found
        same = len(one) == len(other) and all(map(lookups.equal, one, other))
        return same if operation is operator.eq else not same
    for mine, theirs in zip(one, other, strict=False):
        if not lookups.equal(mine, theirs):
            return operated(operation, mine, theirs)
    return operation(len(one), len(other))


def _are_alike(one: Any, other: Any) -> bool:
    return any(isinstance(one, kind) and isinstance(other, kind) for kind in _SEQUENCES)


def _own_method(value: Any, operation: Callable[[Any, Any], Any]) -> FunctionType | None:
    """Return the function in which a class says itself, in Python, what an operator means, if it does."""
    method = getattr(type(value), f"__{operation.__name__.strip('_')}__", None)
    return method if isinstance(method, FunctionType) else None


def _varies(value: Any) -> bool:
    """Tell whether a value depends on the inputs, or is an object of a library that keeps such ones."""
    return bears(value) or (type(value).__module__ == "collections" and holds(value))


_REFLECTIONS: Final = {"eq": "eq", "ne": "ne", "lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}


def _reflected_method(one: Any, other: Any, operation: Callable[[Any, Any], Any]) -> FunctionType | None:
    """Return the function of the right operand's class that Python asks where the left one has no answer.

    That is so of what is written in C, unless the right operand is such a value itself.
    """
    name = operation.__name__.strip("_")
    method = getattr(type(other), f"__{_REFLECTIONS.get(name, f'r{name}')}__", None)
    derived = isinstance(other, type(one)) and type(other) is not type(one)
    if not isinstance(method, FunctionType) or (isinstance(other, _IN_C) and not derived):
        return None
    return method


_IN_C: Final = (int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset, deque)


def _by_method(method: FunctionType, one: Any, other: Any) -> Any:
    """Return what an operator gives that a class has in Python; that of a library is followed, too."""
    from penstock._concolic.code.calls import called

    return called(MethodType(method, one))(other)


class _Operand:
    """Stands in for an object on the left of an operator, which might read the other one without asking."""

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        self._value = value

    __hash__ = None  # type: ignore[assignment]


def _answered(name: str) -> Callable[[Any, Any], Any]:
    """Return a method of such a stand-in."""
    operation = getattr(operator, name)

    def method(self: _Operand, other: Any) -> Any:
        return operated(operation, self._value, _unwrapped(other))

    method.__name__ = name
    return method


for _name in (
    *("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__add__", "__sub__", "__mul__"),
    *("__floordiv__", "__truediv__", "__mod__", "__pow__", "__lshift__", "__rshift__", "__matmul__"),
    *("__and__", "__or__", "__xor__"),
):
    setattr(_Operand, _name, _answered(_name))


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
    if isinstance(value, _Operand):
        return value._value
    return value._operand if isinstance(value, _Container) else value


def _compared_by_hash(operation: Callable[[Any, Any], Any], one: Any, other: Any) -> Any:
    """Compare dictionaries, sets and views of these, whose elements the inputs may decide about."""
    if isinstance(one, OrderedDict) and isinstance(other, OrderedDict):
        return _compared(operation, list(one.items()), list(other.items()))
    mappings = [behind(each) for each in (one, other) if isinstance(each, _ITEMS)]
    if len(mappings) == 1:
        lose(operation.__name__)
        return operation(set(concrete(list(one))), set(concrete(list(other))))
    return operation(_Container(mappings[0] if mappings else one), mappings[1] if mappings else other)


def _same(one: Any, other: Any) -> bool:
    """Tell whether two containers have the same contents."""
    if _own_method(one, operator.eq) or _own_method(other, operator.eq):
        return bool(one == other)
    if isinstance(one, dict) and isinstance(other, dict):
        return len(one) == len(other) and bool(_within(operator.le, one, other))
    if isinstance(one, _SETS) and isinstance(other, _SETS):
        return len(one) == len(other) and lookups.is_subset(one, other)
    return bool(one == other)


def _within(operation: Callable[..., Any], one: Any, other: Any) -> Any:
    """Tell whether a container has all that another one has; of dictionaries, their views are asked about."""
    if isinstance(one, dict) and isinstance(other, dict):
        return all(
            lookups.is_in(other, key) and lookups.equal(value, lookups.fetch(other, key))
            for key, value in dict.items(one)
        )
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
    if operation is operator.or_ and type(one) is dict and type(other) is dict:
        return lookups.dict_of([*one.items(), *other.items()])
    return _by_library(operation, one, other)


def _by_library(operation: Callable[..., Any], one: Any, other: Any) -> Any:
    """Have containers combined or compared by code that is not followed, and finds keys by their hash."""
    if any(isinstance(each, (dict, *_SETS)) and lookups.varies(each) for each in (one, other)):
        lose(operation.__name__.strip("_"))
    return operation(one, other)


def _changed(in_place: Callable[..., Any], operation: Callable[..., Any], target: Any, other: Any) -> Any:
    """Change a set by another one and return it, as `target |= other` does."""
    if isinstance(target, set) and isinstance(other, _SETS) and lookups.varies(target, other):
        return lookups.become(target, _WAYS[operation](target, other))
    if isinstance(target, frozenset):
        return _combined(operation, target, other)
    return in_place(target, other)
