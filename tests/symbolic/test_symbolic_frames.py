"""Frames from inputs: right as bytes, and followed byte by byte no further than needed."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.symbolic.frame_strategies import FRAMES, alike, decisions, inputs, taken, usual

from penstock._concolic.packets.headers import INPUTS
from penstock._concolic.run import Run, unnoticed
from penstock._concolic.space import Inputs
from penstock._concolic.terms import Term, evaluate
from penstock._concolic.values.integers import term_of
from penstock._concolic.values.parts import concrete
from penstock._concolic.values.sym_bytes import SymBytes
from penstock._world.switch.headers import read
from penstock.openflow.fields import BY_NAME
from penstock.packet import parse

some = settings(max_examples=150)


def evaluated(terms: tuple[Term, ...], values: Inputs) -> bytes:
    return bytes(evaluate(term, values) for term in terms)


# As bytes.


@some
@given(inputs())
def test_our_parser_finds_lengths_and_checksums_right(values: dict[str, int]) -> None:
    data = FRAMES.data(values)
    frame = parse(data)
    assert frame.to_bytes() == data
    assert (frame.dst, frame.src, frame.ethertype) == (
        values["eth_dst"],
        values["eth_src"],
        values["eth_type"],
    )
    for layer in frame.layers():
        assert getattr(layer, "checksum", None) is None
        assert getattr(layer, "length", None) is None
    assert frame.padding == b""


@some
@given(inputs())
def test_a_switch_sees_the_fields_that_were_put_in(values: dict[str, int]) -> None:
    seen = read(FRAMES.data(values)).fields
    for name in INPUTS.keys() & BY_NAME.keys():
        there = evaluate(FRAMES.present[name], values)
        expected = evaluate(FRAMES.fields[name], values) if there else 0
        assert seen.get(name, 0) == expected, name


def test_a_udp_checksum_of_zero_is_sent_as_all_ones() -> None:
    # What is summed besides the payload: the protocol, and the length twice.
    values = usual(ip_proto=17, ipv4_src=0, ipv4_dst=0, udp_src=0, udp_dst=0, payload_length=2)
    values["payload"] = 0xFFFF - 17 - 10 - 10 << 48
    datagram = FRAMES.data(values)
    assert datagram[40:42] == b"\xff\xff"
    assert parse(datagram).to_bytes() == datagram


@some
@given(inputs())
def test_the_length_is_that_of_the_frame(values: dict[str, int]) -> None:
    frame = FRAMES.follow(values)
    assert evaluate(FRAMES.length, values) == frame.length == len(frame) == len(FRAMES.data(values))


# As bytes that are followed.


@some
@given(inputs(), st.data())
def test_every_byte_is_what_its_term_says(values: dict[str, int], data: st.DataObject) -> None:
    frame = FRAMES.follow(values)
    with Run() as run:
        terms = frame.terms
    assert evaluated(terms, values) == FRAMES.data(values)
    others = data.draw(inputs(fixed=alike(run, values, ["payload_length"])))
    assert taken(run, others)
    for at, (found, expected) in enumerate(zip(evaluated(terms, others), FRAMES.data(others), strict=True)):
        # Checksums are followed as constants.
        assert found == expected or terms[at].op == "const"


@some
@given(inputs(), st.integers(0, 60), st.integers(0, 60))
def test_slices_are_those_of_the_frame(values: dict[str, int], first: int, last: int) -> None:
    data, frame = FRAMES.data(values), FRAMES.follow(values)
    with Run():
        found, end = frame[first:last], frame[first:]
    assert concrete(found) == data[first:last]
    assert concrete(end) == data[first:]
    if isinstance(found, SymBytes):
        assert evaluated(found.terms, values) == data[first:last]


def test_the_first_bytes_decide_nothing() -> None:
    frame = FRAMES.follow(usual())
    with Run() as run:
        addresses, kind = frame[:12], frame[12:14]
        assert concrete(addresses) == bytes(5) + b"\x02" + bytes(5) + b"\x01"
        assert concrete(kind) == b"\x08\x00"
        assert str(term_of(frame[5])) == "eth_dst[0:8]"
    assert run.decisions == []


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        (13, []),
        (14, ["not (vlan_vid[12:13] == 1)", "eth_type == 2048"]),
        (33, ["not (vlan_vid[12:13] == 1)", "eth_type == 2048"]),
        (34, ["not (vlan_vid[12:13] == 1)", "eth_type == 2048", "not (ip_proto == 1)", "ip_proto == 6"]),
    ],
)
def test_a_byte_decides_the_shape_as_far_as_itself(index: int, expected: list[str]) -> None:
    frame = FRAMES.follow(usual(ip_proto=6))
    with Run() as run:
        frame[index]
    assert decisions(run) == expected


def test_a_byte_of_the_payload_decides_that_it_is_there() -> None:
    values = usual(eth_type=0x88B5, payload_length=3, payload=0x616263 << 40)
    frame = FRAMES.follow(values)
    with Run() as run:
        assert frame[16] == ord("c")
        before = len(run.decisions)
        with pytest.raises(IndexError):
            frame[17]
    last = run.decisions[before - 2 :]
    assert [str(decision.condition) for decision in last[-1:]] == ["payload_length < 4"]
    assert last[-1].outcome


def test_the_end_of_a_frame_is_a_frame_again() -> None:
    values = usual(ip_proto=17, payload_length=2, payload=0x6869 << 48)
    frame = FRAMES.follow(values)
    with Run() as run:
        end = frame[14:]
        assert run.decisions == []
        assert struct.unpack("!B", end[9:10]) == (17,)
        assert str(term_of(end[9])) == "ip_proto"
        assert end[28:] == b"hi"
    assert "payload_length == 2" in decisions(run)


def test_the_length_of_a_frame_decides_nothing_as_a_number_and_is_lost_as_len() -> None:
    frame = FRAMES.follow(usual())
    with Run() as run:
        assert frame.length == 42
        assert [decision.condition.variables for decision in run.decisions] == [
            term_of(frame.length).variables
        ]
        assert not run.losses
        assert len(frame) == 42
        assert sum(run.losses.values()) == 1


def test_a_frame_is_true_and_a_payload_may_not_be() -> None:
    frame = FRAMES.follow(usual(ip_proto=17))
    with Run() as run:
        assert frame
        assert run.decisions == []
        assert not frame.payload
    assert decisions(run)[-1] == "payload_length == 0"


def test_a_beginning_is_compared_without_looking_further() -> None:
    frame = FRAMES.follow(usual())
    with Run() as run:
        assert not frame.startswith(b"\x01\x80\xc2")
    assert decisions(run) == ["not (eth_dst[24:48] == 98498)"]


def test_an_index_that_depends_on_inputs_is_decided() -> None:
    frame = FRAMES.follow(usual(arp_op=3))
    with Run() as run:
        assert str(term_of(frame[frame.number("lldp_own") + 4])) == "eth_dst[0:8]"
        assert concrete(frame[: frame.number("lldp_own")]) == b"\0"
    assert decisions(run) == ["not (lldp_own == 0)"]


def test_what_is_looked_at_unnoticed_is_decided_later() -> None:
    frame = FRAMES.follow(usual())
    with Run() as run:
        with unnoticed():
            assert frame[14] == 0x45
        assert run.decisions == []
        assert frame[14] == 0x45
    assert len(run.decisions) == 2


def test_outside_of_runs_a_frame_is_like_any_bytes() -> None:
    frame = FRAMES.follow(usual())
    data = FRAMES.data(usual())
    assert frame == data
    assert frame != data[1:]
    assert frame == frame[:]
    assert frame[1:] != frame[2:]
    assert frame != "frame"
    assert frame.startswith((b"x", data[:2]))
    assert frame[5:5] == b""
    assert hash(frame) == hash(data)
    assert bytes(frame) == data
    assert list(frame) == list(data)
    assert frame[-1] == data[-1]
    assert frame[::2] == data[::2]
    assert struct.unpack_from("!6s", frame) == (data[:6],)
