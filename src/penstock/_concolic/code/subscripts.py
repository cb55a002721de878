"""Subscripts: `d[k]` of a dictionary, `items[n]` and `data[n:m]` of a sequence.

A key is resolved (see `lookups`).  An index that depends on the inputs is settled: the inputs decide
which of the places it names, or that it names none.  So are the ends of a slice; all that lie beyond
the sequence are alike.
"""

from __future__ import annotations

import ctypes
import functools
import operator
import threading
from array import array
from collections import deque
from types import FunctionType, MethodType, ModuleType, SimpleNamespace
from typing import Any, Final

from penstock._concolic.code import library, lookups
from penstock._concolic.run import Run, lose
from penstock._concolic.values import unknown
from penstock._concolic.values.integers import Followed, located, term_of
from penstock._concolic.values.parts import bears, concrete, is_symbolic

_SEQUENCES: Final = (list, tuple, str, bytes, bytearray, range, memoryview, array, deque)
_IN_C: Final = (ctypes.Structure, ctypes.Union, ctypes._SimpleCData)
_MOST: Final = 4096
"""How many values an integer may have that is to be settled where no sequence bounds it."""


def indexed(subject: Any) -> Any:
    """Return what a program is to subscript instead of an object."""
    if Run.current is None:
        return subject
    if isinstance(subject, lookups.KEYED):
        return _Dictionary(subject)
    if isinstance(subject, _SEQUENCES):
        return _Sequence(subject)
    return subject if is_symbolic(subject) else _Stranger(subject)


def written_to(subject: Any) -> Any:
    """Return what a program is to give an attribute instead of an object."""
    kind: Any = type(subject)
    if Run.current is None or not (isinstance(subject, _IN_C) or _keeps_in_c(kind)):
        return subject
    return _Fields(subject)


@functools.cache
def _keeps_in_c(kind: Any) -> bool:
    """Tell whether objects of a class keep what they are given in C, as numbers."""
    if issubclass(kind, _HOLDING):
        return False
    return any(base is not object and not base.__flags__ & _HEAP_TYPE for base in kind.__mro__)


_HEAP_TYPE: Final = 1 << 9
_HOLDING: Final = (
    *(list, tuple, dict, set, frozenset, deque, int, str, bytes, float, type, BaseException),
    *(ModuleType, FunctionType, SimpleNamespace, threading.local, functools.partial, property),
)
"""Classes whose objects hold what they are given as it is."""


class _Stranger:
    """Stands in for an object of any other kind that is subscripted."""

    __slots__ = ("_subject",)

    def __init__(self, subject: Any) -> None:
        self._subject = subject

    def __getitem__(self, key: Any) -> Any:
        return self._method("__getitem__")(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._method("__setitem__")(key, value)

    def __delitem__(self, key: Any) -> None:
        self._method("__delitem__")(key)

    def _method(self, name: str) -> Any:
        """Return the method that does it: one in Python is followed, one in C gets plain values."""
        from penstock._concolic.code.calls import called

        operation = getattr(operator, name.strip("_"))
        if isinstance(self._subject, type) and not hasattr(type(self._subject), name):
            # Such as `list[int]`: what is in the brackets is kept in C.
            name = "__class_getitem__"
            method = getattr(vars(self._subject).get(name), "__func__", None)
            if isinstance(method, FunctionType):
                return functools.partial(operation, self._subject)
        method = getattr(type(self._subject), name, None)
        if not isinstance(method, FunctionType):
            return lambda *arguments: operation(self._subject, *map(_lost, arguments))
        if library.is_stranger(method):
            return called(MethodType(method, self._subject))
        return functools.partial(operation, self._subject)


def _lost(value: Any) -> Any:
    if bears(value):
        lose("[]")
    return concrete(value)


class _Fields:
    """Stands in for an object that is written in C, and keeps plain numbers in its attributes."""

    __slots__ = ("_subject",)

    def __init__(self, subject: Any) -> None:
        object.__setattr__(self, "_subject", subject)

    def __setattr__(self, name: str, value: Any) -> None:
        if bears(value):
            lose(name)
        setattr(self._subject, name, concrete(value))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._subject, name)


class _Dictionary:
    """Stands in for a dictionary that is subscripted."""

    __slots__ = ("_subject",)

    def __init__(self, subject: Any) -> None:
        self._subject = subject

    def __getitem__(self, key: Any) -> Any:
        return lookups.fetch(self._subject, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        lookups.store(self._subject, key, value)

    def __delitem__(self, key: Any) -> None:
        lookups.remove(self._subject, key)


class _Sequence:
    """Stands in for a sequence that is subscripted."""

    __slots__ = ("_subject",)

    def __init__(self, subject: Any) -> None:
        self._subject = subject

    def __getitem__(self, index: Any) -> Any:
        return self._subject[self._settled(index)]

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(self._subject, bytearray | memoryview | array) and bears(value):
            lose(f"{type(self._subject).__name__} item")
            value = concrete(value)
        self._subject[self._settled(index)] = value

    def __delitem__(self, index: Any) -> None:
        del self._subject[self._settled(index)]

    def _settled(self, index: Any) -> Any:
        if isinstance(index, Followed):
            return settled_index(index, len(self._subject))
        if isinstance(index, slice) and any(map(bears, (index.start, index.stop, index.step))):
            return settled_slice(index, len(self._subject))
        return unknown.known(index)


def settled_index(index: Followed, length: int) -> int:
    """Decide which place of a sequence an index is; one that is too low or too high stays so."""
    return _within(index, -length, length - 1)


def settled_slice(bounds: slice, length: int) -> slice:
    """Decide where a slice begins and ends."""
    start, stop = (
        _within(end, -length, length - 1) if isinstance(end, Followed) else unknown.known(end)
        for end in (bounds.start, bounds.stop)
    )
    return slice(
        start, stop, settled(bounds.step) if isinstance(bounds.step, Followed) else unknown.known(bounds.step)
    )


def settled(value: Followed) -> int:
    """Decide what an integer is; one that may be too many things is lost."""
    term = term_of(value)
    if term.high - term.low >= _MOST:
        lose("number of many values")
        return value.plain
    return _within(value, term.low, term.high)


def _within(value: Followed, low: int, high: int) -> int:
    """Decide which integer of a range a value is; below or above it, the nearest outside stands for all."""
    term = term_of(value)
    if term.low < low:
        if value < low:
            return low - 1
    else:
        low = term.low
    if term.high > high:
        if value > high:
            return high + 1
    else:
        high = term.high
    return located(value, low, high)
