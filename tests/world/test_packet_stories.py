"""The packets hosts send, and the words stories have for packets."""

import doctest
from dataclasses import replace
from typing import Any

import pytest

import penstock.packet
from penstock._world.frame import Frame
from penstock.addresses import ipv6, mac
from penstock.errors import PenstockError
from penstock.openflow.fields import ETH_IPV4, ETH_IPV6, ETH_LLDP
from penstock.packet import (
    ARP,
    ICMP,
    LLDP,
    TCP,
    UDP,
    Echo,
    Ethernet,
    ExtensionHeader,
    ICMPv6,
    IPv4,
    IPv6,
    LldpId,
    NeighbourAdvertisement,
    NeighbourOption,
    NeighbourSolicitation,
    TcpFlags,
    VlanTag,
    arp_reply,
    arp_request,
    describe,
    ethernet,
    parse,
    ping_reply,
    ping_request,
    tcp_segment,
    udp_datagram,
)

H1, H2 = "00:00:00:00:00:01", "00:00:00:00:00:02"
ENDS: dict[str, Any] = {"eth_src": H1, "eth_dst": H2, "ip_src": "10.0.0.1", "ip_dst": "10.0.0.2"}
PING = ping_request(**ENDS, id=9, seq=3, payload=b"abc")
SYN_ACK = tcp_segment(**ENDS, tcp_src=80, tcp_dst=1000, flags=TcpFlags.SYN | TcpFlags.ACK, seq=5, ack=6)


def over_ipv4(protocol: int, payload: TCP | ICMP | bytes, offset: int = 0) -> Ethernet:
    return ethernet(H2, H1, ETH_IPV4, IPv4(0x0A000001, 0x0A000002, protocol, payload, offset=offset))


def over_ipv6(protocol: int, payload: TCP | UDP | ICMPv6 | bytes, *extensions: ExtensionHeader) -> Ethernet:
    ip = IPv6(ipv6("fe80::1"), ipv6("fe80::2"), protocol, payload, extensions=extensions)
    return ethernet(H2, H1, ETH_IPV6, ip)


def lldp(chassis: bytes, port: bytes) -> Ethernet:
    return ethernet(H2, H1, ETH_LLDP, LLDP(LldpId(7, chassis), LldpId(2, port)))


class TestBuilding:
    def test_addresses_are_text_or_numbers(self) -> None:
        numbers: dict[str, Any] = {"eth_src": 1, "eth_dst": 2, "ip_src": 0x0A000001, "ip_dst": 0x0A000002}
        assert ping_request(**numbers) == ping_request(**ENDS)

    def test_an_arp_request_is_broadcast(self) -> None:
        packet = arp_request(eth_src=H1, ip_src="10.0.0.1", ip_dst="10.0.0.2")
        assert packet.dst == mac("ff:ff:ff:ff:ff:ff")
        assert packet.find(ARP) == ARP(1, 1, 0x0A000001, 0, 0x0A000002)

    def test_an_arp_reply_goes_to_the_asker(self) -> None:
        packet = arp_reply(**ENDS)
        assert (packet.dst, packet.src) == (2, 1)
        assert packet.find(ARP) == ARP(2, 1, 0x0A000001, 2, 0x0A000002)

    def test_a_ping_reply_turns_the_request_round(self) -> None:
        reply = ping_reply(replace(PING, tags=(VlanTag(10),), padding=bytes(3)))
        assert (reply.dst, reply.src, reply.tags, reply.padding) == (1, 2, (VlanTag(10),), b"")
        answer = reply.find(IPv4)
        assert answer == IPv4(0x0A000002, 0x0A000001, 1, ICMP(0, 0, Echo(9, 3, b"abc")))

    def test_a_ping_reply_to_a_broadcast_names_its_own_sender(self) -> None:
        broadcast = replace(PING, dst=mac("ff:ff:ff:ff:ff:ff"))
        assert ping_reply(broadcast, eth_src=H2).src == 2

    def test_only_a_ping_request_has_a_ping_reply(self) -> None:
        with pytest.raises(PenstockError, match=r"\[TCP SYN\+ACK .*\] has no ping reply"):
            ping_reply(SYN_ACK)

    def test_a_tcp_segment(self) -> None:
        assert SYN_ACK.find(TCP) == TCP(80, 1000, 5, 6, TcpFlags.SYN | TcpFlags.ACK)

    def test_a_udp_datagram(self) -> None:
        packet = udp_datagram(**ENDS, udp_src=68, udp_dst=67, payload=b"x")
        assert packet.find(UDP) == UDP(68, 67, b"x")

    def test_the_example_in_the_documentation_runs(self) -> None:
        assert doctest.testmod(penstock.packet) == doctest.TestResults(failed=0, attempted=5)


@pytest.mark.parametrize(
    ("packet", "phrase"),
    [
        (
            arp_request(eth_src=H1, ip_src="10.0.0.1", ip_dst="10.0.0.2"),
            "ARP who has 10.0.0.2 tell 10.0.0.1",
        ),
        (arp_reply(**ENDS), "ARP 10.0.0.1 is at 00:00:00:00:00:01"),
        (ethernet(H2, H1, 0x0806, ARP(3, 1, 2, 3, 4)), "ARP op 3 0.0.0.2 > 0.0.0.4"),
        (PING, "ICMP echo request 10.0.0.1 > 10.0.0.2 seq 3"),
        (ping_reply(PING), "ICMP echo reply 10.0.0.2 > 10.0.0.1 seq 3"),
        (over_ipv4(1, ICMP(3, 1, b"")), "ICMP destination unreachable 10.0.0.1 > 10.0.0.2"),
        (over_ipv4(1, ICMP(13, 2, b"")), "ICMP type 13 code 2 10.0.0.1 > 10.0.0.2"),
        (SYN_ACK, "TCP SYN+ACK 10.0.0.1:80 > 10.0.0.2:1000"),
        (over_ipv4(6, TCP(1, 2)), "TCP 10.0.0.1:1 > 10.0.0.2:2"),
        (over_ipv4(6, TCP(1, 2, flags=TcpFlags(0x800))), "TCP 10.0.0.1:1 > 10.0.0.2:2"),
        (
            tcp_segment(**ENDS, tcp_src=1, tcp_dst=2, flags=TcpFlags.PSH | TcpFlags.ACK, payload=b"hello"),
            "TCP PSH+ACK 10.0.0.1:1 > 10.0.0.2:2 5 bytes",
        ),
        (udp_datagram(**ENDS, udp_src=68, udp_dst=67), "UDP 10.0.0.1:68 > 10.0.0.2:67"),
        (over_ipv4(132, b"sctp"), "IPv4 10.0.0.1 > 10.0.0.2 protocol 132"),
        (over_ipv4(17, b"later", offset=100), "IPv4 10.0.0.1 > 10.0.0.2 protocol 17 fragment"),
        (over_ipv6(6, TCP(1, 2, flags=TcpFlags.SYN)), "TCP SYN [fe80::1]:1 > [fe80::2]:2"),
        (over_ipv6(58, ICMPv6(128, 0, Echo(1, 2))), "ICMPv6 echo request fe80::1 > fe80::2 seq 2"),
        (
            over_ipv6(58, ICMPv6(135, 0, NeighbourSolicitation(ipv6("fe80::2")))),
            "NDP who has fe80::2 tell fe80::1",
        ),
        (
            over_ipv6(
                58,
                ICMPv6(
                    136,
                    0,
                    NeighbourAdvertisement(ipv6("fe80::1"), options=(NeighbourOption.link_layer(2, 1),)),
                ),
            ),
            "NDP fe80::1 is at 00:00:00:00:00:01",
        ),
        (over_ipv6(58, ICMPv6(136, 0, NeighbourAdvertisement(1))), "NDP ::1 is reachable"),
        (over_ipv6(59, b""), "IPv6 fe80::1 > fe80::2 protocol 59"),
        (
            over_ipv6(17, b"later", ExtensionHeader(44, b"\x00\x00\x08\x00\x00\x00\x07")),
            "IPv6 fe80::1 > fe80::2 protocol 17 fragment",
        ),
        (
            lldp(b"dpid:0000000000000001", b"\0\0\0\x03"),
            "LLDP dpid:0000000000000001 port 3",
        ),
        (lldp(b"\0\0\0\0\0\x09", b"eth0"), "LLDP 00:00:00:00:00:09 port eth0"),
        (lldp(b"x" * 100, b"\0" * 20), f"LLDP {'x' * 40}… port 0x0000000000000000…"),
        (ethernet(H2, H1, 0x1234), "00:00:00:00:00:01 > 00:00:00:00:00:02 type 0x1234"),
        (ethernet(H2, H1, 0x0800, b"\x45"), "00:00:00:00:00:01 > 00:00:00:00:00:02 type 0x0800"),
        (replace(PING, tags=(VlanTag(10),)), "VLAN 10 ICMP echo request 10.0.0.1 > 10.0.0.2 seq 3"),
        (
            replace(PING, tags=(VlanTag(10), VlanTag(20))),
            "VLAN 10/20 ICMP echo request 10.0.0.1 > 10.0.0.2 seq 3",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_packet_has_one_short_phrase(packet: Ethernet, phrase: str) -> None:
    assert describe(packet.to_bytes()) == phrase


def test_bytes_that_are_no_frame_have_a_phrase_too() -> None:
    assert describe(b"abc") == "3 bytes, too short for a frame"


def test_a_packet_in_that_holds_only_the_headers_still_tells_its_story() -> None:
    data = tcp_segment(**ENDS, tcp_src=1, tcp_dst=2, flags=TcpFlags.ACK, payload=bytes(1000)).to_bytes()
    assert describe(data[:128]) == "TCP ACK 10.0.0.1:1 > 10.0.0.2:2 74 bytes"


def test_a_frame_shows_its_tag_and_its_packet() -> None:
    assert str(Frame(PING.to_bytes(), "h1#1")) == "h1#1 [ICMP echo request 10.0.0.1 > 10.0.0.2 seq 3]"


def test_a_parsed_packet_can_be_changed_and_its_checksums_follow() -> None:
    ip = SYN_ACK.find(IPv4)
    assert ip is not None
    moved = replace(parse(SYN_ACK.to_bytes()), payload=replace(ip, dst=0x0A000009))
    found = parse(moved.to_bytes()).find(IPv4)
    assert found is not None
    assert found.checksum is None
    assert found.payload == SYN_ACK.find(TCP)
