"""The packets that hosts send most, each from one call.

Addresses are given as numbers or as people write them.  The names are those of OpenFlow's match
fields, and all addresses are keywords, because four addresses in a row are easily swapped.
Anything rarer is put together from the layers themselves.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.addresses import BROADCAST_MAC, ipv4, mac
from penstock.errors import PenstockError
from penstock.openflow.fields import ETH_ARP, ETH_IPV4, IP_ICMP, IP_TCP, IP_UDP
from penstock.packet.ip import IPv4
from penstock.packet.link import ARP, ARP_REPLY, ARP_REQUEST, Ethernet, Network
from penstock.packet.phrase import describe
from penstock.packet.transport import ECHO_REPLY, ECHO_REQUEST, ICMP, TCP, UDP, Echo, TcpFlags

Address = int | str


def _mac(address: Address) -> int:
    return mac(address) if isinstance(address, str) else address


def _ip(address: Address) -> int:
    return ipv4(address) if isinstance(address, str) else address


def ethernet(dst: Address, src: Address, ethertype: int, payload: Network | bytes = b"") -> Ethernet:
    """Return a frame without tags."""
    return Ethernet(_mac(dst), _mac(src), ethertype, payload)


def arp_request(*, eth_src: Address, ip_src: Address, ip_dst: Address) -> Ethernet:
    """Return the broadcast question for the MAC address of `ip_dst`; of oneself, an announcement."""
    question = ARP(ARP_REQUEST, _mac(eth_src), _ip(ip_src), 0, _ip(ip_dst))
    return ethernet(BROADCAST_MAC, eth_src, ETH_ARP, question)


def arp_reply(*, eth_src: Address, eth_dst: Address, ip_src: Address, ip_dst: Address) -> Ethernet:
    """Return the answer to `eth_dst` and `ip_dst`, who asked, that `ip_src` is at `eth_src`."""
    answer = ARP(ARP_REPLY, _mac(eth_src), _ip(ip_src), _mac(eth_dst), _ip(ip_dst))
    return ethernet(eth_dst, eth_src, ETH_ARP, answer)


def ping_request(
    *,
    eth_src: Address,
    eth_dst: Address,
    ip_src: Address,
    ip_dst: Address,
    id: int = 0,
    seq: int = 1,
    payload: bytes = b"",
) -> Ethernet:
    """Return an ICMP echo request."""
    message = ICMP(ECHO_REQUEST, 0, Echo(id, seq, payload))
    return ethernet(eth_dst, eth_src, ETH_IPV4, IPv4(_ip(ip_src), _ip(ip_dst), IP_ICMP, message))


def ping_reply(request: Ethernet, *, eth_src: Address | None = None) -> Ethernet:
    """Return the ICMP echo reply to a request, from `eth_src` (by default, whom it was sent to)."""
    ip = request.find(IPv4)
    message = request.find(ICMP)
    if ip is None or message is None or message.type != ECHO_REQUEST:
        raise PenstockError(
            f"[{describe(request.to_bytes())}] has no ping reply: give an ICMP echo request over IPv4."
        )
    answer = IPv4(ip.dst, ip.src, IP_ICMP, ICMP(ECHO_REPLY, 0, message.payload))
    src = request.dst if eth_src is None else _mac(eth_src)
    return replace(request, dst=request.src, src=src, payload=answer, padding=b"")


def tcp_segment(
    *,
    eth_src: Address,
    eth_dst: Address,
    ip_src: Address,
    ip_dst: Address,
    tcp_src: int,
    tcp_dst: int,
    flags: TcpFlags,
    seq: int = 0,
    ack: int = 0,
    payload: bytes = b"",
) -> Ethernet:
    """Return a TCP segment over IPv4."""
    segment = TCP(tcp_src, tcp_dst, seq, ack, flags, payload=payload)
    return ethernet(eth_dst, eth_src, ETH_IPV4, IPv4(_ip(ip_src), _ip(ip_dst), IP_TCP, segment))


def udp_datagram(
    *,
    eth_src: Address,
    eth_dst: Address,
    ip_src: Address,
    ip_dst: Address,
    udp_src: int,
    udp_dst: int,
    payload: bytes = b"",
) -> Ethernet:
    """Return a UDP datagram over IPv4."""
    datagram = UDP(udp_src, udp_dst, payload)
    return ethernet(eth_dst, eth_src, ETH_IPV4, IPv4(_ip(ip_src), _ip(ip_dst), IP_UDP, datagram))
