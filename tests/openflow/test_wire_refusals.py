"""Bytes that make no message are refused, each with the error a switch answers and a sentence."""

from __future__ import annotations

from functools import partial
from struct import pack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.openflow.message_strategies import MESSAGES

from penstock.openflow.error_codes import ErrorCode, OpenFlowError
from penstock.openflow.messages import V10, V13, Hello, OpenFlowMessage, PacketIn
from penstock.openflow.wire import decode, encode


def message(version: int, number: int, body: bytes, length: int | None = None) -> bytes:
    return pack("!BBHI", version, number, 8 + len(body) if length is None else length, 7) + body


def oxm(
    field: int, value: bytes, *, masked: bool = False, length: int | None = None, cls: int = 0x8000
) -> bytes:
    return pack("!HBB", cls, field << 1 | masked, len(value) if length is None else length) + value


def match13(*fields: bytes, kind: int = 1, length: int | None = None) -> bytes:
    body = b"".join(fields)
    size = 4 + len(body)
    return pack("!HH", kind, size if length is None else length) + body + bytes(-size % 8)


def flow_mod13(match: bytes, instructions: bytes = b"") -> bytes:
    head = pack("!QQBBHHHIIIHxx", 0, 0, 0, 0, 0, 0, 5, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    return message(V13, 14, head + match + instructions)


def apply13(*actions: bytes) -> bytes:
    body = b"".join(actions)
    return flow_mod13(match13(), pack("!HHxxxx", 4, 8 + len(body)) + body)


def flow_mod10(*actions: bytes) -> bytes:
    match = pack("!I36x", 0x3FFFFF)
    return message(
        V10, 14, match + pack("!QHHHHIHH", 0, 0, 0, 0, 5, 0xFFFFFFFF, 0xFFFF, 0) + b"".join(actions)
    )


def action(number: int, length: int, rest: bytes = bytes(4)) -> bytes:
    return pack("!HH", number, length) + rest


def set_field(tlv: bytes, tail: bytes = b"") -> bytes:
    body = tlv + tail
    body += bytes(-(4 + len(body)) % 8)
    return action(25, 4 + len(body), body)


IN_PORT = oxm(0, b"\0\0\0\1")
ETH_TYPE = oxm(5, b"\x08\0")
OUTPUT13 = action(0, 16, pack("!IHxxxxxx", 1, 0))

MALFORMED = {
    "a header cut short": (b"\4\2\0", ErrorCode.BAD_LEN),
    "nothing at all": (b"", ErrorCode.BAD_LEN),
    "a length that is not the message's": (message(V13, 2, b"abc", length=9), ErrorCode.BAD_LEN),
    "a length below a header's": (message(V13, 2, b"", length=4), ErrorCode.BAD_LEN),
    "a version nobody speaks": (message(6, 20, b""), ErrorCode.BAD_VERSION),
    "a type that 1.0 lacks": (message(V10, 22, b""), ErrorCode.BAD_TYPE),
    "a type that 1.3 lacks": (message(V13, 30, b""), ErrorCode.BAD_TYPE),
    "a barrier with a body": (message(V13, 20, b"\0"), ErrorCode.BAD_LEN),
    "an error without a code": (message(V10, 1, b"\0\1"), ErrorCode.BAD_LEN),
    "a vendor's message without a vendor": (message(V10, 4, b"\0\0"), ErrorCode.BAD_LEN),
    "an experimenter's message without a type": (message(V13, 4, bytes(4)), ErrorCode.BAD_LEN),
    "statistics of an unknown type": (message(V10, 16, pack("!HH", 99, 0)), ErrorCode.BAD_STAT),
    "multipart of an unknown type": (message(V13, 18, pack("!HHxxxx", 99, 0)), ErrorCode.BAD_STAT),
    "statistics without a type": (message(V13, 18, bytes(4)), ErrorCode.BAD_LEN),
    "a question with more than it asks": (message(V13, 18, bytes(8) + b"x"), ErrorCode.BAD_LEN),
    "ports of 1.0 that are no whole number": (message(V10, 6, bytes(24 + 47)), ErrorCode.BAD_LEN),
    "a flow-mod of 1.0 with half an action": (flow_mod10(bytes(4)), ErrorCode.BAD_LEN),
    "an action of no length in 1.0": (flow_mod10(action(0, 0)), ErrorCode.ACTION_BAD_LEN),
    "an action longer than the message in 1.0": (flow_mod10(action(0xFFFF, 16)), ErrorCode.ACTION_BAD_LEN),
    "an output of the wrong length in 1.0": (flow_mod10(action(0, 16, bytes(12))), ErrorCode.ACTION_BAD_LEN),
    "an action that 1.0 lacks": (flow_mod10(action(25, 8)), ErrorCode.ACTION_BAD_TYPE),
    "a type of service with foreign bits": (
        flow_mod10(action(8, 8, b"\3\0\0\0")),
        ErrorCode.ACTION_BAD_ARGUMENT,
    ),
    "more actions than bytes in a packet-out of 1.0": (
        message(V10, 13, pack("!IHH", 1, 1, 8)),
        ErrorCode.BAD_LEN,
    ),
    "actions of an odd length in a packet-out": (
        message(V13, 13, pack("!IIHxxxxxx", 1, 1, 4) + bytes(8)),
        ErrorCode.BAD_LEN,
    ),
    "a queue of no length": (message(V10, 21, bytes(16)), ErrorCode.BAD_LEN),
    "a queue's property longer than the queue": (
        message(V13, 23, bytes(8) + pack("!IIHxxxxxx", 1, 1, 24) + pack("!HHxxxx", 1, 16)),
        ErrorCode.BAD_LEN,
    ),
    "a flow-mod without a match": (flow_mod13(b""), ErrorCode.MATCH_BAD_LEN),
    "a match of an old type": (flow_mod13(match13(kind=0)), ErrorCode.MATCH_BAD_TYPE),
    "a match shorter than its header": (flow_mod13(match13(length=3)), ErrorCode.MATCH_BAD_LEN),
    "a match longer than the message": (flow_mod13(match13(length=9)), ErrorCode.MATCH_BAD_LEN),
    "a field longer than the match": (
        flow_mod13(match13(oxm(0, b"\0\0", length=4))),
        ErrorCode.MATCH_BAD_LEN,
    ),
    "a field without a whole header": (flow_mod13(match13(b"\x80\0")), ErrorCode.MATCH_BAD_LEN),
    "a field of no length": (flow_mod13(match13(oxm(0, b""))), ErrorCode.MATCH_BAD_LEN),
    "a field of the wrong length": (flow_mod13(match13(oxm(0, b"\0\1"))), ErrorCode.MATCH_BAD_LEN),
    "a field that does not exist": (flow_mod13(match13(oxm(60, b"\0"))), ErrorCode.MATCH_BAD_FIELD),
    "a field of Nicira's": (flow_mod13(match13(oxm(0, b"\0\1", cls=0))), ErrorCode.MATCH_BAD_FIELD),
    "a field of an experimenter's": (
        flow_mod13(match13(oxm(1, bytes(5), cls=0xFFFF))),
        ErrorCode.MATCH_BAD_FIELD,
    ),
    "a value with bits its mask ignores": (
        flow_mod13(match13(oxm(3, b"\1\0\0\0\0\0" + b"\2\0\0\0\0\0", masked=True))),
        ErrorCode.MATCH_BAD_WILDCARDS,
    ),
    "a mask on a field that has none": (
        flow_mod13(match13(oxm(5, b"\x08\0" + b"\xff\0", masked=True))),
        ErrorCode.MATCH_BAD_MASK,
    ),
    "a value with bits its field lacks": (flow_mod13(match13(oxm(8, b"\x40"))), ErrorCode.MATCH_BAD_VALUE),
    "a field matched twice": (flow_mod13(match13(IN_PORT, IN_PORT)), ErrorCode.MATCH_DUP_FIELD),
    "a field matched twice with another between": (
        flow_mod13(match13(ETH_TYPE, IN_PORT, ETH_TYPE)),
        ErrorCode.MATCH_DUP_FIELD,
    ),
    "a field before the one it depends on": (
        flow_mod13(match13(oxm(10, b"\6"), ETH_TYPE)),
        ErrorCode.MATCH_BAD_PREREQ,
    ),
    "an instruction of no length": (flow_mod13(match13(), bytes(8)), ErrorCode.INSTRUCTION_BAD_LEN),
    "an instruction of the wrong length": (
        flow_mod13(match13(), pack("!HH", 1, 16) + bytes(12)),
        ErrorCode.INSTRUCTION_BAD_LEN,
    ),
    "an instruction longer than the message": (
        flow_mod13(match13(), pack("!HHxxxx", 4, 16)),
        ErrorCode.INSTRUCTION_BAD_LEN,
    ),
    "an instruction that does not exist": (
        flow_mod13(match13(), pack("!HHxxxx", 9, 8)),
        ErrorCode.INSTRUCTION_UNKNOWN,
    ),
    "an action that 1.3 lacks": (apply13(action(1, 8)), ErrorCode.ACTION_BAD_TYPE),
    "an action of no length": (apply13(action(22, 0)), ErrorCode.ACTION_BAD_LEN),
    "an action of an odd length": (apply13(action(0xFFFF, 12, bytes(12))), ErrorCode.ACTION_BAD_LEN),
    "an action longer than its instruction": (apply13(action(0, 16)), ErrorCode.ACTION_BAD_LEN),
    "a field to set that does not exist": (apply13(set_field(oxm(60, b"\0"))), ErrorCode.ACTION_BAD_SET_TYPE),
    "a field of Nicira's to set": (
        apply13(set_field(oxm(0, b"\0\1", cls=1))),
        ErrorCode.ACTION_BAD_SET_TYPE,
    ),
    "a value of the wrong length": (apply13(set_field(oxm(3, b"\0\1"))), ErrorCode.ACTION_BAD_SET_LEN),
    "a value longer than its action": (
        apply13(action(25, 8, oxm(3, b"", length=6))),
        ErrorCode.ACTION_BAD_SET_LEN,
    ),
    "a value under a mask": (
        apply13(set_field(oxm(6, b"\x10\1" + b"\x1f\xff", masked=True))),
        ErrorCode.ACTION_BAD_SET_ARGUMENT,
    ),
    "a value with bits its field to set lacks": (
        apply13(set_field(oxm(7, b"\x08"))),
        ErrorCode.ACTION_BAD_SET_ARGUMENT,
    ),
    "a value with something in its padding": (
        apply13(set_field(oxm(7, b"\1"), b"\1")),
        ErrorCode.ACTION_BAD_SET_ARGUMENT,
    ),
    "a bucket of no length": (message(V13, 15, bytes(8) + bytes(16)), ErrorCode.GROUP_BAD_BUCKET),
    "a bucket longer than the message": (
        message(V13, 15, bytes(8) + pack("!H14x", 24)),
        ErrorCode.GROUP_BAD_BUCKET,
    ),
    "half a bucket": (message(V13, 15, bytes(16)), ErrorCode.GROUP_BAD_BUCKET),
    "a band of no length": (message(V13, 29, bytes(8) + bytes(16)), ErrorCode.BAD_LEN),
    "a band that is too short": (
        message(V13, 29, bytes(8) + pack("!HH", 1, 8) + bytes(4)),
        ErrorCode.BAD_LEN,
    ),
    "a flow of no length": (message(V13, 19, pack("!HHxxxx", 1, 0) + bytes(56)), ErrorCode.BAD_LEN),
    "a flow of 1.0 longer than the message": (
        message(V10, 17, pack("!HH", 1, 0) + pack("!H86x", 96)),
        ErrorCode.BAD_LEN,
    ),
    "counters that are no whole number": (
        message(V13, 19, pack("!HHxxxx", 6, 0) + pack("!H46x", 48)),
        ErrorCode.BAD_LEN,
    ),
    "a table shorter than its header": (
        message(V13, 18, pack("!HHxxxx", 12, 0) + pack("!H62x", 8)),
        ErrorCode.TABLE_FEATURES_BAD_LEN,
    ),
    "a table's property of no length": (
        message(V13, 18, pack("!HHxxxx", 12, 0) + pack("!H62x", 72) + bytes(8)),
        ErrorCode.TABLE_FEATURES_BAD_LEN,
    ),
    "a table's property without its padding": (
        message(V13, 18, pack("!HHxxxx", 12, 0) + pack("!H62x", 72) + pack("!HHxxxx", 0, 9)),
        ErrorCode.TABLE_FEATURES_BAD_LEN,
    ),
    "a packet-in without the two bytes before the packet": (
        message(V13, 10, pack("!IHBBQ", 1, 0, 0, 0, 0) + match13(IN_PORT)),
        ErrorCode.BAD_LEN,
    ),
}


@pytest.mark.parametrize(("data", "refusal"), MALFORMED.values(), ids=MALFORMED.keys())
def test_what_makes_no_message_is_refused(data: bytes, refusal: ErrorCode) -> None:
    with pytest.raises(OpenFlowError) as caught:
        decode(data)
    assert caught.value.refusal is refusal
    assert str(caught.value).endswith(".")


def test_a_message_of_another_version_than_the_session_is_refused() -> None:
    with pytest.raises(OpenFlowError) as caught:
        decode(message(V13, 20, b""), V10)
    assert caught.value.refusal is ErrorCode.BAD_VERSION


@pytest.mark.parametrize("body", [b"x", b"\0\1\0\3", b"\0\1\0\x40" + bytes(4), pack("!HHI", 1, 5, 1 << 4)])
def test_a_greeting_is_never_refused_whatever_is_in_it(body: bytes) -> None:
    assert decode(message(V13, 0, body)) == Hello(None, V13, xid=7)


def test_a_greeting_is_read_past_elements_that_are_not_understood() -> None:
    unknown = pack("!HHxxxx", 9, 6)
    assert decode(message(V13, 0, unknown + pack("!HHI", 1, 8, 1 << 4))) == Hello(frozenset({4}), V13, xid=7)


def test_fields_that_are_not_understood_are_skipped_in_a_packet_in() -> None:
    fields = (oxm(0, b"\0\1", cls=0), IN_PORT, oxm(3, bytes(6), cls=0xFFFF))
    decoded = decode(message(V13, 10, pack("!IHBBQ", 1, 0, 0, 0, 0) + match13(*fields) + b"\0\0frame"))
    assert isinstance(decoded, PacketIn)
    assert decoded.in_port == 1
    assert decoded.data == b"frame"


def test_padding_may_hold_anything() -> None:
    padded = action(22, 8, pack("!I", 5))
    noisy = action(0, 16, pack("!IH", 1, 0) + b"noise!")
    assert decode(apply13(padded, noisy)) == decode(apply13(padded, OUTPUT13))


def test_a_switch_does_not_look_into_what_only_switches_send() -> None:
    packet_in = message(V13, 10, bytes(40))
    with pytest.raises(OpenFlowError) as at_controller:
        decode(packet_in)
    with pytest.raises(OpenFlowError) as at_switch:
        decode(packet_in, at_switch=True)
    assert at_controller.value.refusal is ErrorCode.MATCH_BAD_TYPE
    assert at_switch.value.refusal is ErrorCode.BAD_TYPE


def test_a_switch_minds_the_length_of_what_only_switches_send() -> None:
    desc = message(V13, 19, bytes(8))
    with pytest.raises(OpenFlowError) as caught:
        decode(desc, at_switch=True)
    assert caught.value.refusal is ErrorCode.BAD_LEN


anything = st.one_of(
    *(
        strategy.map(partial(encode, version=version))
        for version in MESSAGES
        for strategy in MESSAGES[version].values()
    )
)


@settings(max_examples=150)
@given(anything, st.data())
def test_a_message_cut_short_is_a_message_or_refused(whole: bytes, data: st.DataObject) -> None:
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))]
    with pytest.raises(OpenFlowError):
        decode(cut)
    if len(cut) >= 8:
        try:
            decoded = decode(cut[:2] + len(cut).to_bytes(2) + cut[4:])
        except OpenFlowError as refused:
            assert str(refused).endswith(".")
        else:
            assert isinstance(decoded, OpenFlowMessage)
