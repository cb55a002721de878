"""A packet inside a switch is one frame as long as its bytes are the same."""

from __future__ import annotations

from penstock._world.frame import Frame
from penstock._world.switch.rewriting import Packet
from penstock.packet import ping_request

FRAME = Frame(ping_request(eth_src=1, eth_dst=2, ip_src=3, ip_dst=4).to_bytes(), "h1#1")


def test_a_packet_that_nobody_changed_is_the_frame_it_came_in_as() -> None:
    packet = Packet.of(FRAME, 1)
    assert packet.frame() is FRAME
    assert packet.copy().frame() is FRAME


def test_a_changed_packet_is_another_frame_and_then_the_same_one_again() -> None:
    packet = Packet.of(FRAME, 1)
    packet.set("eth_dst", 7)
    changed = packet.frame()
    assert changed.data[:6] == (7).to_bytes(6) and changed.data[6:] == FRAME.data[6:]
    assert changed.tag == FRAME.tag and packet.frame() is changed
    assert FRAME.data[:6] == (2).to_bytes(6)


def test_a_copy_changes_apart_from_the_packet() -> None:
    packet = Packet.of(FRAME, 1)
    copy = packet.copy()
    copy.set("eth_src", 9)
    assert copy.frame() != FRAME and packet.frame() is FRAME
