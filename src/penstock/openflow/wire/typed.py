"""Lists of actions and of instructions: each element tells its type and its length, a multiple of eight.

An element's first four bytes (type and length) are one 32-bit number here.  Most have one length
only, so one look-up finds the reader and proves the length; what is not found is either one of the
few of varying length or wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from struct import Struct
from typing import Any, Generic, NamedTuple, TypeVar

from penstock.errors import PenstockError
from penstock.openflow.error_codes import ErrorCode, OpenFlowError
from penstock.openflow.wire.octets import bad_length, in_eights

Reader = Callable[[bytes, int, int], Any]
"""Makes an element of the bytes between two places."""

T = TypeVar("T")

_LEAST = 8
_VENDOR = Struct("!HHI")
_VENDOR_TYPE = 0xFFFF


class Form(NamedTuple):
    """An element on the wire: its number, its length (0 where it varies) and how it is written and read."""

    number: int
    length: int
    kind: type
    write: Callable[[Any], bytes]
    read: Reader


def plain(number: int, kind: type[Any], layout: str = "4x", *fields: str) -> Form:
    """Return the form of an element that is just its fields, in this layout after type and length."""
    pack, unpack = Struct("!HH" + layout).pack, Struct("!4x" + layout).unpack_from
    length = Struct("!4x" + layout).size
    if not fields:
        element, octets = kind(), pack(number, length)
        return Form(number, length, kind, lambda _: octets, lambda *_: element)
    values: Callable[[Any], Any] = attrgetter(*fields)

    def write_one(element: object) -> bytes:
        return pack(number, length, values(element))

    def write_several(element: object) -> bytes:
        return pack(number, length, *values(element))

    write = write_one if len(fields) == 1 else write_several
    return Form(number, length, kind, write, lambda data, at, _: kind(*unpack(data, at)))


def vendor(kind: type) -> Form:
    """Return the form of a vendor's element, kept as the bytes after the vendor's number."""

    def write(element: Any) -> bytes:
        body = in_eights(element.body, kind.__name__)
        return _VENDOR.pack(_VENDOR_TYPE, _VENDOR.size + len(body), element.experimenter) + body

    def read(data: bytes, at: int, end: int) -> Any:
        return kind(_VENDOR.unpack_from(data, at)[2], data[at + _VENDOR.size : end])

    return Form(_VENDOR_TYPE, 0, kind, write, read)


class Forms(Generic[T]):
    """All forms of one kind of list in one version, and the two refusals there are for it.

    Where an element has both an unknown type and a length that cannot be, `length_first` says
    which of the two is told, as Open vSwitch does.
    """

    def __init__(
        self, what: str, unknown: ErrorCode, bad_len: ErrorCode, *forms: Form, length_first: bool = False
    ) -> None:
        self._what = what
        self._unknown = unknown
        self._bad_len = bad_len
        self._length_first = length_first
        self._known = frozenset(form.number for form in forms)
        self._writers = {form.kind: form.write for form in forms}
        self._readers = {form.number << 16 | form.length: form.read for form in forms if form.length}
        self._varying = {form.number: form.read for form in forms if not form.length}

    def write(self, elements: tuple[T, ...]) -> bytes:
        """Return a list, one element after the other."""
        writers = self._writers
        parts = []
        for element in elements:
            write = writers.get(type(element))
            if write is None:
                raise PenstockError(f"{type(element).__name__} is no {self._what}: use another.")
            parts.append(write(element))
        return b"".join(parts)

    def read(self, data: bytes, at: int, end: int) -> tuple[T, ...]:
        """Return the elements that fill these bytes."""
        elements: list[T] = []
        readers = self._readers
        while at < end:
            if end - at < _LEAST:
                raise bad_length(f"An {self._what}", end - at, self._bad_len)
            word = int.from_bytes(data[at : at + 4])
            stop = at + (word & 0xFFFF)
            read = readers.get(word)
            if read is None or stop > end:
                read = self._varying_reader(word >> 16, stop - at, end - at)
            elements.append(read(data, at, stop))
            at = stop
        return tuple(elements)

    def _varying_reader(self, number: int, length: int, left: int) -> Reader:
        """Return the reader of an element whose length varies, or refuse the element."""
        sound = _LEAST <= length <= left and not length % 8
        if number not in self._known and (sound or not self._length_first):
            raise OpenFlowError(self._unknown, f"{number} is the type of no {self._what}.")
        read = self._varying.get(number)
        if read is None or not sound:
            raise bad_length(f"An {self._what} of type {number}", length, self._bad_len)
        return read
