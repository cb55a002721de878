"""Parsing loses nothing: not a bit of any frame, and not a field of any packet."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies_packets import damaged_frames, frames, noise_frames, packets

from penstock.errors import PenstockError
from penstock.packet import Ethernet, describe, parse


@settings(max_examples=600)
@given(packets())
def test_a_packet_comes_back_from_its_bytes_as_it_was(packet: Ethernet) -> None:
    assert parse(packet.to_bytes()) == packet


@settings(max_examples=300)
@given(st.binary(min_size=14, max_size=200))
def test_any_bytes_survive_parsing(data: bytes) -> None:
    assert parse(data).to_bytes() == data


@settings(max_examples=600)
@given(noise_frames())
def test_noise_behind_a_plausible_start_survives_parsing(data: bytes) -> None:
    assert parse(data).to_bytes() == data


@settings(max_examples=800)
@given(damaged_frames())
def test_a_damaged_packet_survives_parsing(data: bytes) -> None:
    assert parse(data).to_bytes() == data


@settings(max_examples=100)
@given(packets())
def test_a_packet_cut_anywhere_survives_parsing(packet: Ethernet) -> None:
    data = packet.to_bytes()
    for size in range(14, len(data)):
        assert parse(data[:size]).to_bytes() == data[:size]


@settings(max_examples=400)
@given(st.one_of(frames(), st.binary(max_size=20)))
def test_every_frame_has_a_description_of_one_short_line(data: bytes) -> None:
    phrase = describe(data)
    assert phrase.isprintable()
    assert 0 < len(phrase) < 200


@settings(max_examples=200)
@given(packets())
def test_packets_are_values(packet: Ethernet) -> None:
    again = parse(packet.to_bytes())
    assert hash(again) == hash(packet)
    assert len({again, packet}) == 1


@pytest.mark.parametrize("size", range(14))
def test_less_than_an_ethernet_header_is_refused(size: int) -> None:
    with pytest.raises(PenstockError, match=f"{size} bytes are no Ethernet frame"):
        parse(bytes(size))


def test_a_frame_of_nothing_but_tags_is_parsed() -> None:
    data = bytes(12) + b"\x81\x00\x00\x07" * 10_000
    packet = parse(data)
    assert len(packet.tags) == 9_999
    assert (packet.ethertype, packet.payload) == (0x8100, b"\x00\x07")
    assert packet.to_bytes() == data
    assert describe(data) == "VLAN 7/7/… 00:00:00:00:00:00 > 00:00:00:00:00:00 type 0x8100"
