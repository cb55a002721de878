"""What is known of packets beforehand: preferred values, and what is always true."""

from __future__ import annotations

import pytest
from tests.symbolic.frame_strategies import FRAMES, HOSTS, usual, valid

from penstock._concolic.packets.domain import Addresses, Sender
from penstock._concolic.packets.frames import FrameSpace
from penstock._concolic.terms import evaluate
from penstock.addresses import BROADCAST_MAC, ipv4, is_multicast_mac
from penstock.packet import describe


def preferred(frames: FrameSpace, name: str) -> tuple[int, ...]:
    return frames.space.by_name[name].preferred


def test_where_nothing_matters_a_host_pings_another() -> None:
    assert valid(FRAMES.usual)
    assert describe(FRAMES.data(FRAMES.usual)) == "ICMP echo request 10.0.0.1 > 10.0.0.2 seq 1"


def test_a_fresh_address_is_nobody_s() -> None:
    crowded = Addresses(macs=(HOSTS.fresh_mac,), ipv4s=(ipv4("10.0.0.101"), ipv4("10.0.0.102")))
    assert crowded.fresh_mac == HOSTS.fresh_mac + 1
    assert crowded.fresh_ipv4 == ipv4("10.0.0.103")
    assert Addresses().fresh_ipv4 == ipv4("192.0.2.1")


def test_other_hosts_come_first_then_everybody_then_strangers() -> None:
    assert preferred(FRAMES, "eth_dst")[:4] == (2, 3, BROADCAST_MAC, HOSTS.fresh_mac)
    assert any(is_multicast_mac(address) for address in preferred(FRAMES, "eth_dst")[4:])
    assert 0x101 in preferred(FRAMES, "eth_dst")
    assert preferred(FRAMES, "ipv4_dst")[:3] == (HOSTS.ipv4s[1], HOSTS.ipv4s[2], HOSTS.fresh_ipv4)


def test_a_sender_prefers_others_and_does_not_lie() -> None:
    frames = FrameSpace(HOSTS, sender=Sender(2, HOSTS.ipv4s[1]))
    assert preferred(frames, "eth_dst")[:2] == (1, 3)
    assert all(evaluate(condition, frames.usual) for condition in frames.space.constraints)
    for name in ("eth_src", "arp_sha", "arp_spa", "ipv4_src"):
        lie = {**frames.usual, name: frames.usual[name] + 4}
        assert not all(evaluate(condition, lie) for condition in frames.space.constraints)


def test_a_sender_may_have_one_sort_of_address_only() -> None:
    frames = FrameSpace(HOSTS, sender=Sender(2, ipv6=5))
    assert "ipv6_src == 5" in map(str, frames.space.constraints)
    assert not any("ipv4_src ==" in str(condition) for condition in frames.space.constraints)
    assert preferred(frames, "ipv6_src")[0] == 5


@pytest.mark.parametrize(
    "changes",
    [
        {"eth_src": 0},
        {"eth_src": BROADCAST_MAC},
        {"eth_type": 0x05DC},
        {"eth_type": 0x8100},
        {"vlan_vid": 5},
        {"payload_length": 1401},
        {"payload": 1},
        {"payload_length": 7, "payload": 1},
        {"eth_type": 0x86DD, "ip_proto": 44},
    ],
)
def test_what_is_no_frame_is_ruled_out(changes: dict[str, int]) -> None:
    assert not valid(usual(**changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"eth_type": 0x88B5},
        {"eth_type": 0x0600},
        {"eth_dst": 0},
        {"vlan_vid": 0x1000},
        {"ip_proto": 199},
        {"ip_proto": 6, "tcp_dst": 6653},
        {"payload_length": 8, "payload": 1},
        {"payload_length": 1400},
    ],
)
def test_nothing_else_is(changes: dict[str, int]) -> None:
    assert valid(usual(**changes))


def test_preferred_values_fit_their_variables() -> None:
    for variable in FRAMES.space.variables:
        assert variable.preferred
        assert all(0 <= value < 1 << variable.width for value in variable.preferred), variable.name
        assert len(set(variable.preferred)) == len(variable.preferred), variable.name
