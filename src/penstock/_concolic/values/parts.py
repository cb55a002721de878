"""Values of any kind: whether they depend on inputs, what they are without, and when two are equal.

Besides the values that carry terms themselves this knows the containers that programs keep them in, and
objects that are compared by what they hold: addresses of `ipaddress` and of `netaddr`, dataclasses, and
objects of classes that say themselves what is equal.  Any other object is itself and nothing else, and takes
no part in comparisons; whether it has something of the inputs somewhere in it is another question (`holds`).
"""

from __future__ import annotations

import copy
from collections import deque
from dataclasses import fields, is_dataclass
from functools import cache
from ipaddress import IPv4Address, IPv6Address
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, Final, TypeVar, cast

from penstock._concolic.run import unnoticed
from penstock._concolic.terms import FALSE, Term, TooWide, both, const, either, eq
from penstock._concolic.values.escapes import Symbolic, Unfollowed, answers_itself
from penstock._concolic.values.integers import term_of
from penstock._concolic.values.readers import VIEWS, behind, seen_in
from penstock._concolic.values.sym_bytes import same_octets
from penstock._concolic.values.sym_str import pieces_of
from penstock._concolic.values.sym_str_search import same
from penstock._concolic.values.tables import Tabled

T = TypeVar("T")

_PLAIN: Final = frozenset({int, str, bytes, bool, float, type(None), bytearray, complex, type, range})
"""Kinds of values that never carry a term, and hold no others."""

_LIKE: Final = ((int,), (str,), (bytes, bytearray, memoryview), (tuple,), (IPv4Address,), (IPv6Address,))
"""Kinds of values of which one is never equal to one of another kind."""


def is_symbolic(value: object) -> bool:
    """Tell whether a value itself carries terms."""
    return isinstance(value, Symbolic)


def bears(value: object) -> bool:
    """Tell whether a value or a part of it depends on inputs."""
    return type(value) not in _PLAIN and _bears(value, frozenset())


def _bears(value: object, above: frozenset[int]) -> bool:
    if isinstance(value, Symbolic):
        return True
    if type(value) in _PLAIN or id(value) in above:
        return False
    inside = above | {id(value)}
    if isinstance(value, slice):
        value = (value.start, value.stop, value.step)
    if isinstance(value, VIEWS):
        value = seen_in(value)
    if isinstance(value, dict):
        # An `OrderedDict` would hash its keys to go through them.
        return any(_bears(part, inside) for item in dict.items(value) for part in item)
    if isinstance(value, (tuple, list, set, frozenset, deque)):
        return any(_bears(part, inside) for part in value)
    return any(_bears(getattr(value, name), inside) for name in _parts(value))


def _parts(value: object) -> tuple[str, ...]:
    """Return the attributes of an object that may depend on inputs."""
    if isinstance(value, (IPv4Address, IPv6Address)):
        return ("_ip",)
    if is_dataclass(value) and not isinstance(value, type):
        names = (field.name for field in fields(value) if not _is_worked_out(value, field.name))
        return tuple(name for name in names if hasattr(value, name))
    if _is_netaddr(value):
        return ("_value",)
    kind: Any = type(value)
    return _attributes(value) if _compares(kind) else ()


@cache
def _compares(kind: Any) -> bool:
    """Tell whether a class says itself, in Python, which of its objects are equal."""
    if kind.__module__.startswith(_LIBRARIES):
        return False
    return any(isinstance(getattr(kind, name, None), FunctionType) for name in ("__eq__", "__hash__"))


_LIBRARIES: Final = ("penstock.", "os_ken.", "ryu.", "collections", "ipaddress", "netaddr", "enum", "logging")
"""Packages whose objects are known, or have nothing to do with packets."""


def _attributes(value: object) -> tuple[str, ...]:
    """Return the attributes that an object has of its own."""
    slots = [
        name
        for kind in type(value).__mro__
        for name in (kind.__dict__.get("__slots__", ()),)
        for name in ((name,) if isinstance(name, str) else name)
        if name != "__dict__" and hasattr(value, name)
    ]
    return (*getattr(value, "__dict__", ()), *slots)


_MOST_LOOKED_AT: Final = 1000
"""How many objects are looked at to find out whether one has something of the inputs in it."""

_CONTAINERS: Final = frozenset({dict, tuple, list, set, frozenset, deque})
_OPAQUE: Final = (type, ModuleType, FunctionType, MethodType, BuiltinFunctionType)


def holds(value: object) -> bool:
    """Tell whether a value has something that depends on inputs anywhere in it, also in attributes."""
    return any_held(value, (Symbolic,))


def any_held(value: object, kinds: tuple[type, ...]) -> bool:
    """Tell whether a value is, or has anywhere in it, a value of some kinds that depend on inputs."""
    ahead: list[object] = [value]
    known: set[int] = set()
    while ahead and len(known) < _MOST_LOOKED_AT:
        here = ahead.pop()
        if isinstance(here, Symbolic):
            if isinstance(here, kinds):
                return True
            continue
        if type(here) in _PLAIN or id(here) in known or isinstance(here, _OPAQUE):
            continue
        known.add(id(here))
        if isinstance(here, slice):
            ahead += (here.start, here.stop, here.step)
        if isinstance(here, VIEWS):
            here = seen_in(here)
        if isinstance(here, dict):
            ahead += (part for item in dict.items(here) for part in item)
        elif isinstance(here, (tuple, list, set, frozenset, deque)):
            ahead += here
        if type(here) in _CONTAINERS:
            continue
        # A container of a class of its own may have attributes besides.
        if not type(here).__module__.startswith(("penstock.", "os_ken.", "ryu.", "logging", "threading")):
            ahead += (getattr(here, name) for name in _attributes(here) if not _is_worked_out(here, name))
        ahead += (getattr(here, name) for name in _parts(here))
    return False


def _is_worked_out(value: object, name: str) -> bool:
    """Tell whether an attribute is found out only when somebody asks, which may decide something."""
    return isinstance(getattr(type(value), name, None), property)


def concrete(value: T) -> T:
    """Return a value without any terms, unnoticed; the same object if it has none."""
    if isinstance(value, Tabled):
        return cast(T, value.quietly_)
    if isinstance(value, Symbolic):
        return cast(T, value.plain)
    if not bears(value):
        return value
    with unnoticed():
        return cast(T, _concrete(value))


def _concrete(value: Any) -> Any:
    if isinstance(value, VIEWS):
        views = (dict.keys, dict.values, dict.items)
        return views[next(place for place, kind in enumerate(VIEWS) if isinstance(value, kind))](
            _concrete(behind(value))
        )
    if isinstance(value, dict):
        return _refilled(value, {concrete(key): concrete(part) for key, part in value.items()})
    if isinstance(value, tuple):
        parts = map(concrete, value)
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, deque):
        return deque(map(concrete, value), value.maxlen)
    if isinstance(value, (list, set, frozenset)):
        return type(value)(map(concrete, value))
    made = copy.copy(value)
    for name in _parts(value):
        object.__setattr__(made, name, concrete(getattr(value, name)))
    return made


def _refilled(model: dict[Any, Any], items: dict[Any, Any]) -> dict[Any, Any]:
    """Return a dictionary of the same kind, such as a `defaultdict`, with other items."""
    if type(model) is dict:
        return items
    made = copy.copy(model)
    made.clear()
    made.update(items)
    return made


def equality(one: object, other: object) -> Term | None:
    """Return when two values are equal, or None if no condition says that and Python has to be asked."""
    if not bears(one) and not bears(other):
        return const(int(bool(one == other)))
    try:
        return _equality(one, other)
    except (Unfollowed, TooWide):
        return None


_VALUES: Final = (int, str, bytes, tuple, frozenset)


def _equality(one: Any, other: Any) -> Term:
    if type(one) is Tabled or type(other) is Tabled:
        return term_of(one == other if type(one) is Tabled else other == one)
    if answers_itself(one, "__eq__") and isinstance(one, _VALUES):
        raise Unfollowed
    if answers_itself(other, "__eq__") and isinstance(other, _VALUES):
        raise Unfollowed
    if isinstance(one, int) and isinstance(other, int):
        return eq(term_of(one), term_of(other))
    if isinstance(one, str) and isinstance(other, str):
        return same(pieces_of(one), pieces_of(other))
    if isinstance(one, bytes) and isinstance(other, bytes):
        return same_octets(one, other)
    if isinstance(one, tuple) and isinstance(other, tuple):
        return _all_equal(one, other)
    if isinstance(one, frozenset) and isinstance(other, frozenset):
        return _same_elements(one, other)
    if not bears(one) and not bears(other):
        return const(int(bool(one == other)))
    if type(one) is type(other) and type(one) in (IPv4Address, IPv6Address):
        return eq(term_of(one._ip), term_of(other._ip))
    if type(one) is type(other) and _is_netaddr(one) and type(one).__name__ in ("IPAddress", "EUI"):
        version = const(int(one.version == other.version))
        return both(version, eq(term_of(one._value), term_of(other._value)))
    if type(one) is type(other) and (names := _compared(one)):
        return _all_equal(*(tuple(getattr(value, name) for name in names) for value in (one, other)))
    kinds = _kind(one), _kind(other)
    if one is None or other is None or (None not in kinds and kinds[0] != kinds[1]):
        return FALSE
    raise Unfollowed


def _compared(value: Any) -> tuple[str, ...]:
    """Return by which attributes a dataclass is compared; none if it has a way of its own."""
    if not is_dataclass(value) or not is_generated(type(value).__eq__):
        return ()
    names = tuple(field.name for field in fields(value) if field.compare)
    return () if any(_is_worked_out(value, name) for name in names) else names


def is_generated(function: Any) -> bool:
    """Tell whether Python wrote a function for a dataclass."""
    code = getattr(function, "__code__", None)
    return code is not None and code.co_filename == "<string>"


def _all_equal(one: tuple[Any, ...], other: tuple[Any, ...]) -> Term:
    if len(one) != len(other):
        return FALSE
    found: list[Term | None] = [equality(*pair) for pair in zip(one, other, strict=True)]
    if FALSE in found:
        return FALSE
    if None in found:
        raise Unfollowed
    return both(*(condition for condition in found if condition is not None))


def _same_elements(one: frozenset[Any], other: frozenset[Any]) -> Term:
    """Return when two sets have the same elements, each of which is another one."""
    if len(one) != len(other):
        return FALSE
    found: list[Term] = []
    for element in one:
        conditions = [equality(element, each) for each in other]
        if None in conditions:
            raise Unfollowed
        found.append(either(*(condition for condition in conditions if condition is not None)))
    return both(*found)


def _is_netaddr(value: object) -> bool:
    """Tell whether an object is an address or a network of netaddr, which has a number in `_value`."""
    return type(value).__module__.startswith("netaddr.") and hasattr(value, "_value")


def _kind(value: object) -> int | None:
    return next((index for index, kinds in enumerate(_LIKE) if isinstance(value, kinds)), None)
