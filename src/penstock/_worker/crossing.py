"""What crosses from a worker to us: plain values, in frames.

The worker shares its memory with the program under test, so what it says is a stranger's.  Values are
pickled, since they are the engines' own, but only values can be made of them here: frozen dataclasses, named
tuples and enumerations of Penstock's, and Python's own containers.  No function is called, and no module of
anybody else's imported.  What cannot cross, an object of the user's in an event, say, becomes its text.
"""

from __future__ import annotations

import importlib
import io
import os
import pathlib
import pickle
import struct
from dataclasses import dataclass, is_dataclass
from enum import Enum
from typing import Any, Final

from penstock._verdict.verdict import Bound

_LENGTH: Final = struct.Struct("!Q")
MOST_BYTES: Final = 1 << 30
"""How long a frame may be."""
_LONGEST_TEXT: Final = 2000

_FROM: Final = (
    *("penstock._check.", "penstock._engine.", "penstock._explain.", "penstock._explore.search"),
    *("penstock._fuzz.", "penstock._minimize.", "penstock._replay", "penstock._results", "penstock._story."),
    *("penstock._trace.", "penstock._verdict.", "penstock._verify.", "penstock._worker."),
    *("penstock._scenario.options", "penstock._controllers.held"),
    *("penstock._campaign.job", "penstock._world.", "penstock.openflow.", "penstock.packet."),
)
"""The modules whose values cross."""

_OTHERS: Final[dict[tuple[str, str], type]] = {
    ("pathlib", "PosixPath"): pathlib.PosixPath,
    ("pathlib._local", "PosixPath"): pathlib.PosixPath,
    ("builtins", "set"): set,
    ("builtins", "frozenset"): frozenset,
    ("builtins", "bytearray"): bytearray,
    ("builtins", "complex"): complex,
}


@dataclass(frozen=True, slots=True)
class Text:
    """What is left of a value that cannot cross."""

    text: str

    def __str__(self) -> str:
        return self.text


class Garbled(Exception):
    """What a worker said makes no sense."""


def _is_value(kind: type) -> bool:
    if not kind.__module__.startswith(_FROM):
        return False
    is_named_tuple = issubclass(kind, tuple) and hasattr(kind, "_fields")
    return is_dataclass(kind) or is_named_tuple or issubclass(kind, Enum | Bound)


class _Pickler(pickle.Pickler):
    def reducer_override(self, value: Any) -> Any:
        """Have values pickled as ever, and all else as its text."""
        kind = value if isinstance(value, type) else type(value)
        if isinstance(value, Enum) and _is_value(kind):
            # Before Python 3.11.4 their own way is a call of `getattr`, which does not cross.
            return kind, (value.value,)
        if _is_value(kind) or kind in _OTHERS.values():
            return NotImplemented
        return Text, (_text_of(value),)


def _text_of(value: object) -> str:
    try:
        return str(value)[:_LONGEST_TEXT]
    except Exception as error:
        return f"a {type(value).__name__} that cannot be told ({type(error).__name__})"


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """Return a class of values."""
        if (other := _OTHERS.get((module, name))) is not None:
            return other
        # Our own modules are imported where only the worker has needed them so far.
        found: Any = importlib.import_module(module) if module.startswith(_FROM) else None
        for part in name.split("."):
            found = getattr(found, part, None)
        if not isinstance(found, type) or not _is_value(found) or found.__module__ != module:
            raise Garbled(f"{module}.{name} is no value")
        return found


def packed(value: object) -> bytes:
    """Return a frame with a value in it."""
    file = io.BytesIO()
    file.write(_LENGTH.pack(0))
    _Pickler(file, protocol=5).dump(value)
    length = file.tell() - _LENGTH.size
    file.seek(0)
    file.write(_LENGTH.pack(length))
    return file.getvalue()


def packed_alone(value: object) -> bytes:
    """Return a value without a frame around it, for a line that keeps its messages apart."""
    return packed(value)[_LENGTH.size :]


def unpacked(data: bytes) -> Any:
    """Return the value of a frame."""
    try:
        return _Unpickler(io.BytesIO(data)).load()
    except Garbled:
        raise
    except Exception as error:
        raise Garbled(f"{type(error).__name__}: {error}") from None


def send(file: int, value: object) -> None:
    """Write a value to a pipe, whole."""
    data = memoryview(packed(value))
    while data:
        data = data[os.write(file, data) :]


class Frames:
    """What has been read from a pipe so far, cut into frames."""

    def __init__(self) -> None:
        self._data = bytearray()

    def add(self, data: bytes) -> list[Any]:
        """Return the values that are whole now."""
        self._data += data
        found = []
        while len(self._data) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._data)
            if length > MOST_BYTES:
                raise Garbled(f"a frame of {length} bytes")
            end = _LENGTH.size + length
            if len(self._data) < end:
                break
            found.append(unpacked(bytes(self._data[_LENGTH.size : end])))
            del self._data[:end]
        return found
