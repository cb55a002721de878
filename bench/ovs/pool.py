"""The few addresses and packets that programs are made of, so that packets really meet rules.

A `Sample` is a packet together with the match fields it satisfies: a match drawn from a sample's
fields accepts the sample, and another sample often enough too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import Final

from penstock.addresses import BROADCAST_MAC, ipv4, ipv6, mac
from penstock.openflow.fields import (
    ETH_ARP,
    ETH_IPV4,
    ETH_IPV6,
    ETH_LLDP,
    ETH_MPLS,
    ETH_QINQ,
    ETH_VLAN,
    IP_ICMP,
    IP_ICMPV6,
    IP_SCTP,
    IP_TCP,
    IP_UDP,
    VID_PRESENT,
)
from penstock.packet import (
    ARP,
    ECHO_REPLY,
    ECHO_REQUEST,
    ECHO_REQUEST_V6,
    ICMP,
    LLDP,
    MORE_FRAGMENTS,
    NEIGHBOUR_ADVERTISEMENT,
    NEIGHBOUR_SOLICITATION,
    SOURCE_LINK_LAYER,
    TARGET_LINK_LAYER,
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
    NeighbourFlags,
    NeighbourOption,
    NeighbourSolicitation,
    TcpFlags,
    VlanTag,
)

MACS: Final = tuple(mac(f"00:00:00:00:00:0{n}") for n in (1, 2, 3))
GROUP_MACS: Final = (BROADCAST_MAC, mac("01:00:5e:00:00:01"), mac("01:80:c2:00:00:00"))
IPS: Final = tuple(map(ipv4, ("10.0.0.1", "10.0.0.2", "10.0.1.3")))
IP6S: Final = tuple(map(ipv6, ("2001:db8::1", "2001:db8::2", "fe80::3")))
TRANSPORT_PORTS: Final = (80, 53, 5000)
VLANS: Final = (1, 10, 4095)
ETH_RARP: Final = 0x8035
LABELS: Final = (16, 1000)
DSCPS: Final = (0, 10, 46)


@dataclass(frozen=True, slots=True)
class Sample:
    """A packet and the fields it satisfies (the input port aside)."""

    data: bytes
    fields: dict[str, int]


def sample(rng: Random, v10: bool) -> Sample:
    """Return a random packet of a random protocol, now and then one that is broken or odd."""
    roll = rng.random()
    if roll < 0.12:
        return _odd(rng)
    kinds = [_tcp, _tcp, _udp, _icmp, _arp, _plain, _lldp]
    kinds += [] if v10 and rng.random() < 0.5 else [_sctp, _icmpv6, _neighbour, _over_ipv6, _mpls]
    frame, fields = kinds[rng.randrange(len(kinds))](rng)
    if rng.random() < 0.25:
        frame, fields = _tagged(rng, frame, fields)
    if rng.random() < 0.1:
        frame = replace(frame, padding=bytes(rng.randrange(1, 20)))
    return Sample(frame.to_bytes(), fields)


_Made = tuple[Ethernet, dict[str, int]]


def _link(rng: Random, ethertype: int) -> dict[str, int]:
    src = rng.choice(MACS)
    dst = rng.choice(MACS) if rng.random() < 0.8 else rng.choice(GROUP_MACS)
    return {"eth_dst": dst, "eth_src": src, "eth_type": ethertype}


def _frame(fields: dict[str, int], payload: IPv4 | IPv6 | ARP | LLDP | bytes) -> Ethernet:
    return Ethernet(fields["eth_dst"], fields["eth_src"], fields["eth_type"], payload)


def _payload(rng: Random) -> bytes:
    return rng.randbytes(rng.choice((0, 4, 11, 40, 200)))


def _ip(rng: Random, protocol: int, payload: TCP | UDP | ICMP | bytes, **more: int) -> _Made:
    fields = _link(rng, ETH_IPV4)
    dscp, ecn = rng.choice(DSCPS), rng.choice((0, 0, 1, 3))
    fields |= {
        "ip_proto": protocol,
        "ipv4_src": rng.choice(IPS),
        "ipv4_dst": rng.choice(IPS),
        "ip_dscp": dscp,
        "ip_ecn": ecn,
    }
    ttl = rng.choice((64, 64, 64, 2, 1, 0))
    options = bytes((1, 1, 1, 0)) if rng.random() < 0.1 else b""
    datagram = IPv4(
        fields["ipv4_src"],
        fields["ipv4_dst"],
        protocol,
        payload,
        ttl,
        dscp << 2 | ecn,
        identification=rng.randrange(1 << 16),
        options=options,
    )
    return _frame(fields, datagram), fields | more


def _ipv6(rng: Random, protocol: int, payload: TCP | UDP | ICMPv6 | bytes, **more: int) -> _Made:
    fields = _link(rng, ETH_IPV6)
    dscp, ecn = rng.choice(DSCPS), rng.choice((0, 0, 1))
    fields |= {
        "ip_proto": protocol,
        "ipv6_src": rng.choice(IP6S),
        "ipv6_dst": rng.choice(IP6S),
        "ip_dscp": dscp,
        "ip_ecn": ecn,
        "ipv6_flabel": rng.choice((0, 0x12345)),
    }
    extensions = _EXTENSIONS[rng.randrange(len(_EXTENSIONS))] if rng.random() < 0.25 else ()
    datagram = IPv6(
        fields["ipv6_src"],
        fields["ipv6_dst"],
        protocol,
        payload,
        rng.choice((64, 64, 1)),
        dscp << 2 | ecn,
        fields["ipv6_flabel"],
        extensions,
    )
    return _frame(fields, datagram), fields | more


_EXTENSIONS: Final = (
    (ExtensionHeader(0, bytes((0, 1, 4, 0, 0, 0, 0))),),
    (ExtensionHeader(0, bytes(7)), ExtensionHeader(60, bytes(7))),
    (ExtensionHeader(43, bytes((0, 0, 1, 0, 0, 0, 0))),),
    (ExtensionHeader(43, bytes((0, 0, 0, 0, 0, 0, 0))),),
    (ExtensionHeader(44, bytes((0, 0, 1, 0, 0, 0, 7))),),
    (ExtensionHeader(44, bytes((0, 0, 40, 0, 0, 0, 7))),),
    (ExtensionHeader(44, bytes((0, 0, 0, 0, 0, 0, 7))),),
    (ExtensionHeader(51, bytes((0, 0, 0, 0, 0, 0, 7))),),
)
"""Hop-by-hop and destination options, routing with and without a way to go, fragments, authentication."""


def _ports(rng: Random) -> tuple[int, int]:
    return rng.choice(TRANSPORT_PORTS), rng.choice(TRANSPORT_PORTS)


def _segment(rng: Random) -> tuple[TCP, dict[str, int]]:
    src, dst = _ports(rng)
    flags = rng.choice((TcpFlags.SYN, TcpFlags.ACK, TcpFlags.SYN | TcpFlags.ACK))
    return TCP(src, dst, 1, 2, flags, payload=_payload(rng)), {"tcp_src": src, "tcp_dst": dst}


def _datagram(rng: Random) -> tuple[UDP, dict[str, int]]:
    src, dst = _ports(rng)
    wrong = {"checksum": 0} if rng.random() < 0.2 else {}
    return UDP(src, dst, _payload(rng), **wrong), {"udp_src": src, "udp_dst": dst}


def _tcp(rng: Random) -> _Made:
    segment, ports = _segment(rng)
    return _ip(rng, IP_TCP, segment, **ports)


def _udp(rng: Random) -> _Made:
    datagram, ports = _datagram(rng)
    return _ip(rng, IP_UDP, datagram, **ports)


def _over_ipv6(rng: Random) -> _Made:
    if rng.random() < 0.5:
        segment, ports = _segment(rng)
        return _ipv6(rng, IP_TCP, segment, **ports)
    datagram, ports = _datagram(rng)
    return _ipv6(rng, IP_UDP, datagram, **ports)


def _sctp(rng: Random) -> _Made:
    src, dst = _ports(rng)
    body = src.to_bytes(2) + dst.to_bytes(2) + rng.randbytes(8) + rng.randbytes(rng.choice((0, 7, 16)))
    return _ip(rng, IP_SCTP, body, sctp_src=src, sctp_dst=dst)


def _icmp(rng: Random) -> _Made:
    kind, code = rng.choice(((ECHO_REQUEST, 0), (ECHO_REPLY, 0), (3, 1)))
    body = Echo(7, 1, _payload(rng)) if kind != 3 else rng.randbytes(28)
    return _ip(rng, IP_ICMP, ICMP(kind, code, body), icmpv4_type=kind, icmpv4_code=code)


def _icmpv6(rng: Random) -> _Made:
    message = ICMPv6(ECHO_REQUEST_V6, 0, Echo(7, 1, _payload(rng)))
    return _ipv6(rng, IP_ICMPV6, message, icmpv6_type=ECHO_REQUEST_V6, icmpv6_code=0)


def _neighbour(rng: Random) -> _Made:
    target, link = rng.choice(IP6S), rng.choice(MACS)
    if rng.random() < 0.5:
        options = (NeighbourOption(SOURCE_LINK_LAYER, link.to_bytes(6)),)
        body: NeighbourSolicitation | NeighbourAdvertisement = NeighbourSolicitation(target, options)
        kind, more = NEIGHBOUR_SOLICITATION, {"ipv6_nd_sll": link}
    else:
        options = (NeighbourOption(TARGET_LINK_LAYER, link.to_bytes(6)),)
        body = NeighbourAdvertisement(target, NeighbourFlags.SOLICITED, options)
        kind, more = NEIGHBOUR_ADVERTISEMENT, {"ipv6_nd_tll": link}
    more |= {"icmpv6_type": kind, "icmpv6_code": 0, "ipv6_nd_target": target}
    frame, fields = _ipv6(rng, IP_ICMPV6, ICMPv6(kind, 0, body), **more)
    datagram = frame.find(IPv6)
    assert datagram is not None
    return replace(frame, payload=replace(datagram, hop_limit=255, extensions=())), fields


def _arp(rng: Random) -> _Made:
    fields = _link(rng, ETH_ARP if rng.random() < 0.9 else ETH_RARP)
    fields |= {
        "arp_op": rng.choice((1, 2)),
        "arp_spa": rng.choice(IPS),
        "arp_tpa": rng.choice(IPS),
        "arp_sha": fields["eth_src"],
        "arp_tha": rng.choice((0, *MACS)),
    }
    names = ("arp_op", "arp_sha", "arp_spa", "arp_tha", "arp_tpa")
    return _frame(fields, ARP(*(fields[name] for name in names))), fields


def _lldp(rng: Random) -> _Made:
    fields = _link(rng, ETH_LLDP) | {"eth_dst": mac("01:80:c2:00:00:0e")}
    return _frame(fields, LLDP(LldpId(4, fields["eth_src"].to_bytes(6)), LldpId(5, b"p1"), 120)), fields


def _plain(rng: Random) -> _Made:
    fields = _link(rng, rng.choice((0x88B5, 0x0806 + 1)))
    return _frame(fields, _payload(rng)), fields


def _mpls(rng: Random) -> _Made:
    inner, _ = _ip(rng, IP_UDP, UDP(*_ports(rng), _payload(rng)))
    datagram = inner.find(IPv4)
    assert datagram is not None
    fields = _link(rng, ETH_MPLS)
    labels = []
    for bottom in rng.choice(((1,), (1,), (0, 1))):
        labels.append((rng.choice(LABELS), rng.choice((0, 5)), bottom, rng.choice((64, 64, 1))))
    stack = b"".join((label << 12 | tc << 9 | bos << 8 | ttl).to_bytes(4) for label, tc, bos, ttl in labels)
    fields |= dict(zip(("mpls_label", "mpls_tc", "mpls_bos"), labels[0], strict=False))
    return _frame(fields, stack + datagram.to_bytes()), fields


def _tagged(rng: Random, frame: Ethernet, fields: dict[str, int]) -> _Made:
    vid, pcp = rng.choice(VLANS), rng.choice((0, 3, 7))
    outer = VlanTag(vid, pcp, rng.choice((0, 0, 0, 1)), ETH_VLAN if rng.random() < 0.85 else ETH_QINQ)
    seen = {"vlan_vid": VID_PRESENT | vid, "vlan_pcp": pcp}
    if rng.random() < 0.2:
        tagged = replace(frame, tags=(outer, VlanTag(rng.choice(VLANS), 1)))
        kept = {name: fields[name] for name in ("eth_dst", "eth_src")}
        return tagged, kept | seen | {"eth_type": ETH_VLAN}
    return replace(frame, tags=(outer,)), fields | seen


def _odd(rng: Random) -> Sample:
    """Return a packet with something wrong or rare about it; only its addresses are to be matched."""
    frame, fields = rng.choice((_tcp, _udp, _icmp, _arp, _icmpv6, _over_ipv6))(rng)
    data = frame.to_bytes()
    match rng.randrange(6):
        case 0:
            data = data[: rng.randrange(14, len(data) + 1)]
        case 1:
            at = rng.randrange(12, min(len(data), 60))
            data = data[:at] + rng.randbytes(1) + data[at + 1 :]
        case 2:
            tag = VlanTag(rng.choice(VLANS)).to_bytes()
            data = data[:12] + tag + data[12 : rng.randrange(12, len(data) + 1)]
        case 3:
            fragment, fields = _ip(rng, IP_UDP, UDP(*_ports(rng), _payload(rng)))
            datagram = fragment.find(IPv4)
            assert datagram is not None
            offset = rng.choice((0, 5))
            part = replace(datagram, flags=MORE_FRAGMENTS, offset=offset)
            if offset:
                part = replace(part, payload=rng.randbytes(24))
            data = replace(fragment, payload=part).to_bytes()
        case 4:
            snap = b"\xaa\xaa\x03\0\0\0" + data[12:]
            data = data[:12] + len(snap).to_bytes(2) + snap
        case _:
            data = (
                data[:12]
                + rng.choice((0, 38, 0x05FF, 0x8100, 0x88A8)).to_bytes(2)
                + rng.randbytes(rng.randrange(0, 40))
            )
    if len(data) < 14:
        data += bytes(14 - len(data))
    return Sample(data, {name: fields[name] for name in ("eth_dst", "eth_src")})
