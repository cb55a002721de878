"""Frames from headers: the bytes of a packet that a class was found to have.

Whatever the header leaves open (sequence numbers, payloads) is as plain as can be; the checksums are
right.  A switch that reads the frame finds the header again.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock._forwarding.header_space import fields_of
from penstock._forwarding.kinds import TTL
from penstock._world.switch.headers import NOT_ETHERNET_II
from penstock._world.switch.labels import BOTTOM, MPLS_TYPES
from penstock.openflow.fields import (
    ETH_ARP,
    ETH_IPV4,
    ETH_IPV6,
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
    ICMP,
    NEIGHBOUR_ADVERTISEMENT,
    NEIGHBOUR_SOLICITATION,
    SOURCE_LINK_LAYER,
    TARGET_LINK_LAYER,
    TCP,
    UDP,
    Echo,
    Ethernet,
    ICMPv6,
    IPv4,
    IPv6,
    NeighbourAdvertisement,
    NeighbourOption,
    NeighbourSolicitation,
    VlanTag,
)

_LOGICAL_LINK = b"\x42\x42\x03"
"""What begins an 802.2 frame of bridges."""

Fields = Mapping[str, int]


def frame_of(header: int) -> bytes:
    """Return a frame with a header, which must be one of a packet."""
    fields = fields_of(header)
    ethertype = fields.get("eth_type", 0)
    payload = _payload(ethertype, fields)
    if ethertype == NOT_ETHERNET_II:
        ethertype = len(_LOGICAL_LINK)
    tag = fields.get("vlan_vid", 0)
    tags = (VlanTag(tag & ~VID_PRESENT, fields.get("vlan_pcp", 0)),) if tag else ()
    return Ethernet(fields.get("eth_dst", 0), fields.get("eth_src", 0), ethertype, payload, tags).to_bytes()


def _payload(ethertype: int, fields: Fields) -> ARP | IPv4 | IPv6 | bytes:
    if ethertype == ETH_ARP:
        op, sha, spa, tha, tpa = (fields.get(f"arp_{name}", 0) for name in ("op", "sha", "spa", "tha", "tpa"))
        return ARP(op, sha, spa, tha, tpa)
    if ethertype == ETH_IPV4:
        return _ipv4(fields)
    if ethertype == ETH_IPV6:
        return _ipv6(fields)
    if ethertype in MPLS_TYPES:
        return _labels(fields)
    return _LOGICAL_LINK if ethertype == NOT_ETHERNET_II else b""


def _ipv4(fields: Fields) -> IPv4:
    protocol = fields.get("ip_proto", 0)
    payload: TCP | UDP | ICMP | bytes
    if protocol == IP_ICMP:
        kind = fields.get("icmpv4_type", 0)
        body = Echo() if kind in (ECHO_REQUEST, ECHO_REPLY) else bytes(4)
        payload = ICMP(kind, fields.get("icmpv4_code", 0), body)
    else:
        payload = _transport(protocol, fields)
    src, dst = fields.get("ipv4_src", 0), fields.get("ipv4_dst", 0)
    return IPv4(src, dst, protocol, payload, ttl=TTL, tos=_traffic_class(fields))


def _ipv6(fields: Fields) -> IPv6:
    protocol = fields.get("ip_proto", 0)
    payload: TCP | UDP | ICMPv6 | bytes
    if protocol == IP_ICMPV6:
        kind, code = fields.get("icmpv6_type", 0), fields.get("icmpv6_code", 0)
        payload = ICMPv6(kind, code, bytes(4) if code else _neighbour(kind, fields))
    else:
        payload = _transport(protocol, fields)
    src, dst = fields.get("ipv6_src", 0), fields.get("ipv6_dst", 0)
    label = fields.get("ipv6_flabel", 0)
    return IPv6(src, dst, protocol, payload, TTL, traffic_class=_traffic_class(fields), flow_label=label)


def _traffic_class(fields: Fields) -> int:
    return fields.get("ip_dscp", 0) << 2 | fields.get("ip_ecn", 0)


def _transport(protocol: int, fields: Fields) -> TCP | UDP | bytes:
    if protocol == IP_TCP:
        return TCP(fields.get("tcp_src", 0), fields.get("tcp_dst", 0))
    if protocol == IP_UDP:
        return UDP(fields.get("udp_src", 0), fields.get("udp_dst", 0))
    if protocol == IP_SCTP:
        ports = fields.get("sctp_src", 0), fields.get("sctp_dst", 0)
        return b"".join(port.to_bytes(2) for port in ports) + bytes(8)
    return b""


def _neighbour(kind: int, fields: Fields) -> NeighbourSolicitation | NeighbourAdvertisement | bytes:
    if kind not in (NEIGHBOUR_SOLICITATION, NEIGHBOUR_ADVERTISEMENT):
        return bytes(4)
    addresses = {
        SOURCE_LINK_LAYER: fields.get("ipv6_nd_sll", 0),
        TARGET_LINK_LAYER: fields.get("ipv6_nd_tll", 0),
    }
    options = tuple(NeighbourOption.link_layer(one, address) for one, address in addresses.items() if address)
    target = fields.get("ipv6_nd_target", 0)
    if kind == NEIGHBOUR_SOLICITATION:
        return NeighbourSolicitation(target, options)
    return NeighbourAdvertisement(target, options=options)


def _labels(fields: Fields) -> bytes:
    """Return the label in sight, and a last one below it where it says that it is not the last."""
    bottom = fields.get("mpls_bos", 0)
    label = fields.get("mpls_label", 0) << 12 | fields.get("mpls_tc", 0) << 9 | bottom << 8 | TTL
    return label.to_bytes(4) + (b"" if bottom else (BOTTOM | TTL).to_bytes(4))
