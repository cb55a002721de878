"""The sentences of stories: who did what, and what came of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock._story.story import consequences, headline, last_line, numbered, sentences, tell
from penstock._world.component import Endpoint, Event, Message, Port
from penstock._world.frame import Frame
from penstock._world.signals import FABRIC, EntryForgotten, FlowModsIgnored, TableLimit
from penstock._world.transition import ACT, DELIVER, INJECT, InFlight, Record, Transition
from penstock.openflow.actions import ApplyActions, Output
from penstock.openflow.match import Match
from penstock.openflow.messages import (
    ALL_TABLES,
    NO_BUFFER,
    FlowCommand,
    FlowMod,
    OpenFlowMessage,
    PacketIn,
    PacketInReason,
    PacketOut,
    PortNo,
)
from penstock.packet import udp_datagram


def udp_to(port: int) -> bytes:
    return udp_datagram(
        eth_src=1, eth_dst=2, ip_src="10.0.0.1", ip_dst="10.0.0.2", udp_src=7, udp_dst=port
    ).to_bytes()


PACKET = udp_to(7)
FRAME = Frame(PACKET, "h1#1")
WORDS = "h1#1 [UDP 10.0.0.1:7 > 10.0.0.2:7]"

RULE = FlowMod(FlowCommand.ADD, Match.of(in_port=1), (ApplyActions((Output(2),)),), priority=5)


def packet_in(*, buffer_id: int = NO_BUFFER, sent: int = len(PACKET)) -> PacketIn:
    match = Match.of(in_port=1)
    return PacketIn(buffer_id, len(PACKET), PacketInReason.NO_MATCH, match, PACKET[:sent], tag="h1#1")


def act(node: str, what: str, *sends: InFlight, lost: tuple[InFlight, ...] = ()) -> Record:
    return Record(Transition(ACT, node, what), node, sends=sends, lost=lost)


def handled(sender: str, node: str, message: OpenFlowMessage, *sends: InFlight, log: str = "") -> Record:
    """Return the delivery of a control message."""
    events = (Event("log", ("INFO", log)),) if log else ()
    return Record(Transition(DELIVER, sender, node), node, Endpoint(node, sender), message, sends, events)


def at_switch(*sends: InFlight, lost: tuple[InFlight, ...] = ()) -> Record:
    """Return the delivery of the frame to s1."""
    return Record(Transition(DELIVER, "h1", 0), "s1", Endpoint("s1", 1), FRAME, sends, lost=lost)


def put_in(node: str, what: Port, message: Message) -> Record:
    """Return the arrival of a message from outside."""
    sends = (InFlight(Endpoint(node, what), message),)
    return Record(Transition(INJECT, node, what), node, sends=sends)


def told_by_fabric(node: str, signal: Message) -> Record:
    """Return the delivery of a signal."""
    return Record(Transition(DELIVER, FABRIC, node), node, Endpoint(node, FABRIC), signal)


def to(node: str, message: OpenFlowMessage, sender: str = "s1") -> InFlight:
    return InFlight(Endpoint(sender, node), message)


def out_of(node: str, port: int) -> InFlight:
    return InFlight(Endpoint(node, port), FRAME)


# Who did what.


@pytest.mark.parametrize(
    ("record", "sentence"),
    [
        (act("h1", "send to h2", out_of("h1", 0)), f"h1 sends {WORDS}."),
        (act("h1", "retransmit SYN", out_of("h1", 0)), f"h1 sends {WORDS}, a retransmission."),
        (act("c0", "join s1"), "s1 connects to controller c0."),
        (act("c0", "timer 2.5s app._poll"), "A timer of controller c0 goes off after 2.5 s: app._poll."),
        (
            act("c0", "hear s1: StatsReply(Ports) with port 2 tx_bytes=9"),
            "Controller c0 receives from s1: StatsReply(Ports) with port 2 tx_bytes=9.",
        ),
        (
            act("c0", "hear s1: StatsReply(Ports)"),
            "Controller c0 receives from s1: StatsReply(Ports), as it was sent.",
        ),
        (at_switch(), f"s1 gets {WORDS} at port 1, from h1."),
        (
            handled("s1", "c0", packet_in()),
            f"Controller c0 handles s1's packet-in: {WORDS} from port 1.",
        ),
        (put_in("h1", 0, FRAME), f"A frame is injected on the link out of h1:0: {WORDS}."),
        (put_in("c0", "s1", RULE), "c0 sends to s1: FlowMod(add priority=5 in_port=1 -> output:2)."),
        (put_in("fabric", "s1", TableLimit(5)), "A fault is injected into s1: TableLimit(5)."),
        (put_in("fabric", "h1", "Order(ping)"), "h1 receives from outside: Order(ping)."),
        (told_by_fabric("s1", TableLimit(5)), "s1's flow tables are limited to 5 entries."),
        (
            told_by_fabric("s1", TableLimit(None)),
            "s1's flow tables are no longer limited.",
        ),
        (
            told_by_fabric("s1", EntryForgotten(2)),
            "s1 silently loses its flow entry number 2.",
        ),
        (told_by_fabric("s1", FlowModsIgnored(3)), "s1 will silently ignore its next 3 flow-mods."),
        (told_by_fabric("h1", "Order(ping)"), "h1 carries out: Order(ping)."),
        (
            handled("c0", "s1", PacketOut(NO_BUFFER, 1, (), b"", "h1#1")),
            "s1 handles c0's PacketOut(h1#1 -> drop).",
        ),
    ],
)
def test_a_step_is_one_sentence(record: Record, sentence: str) -> None:
    assert headline(record) == sentence


def test_a_rule_is_told_with_the_buffered_packet_that_it_is_for() -> None:
    rule = "FlowMod(add priority=5 in_port=1 -> output:2)"
    assert headline(handled("c0", "s1", RULE)) == f"s1 handles c0's {rule}."
    released = handled("s1", "c0", packet_in(), to("s1", replace(RULE, buffer_id=3), "c0"))
    assert list(consequences(released)) == [f"sends to s1: {rule}, also for the packet in buffer 3"]


def test_a_rule_that_is_deleted_from_any_table_is_told_without_a_table() -> None:
    told = [
        headline(handled("c0", "s1", FlowMod(FlowCommand.DELETE, Match.of(in_port=1), table_id=table)))
        for table in (ALL_TABLES, 2)
    ]
    assert told == [
        "s1 handles c0's FlowMod(delete in_port=1).",
        "s1 handles c0's FlowMod(delete table=2 in_port=1).",
    ]


# What came of it.


def test_a_packet_leaves_a_switch_by_a_port_and_a_host_by_its_only_one() -> None:
    answer = Record(Transition(DELIVER, "s1", 1), "h1", Endpoint("h1", 0), FRAME, (out_of("h1", 0),))
    assert list(consequences(answer)) == [f"sends {WORDS}"]
    assert list(consequences(at_switch(out_of("s1", 2)))) == [f"sends {WORDS} out of port 2"]


def test_a_switch_that_asks_says_whether_it_keeps_the_packet() -> None:
    asked = f"sends a packet-in to controller c0: {WORDS} from port 1"
    assert list(consequences(at_switch(to("c0", packet_in())))) == [asked]
    kept = at_switch(to("c0", packet_in(buffer_id=4)))
    assert list(consequences(kept)) == [f"buffers it (buffer 4) and {asked}"]


def test_a_packet_that_is_cut_short_for_the_controller_says_by_how_much() -> None:
    (told,) = consequences(at_switch(to("c0", packet_in(sent=20))))
    assert told.endswith(f"from port 1, cut to 20 of its {len(PACKET)} bytes")


def test_a_controller_that_does_nothing_about_a_packet_is_said_to() -> None:
    assert list(consequences(handled("s1", "c0", packet_in()))) == ["sends nothing"]
    logged = handled("s1", "c0", packet_in(), log="what is this?")
    assert list(consequences(logged)) == ["log: what is this?", "sends nothing"]


def test_a_controller_that_answers_or_crashes_is_not_said_to_do_nothing() -> None:
    record = handled("s1", "c0", packet_in())
    crash = Event("crashed", ("packet-in", "KeyError", "line 7"))
    crashed = list(consequences(record._replace(events=(crash,))))
    answered = list(consequences(record._replace(sends=(to("s1", RULE, "c0"),))))
    assert crashed == ["the handler of packet-in raised KeyError\n     line 7"]
    assert answered == ["sends to s1: FlowMod(add priority=5 in_port=1 -> output:2)"]


def test_what_is_lost_is_told_with_where() -> None:
    nowhere = at_switch(lost=(out_of("s1", 3),))
    assert list(consequences(nowhere)) == [f"lost: {WORDS}, sent out of port 3, which leads nowhere"]
    under_way = act("fabric", "fail s1-s2", lost=(out_of("s1", 2),))
    assert list(consequences(under_way)) == [f"lost: {WORDS} on its way from s1:2"]
    unheard = at_switch(lost=(to("c0", packet_in()),))
    assert list(consequences(unheard)) == ["lost: PacketIn(port=1, no_match), to c0, which is not connected"]


def test_what_comes_from_outside_is_told_once_and_where_it_is_lost() -> None:
    assert list(consequences(put_in("h1", 0, FRAME))) == []
    lost = put_in("h1", 0, FRAME)._replace(sends=(), lost=(out_of("h1", 0),))
    assert headline(lost) == f"A frame is injected on the link out of h1:0: {WORDS}."
    assert list(consequences(lost)) == [f"lost: {WORDS}, sent out of port 0, which leads nowhere"]


# The story as a whole.


def test_a_packet_is_described_once_and_again_when_it_was_changed() -> None:
    changed = InFlight(Endpoint("s1", 2), Frame(udp_to(8), "h1#1"))
    assert list(sentences([act("h1", "send to h2", out_of("h1", 0)), at_switch(changed)])) == [
        (f"h1 sends {WORDS}.",),
        ("s1 gets h1#1 at port 1, from h1.", "sends h1#1 [UDP 10.0.0.1:7 > 10.0.0.2:8] out of port 2"),
    ]


def test_steps_are_numbered_from_a_first_one_on() -> None:
    story = list(tell([at_switch(out_of("s1", 2)), act("c0", "join s1")], first=9))
    assert story == [
        f"  9. s1 gets {WORDS} at port 1, from h1.",
        "     sends h1#1 out of port 2",
        " 10. s1 connects to controller c0.",
    ]
    assert list(numbered(3, ("a", "b"))) == ["  3. a", "     b"]


def test_a_violation_ends_a_story_with_the_propertys_sentence() -> None:
    assert (
        last_line("NoForwardingLoops", "h1#1 goes round.")
        == "  ✗  NoForwardingLoops is violated: h1#1 goes round."
    )


# Nothing is said twice.


def delivered(sender: str, node: str, message: OpenFlowMessage, *events: Event) -> Record:
    """Return the delivery of a control message to a switch, and what came of it."""
    return Record(Transition(DELIVER, sender, node), node, Endpoint(node, sender), message, events=events)


ENTRY = "priority=5 in_port=1 -> output:2"


def test_a_message_is_told_where_it_is_sent_and_then_called_by_its_step() -> None:
    other = replace(RULE, priority=6)
    asked = at_switch(to("c0", packet_in()))
    answered = handled("s1", "c0", packet_in(), to("s1", RULE, "c0"), to("s1", other, "c0"))
    added = delivered("c0", "s1", RULE, Event("rule-added", (0, ENTRY)))
    met = at_switch()._replace(events=(Event("matched", ("h1#1", 1, 0, ENTRY)),))
    told = list(sentences([asked, answered, added, delivered("c0", "s1", other), met]))
    assert told[1][0] == "Controller c0 handles s1's packet-in of step 1: h1#1."
    assert told[2] == ("s1 handles c0's FlowMod of step 2 (1 of 2).", "new rule in table 0")
    assert told[3][0] == "s1 handles c0's FlowMod of step 2 (2 of 2)."
    assert told[4][1] == "rule of step 3 -> output:2"


def test_the_same_message_to_the_same_switch_is_told_once() -> None:
    again = handled("s1", "c0", packet_in(), to("s1", RULE, "c0"))
    told = list(sentences([again, again, handled("s1", "c0", packet_in(), to("s2", RULE, "c0"))]))
    assert told[1][1] == "sends to s1: the same FlowMod as in step 1"
    assert told[2][1].startswith("sends to s2: FlowMod(")


def test_a_rule_that_the_story_did_not_bring_is_told_once() -> None:
    met = at_switch()._replace(events=(Event("matched", ("h1#1", 1, 0, ENTRY)),))
    gone = delivered("c0", "s1", RULE, Event("rule-removed", (0, ENTRY, "delete")))
    told = [line for lines in sentences([met, met, gone]) for line in lines[1:]]
    assert told == [
        f"rule: {ENTRY}",
        "rule of step 1 -> output:2",
        "rule of step 1 gone from table 0 (delete)",
    ]


def test_packets_that_are_described_alike_are_told_with_what_differs() -> None:
    other = udp_datagram(
        eth_src=1, eth_dst=9, ip_src="10.0.0.1", ip_dst="10.0.0.2", udp_src=7, udp_dst=7
    ).to_bytes()
    first = act("h1", "send to h2", out_of("h1", 0))
    second = act("h1", "send to h2", InFlight(Endpoint("h1", 0), Frame(other, "h1#2")))
    changed = at_switch(InFlight(Endpoint("s1", 2), Frame(other, "h1#1")))
    told = list(sentences([first, second, changed]))
    mac = "eth_dst=00:00:00:00:00:09"
    assert told[1][0] == f"h1 sends h1#2 [{WORDS[6:-1]}, {mac} (h1#1 had 00:00:00:00:00:02)]."
    assert told[2][1] == f"sends h1#1 [{WORDS[6:-1]}, {mac} (h1#1 had 00:00:00:00:00:02)] out of port 2"


def test_a_field_that_is_zero_in_one_of_two_packets_alike_is_told() -> None:
    marked = bytearray(PACKET)
    marked[15] = 46 << 2
    first = act("h1", "send to h2", out_of("h1", 0))
    second = act("h1", "send to h2", InFlight(Endpoint("h1", 0), Frame(bytes(marked), "h1#2")))
    told = list(sentences([first, second]))
    assert told[1][0] == f"h1 sends h1#2 [{WORDS[6:-1]}, ip_dscp=46 (h1#1 had 0)]."


def test_a_packet_out_without_data_is_told_as_such() -> None:
    nothing = PacketOut(NO_BUFFER, 1, (Output(2),), b"")
    record = handled("s1", "c0", packet_in(), to("s1", nothing, "c0"))
    assert list(consequences(record)) == ["sends to s1: PacketOut(no data -> output:2)"]


def test_an_output_in_vain_is_told_where_another_sent_the_packet() -> None:
    record = at_switch(out_of("s1", 2))._replace(events=(Event("not-output", ("h1#1", 1, "port 3 is down")),))
    assert "no effect: port 3 is down" in list(consequences(record))


def test_what_comes_many_times_of_a_step_is_told_once_with_how_often() -> None:
    out = PacketOut(NO_BUFFER, 1, (*(Output(PortNo.FLOOD),) * 4000, Output(3)), PACKET, "h1#1")
    flooded = delivered("c0", "s1", out)._replace(sends=(out_of("s1", 2), out_of("s1", 3)) * 4000)
    asked = handled("s1", "c0", packet_in(), to("s1", out, "c0"))
    told = list(sentences([at_switch(), asked, flooded]))
    assert told[1][1] == "sends to s1: PacketOut(h1#1 -> output:flood×4000,output:3)"
    assert told[2] == (
        "s1 handles c0's PacketOut of step 2.",
        "sends h1#1 out of port 2 (4000 times)",
        "sends h1#1 out of port 3 (4000 times)",
    )


def test_each_of_many_messages_of_a_step_is_called_by_its_number() -> None:
    many = [replace(RULE, priority=number) for number in range(2000)]
    sent = handled("s1", "c0", packet_in(), *(to("s1", rule, "c0") for rule in many))
    told = list(sentences([at_switch(to("c0", packet_in())), sent, delivered("c0", "s1", many[1499])]))
    assert told[2][0] == "s1 handles c0's FlowMod of step 2 (1500 of 2000)."
