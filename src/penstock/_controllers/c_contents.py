"""The content of objects that keep it in C, as parts that can be read and written back.

`contents` knows what Python itself shows: attributes, slots, dictionaries, lists.  The types here
hide theirs, but have functions by which it can be read and put back in place: a buffer's text and
position, a lock's being locked, how far an iterator over a list has come.  What has no such
function (a generator, a file, a compressor) is left to `snapshot`, which calls it opaque.
"""

from __future__ import annotations

import array
import ctypes
import decimal
import functools
import gc
import io
import logging
import mmap
import operator
import os
import queue
import re
import struct
import threading
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from penstock._controllers.contents import Constant, Layout, Part, lay_names, lay_sequence, same_dict
from penstock._controllers.outside import Settings

_LARGEST_MAP: Final = 1 << 20
"""How many bytes of mapped memory are saved."""


def _plain(
    read: Callable[[Any], Any], write: Callable[[Any, Any], None], lay: Any = None, same: Any = None
) -> Part:
    """Return a part whose content is compared by equality and written as its representation."""
    return Part(
        read, same or (lambda value, content: bool(read(value) == content)), write, lay or _lay_representation
    )


def _lay_representation(_: Any, content: Any, _constant: Constant) -> Layout:
    return [repr(content)], []


# Attributes that are found in an unusual way.


def _attributes_of_thread(value: threading.local) -> dict[str, Any]:
    return value.__dict__


_THREAD_LOCAL: Final = Part(
    lambda value: dict(_attributes_of_thread(value)),
    lambda value, content: same_dict(_attributes_of_thread(value), content),
    lambda value, content: (value.__dict__.clear(), value.__dict__.update(content))[0],
    lay_names,
)

NOT_OF_LOGGER: Final = frozenset({"parent", "root", "manager", "_cache"})
"""What a logger shares with all others, or remembers only to be fast."""


def _read_logger(value: logging.Logger) -> dict[str, Any]:
    return {name: item for name, item in vars(value).items() if name not in NOT_OF_LOGGER}


def _write_logger(value: logging.Logger, content: dict[str, Any]) -> None:
    variables = vars(value)
    for name in [name for name in variables if name not in content and name not in NOT_OF_LOGGER]:
        del variables[name]
    variables.update(content)
    value.manager._clear_cache()  # type: ignore[attr-defined]


_LOGGER: Final = Part(
    _read_logger,
    lambda value, content: same_dict(_read_logger(value), content),
    _write_logger,
    lay_names,
)


# Buffers.


def _read_buffer(value: Any) -> tuple[Any, ...]:
    return () if value.closed else (value.getvalue(), value.tell())


def _write_buffer(value: Any, content: tuple[Any, ...]) -> None:
    if not content or value.closed:
        # What was closed cannot be opened again; only what is written differently is noticed.
        return
    value.seek(0)
    value.truncate()
    value.write(content[0])
    value.seek(content[1])


def _read_map(value: mmap.mmap) -> tuple[Any, ...]:
    if value.closed or len(value) > _LARGEST_MAP:
        return ()
    return value[:], value.tell()


def _write_map(value: mmap.mmap, content: tuple[Any, ...]) -> None:
    if content and not value.closed:
        value[:] = content[0]
        value.seek(content[1])


def _write_ctypes(value: Any, content: bytes) -> None:
    ctypes.memmove(ctypes.addressof(value), content, len(content))


_CDATA: Final = ctypes.c_int.__mro__[-2]


class _Structure(ctypes.Structure):
    _fields_ = (("number", ctypes.c_int),)


class _Pair(NamedTuple):
    one: int


C_FIELD: Final = type(_Structure.number)
TUPLE_FIELD: Final = type(vars(_Pair)["one"])
"""The types of what stands for the fields of structures and of named tuples, in their classes."""


def is_flat(kind: Any) -> bool:
    """Tell whether a type of ctypes has no pointers and no Python objects in it."""
    if issubclass(kind, ctypes.Array):
        return is_flat(kind._type_)
    if issubclass(kind, ctypes.Structure | ctypes.Union):
        return all(is_flat(field[1]) for field in getattr(kind, "_fields_", ()))
    return getattr(kind, "_type_", "P") in tuple("cbBhHiIlLqQfdgv?u")


# Locks.

_COUNT: Final = re.compile(r"count=(\d+)")


def _times_held(value: Any) -> int:
    found = _COUNT.search(repr(value))
    return int(found[1]) if found else 0


def _write_lock(value: Any, content: bool) -> None:
    if value.locked() and not content:
        value.release()
    elif content and not value.locked():
        value.acquire(blocking=False)


def _write_rlock(value: Any, content: int) -> None:
    while _times_held(value) > content and value._is_owned():
        value.release()
    while _times_held(value) < content and value.acquire(blocking=False):
        pass


# Others.

_DECIMAL: Final = ("prec", "rounding", "Emin", "Emax", "capitals", "clamp")


def _read_decimal(value: decimal.Context) -> tuple[Any, ...]:
    kept = [getattr(value, name) for name in _DECIMAL]
    signals = [
        sorted(kind.__name__ for kind, on in each.items() if on) for each in (value.flags, value.traps)
    ]
    return (*kept, *map(tuple, signals))


def _write_decimal(value: decimal.Context, content: tuple[Any, ...]) -> None:
    for name, item in zip(_DECIMAL, content, strict=False):
        setattr(value, name, item)
    for signals, on in zip((value.flags, value.traps), content[len(_DECIMAL) :], strict=True):
        for kind in list(signals):
            signals[kind] = kind.__name__ in on


def _read_simple_queue(value: Any) -> list[Any]:
    items = [value.get_nowait() for _ in range(value.qsize())]
    for item in items:
        value.put(item)
    return items


def _write_simple_queue(value: Any, content: list[Any]) -> None:
    for _ in range(value.qsize()):
        value.get_nowait()
    for item in content:
        value.put(item)


def _same_items(value: Any, content: list[Any]) -> bool:
    items = _read_simple_queue(value)
    return len(items) == len(content) and all(a is b for a, b in zip(items, content, strict=True))


def _read_partial(value: functools.partial[Any]) -> tuple[Any, ...]:
    return value.func, value.args, value.keywords, value.__dict__


LOST: Final[set[str]] = set()
"""The types of iterators that were at their end, for good, when they were to be put back to before that."""

# Iterators: what they go through, and how far they have come.


def _read_position(value: Any) -> tuple[Any, ...]:
    """Return what an iterator goes through and its position; nothing once it is at its end."""
    reduced = value.__reduce__()
    return (reduced[1][0], reduced[2]) if len(reduced) > 2 else ()


def _write_position(value: Any, content: tuple[Any, ...]) -> None:
    if not content:
        for _ in value:
            pass
    elif _read_position(value):
        value.__setstate__(content[1])
    else:
        LOST.add(f"{type(value).__module__}.{type(value).__qualname__}")


def _same_position(value: Any, content: tuple[Any, ...]) -> bool:
    now = _read_position(value)
    return len(now) == len(content) and (not now or (now[0] is content[0] and now[1] == content[1]))


def _read_inner(value: Any) -> tuple[Any, ...]:
    """Return the iterators that another one takes from, and is nothing without."""
    inner = value.__reduce__()[1]
    return tuple(inner)


def _same_inner(value: Any, content: tuple[Any, ...]) -> bool:
    now = _read_inner(value)
    return len(now) == len(content) and all(a is b for a, b in zip(now, content, strict=True))


def _leave(_value: Any, _content: Any) -> None:
    """Write nothing: what is inside is put back by itself."""


POSITION: Final = Part(_read_position, _same_position, _write_position, lay_sequence)

_POSITIONS: Final = tuple(
    type(made)
    for made in (
        *(iter([]), reversed([]), iter(()), iter(""), iter("é"), iter(b""), iter(bytearray())),
        *(iter(range(0)), iter(array.array("i"))),
    )
)
_WRAPPERS: Final = (zip, map, filter)


def _write_environment(value: Any, content: dict[Any, Any]) -> None:
    for key in [key for key in value if value.encodekey(key) not in content]:
        del value[key]
    for key, item in content.items():
        if value._data.get(key) != item:
            value[value.decodekey(key)] = value.decodevalue(item)


C_CONTAINERS: Final[tuple[tuple[type | tuple[type, ...], Part], ...]] = (
    (threading.local, _THREAD_LOCAL),
    (Settings, _plain(lambda value: value.read(), lambda value, content: value.write(content))),
    (
        type(os.environ),
        _plain(
            lambda value: dict(value._data),
            _write_environment,
            same=lambda value, content: bool(value._data == content),
        ),
    ),
    (logging.Logger, _LOGGER),
    ((io.StringIO, io.BytesIO), _plain(_read_buffer, _write_buffer)),
    (mmap.mmap, _plain(_read_map, _write_map)),
    (type(threading.Lock()), _plain(lambda value: value.locked(), _write_lock)),
    (type(threading.RLock()), _plain(_times_held, _write_rlock)),
    (decimal.Context, _plain(_read_decimal, _write_decimal)),
    (
        queue.SimpleQueue,
        Part(_read_simple_queue, _same_items, _write_simple_queue, lay_sequence),
    ),
    (_POSITIONS, POSITION),
    (_WRAPPERS, Part(_read_inner, _same_inner, _leave, lay_sequence)),
    (
        functools.partial,
        Part(
            _read_partial,
            lambda value, content: all(a is b for a, b in zip(_read_partial(value), content, strict=True)),
            _leave,
            lay_sequence,
        ),
    ),
)
"""The types, the more special before the more general."""

CTYPES: Final = _plain(bytes, _write_ctypes)


def c_part(kind: type) -> Part | None:
    """Return the part of what a type keeps in C, where that is known."""
    if issubclass(kind, _CDATA):
        return CTYPES if is_flat(kind) else None
    return next((part for bases, part in C_CONTAINERS if issubclass(kind, bases)), None)


def _referents(value: Any) -> tuple[Any, ...]:
    return tuple(gc.get_referents(value))


IMMUTABLE: Final[Mapping[type, Callable[[Any], Iterable[Any]]]] = {
    slice: lambda value: (value.start, value.stop, value.step),
    memoryview: lambda value: _seen_through(value),
    types.MappingProxyType: _referents,
    type({}.keys()): lambda value: (value.mapping,),
    type({}.values()): lambda value: (value.mapping,),
    type({}.items()): lambda value: (value.mapping,),
    re.Pattern: lambda value: (value.pattern, value.flags),
    struct.Struct: lambda value: (value.format,),
    property: lambda value: (value.fget, value.fset, value.fdel, value.__doc__),
    staticmethod: lambda value: (value.__func__, _own_attributes(value)),
    classmethod: lambda value: (value.__func__, _own_attributes(value)),
    re.Match: lambda value: (value.re.pattern, value.string, value.regs),
    operator.itemgetter: lambda value: value.__reduce__()[1],
    operator.attrgetter: lambda value: value.__reduce__()[1],
    operator.methodcaller: lambda value: value.__reduce__()[1],
}
"""Types whose objects cannot be changed themselves, and what they lead to."""


_COPIED: Final = frozenset(
    {"__module__", "__name__", "__qualname__", "__doc__", "__wrapped__", "__annotations__"}
)
"""What a method that is wrapped has of the function inside."""


def _own_attributes(value: Any) -> Any:
    return value.__dict__ if vars(value).keys() - _COPIED else None


def _seen_through(value: memoryview) -> tuple[Any, ...]:
    try:
        return value.obj, value.format, value.shape, value.strides, value.tobytes()
    except ValueError:
        return ("released",)
