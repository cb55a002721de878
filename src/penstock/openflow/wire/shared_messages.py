"""Messages that both versions build alike: Hello, PacketOut, and statistics (1.0) or multipart (1.3)."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from struct import Struct
from typing import Any, Final, NamedTuple, TypeVar

from penstock.errors import PenstockError
from penstock.openflow.actions import Action
from penstock.openflow.error_codes import ErrorCode, OpenFlowError
from penstock.openflow.messages import Hello, PacketOut
from penstock.openflow.stats import Desc, StatsReply, StatsRequest
from penstock.openflow.wire.ports import PORTS10, PORTS13, PortForm
from penstock.openflow.wire.primitives import (
    BODY,
    PADDING,
    Elements,
    Forms,
    MessageForm,
    Room,
    bad_length,
    padded,
    text_field,
    text_of,
)
from penstock.openflow.wire.structures10 import ACTIONS10
from penstock.openflow.wire.structures13 import ACTIONS13

HELLO_TYPE = 0

_ELEMENT = Struct("!HH")
_VERSION_BITMAP = 1
_WORD = 4
_MAX_VERSION = 255
_MAX_WORDS = (_MAX_VERSION + 1) // 32
"""A version is one byte of the header, so the bits after these can name none."""


def write_hello(message: Hello) -> bytes:
    """Return the body of a greeting."""
    if message.versions is None:
        return b""
    if not all(0 <= version <= _MAX_VERSION for version in message.versions):
        raise PenstockError(f"Hello cannot offer the versions {sorted(message.versions)}: give 0 to 255.")
    bits = sum(1 << version for version in message.versions)
    words = max(1, -(-bits.bit_length() // 32))
    octets = b"".join([(bits >> 32 * word & 0xFFFFFFFF).to_bytes(_WORD) for word in range(words)])
    length = _ELEMENT.size + len(octets)
    return _ELEMENT.pack(_VERSION_BITMAP, length) + octets + PADDING[length & 7]


def read_hello(data: bytes, xid: int) -> Hello:
    """Return a greeting of any version; of several version bitmaps the last counts."""
    versions: frozenset[int] | None = None
    at = BODY
    while len(data) - at >= _ELEMENT.size:
        kind, length = _ELEMENT.unpack_from(data, at)
        if length < _ELEMENT.size or at + padded(length) > len(data):
            break
        octets = data[at + _ELEMENT.size : at + length]
        if kind == _VERSION_BITMAP and octets and not len(octets) % _WORD:
            versions = _versions(octets)
        at += padded(length)
    return Hello(versions, data[0], xid=xid)


def _versions(octets: bytes) -> frozenset[int]:
    """Return the versions of a bitmap, which has the lowest first word first."""
    return frozenset(
        word * 32 + bit
        for word in range(min(len(octets) // _WORD, _MAX_WORDS))
        for bit in range(32)
        if int.from_bytes(octets[word * _WORD : word * _WORD + _WORD]) >> bit & 1
    )


def _form(layout: str, ports: PortForm, forms: Forms[Action]) -> MessageForm:
    struct = Struct(layout)
    start = BODY + struct.size

    def write(message: PacketOut) -> bytes:
        actions = forms.write(message.actions)
        head = struct.pack(message.buffer_id, ports.to_wire(message.in_port), len(actions))
        return head + actions + message.data

    def read(data: bytes, xid: int) -> PacketOut:
        buffer_id, in_port, length = struct.unpack_from(data, BODY)
        end = start + length
        if end > len(data) or length % 8:
            raise bad_length("The list of actions of a PacketOut", length)
        actions = forms.read(data, start, end)
        return PacketOut(buffer_id, ports.from_wire(in_port), actions, data[end:], xid=xid)

    return MessageForm(13, PacketOut, Room(start, 1), write, read)


PACKET_OUT_FORM10: Final = _form("!IHH", PORTS10, ACTIONS10)
PACKET_OUT_FORM13: Final = _form("!IIH6x", PORTS13, ACTIONS13)


_MORE = 1


class BodyForm(NamedTuple):
    """One kind of statistics, asked for or answered: its number, its possible lengths, its two functions."""

    number: int
    kind: type
    room: Room
    write: Callable[[Any], bytes]
    read: Callable[[bytes, int], Any]
    """Makes the body of all the bytes from one place to the end of the message."""


def multipart_form(
    number: int,
    kind: type[StatsRequest] | type[StatsReply],
    version: str,
    layout: str,
    bodies: tuple[BodyForm, ...],
) -> MessageForm:
    """Return the form of a message that holds one of these bodies after a header of its own."""
    head = Struct(layout)
    start = BODY + head.size
    by_kind = {body.kind: body for body in bodies}
    by_number = {body.number: body for body in bodies}

    def write(message: StatsRequest | StatsReply) -> bytes:
        form = by_kind.get(type(message.body))
        if form is None:
            name = type(message.body).__name__
            raise PenstockError(
                f"{name} is no {kind.__name__} of OpenFlow {version}: ask for something else."
            )
        return head.pack(form.number, _MORE if message.more else 0) + form.write(message.body)

    def check(data: bytes) -> None:
        which, _ = head.unpack_from(data, BODY)
        form = by_number.get(which)
        if form is None:
            text = f"There are no statistics of type {which} in OpenFlow {version}."
            raise OpenFlowError(ErrorCode.BAD_STAT, text)
        form.room.check(f"The body of a {kind.__name__} of type {which}", len(data) - start)

    def read(data: bytes, xid: int) -> StatsRequest | StatsReply:
        which, flags = head.unpack_from(data, BODY)
        return kind(by_number[which].read(data, start), bool(flags & _MORE), xid=xid)

    return MessageForm(number, kind, Room(start, 1), write, read, check)


def empty_body(number: int, kind: type) -> BodyForm:
    """Return the form of a question without details."""
    body = kind()
    return BodyForm(number, kind, Room(0), lambda _: b"", lambda *_: body)


class _Fields:
    """A value that is just some of its fields, in the order of its class."""

    def __init__(self, kind: type, layout: str, fields: tuple[str, ...]) -> None:
        self._kind = kind
        self._struct = Struct("!" + layout)
        self._getters = tuple(attrgetter(field) for field in fields)
        self.size = self._struct.size

    def write(self, value: object) -> bytes:
        return self._struct.pack(*[get(value) for get in self._getters])

    def read(self, data: bytes, at: int) -> Any:
        return self._kind(*self._struct.unpack_from(data, at))


def fields_body(number: int, kind: type, layout: str, *fields: str) -> BodyForm:
    """Return the form of a body that is just its fields, in the order of its class."""
    form = _Fields(kind, layout, fields)
    return BodyForm(number, kind, Room(form.size), form.write, form.read)


def fields_array(number: int, kind: type, field: str, row: type, layout: str, *fields: str) -> BodyForm:
    """Return the form of a body that is a list of rows which are just their fields."""
    form = _Fields(row, layout, fields)
    return array_body(number, kind, field, form.size, form.write, form.read)


T = TypeVar("T")


def _joined(field: str, write: Callable[[T], bytes]) -> Callable[[object], bytes]:
    """Return what writes the values in a field of a body one after the other."""
    values: Callable[[Any], tuple[T, ...]] = attrgetter(field)
    return lambda body: b"".join([write(value) for value in values(body)])


def array_body(
    number: int,
    kind: type,
    field: str,
    size: int,
    write: Callable[[T], bytes],
    read: Callable[[bytes, int], T],
) -> BodyForm:
    """Return the form of a body that is a list of values of one size."""

    def read_all(data: bytes, at: int) -> Any:
        return kind(tuple([read(data, place) for place in range(at, len(data), size)]))

    return BodyForm(number, kind, Room(0, size), _joined(field, write), read_all)


def list_body(
    number: int,
    kind: type,
    field: str,
    elements: Elements,
    write: Callable[[T], bytes],
    read: Callable[[bytes, int, int], T],
    step: int = 8,
) -> BodyForm:
    """Return the form of a body that is a list of values which tell their lengths."""

    def read_all(data: bytes, at: int) -> Any:
        return kind(elements.read(data, at, len(data), read))

    return BodyForm(number, kind, Room(0, step), _joined(field, write), read_all)


_DESC = Struct("!256s256s256s32s256s")


def _write_desc(body: Desc) -> bytes:
    long = [text_field(text, 256) for text in (body.manufacturer, body.hardware, body.software)]
    return _DESC.pack(*long, text_field(body.serial, 32), text_field(body.datapath, 256))


def _read_desc(data: bytes, at: int) -> Desc:
    return Desc(*map(text_of, _DESC.unpack_from(data, at)))


DESC_FORM = BodyForm(0, Desc, Room(_DESC.size), _write_desc, _read_desc)
"""Both versions describe a switch alike."""
