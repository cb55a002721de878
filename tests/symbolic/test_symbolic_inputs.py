"""Questions to controllers: the same message plain, followed, and as os-ken has it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from os_ken.ofproto import (
    ofproto_protocol,
    ofproto_v1_0,
    ofproto_v1_0_parser,
    ofproto_v1_3,
    ofproto_v1_3_parser,
)
from os_ken.ofproto.ofproto_parser import header as parse_header
from os_ken.ofproto.ofproto_parser import msg as parse_message
from tests.symbolic.frame_strategies import FRAMES, decisions, usual

from penstock._concolic.packets.frames import SymFrame
from penstock._concolic.packets.inputs import (
    FlowRemovedQuestion,
    PacketQuestion,
    PortStatusQuestion,
    Question,
    StatsQuestion,
    question_about,
)
from penstock._concolic.run import Run
from penstock._concolic.terms import evaluate
from penstock._concolic.values.integers import SymInt, term_of
from penstock.errors import PenstockError
from penstock.openflow.match import Match
from penstock.openflow.messages import (
    NO_BUFFER,
    V10,
    V13,
    BarrierReply,
    FlowRemoved,
    OpenFlowMessage,
    PacketIn,
    Port,
    PortStatus,
)
from penstock.openflow.stats import (
    Aggregate,
    Desc,
    Flows,
    FlowStats,
    Ports,
    PortStats,
    Queues,
    QueueStats,
    StatsReply,
    Tables,
    TableStats,
)
from penstock.openflow.wire import decode, encode

PACKET_IN = PacketIn(NO_BUFFER, 0, 0, Match.of(in_port=2), b"")
REMOVED = FlowRemoved(Match.of(in_port=1), 7, 10, 0, 0, 4, 5, 30, 0, 6, 600)
STATUS = PortStatus(2, Port(1, 0x101, "s1-eth1"))
PORTS = StatsReply(Ports((PortStats(1, rx_packets=3), PortStats(2, tx_bytes=9))))
FLOWS = StatsReply(Flows((FlowStats(0, Match.of(in_port=1), (), 5, packet_count=2),)))
TOTAL = StatsReply(Aggregate(1, 100, 2))
TABLES = StatsReply(Tables((TableStats(0, 1, 2, 3),)))
QUEUES = StatsReply(Queues((QueueStats(1, 4, tx_packets=8),)))

_PROTOCOLS = {
    V10: (ofproto_v1_0, ofproto_v1_0_parser),
    V13: (ofproto_v1_3, ofproto_v1_3_parser),
}

# Made before any program says which versions it speaks.
_DATAPATHS = {version: ofproto_protocol.ProtocolDesc(version) for version in _PROTOCOLS}


def osken_message(message: OpenFlowMessage, version: int) -> Any:
    """Return what os-ken's parser makes of a message."""
    data = encode(message, version)
    datapath = _DATAPATHS[version]
    found_version, kind, length, xid = parse_header(data)
    return parse_message(datapath, found_version, kind, length, xid, bytearray(data))


def usual_of(question: Question) -> dict[str, int]:
    return {variable.name: variable.preferred[0] for variable in question.space.variables}


@st.composite
def asked(draw: st.DrawFn) -> tuple[Question, dict[str, int], int]:
    version = draw(st.sampled_from([V10, V13]))
    templates = [REMOVED, STATUS, PORTS, FLOWS, TOTAL, TABLES, QUEUES]
    question = question_about(draw(st.sampled_from(templates)), version)
    values = {
        variable.name: draw(st.integers(0, (1 << variable.width) - 1))
        for variable in question.space.variables
    }
    for rule in question.space.constraints:
        if not evaluate(rule, values):
            values |= dict.fromkeys(rule.variables, 0)
    return question, values, version


@settings(max_examples=150)
@given(asked())
def test_a_message_that_is_followed_is_the_message(case: tuple[Question, dict[str, int], int]) -> None:
    question, values, version = case
    message = question.message(values)
    assert question.follow_native(values) == message
    assert encode(question.follow_native(values), version) == encode(message, version)
    # Whatever the contents, a switch could have sent it.
    assert encode(decode(encode(message, version)), version) == encode(message, version)


@settings(max_examples=150)
@given(asked())
def test_os_ken_s_message_is_followed_where_the_message_is(
    case: tuple[Question, dict[str, int], int],
) -> None:
    question, values, version = case
    plain = osken_message(question.message(values), version)
    followed = osken_message(question.message(values), version)
    question.follow_osken(values, followed)
    assert numbers(followed) == numbers(plain)
    terms = dict(symbolic(followed))
    assert {str(term) for term in terms.values()} <= set(values)
    missing = set(values) - {str(term) for term in terms.values()}
    # Version 1.0 does not tell how long a port or a queue has been there.
    assert all(version == V10 and "duration" in name for name in missing)


def parts(thing: Any, path: str = "") -> Any:
    """Go through the numbers in os-ken's message, by where they are."""
    if isinstance(thing, int):
        yield path, thing
    elif hasattr(thing, "_fields"):
        for name in thing._fields:
            yield from parts(getattr(thing, name), f"{path}.{name}")
    elif isinstance(thing, list | tuple):
        for at, part in enumerate(thing):
            yield from parts(part, f"{path}.{at}")
    elif hasattr(thing, "stringify_attrs") and type(thing).__name__ != "OFPMatch":
        for name, part in thing.stringify_attrs():
            yield from parts(part, f"{path}.{name}")


def numbers(message: Any) -> dict[str, int]:
    return {path: int(number) for path, number in parts(message)}


def symbolic(message: Any) -> list[tuple[str, Any]]:
    return [(path, number.term) for path, number in parts(message) if isinstance(number, SymInt)]


def test_a_packet_question_holds_any_packet() -> None:
    question = PacketQuestion(PACKET_IN, FRAMES)
    values = usual(eth_type=0x0806)
    message = question.message(values)
    assert message.data == FRAMES.data(values)
    assert message.total_len == 42
    assert (message.in_port, message.buffer_id) == (2, NO_BUFFER)
    followed = question.follow_native(values)
    assert isinstance(followed.data, SymFrame)
    assert followed == message
    assert term_of(followed.total_len) == FRAMES.length
    assert question.describe(values) == "ARP who has 10.0.0.2 tell 10.0.0.1"
    assert question.space is FRAMES.space


@pytest.mark.parametrize("version", [V10, V13])
def test_a_packet_question_is_followed_in_os_ken(version: int) -> None:
    question = PacketQuestion(PACKET_IN, FRAMES)
    msg = osken_message(question.message(usual()), version)
    assert bytes(msg.data) == FRAMES.data(usual())
    question.follow_osken(usual(), msg)
    assert isinstance(msg.data, SymFrame)
    assert bytes(msg.data) == FRAMES.data(usual())
    assert msg.total_len == 42
    assert (msg.in_port if version == V10 else msg.match["in_port"]) == 2


def test_packets_that_a_switch_would_cut_are_left_out() -> None:
    question = PacketQuestion(PACKET_IN, FRAMES, cut=60)

    def fits(length: int) -> bool:
        values = usual(payload_length=length)
        return all(evaluate(condition, values) for condition in question.space.constraints)

    assert fits(18)
    assert not fits(19)


def test_a_counter_is_told_apart_by_its_port() -> None:
    question = StatsQuestion(PORTS)
    values = {**usual_of(question), "port.2.tx_bytes": 1000}
    with Run() as run:
        followed = question.follow_native(values)
        assert isinstance(followed, StatsReply)
        assert isinstance(followed.body, Ports)
        assert followed.body.ports[1].tx_bytes > 500
        assert followed.body.ports[1].port_no == 2
    assert decisions(run) == ["not (port.2.tx_bytes < 501)"]
    assert question.describe(values) == "StatsReply(Ports) with port 2 tx_bytes=1000"


def test_where_nothing_matters_the_message_is_the_template() -> None:
    for template in (REMOVED, STATUS, PORTS, FLOWS, TOTAL, TABLES, QUEUES):
        question = question_about(template)
        assert question.message(usual_of(question)) == template
        assert question.describe(usual_of(question)) == str(template)


def test_reasons_are_those_of_the_version() -> None:
    def possible(question: Question, reason: int) -> bool:
        values = {**usual_of(question), "reason": reason}
        return all(evaluate(condition, values) for condition in question.space.constraints)

    assert [possible(FlowRemovedQuestion(REMOVED), reason) for reason in range(4)] == [True] * 4
    assert not possible(FlowRemovedQuestion(REMOVED, V10), 3)
    assert not possible(PortStatusQuestion(STATUS), 3)


def test_a_port_status_is_told_in_words() -> None:
    question = PortStatusQuestion(STATUS)
    values = {**usual_of(question), "reason": 1, "state": 1}
    assert question.describe(values) == f"{STATUS} with reason=delete, state=0x1"
    assert question.message(values).desc.state == 1  # type: ignore[attr-defined]


def test_bits_that_a_port_has_not_stay_zero() -> None:
    question = PortStatusQuestion(STATUS)
    values = {**usual_of(question), "config": 0x2}
    assert not all(evaluate(condition, values) for condition in question.space.constraints)


def test_statistics_without_counters_leave_nothing_open() -> None:
    question = question_about(StatsReply(Desc("a", "b", "c", "d", "e")))
    assert question.space.variables == ()


def test_other_messages_have_no_question() -> None:
    with pytest.raises(PenstockError, match="The contents of BarrierReply are not looked for"):
        question_about(BarrierReply())
