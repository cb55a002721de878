"""The state of a running Python program, saved and put back in place.

A controller under test keeps its state wherever it likes: in attributes, in dictionaries inside
them, in class and module variables.  To search, its state must be saved, compared and restored
thousands of times a second, and the program must not notice.  Copying the objects would not do:
others hold references to them.  So a snapshot walks the object graph from given roots and keeps a
shallow copy of the *content* of each mutable object; restoring writes the contents back into the
very same objects.  Identity, locks, loggers and references from outside survive.

Two snapshots are equal when their graphs are: a canonical text of the graph, in which
dictionaries and sets are sorted and shared objects are named by where they were first met, is
hashed to 128 bits.  The order in which keys came into a plain dictionary is not part of it.

Functions, classes, modules, loggers and locks are taken as fixed points and not looked into.
"""

from __future__ import annotations

import collections
import enum
import logging
import threading
import types
from collections.abc import Callable, Iterable
from hashlib import blake2b
from typing import Any, Final

_ATOMS: Final = frozenset({int, str, bytes, float, bool, complex, type(None)})
_FIXED: Final = (
    type,
    types.FunctionType,
    types.BuiltinFunctionType,
    types.ModuleType,
    types.CodeType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
    types.MappingProxyType,
    logging.Logger,
    logging.LoggerAdapter,
    logging.Handler,
    type(threading.Lock()),
    type(threading.RLock()),
    threading.local,
    property,
    staticmethod,
    classmethod,
    range,
    type(Ellipsis),
    type(NotImplemented),
    enum.Enum,
)

Put = Callable[[], None]
Fixed = Callable[[Any], bool]


class Snapshot:
    """A program's state at one moment; equal to another of the same state."""

    __slots__ = ("_contents", "digest")

    def __init__(self, digest: bytes, contents: list[tuple[Any, Any, Any]]) -> None:
        self.digest = digest
        self._contents = contents

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Snapshot) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"Snapshot({self.digest.hex()[:12]})"

    def restore(self) -> None:
        """Put every object's content back."""
        for write, target, content in self._contents:
            write(target, content)


def take(roots: Iterable[Any], fixed: Fixed | None = None) -> Snapshot:
    """Return a snapshot of all that can be reached from the roots.

    `fixed` tells of objects, besides the usual ones, that are not to be looked into.
    """
    walk = _Walk(fixed)
    parts = [walk.text(root) for root in roots]
    digest = blake2b("\x00".join(parts).encode("utf-8", "surrogatepass"), digest_size=16).digest()
    return Snapshot(digest, walk.contents)


def _write_dict(target: dict[Any, Any], content: dict[Any, Any]) -> None:
    dict.clear(target)
    dict.update(target, content)


def _write_list(target: list[Any], content: list[Any]) -> None:
    target[:] = content


def _write_set(target: set[Any], content: set[Any]) -> None:
    set.clear(target)
    set.update(target, content)


def _write_deque(target: collections.deque[Any], content: list[Any]) -> None:
    target.clear()
    target.extend(content)


def _write_bytearray(target: bytearray, content: bytes) -> None:
    target[:] = content


def _write_attributes(target: Any, content: dict[str, Any]) -> None:
    attributes = target.__dict__
    attributes.clear()
    attributes.update(content)


def _write_slots(target: Any, content: dict[str, Any]) -> None:
    for name in _slots_of(type(target)):
        if name in content:
            object.__setattr__(target, name, content[name])
        elif hasattr(target, name):
            object.__delattr__(target, name)


_slots_cache: dict[type, tuple[str, ...]] = {}


def _slots_of(kind: type) -> tuple[str, ...]:
    slots = _slots_cache.get(kind)
    if slots is None:
        names: list[str] = []
        for base in kind.__mro__:
            declared = base.__dict__.get("__slots__", ())
            names += [declared] if isinstance(declared, str) else declared
        slots = tuple(name for name in names if name not in ("__dict__", "__weakref__"))
        slots = _slots_cache[kind] = tuple(_mangled(kind, name) for name in slots)
    return slots


def _mangled(kind: type, name: str) -> str:
    return (
        f"_{kind.__name__.lstrip('_')}{name}" if name.startswith("__") and not name.endswith("__") else name
    )


class _Walk:
    """One walk over an object graph: gathers contents and writes the canonical text."""

    def __init__(self, fixed: Fixed | None) -> None:
        self.contents: list[tuple[Any, Any, Any]] = []
        self._met: dict[int, int] = {}
        self._fixed = fixed
        self._alive: list[Any] = []

    def text(self, value: Any) -> str:
        """Return the canonical text of a value, keeping the contents of what it is made of."""
        kind = type(value)
        if kind in _ATOMS:
            return f"{kind.__name__}:{value!r}"
        if isinstance(value, _FIXED) or (self._fixed is not None and self._fixed(value)):
            return _fixed_text(value)
        known = self._met.get(id(value))
        if known is not None:
            return f"&{known}"
        if kind is tuple:
            return "(" + ",".join([self.text(item) for item in value]) + ")"
        if kind is frozenset:
            return "f{" + ",".join(sorted([self.text(item) for item in value])) + "}"
        if kind is types.MethodType:
            return f"method:{value.__func__.__qualname__}@{self.text(value.__self__)}"
        self._met[id(value)] = len(self._met)
        self._alive.append(value)
        return self._mutable(value, kind)

    def _mutable(self, value: Any, kind: type) -> str:
        parts = [f"{kind.__module__}.{kind.__qualname__}" if kind.__module__ != "builtins" else kind.__name__]
        if isinstance(value, dict):
            content = dict(value)
            self.contents.append((_write_dict, value, content))
            parts.append(self._dict_text(content, ordered=isinstance(value, collections.OrderedDict)))
            if isinstance(value, collections.defaultdict):
                parts.append(self.text(value.default_factory))
        elif isinstance(value, list):
            self.contents.append((_write_list, value, list(value)))
            parts.append("[" + ",".join([self.text(item) for item in value]) + "]")
        elif isinstance(value, set):
            self.contents.append((_write_set, value, set(value)))
            parts.append("{" + ",".join(sorted([self.text(item) for item in value])) + "}")
        elif isinstance(value, collections.deque):
            self.contents.append((_write_deque, value, list(value)))
            parts.append("[" + ",".join([self.text(item) for item in value]) + "]")
        elif isinstance(value, bytearray):
            self.contents.append((_write_bytearray, value, bytes(value)))
            parts.append(value.hex())
        attributes = getattr(value, "__dict__", None)
        if type(attributes) is dict:
            content = dict(attributes)
            self.contents.append((_write_attributes, value, content))
            parts.append(self._dict_text(content, ordered=False))
        slots = _slots_of(kind)
        if slots:
            content = {name: getattr(value, name) for name in slots if hasattr(value, name)}
            self.contents.append((_write_slots, value, content))
            parts.append(self._dict_text(content, ordered=False))
        return "<" + " ".join(parts) + ">"

    def _dict_text(self, content: dict[Any, Any], *, ordered: bool) -> str:
        if ordered:
            return "[" + ",".join([f"{self.text(k)}={self.text(v)}" for k, v in content.items()]) + "]"
        # Sorted before the values are looked into, so that shared objects are numbered alike.
        keyed = sorted([(self.text(key), key) for key in content], key=lambda pair: pair[0])
        return "{" + ",".join([f"{text}={self.text(content[key])}" for text, key in keyed]) + "}"


def _fixed_text(value: Any) -> str:
    name = (
        getattr(value, "__qualname__", None) or getattr(value, "name", None) or getattr(value, "__name__", "")
    )
    if isinstance(value, enum.Enum):
        name = f"{type(value).__qualname__}.{value.name}"
    return f"fixed:{type(value).__name__}:{name}"
