"""What all parts of the codec are made of: bytes, padding, frames, forms of messages, lists of elements.

A *frame* is one message on a byte stream.  A *form* says how one message is written and read: its number, its
length, and the two functions for what follows the header.  Lists of actions and of instructions have
elements that tell their type and their length, a multiple of eight.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from struct import Struct
from typing import Any, Final, Generic, NamedTuple, TypeVar

from penstock.errors import PenstockError
from penstock.openflow.error_codes import ErrorCode, OpenFlowError
from penstock.openflow.messages import (
    EchoReply,
    EchoRequest,
    Error,
    FeaturesRequest,
    GetConfigReply,
    GetConfigRequest,
    OpenFlowMessage,
    SetConfig,
)

T = TypeVar("T")

PADDING: Final = tuple(bytes(-length % 8) for length in range(8))
"""The zero bytes that bring a length up to a multiple of eight, by the length's last three bits."""


def padded(length: int) -> int:
    """Return a length brought up to a multiple of eight."""
    return length + 7 & ~7


def bad_length(what: str, length: int, refusal: ErrorCode = ErrorCode.BAD_LEN) -> OpenFlowError:
    """Return the refusal of something whose length is wrong."""
    return OpenFlowError(refusal, f"{what} cannot be {length} bytes long.")


def text_field(text: str, size: int) -> bytes:
    """Return a name as a field of so many bytes, zero bytes after it."""
    try:
        octets = text.encode("latin-1")
    except UnicodeEncodeError:
        raise PenstockError(f"{text!r} cannot be written: OpenFlow names are made of single bytes.") from None
    if len(octets) > size or 0 in octets:
        raise PenstockError(
            f"{text!r} cannot be written: give a name of at most {size} bytes, none of them 0."
        )
    return octets.ljust(size, b"\0")


def text_of(field: bytes) -> str:
    """Return the name in a field: what stands before the first zero byte, whatever bytes they are."""
    return field.partition(b"\0")[0].decode("latin-1")


def in_eights(octets: bytes, what: str) -> bytes:
    """Return bytes that must fill whole words of eight, or say that they do not."""
    if len(octets) % 8:
        raise PenstockError(f"The body of {what} has {len(octets)} bytes: pad it to a multiple of 8.")
    return octets


@dataclass(frozen=True, slots=True)
class Elements:
    """A list whose elements each tell their length, in two bytes at `length_at`."""

    what: str
    least: int
    length_at: int = 0
    step: int = 1
    pad: bool = False
    """Whether each element is followed by bytes, not counted in its length, up to a multiple of 8."""
    refusal: ErrorCode = ErrorCode.BAD_LEN

    def read(self, data: bytes, at: int, end: int, one: Callable[[bytes, int, int], T]) -> tuple[T, ...]:
        """Return what `one` makes of each element, given where it starts and ends."""
        values: list[T] = []
        least, length_at, step, pad = self.least, self.length_at, self.step, self.pad
        while at < end:
            left = end - at
            if left < least:
                raise bad_length(self.what, left, self.refusal)
            length = data[at + length_at] << 8 | data[at + length_at + 1]
            taken = padded(length) if pad else length
            if length < least or taken > left or length % step:
                raise bad_length(self.what, length, self.refusal)
            values.append(one(data, at, at + length))
            at += taken
        return tuple(values)


HEADER: Final = Struct("!BBHI")
"""Version, type, length of the whole message, transaction."""

MAX_LENGTH: Final = 0xFFFF


class Framer:
    """Splits what a socket delivers into whole messages.

    Between two calls it holds the beginning of at most one message, so never more than the 65,535
    bytes a message can have.  A header that claims fewer than eight bytes cannot be stepped over:
    the messages before it are handed out, then the stream is `broken` and feeding it raises.
    """

    def __init__(self) -> None:
        self._held = bytearray()
        self.broken: OpenFlowError | None = None

    @property
    def held(self) -> int:
        """How many bytes of an unfinished message are waiting for the rest."""
        return len(self._held)

    def feed(self, data: bytes) -> list[bytes]:
        """Take what arrived; return the messages that are whole now."""
        if self.broken is not None:
            raise self.broken
        held = self._held
        held += data
        whole: list[bytes] = []
        at = 0
        while len(held) - at >= HEADER.size:
            length = held[at + 2] << 8 | held[at + 3]
            if length < HEADER.size:
                self.broken = bad_length("A message", length)
                held.clear()
                if not whole:
                    raise self.broken
                return whole
            if len(held) - at < length:
                break
            whole.append(bytes(held[at : at + length]))
            at += length
        del held[:at]
        return whole


BODY = HEADER.size
"""Where a message's body starts."""


class Room(NamedTuple):
    """The lengths something may have: the least, or longer by steps (0: never longer)."""

    least: int
    step: int = 0

    def check(self, what: str, length: int) -> None:
        """Refuse a length that is not allowed."""
        extra = length - self.least
        if extra and (extra < 0 or not self.step or extra % self.step):
            raise bad_length(what, length)


class MessageForm(NamedTuple):
    """One kind of message: its type on the wire, its possible lengths, its writer and its reader."""

    number: int
    kind: type[OpenFlowMessage]
    room: Room
    write: Callable[[Any], bytes]
    """Makes the body."""
    read: Callable[[bytes, int], OpenFlowMessage]
    """Makes the message of all its bytes and its transaction number."""
    check: Callable[[bytes], None] | None = None
    """Refuses a message whose length does not go with what its fixed part says."""


def fields_form(number: int, kind: type[OpenFlowMessage], layout: str, *fields: str) -> MessageForm:
    """Return the form of a message that is just its fields (two or more), in the order of its class."""
    struct = Struct("!" + layout)
    values: Callable[[Any], tuple[int, ...]] = attrgetter(*fields)
    make: Callable[..., OpenFlowMessage] = kind

    def write(message: OpenFlowMessage) -> bytes:
        return struct.pack(*values(message))

    def read(data: bytes, xid: int) -> OpenFlowMessage:
        return make(*struct.unpack_from(data, BODY), xid=xid)

    return MessageForm(number, kind, Room(BODY + struct.size), write, read)


def empty_form(number: int, kind: type[OpenFlowMessage]) -> MessageForm:
    """Return the form of a message without a body."""
    return MessageForm(number, kind, Room(BODY), lambda _: b"", lambda _, xid: kind(xid=xid))


def _echo_form(number: int, kind: type[EchoRequest] | type[EchoReply]) -> MessageForm:
    return MessageForm(
        number,
        kind,
        Room(BODY, 1),
        lambda message: message.data,
        lambda data, xid: kind(data[BODY:], xid=xid),
    )


_ERROR = Struct("!HH")


def _write_error(message: Error) -> bytes:
    return _ERROR.pack(message.type, message.code) + message.data


def _read_error(data: bytes, xid: int) -> Error:
    kind, code = _ERROR.unpack_from(data, BODY)
    return Error(kind, code, data[BODY + _ERROR.size :], xid=xid)


SHARED_FORMS = (
    MessageForm(1, Error, Room(BODY + _ERROR.size, 1), _write_error, _read_error),
    _echo_form(2, EchoRequest),
    _echo_form(3, EchoReply),
    empty_form(5, FeaturesRequest),
    empty_form(7, GetConfigRequest),
    fields_form(8, GetConfigReply, "HH", "flags", "miss_send_len"),
    fields_form(9, SetConfig, "HH", "flags", "miss_send_len"),
)
"""What both versions write alike, the greeting aside."""


Reader = Callable[[bytes, int, int], Any]
"""Makes an element of the bytes between two places."""


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
