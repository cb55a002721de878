"""os-ken's view of a frame that is followed is its view of the frame, and decides no more than it must."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from os_ken.lib.packet import (
    arp,
    ethernet,
    icmp,
    icmpv6,
    igmp,
    ipv4,
    ipv6,
    lldp,
    packet,
    packet_base,
    slow,
    tcp,
    udp,
    vlan,
)
from tests.symbolic.frame_strategies import FRAMES, alike, decisions, inputs, taken, text_for, usual

from penstock._concolic.code.summaries import PLAIN, UNFOLLOWED
from penstock._concolic.packets.frame_calls import FUNCTIONS
from penstock._concolic.packets.osken_headers import parse_osken
from penstock._concolic.run import Run
from penstock._concolic.space import Inputs
from penstock._concolic.terms import evaluate
from penstock._concolic.values.integers import term_of
from penstock._concolic.values.parts import concrete
from penstock._concolic.values.sym_bytes import SymBytes
from penstock._concolic.values.sym_str import SymStr

ARP = usual(eth_type=0x0806)
TCP = usual(ip_proto=6)
UDP = usual(ip_proto=17)
LACP = usual(eth_type=0x8809)
LLDP = usual(eth_type=0x88CC, lldp_dpid=0x1F, lldp_port=3)
QUERY_V3 = usual(ip_proto=2, igmp_type=0x11, igmp_v3=1)

_CHECKSUMS = ("csum",)


def contents(thing: Any, values: Inputs) -> Any:
    """Return what is in an os-ken object, all the way down, for some inputs."""
    if isinstance(thing, list | tuple):
        return [contents(part, values) for part in thing]
    if isinstance(thing, SymBytes):
        return bytes(evaluate(term, values) for term in thing.terms)
    if isinstance(thing, str):
        return text_for(thing, values)
    if isinstance(thing, int):
        return evaluate(term_of(thing), values)
    if isinstance(thing, bytes | bytearray | None):
        return thing
    names = sorted(name for name, _ in thing.stringify_attrs() if name not in (*_CHECKSUMS, "tlv_info"))
    return thing.__class__, [(name, contents(getattr(thing, name), values)) for name in names]


def test_helper_knows_what_it_compares() -> None:
    plain = packet.Packet(FRAMES.data(ARP)).protocols
    kind, attributes = contents(plain[1], ARP)
    assert kind is arp.arp
    assert ("opcode", 1) in attributes
    assert ("dst_ip", "10.0.0.2") in attributes


@settings(max_examples=200)
@given(inputs(), st.data())
def test_every_attribute_is_what_os_ken_would_have_read(values: dict[str, int], data: st.DataObject) -> None:
    frame = FRAMES.follow(values)
    with Run() as run:
        found = parse_osken(frame).protocols
        followed = contents(found, values)
    assert followed == contents(packet.Packet(FRAMES.data(values)).protocols, values)
    # And so for all other frames that decide alike.
    others = data.draw(inputs(fixed=alike(run, values, ["payload_length"])))
    assert taken(run, others)
    with Run():
        again = contents(found, others)
    assert again == contents(packet.Packet(FRAMES.data(others)).protocols, others)


@settings(max_examples=100)
@given(inputs())
def test_headers_are_found_where_os_ken_finds_them(values: dict[str, int]) -> None:
    frame, plain = FRAMES.follow(values), packet.Packet(FRAMES.data(values))
    kinds = (ethernet.ethernet, vlan.vlan, arp.arp, ipv4.ipv4, ipv6.ipv6, icmp.icmp, icmpv6.icmpv6)
    for kind in (*kinds, tcp.tcp, udp.udp, igmp.igmp, igmp.igmpv3_query, slow.lacp, lldp.lldp, vlan.svlan):
        found = parse_osken(frame)
        assert (kind in found) == (kind in plain)
        assert len(found.get_protocols(kind)) == len(plain.get_protocols(kind))
        assert isinstance(found.get_protocol(kind), kind) == (plain.get_protocol(kind) is not None)
    assert len(parse_osken(frame)) == len(plain)


@pytest.mark.parametrize(
    "question", [lambda pkt: pkt.get_protocol(vlan.svlan), lambda pkt: vlan.svlan in pkt], ids=["get", "in"]
)
def test_a_question_for_a_header_that_is_never_made_is_a_loss(question: Callable[[Any], Any]) -> None:
    pkt = parse_osken(FRAMES.follow(TCP))
    with Run() as run:
        assert not question(pkt)
    assert [loss.what for loss in run.losses] == ["packets with svlan are not made"]


@pytest.mark.parametrize(
    ("values", "question", "expected"),
    [
        (TCP, lambda pkt: pkt.get_protocol(ethernet.ethernet), []),
        (TCP, lambda pkt: pkt.get_protocols(ethernet.ethernet)[0].src, []),
        (TCP, lambda pkt: pkt[0].ethertype, []),
        (TCP, lambda pkt: next(iter(pkt)), []),
        (TCP, bool, []),
        (ARP, lambda pkt: pkt.get_protocol(arp.arp), ["eth_type == 2054"]),
        (TCP, lambda pkt: pkt.get_protocol(arp.arp), ["not (eth_type == 2054)"]),
        (TCP, lambda pkt: arp.arp in pkt, ["not (eth_type == 2054)"]),
        (TCP, lambda pkt: pkt.get_protocol(vlan.vlan), ["not (vlan_vid[12:13] == 1)"]),
        (LACP, lambda pkt: slow.lacp in pkt, [str(FRAMES.present["lacp"])]),
        (LLDP, lambda pkt: pkt.get_protocol(lldp.lldp), ["eth_type == 35020"]),
        (
            QUERY_V3,
            lambda pkt: pkt.get_protocol(igmp.igmp),
            [str(FRAMES.present["igmp"]), "not (igmp_type == 34)", "igmp_type == 17", "igmp_v3 == 1"],
        ),
        (
            ARP,
            lambda pkt: list(pkt),
            ["not (vlan_vid[12:13] == 1)", "not (eth_type == 2048)", "eth_type == 2054"],
        ),
    ],
)
def test_a_question_decides_what_it_must(
    values: dict[str, int], question: Callable[[Any], Any], expected: list[str]
) -> None:
    pkt = parse_osken(FRAMES.follow(values))
    with Run() as run:
        question(pkt)
    assert decisions(run) == expected
    assert not run.losses


def test_tcp_over_either_ip_is_one_question() -> None:
    pkt = parse_osken(FRAMES.follow(TCP))
    with Run() as run:
        segment = pkt.get_protocol(tcp.tcp)
        assert segment.dst_port == 80
        assert segment.has_flags(tcp.TCP_SYN)
    assert decisions(run)[0] == str(FRAMES.present["tcp"])
    assert decisions(run)[1] == "tcp_dst == 80"
    assert all("tcp_flags" in text for text in decisions(run)[2:])


def test_the_type_of_a_tagged_frame_is_the_tag_s() -> None:
    pkt = parse_osken(FRAMES.follow(usual(vlan_vid=0x1007, vlan_pcp=3)))
    assert pkt[0].ethertype == 0x8100
    assert (pkt[1].vid, pkt[1].pcp, pkt[1].ethertype) == (7, 3, 0x0800)
    assert [found.protocol_name for found in pkt] == ["ethernet", "vlan", "ipv4", "icmp"]


def test_what_an_icmp_message_holds_is_decided_when_asked_for() -> None:
    pkt = parse_osken(FRAMES.follow(usual(icmp_seq=9)))
    with Run() as run:
        message = pkt.get_protocol(icmp.icmp)
        before = len(run.decisions)
        assert message.type == 8
        echo = message.data
        assert isinstance(echo, icmp.echo)
        assert echo.seq == 9
        assert echo.data is None
    assert [str(decision.condition) for decision in run.decisions[before:]] == [
        "icmpv4_type == 8",
        "(icmpv4_type == 8) or (icmpv4_type == 0)",
        "icmp_seq == 9",
        "payload_length == 0",
    ]


def test_lldp_names_switches_as_os_ken_does() -> None:
    with Run() as run:
        found = FUNCTIONS["os_ken.lib.packet.packet", "Packet"](FRAMES.follow(LLDP))
        chassis, port, _, _ = found.get_protocol(lldp.lldp).tlvs
        assert concrete(chassis.chassis_id) == b"dpid:000000000000001f"
        name = chassis.chassis_id.decode("utf-8")
        assert name.startswith("dpid:")
        number = FUNCTIONS["os_ken.lib.dpid", "str_to_dpid"](name[5:])
        assert str(term_of(number)) == "lldp_dpid"
        assert number == 0x1F
        assert concrete(port.port_id) == b"\0\0\0\3"
    assert "lldp_own == 1" in decisions(run)
    assert not run.losses


def test_lldp_may_name_others_in_another_way() -> None:
    found = parse_osken(FRAMES.follow({**LLDP, "lldp_own": 0, "lldp_chassis": 5, "lldp_chassis_subtype": 4}))
    chassis = found.get_protocol(lldp.lldp).tlvs[0]
    assert (chassis.subtype, bytes(chassis.chassis_id)) == (4, bytes(5) + b"\5")


def test_lacp_has_its_states_bit_by_bit() -> None:
    pkt = parse_osken(FRAMES.follow({**LACP, "lacp_actor_state": 0b10}))
    with Run() as run:
        (found,) = pkt.get_protocols(slow.lacp)
        assert found.actor_state_timeout == found.LACP_STATE_SHORT_TIMEOUT
        assert str(term_of(found.actor_state_timeout)) == "lacp_actor_state[1:2]"
    assert "lacp_actor_state[1:2] == 1" in decisions(run)


def test_an_icmp_message_of_another_type_holds_bytes() -> None:
    for changes in ({"icmpv4_type": 13}, {"eth_type": 0x86DD, "ip_proto": 58, "icmpv6_type": 1}):
        values = usual(icmp_id=0x6162, icmp_seq=0x6364, **changes)
        assert parse_osken(FRAMES.follow(values))[2].data == b"abcd"


def test_what_an_icmp_message_holds_can_be_changed() -> None:
    message = parse_osken(FRAMES.follow(usual())).get_protocol(icmp.icmp)
    message.data = b"else"
    assert message.data == b"else"


def test_the_same_header_is_the_same_object() -> None:
    pkt = parse_osken(FRAMES.follow(TCP))
    assert pkt.get_protocol(ipv4.ipv4) is pkt.get_protocol(ipv4.ipv4)
    assert pkt.protocols[1] is pkt.get_protocol(ipv4.ipv4)


def test_a_packet_can_be_changed_and_serialised() -> None:
    pkt = parse_osken(FRAMES.follow(ARP))
    with Run() as run:
        pkt.get_protocol(arp.arp).opcode = arp.ARP_REPLY
        pkt.serialize()
    assert packet.Packet(pkt.data).get_protocol(arp.arp).opcode == arp.ARP_REPLY
    assert bytes(pkt.data[:42])[:20] == FRAMES.data(ARP)[:20]
    assert decisions(run) == ["eth_type == 2054"]


def test_a_packet_takes_more_headers() -> None:
    pkt = parse_osken(FRAMES.follow(ARP))
    pkt.add_protocol(vlan.vlan(vid=5))
    assert len(pkt) == 3
    assert pkt.get_protocol(vlan.vlan).vid == 5
    del pkt[2]
    pkt[1] = udp.udp()
    assert udp.udp in pkt
    assert arp.arp not in pkt
    assert isinstance(pkt[-1], udp.udp)
    assert [found.protocol_name for found in pkt] == ["ethernet", "udp"]
    assert pkt
    with pytest.raises(IndexError):
        parse_osken(FRAMES.follow(ARP))[2]
    assert b"payload" not in parse_osken(FRAMES.follow(ARP))
    assert parse_osken(FRAMES.follow(ARP)).get_protocol(arp.arp()) is not None


def test_the_text_of_a_packet_is_os_ken_s_and_decides_nothing() -> None:
    pkt = parse_osken(FRAMES.follow(TCP))
    with Run() as run:
        text = str(pkt)
        header = str(pkt.get_protocol(ethernet.ethernet))
    assert text == str(packet.Packet(FRAMES.data(TCP)))
    assert header == str(packet.Packet(FRAMES.data(TCP))[0])
    assert run.decisions == []


@settings(max_examples=50)
@given(inputs())
def test_a_packet_made_concrete_is_os_ken_s(values: dict[str, int]) -> None:
    pkt = parse_osken(FRAMES.follow(values))
    plain = packet.Packet(FRAMES.data(values))
    with Run() as run:
        made = concrete(pkt)
        first = concrete(pkt.get_protocol(ethernet.ethernet))
    assert type(made) is packet.Packet
    assert type(first) is ethernet.ethernet
    assert str(made) == str(plain)
    assert bytes(made.data) == bytes(plain.data)
    assert not run.decisions
    assert not run.losses


@pytest.mark.parametrize(
    "wrapped",
    [
        lambda data: data,
        lambda data: data[:],
        lambda data: FUNCTIONS["array", "array"]("B", data),
        FUNCTIONS["builtins", "bytearray"],
    ],
)
def test_the_frame_is_followed_through_packet_however_it_is_wrapped(wrapped: Callable[[Any], Any]) -> None:
    pkt = FUNCTIONS["os_ken.lib.packet.packet", "Packet"](wrapped(FRAMES.follow(TCP)))
    source = pkt.get_protocol(ethernet.ethernet).src
    assert source == "00:00:00:00:00:01"
    assert isinstance(source, SymStr)


def test_a_buffer_is_followed_until_it_is_changed() -> None:
    copied = FUNCTIONS["builtins", "bytearray"](FRAMES.follow(TCP))
    assert str(term_of(copied[5])) == "eth_dst[0:8]"
    assert concrete(copied) == bytearray(FRAMES.data(TCP))
    copied[5] = 9
    assert copied[5] == 9
    assert FUNCTIONS["os_ken.lib.packet.packet", "Packet"](copied) is UNFOLLOWED


def test_the_length_of_a_frame_is_followed() -> None:
    with Run() as run:
        assert FUNCTIONS["builtins", "len"](FRAMES.follow(TCP)) < 100
    assert run.decisions[0].condition.variables >= {"payload_length", "eth_type"}
    assert not run.losses
    assert FUNCTIONS["builtins", "len"]([1]) is PLAIN
    assert FUNCTIONS["builtins", "bytearray"](b"ab") is UNFOLLOWED


def test_what_is_no_frame_goes_to_os_ken_itself() -> None:
    end = FRAMES.follow(TCP)[14:]
    assert FUNCTIONS["os_ken.lib.packet.packet", "Packet"](end) is UNFOLLOWED
    assert FUNCTIONS["os_ken.lib.packet.packet", "Packet"](None, [ethernet.ethernet()]) is PLAIN
    assert FUNCTIONS["array", "array"]("B", b"ab") is UNFOLLOWED
    assert FUNCTIONS["os_ken.lib.dpid", "str_to_dpid"]("0000000000000010") is UNFOLLOWED


def test_all_headers_of_a_packet_are_asked_for_by_their_base() -> None:
    pkt = parse_osken(FRAMES.follow(UDP))
    assert [found.__class__ for found in pkt.get_protocols(packet_base.PacketBase)] == [
        ethernet.ethernet,
        ipv4.ipv4,
        udp.udp,
    ]
