"""From a message to its bytes and back: the header, a form for each message, what an error quotes of one."""

from __future__ import annotations

import struct
from collections import deque
from dataclasses import replace
from typing import Final

from penstock.errors import PenstockError
from penstock.openflow.error_codes import ErrorCode, OpenFlowError
from penstock.openflow.messages import (
    V10,
    V13,
    BarrierReply,
    Error,
    FeaturesReply,
    FlowRemoved,
    GetAsyncReply,
    GetConfigReply,
    Hello,
    OpenFlowMessage,
    PacketIn,
    PortStatus,
    QueueGetConfigReply,
    RoleReply,
)
from penstock.openflow.stats import StatsReply
from penstock.openflow.wire.primitives import HEADER, MAX_LENGTH, MessageForm, bad_length
from penstock.openflow.wire.shared_messages import HELLO_TYPE, read_hello, write_hello
from penstock.openflow.wire.v10 import FORMS10
from penstock.openflow.wire.v13 import FORMS13

_NAMES: Final = {V10: "1.0", V13: "1.3"}
_FORMS: Final[dict[int, tuple[MessageForm, ...]]] = {V10: FORMS10, V13: FORMS13}
_FROM_SWITCHES: Final = frozenset(
    {
        BarrierReply,
        FeaturesReply,
        FlowRemoved,
        GetAsyncReply,
        GetConfigReply,
        PacketIn,
        PortStatus,
        QueueGetConfigReply,
        RoleReply,
        StatsReply,
    }
)
_BY_KIND: Final = {version: {form.kind: form for form in forms} for version, forms in _FORMS.items()}
_BY_NUMBER: Final = {version: {form.number: form for form in forms} for version, forms in _FORMS.items()}


def encode(message: OpenFlowMessage, version: int) -> bytes:
    """Return a message's bytes, header included, in a version of the protocol (1 or 4)."""
    kind = type(message)
    try:
        if isinstance(message, Hello):
            number, body = HELLO_TYPE, write_hello(message)
        else:
            form = _form_of(kind, version)
            number, body = form.number, form.write(message)
        length = HEADER.size + len(body)
        if length > MAX_LENGTH:
            text = f"{kind.__name__} would take {length} bytes: send several of at most {MAX_LENGTH}."
            raise PenstockError(text)
        return HEADER.pack(version, number, length, message.xid) + body
    except (struct.error, OverflowError) as error:
        text = f"A number in {kind.__name__} does not fit its place on the wire: {error}."
        raise PenstockError(text) from None


def _form_of(kind: type[OpenFlowMessage], version: int) -> MessageForm:
    forms = _BY_KIND.get(version)
    if forms is None:
        raise PenstockError(f"OpenFlow version {version} is not spoken here: use 1 (1.0) or 4 (1.3).")
    form = forms.get(kind)
    if form is None:
        raise PenstockError(f"OpenFlow {_NAMES[version]} has no message {kind.__name__}: send another.")
    return form


def decode(data: bytes, version: int | None = None, *, at_switch: bool = False) -> OpenFlowMessage:
    """Return the message in these bytes; whatever is wrong with them raises `OpenFlowError`.

    The version is the header's; where one is given, only that one and a greeting of any is taken.
    A switch does not look into what only switches send: `at_switch` refuses such a message as of a
    bad type, if at least its length is right.
    """
    if len(data) < HEADER.size:
        raise bad_length("A message", len(data))
    said, number, length, xid = HEADER.unpack_from(data)
    if length != len(data):
        raise OpenFlowError(ErrorCode.BAD_LEN, f"The message says it has {length} bytes but has {len(data)}.")
    if number == HELLO_TYPE:
        return read_hello(data, xid)
    forms = _BY_NUMBER.get(said)
    if forms is None or (version is not None and said != version):
        wanted = "1 or 4" if version is None else version
        raise OpenFlowError(
            ErrorCode.BAD_VERSION, f"The message is of version {said}; {wanted} is spoken here."
        )
    form = forms.get(number)
    if form is None:
        raise OpenFlowError(
            ErrorCode.BAD_TYPE, f"There is no message of type {number} in OpenFlow {_NAMES[said]}."
        )
    if length != form.room.least:
        form.room.check(f"A {form.kind.__name__}", length)
    if form.check is not None:
        form.check(data)
    if at_switch and form.kind in _FROM_SWITCHES:
        raise OpenFlowError(ErrorCode.BAD_TYPE, f"Only a switch sends a {form.kind.__name__}.")
    return form.read(data, xid)


_ERROR_FIELDS: Final = 4
MOST_QUOTED: Final = MAX_LENGTH - HEADER.size - _ERROR_FIELDS
"""How many bytes fit into an error message beside its own fields."""

_KEPT: Final = 512
"""How many messages of a session are kept: more than wait to be read by a switch (see
`_fuzz.live_harness`)."""


def quoted(data: bytes) -> bytes:
    """Return what an error quotes of a message's bytes."""
    return data[:MOST_QUOTED]


def quotation(message: OpenFlowMessage, version: int) -> bytes:
    """Return what an error quotes of a message; nothing of one that the version cannot write."""
    try:
        return quoted(encode(message, version))
    except PenstockError:
        return b""


def refusal_of(data: bytes, refused: OpenFlowError, version: int) -> Error:
    """Return the answer to bytes that could not be read."""
    kind, code = refused.refusal.code(version)
    return Error(kind, code, quoted(data), xid=int.from_bytes(data[4:8]))


class SentBytes:
    """The last messages that a peer sent, as it wrote them."""

    def __init__(self, version: int) -> None:
        self._version = version
        self._kept: deque[bytes] = deque(maxlen=_KEPT)

    def keep(self, data: bytes) -> None:
        """Keep the bytes of a message that was read."""
        self._kept.append(data)

    def in_error(self, error: Error) -> Error:
        """Return an error with what the peer wrote in place of the same message written anew."""
        if (error.type, error.code) == ErrorCode.HELLO_INCOMPATIBLE.code(self._version):
            return error
        for data in reversed(self._kept):
            if data[1:2] == error.data[1:2] and data[4:8] == error.data[4:8] and self._is(data, error.data):
                return replace(error, data=quoted(data))
        return error

    def _is(self, data: bytes, rewritten: bytes) -> bool:
        return data == rewritten or quotation(decode(data), self._version) == rewritten
