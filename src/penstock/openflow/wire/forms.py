"""How whole messages are described: number, length, and the two functions that write and read the rest.

A reader is only called with a message of a length its form allows, so it never looks for the
fixed part in vain; what varies in length it has to check itself.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from struct import Struct
from typing import Any, NamedTuple

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
from penstock.openflow.wire.framing import HEADER
from penstock.openflow.wire.octets import bad_length

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
