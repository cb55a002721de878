"""A match of 1.0 means what Open vSwitch takes it to mean."""

from __future__ import annotations

from struct import pack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.openflow.message_strategies import matches10

from penstock.openflow.match import ANYTHING, Match, Term
from penstock.openflow.messages import V10, FlowMod, FlowRemoved
from penstock.openflow.stats import FlowRequest, StatsRequest
from penstock.openflow.wire import decode, encode

BITS = {
    "in_port": 1 << 0,
    "dl_vlan": 1 << 1,
    "dl_src": 1 << 2,
    "dl_dst": 1 << 3,
    "dl_type": 1 << 4,
    "nw_proto": 1 << 5,
    "tp_src": 1 << 6,
    "tp_dst": 1 << 7,
    "nw_src": 0x3F << 8,
    "nw_dst": 0x3F << 14,
    "dl_vlan_pcp": 1 << 20,
    "nw_tos": 1 << 21,
}


def match10(*, ignored_src: int = 0, ignored_dst: int = 0, **fields: int) -> bytes:
    """The 40 bytes of a match on these fields; everything else is wildcarded and full of noise."""
    wildcards = (1 << 22) - 1
    for name in fields:
        wildcards &= ~BITS[name]
    wildcards |= (ignored_src << 8 if "nw_src" in fields else 0) | (
        ignored_dst << 14 if "nw_dst" in fields else 0
    )
    noise = dict.fromkeys(BITS, 119) | fields
    return pack(
        "!IH6s6sHBxHBBxxIIHH",
        wildcards,
        noise["in_port"],
        noise["dl_src"].to_bytes(6),
        noise["dl_dst"].to_bytes(6),
        noise["dl_vlan"],
        noise["dl_vlan_pcp"],
        noise["dl_type"],
        noise["nw_tos"],
        noise["nw_proto"],
        noise["nw_src"],
        noise["nw_dst"],
        noise["tp_src"],
        noise["tp_dst"],
    )


def read(match: bytes) -> Match:
    message = decode(pack("!BBHI", V10, 16, 56, 0) + pack("!HH", 1, 0) + match + pack("!BxH", 0xFF, 0xFFFF))
    assert isinstance(message, StatsRequest)
    assert isinstance(message.body, FlowRequest)
    return message.body.match


IP = {"dl_type": 0x0800}

MEANINGS = {
    "nothing": ({}, ANYTHING),
    "a port": ({"in_port": 5}, Match.of(in_port=5)),
    "a reserved port": ({"in_port": 0xFFFE}, Match.of(in_port=0xFFFFFFFE)),
    "addresses": ({"dl_src": 1, "dl_dst": 2}, Match.of(eth_src=1, eth_dst=2)),
    "no tag": ({"dl_vlan": 0xFFFF}, Match.of(vlan_vid=0)),
    "no tag, whatever the priority": ({"dl_vlan": 0xFFFF, "dl_vlan_pcp": 3}, Match.of(vlan_vid=0)),
    "a VLAN": ({"dl_vlan": 9}, Match.of(vlan_vid=0x1009)),
    "a VLAN of twelve bits": ({"dl_vlan": 0x7009}, Match.of(vlan_vid=0x1009)),
    "a VLAN with a priority": ({"dl_vlan": 9, "dl_vlan_pcp": 3}, Match.of(vlan_vid=0x1009, vlan_pcp=3)),
    "a priority": ({"dl_vlan_pcp": 3}, Match.of(vlan_vid=(0x1000, 0x1000), vlan_pcp=3)),
    "a type of service": (IP | {"nw_tos": 0xB8}, Match.of(eth_type=0x0800, ip_dscp=0x2E)),
    "a type of service with other bits": (IP | {"nw_tos": 0xBB}, Match.of(eth_type=0x0800, ip_dscp=0x2E)),
    "a type of service of nothing": ({"nw_tos": 0xB8}, ANYTHING),
    "a protocol of nothing": ({"nw_proto": 6, "tp_src": 80}, ANYTHING),
    "an address of nothing": ({"nw_src": 1, "nw_dst": 2}, ANYTHING),
    "an address of LLDP": ({"dl_type": 0x88CC, "nw_src": 1}, Match.of(eth_type=0x88CC)),
    "a network": (
        IP | {"nw_src": 0x0A0102FF, "ignored_src": 8},
        Match.of(eth_type=0x0800, ipv4_src="10.1.2.0/24"),
    ),
    "every network": (IP | {"nw_dst": 0x0A010203, "ignored_dst": 32}, Match.of(eth_type=0x0800)),
    "more than every network": (IP | {"nw_dst": 0x0A010203, "ignored_dst": 63}, Match.of(eth_type=0x0800)),
    "a port of IP": (IP | {"tp_src": 80}, Match.of(eth_type=0x0800)),
    "a port of TCP": (
        IP | {"nw_proto": 6, "tp_src": 80},
        Match.of(eth_type=0x0800, ip_proto=6, tcp_src=80),
    ),
    "a port of SCTP": (
        IP | {"nw_proto": 132, "tp_dst": 80},
        Match.of(eth_type=0x0800, ip_proto=132, sctp_dst=80),
    ),
    "a port of GRE": (IP | {"nw_proto": 47, "tp_dst": 80}, Match.of(eth_type=0x0800, ip_proto=47)),
    "ICMP": (
        IP | {"nw_proto": 1, "tp_src": 8, "tp_dst": 0},
        Match.of(eth_type=0x0800, ip_proto=1, icmpv4_type=8, icmpv4_code=0),
    ),
    "ARP": (
        {"dl_type": 0x0806, "nw_proto": 2, "nw_src": 1, "nw_dst": 2, "nw_tos": 4, "tp_src": 3},
        Match.of(eth_type=0x0806, arp_op=2, arp_spa=1, arp_tpa=2),
    ),
    "RARP": ({"dl_type": 0x8035, "nw_proto": 3}, Match.of(eth_type=0x8035, arp_op=3)),
    "IPv6": (
        {"dl_type": 0x86DD, "nw_proto": 17, "nw_tos": 8, "nw_src": 1, "tp_dst": 53},
        Match.of(eth_type=0x86DD, ip_proto=17, ip_dscp=2, udp_dst=53),
    ),
    "ICMPv6": (
        {"dl_type": 0x86DD, "nw_proto": 58, "tp_src": 135},
        Match.of(eth_type=0x86DD, ip_proto=58, icmpv6_type=135),
    ),
    "ICMP over IPv6": (
        {"dl_type": 0x86DD, "nw_proto": 1, "tp_src": 8},
        Match.of(eth_type=0x86DD, ip_proto=1),
    ),
    "no Ethernet type": ({"dl_type": 0x05FF}, Match.of(eth_type=0x05FF)),
}


@pytest.mark.parametrize(("fields", "meaning"), MEANINGS.values(), ids=MEANINGS.keys())
def test_a_match_means(fields: dict[str, int], meaning: Match) -> None:
    assert read(match10(**fields)) == meaning


def test_an_icmp_type_that_no_packet_has_is_satisfied_by_none_and_kept() -> None:
    match = read(match10(dl_type=0x0800, nw_proto=1, tp_src=0x1234))
    assert match.get("icmpv4_type") == Term("icmpv4_type", 0x1234, 0xFFFF)
    assert not match.accepts({"eth_type": 0x0800, "ip_proto": 1, "icmpv4_type": 0x34})
    request = StatsRequest(FlowRequest(match))
    assert decode(encode(request, V10)) == request


def test_what_is_wildcarded_is_written_as_zero() -> None:
    body = encode(StatsRequest(FlowRequest(ANYTHING)), V10)[12:52]
    assert int.from_bytes(body[:4]) == 0x3820FF
    assert body[4:] == bytes(36)


FULL = Match.of(
    in_port=1, eth_src=1, eth_dst=2, vlan_vid=0, eth_type=0x0800, ip_dscp=1, ip_proto=6,
    ipv4_src=1, ipv4_dst=2, tcp_src=1, tcp_dst=2,
)  # fmt: skip


def test_a_flow_that_wildcards_nothing_goes_before_all_others() -> None:
    assert int.from_bytes(encode(FlowMod(0, FULL, priority=5), V10)[8:12]) == 0
    flow_mod = decode(encode(FlowMod(0, FULL, priority=5), V10))
    assert isinstance(flow_mod, FlowMod)
    assert flow_mod.priority == 0xFFFF


def test_a_flow_removed_tells_its_priority_as_it_is() -> None:
    removed = FlowRemoved(FULL, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0)
    assert decode(encode(removed, V10)) == removed


@settings(max_examples=300)
@given(matches10())
def test_what_1_0_can_say_comes_back_as_it_was(match: Match) -> None:
    removed = FlowRemoved(match, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0)
    assert decode(encode(removed, V10)) == removed


@settings(max_examples=300)
@given(st.binary(min_size=40, max_size=40))
def test_what_any_bytes_mean_can_be_said_again(match: bytes) -> None:
    meaning = read(match)
    request = StatsRequest(FlowRequest(meaning))
    assert decode(encode(request, V10)) == request
    assert Match.normal(list(meaning.terms)) == meaning
