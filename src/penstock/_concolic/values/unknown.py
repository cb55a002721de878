"""Values that depend on the inputs in a way that nobody has followed.

A message that a program makes of its inputs is for a switch: the values in it are plain (see `sinks`).  A
program that reads them back has something that depends on the inputs all the same.  What it reads is
*unknown*: it may be handed on, into other messages, but whatever else is done with it is a loss.

The attributes of such a message say so because the message is made an object of another class (`taint`),
which looks like its own in every other way.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from functools import cache
from typing import Any, Final

from penstock._concolic.run import Run, lose
from penstock._concolic.values.escapes import Unchanging, bare

_OF_THE_OBJECT: Final = frozenset(
    {
        *("__new__", "__init__", "__init_subclass__", "__subclasshook__", "__class__", "__dir__", "__doc__"),
        *("__getattribute__", "__setattr__", "__delattr__", "__sizeof__", "__getstate__"),
        *("__reduce__", "__reduce_ex__", "__getnewargs__", "__class_getitem__"),
    }
)
"""What says nothing of a value."""

_REFLECTED: Final = ("__radd__", "__rmul__", "__rmod__")
"""Methods that texts and bytes do not have, and by which an unknown one is asked before a plain one."""


class Unknown(Unchanging):
    """A value of which it is not known how it depends on the inputs."""

    __slots__ = ()


def _losing(kind: type, name: str) -> Any:
    method = getattr(kind, name)

    def losing(self: Any, /, *arguments: Any, **named: Any) -> Any:
        lose(name.strip("_"))
        return method(self.plain, *map(bare, arguments), **named)

    losing.__name__ = name
    return losing


def _unknown_kind(kind: Any, plain: Any) -> Any:
    """Return a class of unknown values of a kind."""
    names = [name for name in dir(kind) if name not in _OF_THE_OBJECT]
    if kind is bytes:
        # How long a packet is, is the same for all of its kind.
        names.remove("__len__")
    methods = {name: _losing(kind, name) for name in names if callable(getattr(kind, name))}
    others = {name: _told(name) for name in names if name not in methods and not name.startswith("__")}
    reflected = {name: _answering(name) for name in _REFLECTED if not hasattr(kind, name)}
    own = {"plain": property(plain), "__getnewargs__": lambda self: (self.plain,)}
    return type(
        f"Unknown{kind.__name__.capitalize()}", (kind, Unknown), {**methods, **others, **reflected, **own}
    )


def _told(name: str) -> Any:
    """Return an attribute that is lost when it is asked for."""

    def losing(self: Any) -> Any:
        lose(name)
        return getattr(self.plain, name)

    return property(losing)


def _answering(name: str) -> Any:
    """Return what answers in place of the left operand."""
    operation = getattr(operator, f"__{name[3:]}")

    def losing(self: Any, other: Any) -> Any:
        lose(name.strip("_"))
        return operation(other, self.plain)

    return losing


_KINDS: Final[dict[type, Any]] = {
    int: _unknown_kind(int, int.__int__),
    str: _unknown_kind(str, lambda value: str.__getitem__(value, slice(None))),
    bytes: _unknown_kind(bytes, lambda value: bytes.__getitem__(value, slice(None))),
}


def known(value: Any) -> Any:
    """Return a value that C will read, as it is now; an unknown one is lost by that."""
    if isinstance(value, Unknown):
        lose("value of a message that was made")
        return value.plain
    return value


def all_known(values: Iterable[Any]) -> tuple[Any, ...]:
    """Return values that a function in C will read, and those in lists of them, as they are now."""
    return tuple(
        type(value)(map(known, value)) if type(value) in (list, tuple) and _has(value) else known(value)
        for value in values
    )


def _has(values: Iterable[Any]) -> bool:
    return any(isinstance(value, Unknown) for value in values)


def unknown(value: Any) -> Any:
    """Return a value as one that depends on the inputs; a loss where there is none of that kind."""
    if isinstance(value, Unchanging) or value is None:
        return value
    for kind, made in _KINDS.items():
        if isinstance(value, kind) and not isinstance(value, bool):
            return made(value)
    if type(value) is bytearray:
        return _KINDS[bytes](bytes(value))
    if isinstance(value, tuple):
        parts = map(unknown, value)
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if not _is_message(type(value)):
        lose(type(value).__name__)
    return value


# Messages.

_PACKAGES: Final = ("os_ken.ofproto.", "penstock.openflow.")


def _is_message(kind: type) -> bool:
    return f"{kind.__module__}.".startswith(_PACKAGES)


class Tainted:
    """Marks the classes of messages that were made of what depends on the inputs."""

    __slots__ = ()


def taint(made: Any) -> Any:
    """Return what a program gets that has made a message, or had something done to one."""
    kind: Any = type(made)
    if made is None or is_tainted(made):
        return made
    if not _is_message(kind) or isinstance(made, int | str | bytes | tuple):
        return unknown(made)
    try:
        object.__setattr__(made, "__class__", _tainted_kind(kind))
    except TypeError:
        lose(kind.__name__)
    return made


def taint_match(message: Any) -> None:
    """Have what is said in a message of what a rule asks be unknown, whichever rules the message is about."""
    if isinstance(message, list | tuple):
        for part in message:
            taint_match(part)
        return
    if not _is_message(type(message)):
        return
    if "Match" in type(message).__name__ or "Error" in type(message).__name__:
        taint(message)
        return
    held = getattr(message, "__dict__", None) or {}
    for name in (*held, *getattr(message, "__dataclass_fields__", ())):
        taint_match(getattr(message, name))


def is_tainted(made: Any) -> bool:
    """Tell whether an object is a message made of what depends on the inputs."""
    return isinstance(made, Tainted)


def cleaned(made: Any) -> Any:
    """Return a message, and what is in it, as objects of their own classes again."""
    if isinstance(made, list | tuple):
        for part in made:
            cleaned(part)
    if is_tainted(made):
        object.__setattr__(made, "__class__", made.__class__)
    if f"{type(made).__module__}.".startswith("penstock.openflow."):
        for name in getattr(made, "__dataclass_fields__", ()):
            cleaned(getattr(made, name))
    return made


@cache
def _tainted_kind(kind: Any) -> Any:
    def look_up(self: Any, name: str) -> Any:
        if name == "__class__":
            return kind
        found = kind.__getattribute__(self, name)
        if Run.current is None or name.startswith("__") or callable(found):
            return found
        if isinstance(found, list | dict | int | str) and not isinstance(found, Unchanging):
            # C reads numbers and texts in more ways than can be told.
            lose(name)
            return found
        return unknown(found)

    changes = {"__getattribute__": look_up, "__slots__": (), "__module__": kind.__module__}
    return type(kind.__name__, (kind, Tainted), changes)
