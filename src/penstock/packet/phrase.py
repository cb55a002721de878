"""Packets in the words of a story: one short line for any bytes at all."""

from __future__ import annotations

from penstock.addresses import ipv4_text, ipv6_text, mac_text
from penstock.errors import PenstockError
from penstock.packet.ip import FRAGMENT, IPv4, IPv6
from penstock.packet.link import ARP, ARP_REPLY, ARP_REQUEST, LLDP, Ethernet, VlanTag, parse
from penstock.packet.transport import (
    ECHO_REPLY,
    ECHO_REPLY_V6,
    ECHO_REQUEST,
    ECHO_REQUEST_V6,
    ICMP,
    TCP,
    UDP,
    Echo,
    ICMPv6,
    NeighbourAdvertisement,
    NeighbourSolicitation,
)

_ICMP_NAMES = {
    ECHO_REPLY: "echo reply",
    3: "destination unreachable",
    5: "redirect",
    ECHO_REQUEST: "echo request",
    11: "time exceeded",
}
_ICMPV6_NAMES = {
    1: "destination unreachable",
    2: "packet too big",
    3: "time exceeded",
    ECHO_REQUEST_V6: "echo request",
    ECHO_REPLY_V6: "echo reply",
    133: "router solicitation",
    134: "router advertisement",
}


def describe(data: bytes) -> str:
    """Return one short phrase for a frame, such as `ARP who has 10.0.0.2 tell 10.0.0.1`."""
    try:
        packet = parse(data)
    except PenstockError:
        return f"{len(data)} bytes, too short for a frame"
    return _vlans(packet.tags) + _phrase(packet)


def _vlans(tags: tuple[VlanTag, ...]) -> str:
    """Return the VLANs of a frame from the outermost in; nobody wants to read more than two."""
    if not tags:
        return ""
    return "VLAN " + "/".join([str(tag.vid) for tag in tags[:2]] + ["…"] * (len(tags) > 2)) + " "


def _phrase(packet: Ethernet) -> str:
    match packet.payload:
        case ARP() as arp:
            return _arp(arp)
        case IPv4() as ip:
            return _ip(ip, ipv4_text(ip.src), ipv4_text(ip.dst))
        case IPv6() as ip:
            return _ip(ip, ipv6_text(ip.src), ipv6_text(ip.dst))
        case LLDP() as lldp:
            return f"LLDP {_name(lldp.chassis.value)} port {_name(lldp.port.value)}"
        case _:
            return f"{mac_text(packet.src)} > {mac_text(packet.dst)} type 0x{packet.ethertype:04x}"


def _arp(arp: ARP) -> str:
    sender, target = ipv4_text(arp.spa), ipv4_text(arp.tpa)
    if arp.op == ARP_REQUEST:
        return f"ARP who has {target} tell {sender}"
    if arp.op == ARP_REPLY:
        return f"ARP {sender} is at {mac_text(arp.sha)}"
    return f"ARP op {arp.op} {sender} > {target}"


def _ip(ip: IPv4 | IPv6, src: str, dst: str) -> str:
    match ip.payload:
        case TCP() as tcp:
            return " ".join(["TCP", *str(tcp.flags).split(), _sockets(ip, tcp, src, dst)])
        case UDP() as udp:
            return f"UDP {_sockets(ip, udp, src, dst)}"
        case ICMP() as icmp:
            return f"ICMP {_icmp(icmp, _ICMP_NAMES, src, dst)}"
        case ICMPv6(payload=NeighbourSolicitation() as question):
            return f"NDP who has {ipv6_text(question.target)} tell {src}"
        case ICMPv6(payload=NeighbourAdvertisement() as answer):
            place = "reachable" if answer.link_layer is None else f"at {mac_text(answer.link_layer)}"
            return f"NDP {ipv6_text(answer.target)} is {place}"
        case ICMPv6() as icmp:
            return f"ICMPv6 {_icmp(icmp, _ICMPV6_NAMES, src, dst)}"
        case _:
            return f"{type(ip).__name__} {src} > {dst} protocol {ip.protocol}{_fragment(ip)}"


def _sockets(ip: IPv4 | IPv6, segment: TCP | UDP, src: str, dst: str) -> str:
    """Return both ends of a segment, and how much it carries, if anything."""
    if isinstance(ip, IPv6):
        src, dst = f"[{src}]", f"[{dst}]"
    count = len(segment.payload)
    size = f" {count} byte{'s' if count > 1 else ''}" if count else ""
    return f"{src}:{segment.src} > {dst}:{segment.dst}{size}"


def _icmp(message: ICMP | ICMPv6, names: dict[int, str], src: str, dst: str) -> str:
    name = names.get(message.type) or f"type {message.type} code {message.code}"
    seq = f" seq {message.payload.seq}" if isinstance(message.payload, Echo) else ""
    return f"{name} {src} > {dst}{seq}"


def _fragment(ip: IPv4 | IPv6) -> str:
    if isinstance(ip, IPv4):
        part = ip.offset > 0
    else:
        part = any(header.protocol == FRAGMENT for header in ip.extensions)
    return " fragment" if part else ""


def _name(value: bytes) -> str:
    """Return a name inside LLDP: text, a MAC address, or a number, whichever it looks like."""
    text = value.decode("latin-1")
    if text and text.isascii() and text.isprintable():
        return text if len(text) <= 40 else text[:40] + "…"
    if len(value) == 6:
        return mac_text(int.from_bytes(value))
    return str(int.from_bytes(value)) if len(value) <= 8 else f"0x{value[:8].hex()}…"
