"""Flows: packets that a rule as fine as OpenFlow 1.0 can tell would treat alike."""

from __future__ import annotations

from typing import Any

from penstock._properties.packets import Flow, flow_of
from penstock.packet import (
    Ethernet,
    TcpFlags,
    arp_request,
    ping_reply,
    ping_request,
    tcp_segment,
    udp_datagram,
)

THERE: dict[str, Any] = {"eth_src": 1, "eth_dst": 2, "ip_src": "10.0.0.1", "ip_dst": "10.0.0.2"}
BACK: dict[str, Any] = {"eth_src": 2, "eth_dst": 1, "ip_src": "10.0.0.2", "ip_dst": "10.0.0.1"}


def tcp(
    ends: dict[str, Any], source: int, destination: int, flags: TcpFlags = TcpFlags.ACK, **rest: Any
) -> Ethernet:
    return tcp_segment(**ends, tcp_src=source, tcp_dst=destination, flags=flags, **rest)


def flow(packet: Ethernet) -> Flow | None:
    return flow_of(packet.to_bytes())


def test_packets_that_differ_only_in_what_no_rule_sees_are_of_one_flow() -> None:
    first = tcp(THERE, 4000, 80, TcpFlags.SYN, seq=1)
    later = tcp(THERE, 4000, 80, TcpFlags.ACK, seq=2, payload=b"data")
    assert flow(first) == flow(later)


def test_other_ports_protocols_and_directions_are_other_flows() -> None:
    packets = [
        tcp(THERE, 4000, 80),
        tcp(THERE, 4001, 80),
        tcp(BACK, 4000, 80),
        udp_datagram(**THERE, udp_src=4000, udp_dst=80),
        ping_request(**THERE),
        ping_reply(ping_request(**BACK), eth_src=1),
    ]
    assert len({flow(packet) for packet in packets}) == len(packets)


def test_the_reverse_of_a_flow_is_the_flow_of_its_answers() -> None:
    request = ping_request(**THERE)
    pairs = [(tcp(THERE, 4000, 80), tcp(BACK, 80, 4000)), (request, ping_reply(request, eth_src=2))]
    for there, back in pairs:
        one, other = flow(there), flow(back)
        assert one is not None and other is not None
        assert one.reverse() == other
        assert other.reverse() == one


def test_what_goes_to_everybody_or_is_no_frame_has_no_flow() -> None:
    assert flow(arp_request(eth_src=1, ip_src="10.0.0.1", ip_dst="10.0.0.2")) is None
    assert flow_of(b"short") is None
