"""`in` and `not in`: which element it is, decided for each in turn, or one question for a range.

The object that is searched is replaced by a stand-in while the comparison lasts, so that chains such as
`low < x in table` keep their meaning; in `x in table == other` the stand-in also compares as the object.
"""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any, Final

from penstock._concolic.code import library, lookups
from penstock._concolic.code.summaries import netaddr_objects
from penstock._concolic.run import Run, lose
from penstock._concolic.terms import Term, both, const, either, eq, le, mod, sub
from penstock._concolic.values.integers import SymInt, boolean, term_of
from penstock._concolic.values.parts import bears, concrete, is_symbolic
from penstock._concolic.values.sym_str_build import followed

_LISTS: Final = (list, tuple, deque)


def searched(container: Any) -> Any:
    """Return what a program is to search instead of a container."""
    if Run.current is None:
        return container
    for kinds, contains in _KINDS:
        if isinstance(container, kinds):
            return _Searched(container, contains)
    if netaddr_objects.is_set(container):
        return _Searched(container, netaddr_objects.is_inside)
    if is_symbolic(container) or isinstance(container, type):
        return container
    return _Searched(container, _in_stranger)


class _Searched:
    """Stands in for a container that is searched."""

    __slots__ = ("_container", "_contains")

    def __init__(self, container: Any, contains: Callable[[Any, Any], bool]) -> None:
        self._container = container
        self._contains = contains

    def __contains__(self, item: Any) -> bool:
        return bool(self._contains(self._container, _itself(item)))

    def __eq__(self, other: object) -> Any:
        return operator.eq(self._container, _itself(other))

    def __ne__(self, other: object) -> Any:
        return operator.ne(self._container, _itself(other))

    def __lt__(self, other: object) -> Any:
        return self._container < _itself(other)

    def __le__(self, other: object) -> Any:
        return self._container <= _itself(other)

    def __gt__(self, other: object) -> Any:
        return self._container > _itself(other)

    def __ge__(self, other: object) -> Any:
        return self._container >= _itself(other)

    __hash__ = None  # type: ignore[assignment]


def _itself(item: Any) -> Any:
    """Return what an item of a chained comparison stands for."""
    return item._container if isinstance(item, _Searched) else item


def _in_items(view: Any, item: Any) -> bool:
    """Tell whether a dictionary has this key with this value."""
    if not (isinstance(item, tuple) and len(item) == 2):
        return item in view
    held = view.mapping
    key = lookups.resolved(held, item[0])
    if not lookups.exactly(lambda: key in held):
        return False
    value = lookups.exactly(lambda: held[key])
    return lookups.equal(value, item[1])


def _in_list(container: Any, item: Any) -> bool:
    """Tell whether a sequence has an item; elements of several parts are one question each."""
    return any(lookups.equal(element, item) for element in container)


def _in_range(numbers: range, item: Any) -> bool:
    if not isinstance(item, SymInt):
        return item in numbers
    return boolean(int(concrete(item)) in numbers, _between(numbers, term_of(item)))


def _between(numbers: range, term: Term) -> Term:
    """Return the condition that a number is one of a range."""
    if not numbers:
        return const(0)
    low, high = sorted((numbers[0], numbers[-1]))
    within = both(le(const(low), term), le(term, const(high)))
    step = abs(numbers.step)
    if step == 1:
        return within
    return both(within, eq(mod(sub(term, const(low)), const(step)), const(0)))


def _in_bytes(data: bytes | bytearray, item: Any) -> bool:
    """Tell whether bytes have a byte."""
    if not isinstance(item, SymInt):
        if bears(item):
            lose("in bytes")
        return concrete(item) in data
    found = int(concrete(item)) in concrete(data)
    return boolean(found, either(*(eq(term_of(item), term_of(byte)) for byte in data)))


def _in_stranger(container: Any, item: Any) -> bool:
    """Tell whether an object of any other kind has an item; what is written in C gets plain values."""
    from penstock._concolic.code.calls import called

    method = getattr(type(container), "__contains__", None)
    if isinstance(method, FunctionType):
        if library.is_stranger(method):
            return bool(called(MethodType(method, container))(item))
        return item in container
    if method is not None:
        if bears(item):
            lose("in")
        return concrete(item) in container
    return _in_list(container, item)


def _in_text(text: str, item: Any) -> bool:
    return item in (followed(text) if is_symbolic(item) else text)


_KINDS: Final = (
    (lookups.KEYED, lookups.is_in),
    (lookups.ITEMS_VIEW, _in_items),
    (_LISTS, _in_list),
    (range, _in_range),
    (str, _in_text),
    ((bytes, bytearray), _in_bytes),
)
