"""Which packet answers which: what lets a controller speak in place of a host.

A controller that is handed an ARP request, a ping or a datagram may answer it by itself (an ARP proxy, a
gateway, a name server).  Then the packet need not reach its host; what has to arrive is the answer.  Answers
are told by what pairs them with their question: the addresses, and a ping's numbers or the ports.
"""

from __future__ import annotations

from collections.abc import Hashable

from penstock.errors import PenstockError
from penstock.packet import (
    ARP,
    ARP_REPLY,
    ARP_REQUEST,
    ECHO_REPLY,
    ECHO_REPLY_V6,
    ECHO_REQUEST,
    ECHO_REQUEST_V6,
    ICMP,
    TCP,
    UDP,
    Echo,
    Ethernet,
    ICMPv6,
    IPv4,
    IPv6,
    parse,
)

Key = tuple[Hashable, ...]
"""What a question and its answer have in common; empty if a packet is neither."""


def question(data: bytes) -> Key:
    """Return what an answer to a packet has to be about."""
    match _payload(data):
        case ARP(op, _, asker, _, asked) if op == ARP_REQUEST:
            return ("arp", asker, asked)
        case IPv4(a, b, _, ICMP(kind, _, Echo(number, seq))) if kind == ECHO_REQUEST:
            return ("ping", a, b, number, seq)
        case IPv6(a, b, _, ICMPv6(kind, _, Echo(number, seq))) if kind == ECHO_REQUEST_V6:
            return ("ping", a, b, number, seq)
        case IPv4(a, b, protocol, UDP(c, d) | TCP(c, d)) | IPv6(a, b, protocol, UDP(c, d) | TCP(c, d)):
            return (protocol, a, b, c, d)
    return ()


def answer(data: bytes) -> Key:
    """Return what a packet is an answer to."""
    match _payload(data):
        case ARP(op, _, asked, _, asker) if op == ARP_REPLY:
            return ("arp", asker, asked)
        case IPv4(b, a, _, ICMP(kind, _, Echo(number, seq))) if kind == ECHO_REPLY:
            return ("ping", a, b, number, seq)
        case IPv6(b, a, _, ICMPv6(kind, _, Echo(number, seq))) if kind == ECHO_REPLY_V6:
            return ("ping", a, b, number, seq)
        case IPv4(b, a, protocol, UDP(d, c) | TCP(d, c)) | IPv6(b, a, protocol, UDP(d, c) | TCP(d, c)):
            return (protocol, a, b, c, d)
    return ()


def _payload(data: bytes) -> object:
    packet = read_packet(data)
    return None if packet is None else packet.payload


def read_packet(data: bytes) -> Ethernet | None:
    """Return a frame's layers, or None if it is none."""
    try:
        return parse(data)
    except PenstockError:
        return None
