"""Our own view of a frame that is followed is that of the frame, and decides no more than it must."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.symbolic.frame_strategies import FRAMES, alike, decisions, inputs, taken, usual

from penstock._concolic.code.summaries import UNFOLLOWED
from penstock._concolic.packets.native_headers import FUNCTIONS, parse_native
from penstock._concolic.run import Run
from penstock._concolic.space import Inputs
from penstock._concolic.terms import evaluate
from penstock._concolic.values.integers import term_of
from penstock._concolic.values.parts import concrete
from penstock._concolic.values.sym_bytes import SymBytes
from penstock.packet import (
    ARP,
    ICMP,
    LLDP,
    TCP,
    UDP,
    Echo,
    Ethernet,
    ICMPv6,
    IPv4,
    IPv6,
    NeighbourSolicitation,
    TcpFlags,
    parse,
)

AN_ARP = usual(eth_type=0x0806)
A_TCP = usual(ip_proto=6)


def contents(thing: Any, values: Inputs) -> Any:
    """Return what is in a layer, all the way down, for some inputs."""
    if isinstance(thing, SymBytes):
        return bytes(evaluate(term, values) for term in thing.terms)
    if isinstance(thing, int):
        return evaluate(term_of(thing), values)
    if isinstance(thing, tuple):
        return [contents(part, values) for part in thing]
    if dataclasses.is_dataclass(thing):
        names = [made.name for made in dataclasses.fields(thing)]
        return thing.__class__, {name: contents(getattr(thing, name), values) for name in names}
    return thing


@settings(max_examples=200)
@given(inputs(), st.data())
def test_every_field_is_what_parse_would_have_read(values: dict[str, int], data: st.DataObject) -> None:
    with Run() as run:
        found = parse_native(FRAMES.follow(values))
        followed = contents(found, values)
    assert followed == contents(parse(FRAMES.data(values)), values)
    # Bytes that we do not look into may hold a checksum, which is followed as a constant.
    opaque = [name for name in values if name.startswith("igmp_")]
    others = data.draw(inputs(fixed=alike(run, values, ["payload_length", *opaque])))
    assert taken(run, others)
    with Run():
        again = contents(found, others)
    assert again == contents(parse(FRAMES.data(others)), others)


@settings(max_examples=100)
@given(inputs())
def test_layers_are_found_where_parse_finds_them(values: dict[str, int]) -> None:
    found, plain = parse_native(FRAMES.follow(values)), parse(FRAMES.data(values))
    for kind in (Ethernet, ARP, IPv4, IPv6, TCP, UDP, ICMP, ICMPv6, LLDP, Echo, NeighbourSolicitation):
        layer = found.find(kind)
        assert (layer is None) == (plain.find(kind) is None)
        assert layer is None or isinstance(layer, kind)
    assert found == plain
    assert found.to_bytes() == plain.to_bytes()


@pytest.mark.parametrize(
    ("values", "question", "expected"),
    [
        (AN_ARP, lambda packet: (packet.dst, packet.src, packet.ethertype), []),
        (AN_ARP, lambda packet: packet.find(ARP), ["eth_type == 2054"]),
        (A_TCP, lambda packet: packet.find(ARP), ["not (eth_type == 2054)"]),
        (A_TCP, lambda packet: packet.find(TCP), [str(FRAMES.present["tcp"])]),
        (A_TCP, lambda packet: packet.find(Ethernet), []),
        (A_TCP, lambda packet: packet.tags, ["not (vlan_vid[12:13] == 1)"]),
        (AN_ARP, lambda packet: packet.payload, ["not (eth_type == 2048)", "eth_type == 2054"]),
        (A_TCP, lambda packet: packet.payload.protocol, ["eth_type == 2048"]),
        (A_TCP, lambda packet: packet.to_bytes()[:6], []),
    ],
)
def test_a_question_decides_what_it_must(
    values: dict[str, int], question: Callable[[Any], Any], expected: list[str]
) -> None:
    packet = parse_native(FRAMES.follow(values))
    with Run() as run:
        question(packet)
    assert decisions(run) == expected
    assert not run.losses


def test_patterns_match_layers() -> None:
    packet = parse_native(FRAMES.follow(AN_ARP))
    with Run() as run:
        match packet:
            case Ethernet(payload=IPv4()):
                pytest.fail("an ARP packet is no datagram")
            case Ethernet(payload=ARP(op=1, tpa=target)):
                assert str(term_of(target)) == "arp_tpa"
            case _:
                pytest.fail("an ARP request is one")
    assert decisions(run) == ["not (eth_type == 2048)", "eth_type == 2054", "arp_op == 1"]


def test_flags_are_asked_for_one_by_one() -> None:
    segment = parse_native(FRAMES.follow({**A_TCP, "tcp_flags": 0x12})).find(TCP)
    assert segment is not None
    with Run() as run:
        assert TcpFlags.SYN in segment.flags
        assert TcpFlags.FIN not in segment.flags
        assert segment.flags & TcpFlags.ACK
        assert segment.flags == TcpFlags.SYN | TcpFlags.ACK
    assert decisions(run) == [
        "tcp_flags[1:2] == 1",
        "not (tcp_flags[0:1] == 1)",
        "not (tcp_flags[4:5] == 0)",
        "tcp_flags == 18",
    ]


def test_a_packet_can_be_replaced_in_part() -> None:
    packet = parse_native(FRAMES.follow(AN_ARP))
    changed = dataclasses.replace(packet, dst=7)
    assert type(changed) is Ethernet
    assert changed.to_bytes() == b"\0\0\0\0\0\7" + FRAMES.data(AN_ARP)[6:]


def test_the_payload_of_a_datagram_is_bytes_with_an_open_end() -> None:
    values = usual(ip_proto=17, payload_length=5, payload=int.from_bytes(b"hello\0\0\0"))
    datagram = parse_native(FRAMES.follow(values)).find(UDP)
    assert datagram is not None
    with Run() as run:
        assert datagram.payload[:4] == b"hell"
        assert datagram.payload == b"hello"
    assert "not (payload_length < 4)" in decisions(run)
    assert "payload_length == 5" in decisions(run)


def test_text_is_that_of_the_frame_and_decides_nothing() -> None:
    with Run() as run:
        text = repr(parse_native(FRAMES.follow(AN_ARP)))
    assert text == repr(parse(FRAMES.data(AN_ARP)))
    assert run.decisions == []
    assert run.losses


@settings(max_examples=50)
@given(inputs())
def test_a_packet_made_concrete_is_the_packet(values: dict[str, int]) -> None:
    with Run() as run:
        made = concrete(parse_native(FRAMES.follow(values)))
    assert type(made) is Ethernet
    assert repr(made) == repr(parse(FRAMES.data(values)))
    assert not run.decisions
    assert not run.losses


def test_parse_itself_is_summarised() -> None:
    found = FUNCTIONS["penstock.packet.link", "parse"](FRAMES.follow(AN_ARP))
    assert str(term_of(found.src)) == "eth_src"
    assert (parse.__module__, parse.__qualname__) in FUNCTIONS
    inner = FRAMES.follow(usual())[14:]
    assert FUNCTIONS["penstock.packet.link", "parse"](inner) is UNFOLLOWED
