"""What a controller's program remembers, as lines such as `mac_to_port[1]['00:00:00:00:00:01'] = 2`.

A program's state is a `Snapshot`: for each object that can change, a copy of what was in it.  The lines are
written from these copies, never from the objects themselves, which have moved on since; no code of the
program runs for it, not even a `repr` of its own.

Of an os-ken app its own attributes are shown, without those of the framework, and the framework's objects
are only named.  Of a native controller all attributes of the program are.  Variables of modules and classes
are not shown, nor is what is deeper than a few levels or more than can be looked at.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from itertools import islice
from typing import Any, Final

from penstock._controllers.snapshot import Snapshot
from penstock._world.frame import Frame
from penstock.packet import Ethernet, describe

MOST_LINES: Final = 500
"""How many lines there may be of one program."""
DEEPEST: Final = 6
_LONGEST: Final = 160
"""How much is shown of one value."""
_PLAIN: Final = (bool, int, float, complex, str, bytes, type(None))
_FRAMEWORKS: Final = frozenset({"os_ken", "ryu", "eventlet", "greenlet", "logging", "threading", "penstock"})
_APPS: Final = ("os_ken.app.", "ryu.app.")
"""Where the frameworks keep apps, whose own classes are a program's."""

Line = tuple[str, str]
"""A path such as `hosts['h1']` and the value there, or all there is to say and nothing."""
MEMBER: Final = object()
"""Stands for a member of a set, of which the path has told all."""


def remembered(state: Any) -> Iterable[str]:
    """Return what a controller's program remembers in a state."""
    if isinstance(state, Snapshot):
        return _program(state)
    if isinstance(state, tuple) and len(state) > 1 and isinstance(state[1], Snapshot):
        waiting, snapshot = state[:2]
        return (*(f"waits for {name} to join" for name in waiting), *_program(snapshot))
    return written("state", state)


def _program(snapshot: Snapshot) -> tuple[str, ...]:
    looking = _Looking(snapshot)
    found = [_line(*each) for each in islice(looking.program(), MOST_LINES + 1)]
    return (*found[:MOST_LINES], *(["… and more"] if len(found) > MOST_LINES else []))


def written(name: str, value: Any) -> tuple[str, ...]:
    """Return an immutable value as lines."""
    if value is None or value == ():
        return ()
    looking = _Looking(None)
    return tuple(_line(*each) for each in islice(looking.within(name, value, 0), MOST_LINES))


def _line(path: str, text: str) -> str:
    return f"{path} = {text}" if text else path


class _Looking:
    """A look at one state."""

    def __init__(self, snapshot: Snapshot | None) -> None:
        self._entries: dict[int, Any] = {}
        if snapshot is not None:
            self._entries = {id(entry[0]): entry for entry in snapshot.entries}
        self._above: set[int] = set()
        """The objects that the present one is in."""

    def program(self) -> Iterator[Line]:
        """Yield what the apps among the objects remember, or else the first object."""
        apps = [entry[0] for entry in self._entries.values() if _is_app(_kind(entry[0]))]
        prefix = len(apps) > 1
        for app in sorted(apps, key=lambda app: type(app).__name__):
            before = f"{type(app).__name__}." if prefix else ""
            own = {key: item for key, item in self._attributes(app).items() if key not in _framework_names()}
            yield from self._items(((f"{before}{key}", item) for key, item in own.items()), 0)
        if not apps and self._entries:
            first = next(iter(self._entries.values()))[0]
            own = {key: item for key, item in self._attributes(first).items() if key != "_outbox"}
            yield from self._items(own.items(), 0)

    def _attributes(self, value: Any) -> dict[str, Any]:
        """Return an object's attributes as they were; they are the last parts of what it holds."""
        entry = self._entries.get(id(value))
        if entry is None:
            return {}
        _, _, contents, _, _ = entry
        found: dict[str, Any] = {}
        for content in contents if not isinstance(value, _CONTAINERS) else contents[1:]:
            if isinstance(content, dict):
                found |= content
        return found

    def _items(self, items: Iterable[tuple[str, Any]], depth: int) -> Iterator[Line]:
        for path, item in items:
            yield from self.within(path, item, depth)

    def within(self, path: str, value: Any, depth: int) -> Iterator[Line]:
        """Yield a value, part by part where it has parts."""
        kind = _kind(value)
        if value is MEMBER:
            yield path, ""
            return
        if _is_whole(kind) or depth > DEEPEST or id(value) in self._above:
            yield path, self._short(value)
            return
        parts = self._parts(path, value)
        if parts is None:
            yield path, self._short(value)
            return
        self._above.add(id(value))
        empty = True
        for inner, item in parts:
            empty = False
            yield from self.within(inner, item, depth + 1)
        self._above.discard(id(value))
        if empty:
            yield path, next((text for base, text in _EMPTY if issubclass(kind, base)), "empty")

    def _parts(self, path: str, value: Any) -> Iterable[tuple[str, Any]] | None:
        """Return what a value is made of, each with the path that leads there; None if it is shown whole."""
        kind = _kind(value)
        entry = self._entries.get(id(value))
        content = entry[2][0] if entry is not None and entry[2] else value
        if issubclass(kind, collections.abc.Mapping) and isinstance(content, Mapping):
            pairs = sorted(((self._short(key), item) for key, item in content.items()), key=lambda p: p[0])
            return [(f"{path}[{key}]", item) for key, item in pairs]
        if issubclass(kind, set | frozenset):
            return [(f"{path} has {member}", MEMBER) for member in sorted(map(self._short, content))]
        if issubclass(kind, tuple) and hasattr(kind, "_fields"):
            return [(f"{path}.{name}", item) for name, item in zip(kind._fields, value, strict=True)]
        if issubclass(kind, list | tuple | collections.deque):
            return [(f"{path}[{place}]", item) for place, item in enumerate(content)]
        if _is_framework(kind) and not is_dataclass(kind):
            return None
        if is_dataclass(kind) and entry is None:
            return [(f"{path}.{each.name}", getattr(value, each.name)) for each in fields(kind)]
        if entry is not None:
            own = self._attributes(value)
            return [(f"{path}.{name}", item) for name, item in sorted(own.items())]
        return None

    def _short(self, value: Any, depth: int = 0) -> str:
        """Return a value in a few words."""
        kind = type(value)
        if depth > DEEPEST:
            text = "…"
        elif issubclass(kind, Enum):
            text = f"{kind.__name__}.{value.name}"
        elif kind in _PLAIN:
            text = repr(value)
        elif kind in (tuple, list, frozenset):
            entry = self._entries.get(id(value))
            items = entry[2][0] if entry is not None else value
            inner = ", ".join(self._short(item, depth + 1) for item in islice(items, 20))
            text = f"({inner})"
        elif kind.__name__ == "Datapath":
            text = f"datapath {self._attributes(value).get('id')}"
        elif issubclass(kind, Ethernet):
            text = f"[{describe(value.to_bytes())}]"
        elif kind.__module__.startswith("penstock.") and _tells_itself(_kind(value)):
            text = str(value)
        else:
            text = f"a {kind.__name__}"
        return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


_CONTAINERS: Final = (dict, list, set, tuple, frozenset, collections.deque)
_EMPTY: Final = (((dict, set, frozenset), "{}"), ((list, collections.deque), "[]"), (tuple, "()"))


def _kind(value: object) -> Any:
    """Return a value's type, as something that can be a key."""
    return type(value)


@cache
def _is_whole(kind: type) -> bool:
    """Tell whether values of a type are shown as they are, and not part by part."""
    return issubclass(kind, Enum | Ethernet | Frame) or kind in _PLAIN


@cache
def _tells_itself(kind: type) -> bool:
    """Tell whether objects of a class have words for themselves, and not only a place in memory."""
    return any({"__str__", "__repr__"} & vars(base).keys() for base in kind.__mro__[:-1])


@cache
def _is_app(kind: type) -> bool:
    """Tell whether objects of a class are os-ken apps of the program, and not the framework's own."""
    bases = {f"{base.__module__}.{base.__qualname__}" for base in kind.__mro__}
    return "os_ken.base.app_manager.OSKenApp" in bases and not _is_framework(kind)


@cache
def _is_framework(kind: type) -> bool:
    """Tell whether a class is none of the program's."""
    module = kind.__module__
    return module.partition(".")[0] in _FRAMEWORKS and not f"{module}.".startswith(_APPS)


@cache
def _framework_names() -> frozenset[str]:
    """Return the attributes that every os-ken app has."""
    from os_ken.base.app_manager import OSKenApp

    return frozenset(OSKenApp.__init__.__code__.co_names)
