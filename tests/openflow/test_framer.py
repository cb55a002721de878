"""A framer gives whole messages however a stream is cut, and never holds more than one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.openflow.error_codes import ErrorCode, OpenFlowError
from penstock.openflow.messages import V10, V13, BarrierRequest, EchoRequest
from penstock.openflow.wire import Framer, encode

ECHO = encode(EchoRequest(b"hello", xid=1), V13)
BARRIER = encode(BarrierRequest(xid=2), V10)
BROKEN = b"\4\2\0\7\0\0\0\0"

messages = st.lists(st.binary(max_size=60).map(lambda data: encode(EchoRequest(data), V13)), max_size=8)


def test_messages_in_one_piece_come_apart() -> None:
    assert Framer().feed(ECHO + BARRIER + ECHO[:5]) == [ECHO, BARRIER]


def test_a_message_in_pieces_comes_when_it_is_whole() -> None:
    framer = Framer()
    assert [framer.feed(ECHO[at : at + 1]) for at in range(len(ECHO))] == [[]] * (len(ECHO) - 1) + [[ECHO]]
    assert framer.held == 0


@given(messages, st.lists(st.integers(1, 50), min_size=1, max_size=20))
def test_the_pieces_do_not_matter(sent: list[bytes], sizes: list[int]) -> None:
    framer = Framer()
    stream, out, turn = b"".join(sent), [], 0
    while stream:
        size = sizes[turn % len(sizes)]
        out += framer.feed(stream[:size])
        stream, turn = stream[size:], turn + 1
    assert out == sent


def test_the_longest_message_is_held_and_no_more() -> None:
    longest = b"\4\2\xff\xff\0\0\0\0" + bytes(65527)
    framer = Framer()
    assert framer.feed(longest[:-1]) == []
    assert framer.held == 65534
    assert framer.feed(longest[-1:] + ECHO[:3]) == [longest]
    assert framer.held == 3


def test_a_length_below_a_header_breaks_the_stream_for_good() -> None:
    framer = Framer()
    for _ in range(2):
        with pytest.raises(OpenFlowError) as caught:
            framer.feed(BROKEN)
        assert caught.value.refusal is ErrorCode.BAD_LEN
    assert framer.held == 0


def test_messages_before_the_break_are_not_lost() -> None:
    framer = Framer()
    assert framer.broken is None
    assert framer.feed(ECHO + BROKEN + BARRIER) == [ECHO]
    assert framer.broken is not None
    with pytest.raises(OpenFlowError):
        framer.feed(b"")
