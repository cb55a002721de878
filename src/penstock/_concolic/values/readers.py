"""Objects whose operators would read a value of ours without asking it what it depends on.

Python asks the left operand of `a + b` or `a == b` first, unless the right one's class derives from the left
one's.  Our numbers, texts and bytes derive from `int`, `str` and `bytes`, so plain ones let them answer.  Any
other class that is written in C (a float, a `bool`, a `Decimal`, a `timedelta`, an array), and any that
derives from `int` or `str` (an `IntEnum`), takes the plain value out of them and answers by itself.  An
operator of a library that is written in Python runs as it is, without being followed.

Containers compare what they hold element by element, and so are as their elements are.
"""

from __future__ import annotations

from collections import deque
from functools import cache
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType, WrapperDescriptorType
from typing import Any, Final, cast

from penstock._concolic.run import unnoticed
from penstock._concolic.values.escapes import Symbolic

_CONTAINERS: Final = (list, tuple, dict, set, frozenset, deque)

VIEWS: Final[tuple[Any, ...]] = (type({}.keys()), type({}.values()), type({}.items()))
"""Views of dictionaries."""


def seen_in(view: Any) -> list[Any]:
    """Return what a view of a dictionary shows; that we look is no question of the program's."""
    with unnoticed():
        return list(view)


def behind(view: Any) -> dict[Any, Any]:
    """Return a copy of the dictionary that a view is of."""
    with unnoticed():
        return dict(view.mapping)


_PLAIN: Final = frozenset({int, str, bytes, type(None), *_CONTAINERS, range})
"""Kinds of values that let ours answer, or have no operators that read numbers."""

_NAMES: Final = (
    *("eq", "ne", "lt", "le", "gt", "ge", "add", "sub", "mul", "matmul", "truediv", "floordiv", "mod"),
    *("pow", "lshift", "rshift", "and", "or", "xor", "divmod"),
)
_OPERATORS: Final = (*(f"__{name}__" for name in _NAMES), "__radd__", "__rmul__", "__rsub__")

_NO_VALUES: Final = (type, FunctionType, MethodType, BuiltinFunctionType, ModuleType, Symbolic, BaseException)

_KNOWN: Final = frozenset(
    {
        *(
            "penstock",
            "os_ken",
            "ryu",
            "ipaddress",
            "netaddr",
            "fractions",
            "collections",
            "_collections_abc",
        ),
        *("enum", "typing", "weakref", "dataclasses", "functools", "numbers", "abc"),
    }
)
"""Packages whose operators are written in Python, and do nothing with values but compare and compute."""

_MOST_LOOKED_AT: Final = 1000


def reads(value: object) -> bool:
    """Tell whether an object's own operators would read our values without asking."""
    kind: Any = type(value)
    return kind not in _PLAIN and _reads(kind)


@cache
def _reads(kind: Any) -> bool:
    if issubclass(kind, _NO_VALUES) and not (issubclass(kind, type) and kind is not type):
        return False
    # A class of classes may have operators, as that of ctypes has `c_char * 3`.
    return any(_is_reading(getattr(kind, name, None)) for name in _OPERATORS)


def _is_reading(method: Any) -> bool:
    """Tell whether a method of a class is one that reads what it is given by itself."""
    if isinstance(method, FunctionType):
        from penstock._concolic.code import library

        return library.is_stranger(method) and method.__module__.partition(".")[0] not in _KNOWN
    if not isinstance(method, WrapperDescriptorType):
        return False
    owner = method.__objclass__
    return owner is not object and owner not in _CONTAINERS and owner is not type


@cache
def answers_by_parts(kind: Any) -> bool:
    """Tell whether objects of a class are compared by what they hold, by code that is not followed.

    Python writes such code for dataclasses; libraries have it in theirs, such as `collections.UserList`.
    """
    if issubclass(kind, _NO_VALUES) or kind in _PLAIN:
        return False
    methods = (getattr(kind, name, None) for name in _OPERATORS)
    return any(isinstance(method, FunctionType) and not _is_followed(method) for method in methods)


def _is_followed(method: FunctionType) -> bool:
    from penstock._concolic.code import rewrite

    return id(method.__code__) in rewrite.FOLLOWED


def has_reader(value: object) -> bool:
    """Tell whether an object, or one that it holds, reads our values without asking."""
    ahead: list[object] = [value]
    looked_at = 0
    while ahead:
        here = ahead.pop()
        looked_at += 1
        if looked_at > _MOST_LOOKED_AT or reads(here):
            return True
        if isinstance(here, VIEWS):
            here = seen_in(here)
        if isinstance(here, dict):
            ahead += (part for item in dict.items(here) for part in item)
        elif isinstance(here, _CONTAINERS):
            ahead += here
        elif answers_by_parts(cast(Any, type(here))):
            ahead += getattr(here, "__dict__", {}).values()
            ahead += (getattr(here, name, None) for name in getattr(type(here), "__slots__", ()))
    return False
