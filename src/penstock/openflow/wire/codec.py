"""From a message to its bytes and back: the header, and the form that each version has for each message."""

from __future__ import annotations

import struct
from typing import Final

from penstock.errors import PenstockError
from penstock.openflow.error_codes import ErrorCode, OpenFlowError
from penstock.openflow.messages import (
    V10,
    V13,
    BarrierReply,
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
from penstock.openflow.wire.forms import MessageForm
from penstock.openflow.wire.framing import HEADER, MAX_LENGTH
from penstock.openflow.wire.hello import HELLO_TYPE, read_hello, write_hello
from penstock.openflow.wire.octets import bad_length
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
