"""Which headers there are: the kinds of packets, each with the fields it has and zero elsewhere.

Most points of the header space are no packet: none has both an ARP operation and a TCP port.  A kind is
a cube that fixes what makes it one (the Ethernet type, the IP protocol, whether there is a VLAN tag) and
holds the fields it does not have at zero, together with *holes*: the cubes inside that belong to another
kind.  The kinds share no header, and every packet that is thought of here is of one of them.

Not thought of are frames with two VLAN tags, fragments, headers cut short, reverse ARP, IP with the
protocol number 0 and ARP with the operation 0: what a switch makes of those is no matter of header
fields alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from penstock._forwarding.header_space import Cube, field_mask, header_of, match_of, packed
from penstock._forwarding.sets import PacketSet, PacketSpace
from penstock._world.switch.headers import ETH_RARP, EXTENSIONS, NOT_ETHERNET_II
from penstock.openflow.fields import (
    ETH_ARP,
    ETH_IPV4,
    ETH_IPV6,
    ETH_MPLS,
    ETH_MPLS_MULTICAST,
    ETH_QINQ,
    ETH_VLAN,
    FIELDS,
    IP_ICMP,
    IP_ICMPV6,
    IP_SCTP,
    IP_TCP,
    IP_UDP,
    VID_PRESENT,
)
from penstock.openflow.match import Match

TTL: Final = 64
"""The time to live that packets are sent with."""

LOCAL_FIELDS: Final = ("in_port", "in_phy_port", "metadata", "tunnel_id", "pbb_isid", "ipv6_exthdr")
"""What no frame carries, or no switch here reads."""

_LINK: Final = ("eth_dst", "eth_src", "eth_type", "vlan_vid", "vlan_pcp")
_IP: Final = ("ip_dscp", "ip_ecn", "ip_proto")
_V4: Final = (*_IP, "ipv4_src", "ipv4_dst")
_V6: Final = (*_IP, "ipv6_src", "ipv6_dst", "ipv6_flabel")
_ICMPV6: Final = (*_V6, "icmpv6_type", "icmpv6_code")
_ARP: Final = ("arp_op", "arp_spa", "arp_tpa", "arp_sha", "arp_tha")
_MPLS: Final = ("mpls_label", "mpls_tc", "mpls_bos")
_NAMES: Final = tuple(field.name for field in FIELDS)
_PORTS: Final = {IP_TCP: "tcp", IP_UDP: "udp", IP_SCTP: "sctp"}


class Kind(NamedTuple):
    """A kind of packets: the cube of its headers, and the cubes within that are of other kinds."""

    name: str
    cube: Cube
    holes: tuple[Cube, ...] = ()


def _exactly(**fields: int) -> Cube:
    return header_of(fields), field_mask(*fields)


def _types(*ethertypes: int) -> tuple[Cube, ...]:
    return tuple(_exactly(eth_type=ethertype) for ethertype in ethertypes)


def _protocols(*protocols: int) -> tuple[Cube, ...]:
    return tuple(_exactly(ip_proto=protocol) for protocol in protocols)


def _kind(name: str, has: tuple[str, ...], fixed: Mapping[str, int], holes: tuple[Cube, ...] = ()) -> Kind:
    """Make a kind of untagged packets that have these fields, some of them fixed."""
    absent = [field for field in _NAMES if field not in _LINK and field not in has]
    value, mask = _exactly(**fixed)
    return Kind(name, (value, mask | field_mask("vlan_vid", "vlan_pcp", *absent)), holes)


def _tagged(kind: Kind) -> Kind:
    """Return the same kind of packets with a VLAN tag."""
    value, mask = kind.cube
    present = packed("vlan_vid", VID_PRESENT)
    return Kind(
        f"tagged {kind.name}",
        (value | present, mask & ~field_mask("vlan_vid", "vlan_pcp") | present),
        kind.holes,
    )


_NEIGHBOUR_TYPES: Final = (135, 136)
_NEIGHBOUR: Final = tuple(_exactly(icmpv6_type=kind, icmpv6_code=0) for kind in _NEIGHBOUR_TYPES)
_TYPED: Final = (ETH_IPV4, ETH_IPV6, ETH_ARP, ETH_MPLS, ETH_MPLS_MULTICAST)
_NO_TYPES: Final = (
    (0, packed("eth_type", 0xFC00)),
    (packed("eth_type", 0x0400), packed("eth_type", 0xFE00)),
)
"""The Ethernet types that are lengths: below 0x600."""


def _over_ip(ethertype: int, version: str, fields: tuple[str, ...]) -> Iterator[Kind]:
    for protocol, name in _PORTS.items():
        has = (*fields, f"{name}_src", f"{name}_dst")
        yield _kind(f"{name.upper()} over {version}", has, {"eth_type": ethertype, "ip_proto": protocol})


def _icmpv6() -> Iterator[Kind]:
    fixed = {"eth_type": ETH_IPV6, "ip_proto": IP_ICMPV6}
    yield _kind("ICMPv6", _ICMPV6, fixed, _NEIGHBOUR)
    has = (*_ICMPV6, "ipv6_nd_target", "ipv6_nd_sll", "ipv6_nd_tll")
    for kind in _NEIGHBOUR_TYPES:
        yield _kind("neighbour discovery", has, {**fixed, "icmpv6_type": kind, "icmpv6_code": 0})


def _untagged() -> Iterator[Kind]:
    v4, v6 = {"eth_type": ETH_IPV4}, {"eth_type": ETH_IPV6}
    yield from _over_ip(ETH_IPV4, "IPv4", _V4)
    yield _kind("ICMP", (*_V4, "icmpv4_type", "icmpv4_code"), {**v4, "ip_proto": IP_ICMP})
    yield _kind("IPv4", _V4, v4, _protocols(0, *_PORTS, IP_ICMP))
    arp = _kind("ARP", _ARP, {"eth_type": ETH_ARP}, (_exactly(arp_op=0),))
    # A switch reads no ARP operation above 255.
    yield arp._replace(cube=(arp.cube[0], arp.cube[1] | packed("arp_op", 0xFF00)))
    yield from _over_ip(ETH_IPV6, "IPv6", _V6)
    yield from _icmpv6()
    yield _kind("IPv6", _V6, v6, _protocols(*sorted(EXTENSIONS), *_PORTS, IP_ICMPV6))
    for ethertype in (ETH_MPLS, ETH_MPLS_MULTICAST):
        yield _kind("MPLS", _MPLS, {"eth_type": ethertype})
    yield _kind("other types", (), {}, (*_types(*_TYPED, ETH_RARP, ETH_VLAN, ETH_QINQ), *_NO_TYPES))
    yield _kind("frames without a type", (), {"eth_type": NOT_ETHERNET_II})


KINDS: Final = tuple(kind for plain in _untagged() for kind in (plain, _tagged(plain)))
"""All kinds of packets."""


@lru_cache(maxsize=4)
def _kind_sets(space: PacketSpace) -> tuple[PacketSet, ...]:
    """Return the packets of each kind, whatever a switch has noted about them."""
    local = field_mask(*LOCAL_FIELDS)
    found = []
    for kind in KINDS:
        value, mask = kind.cube
        packets = space.cube((value, mask & ~local))
        for hole in kind.holes:
            packets = space.less(packets, space.cube(hole))
        found.append(packets)
    return tuple(found)


def all_packets(space: PacketSpace) -> PacketSet:
    """Return all packets that there are, whatever a switch has noted about them."""
    return space.union(_kind_sets(space))


def example(space: PacketSpace, packets: PacketSet, usual: int) -> int:
    """Return a packet of a set that is not empty: of the first kind that it has, and as usual as can be."""
    local = field_mask(*LOCAL_FIELDS)
    for kind, of_kind in zip(KINDS, _kind_sets(space), strict=True):
        value, mask = kind.cube
        header = space.witness(space.meet(packets, of_kind), usual, (value, mask & ~local))
        if header is not None:
            return header
    raise AssertionError("a set without packets has no example")


def match_around(space: PacketSpace, packets: PacketSet) -> Match:
    """Return the smallest match that has all packets of a set, without what holds of every packet anyway."""
    local = field_mask(*LOCAL_FIELDS)
    value, mask = space.enclosing(packets)
    value, mask = value & ~local, mask & ~local
    among = space.meet(all_packets(space), space.cube((0, local)))
    wanted = space.meet(among, space.cube((value, mask)))
    for name in reversed(_NAMES):
        if name in ("eth_type", "ip_proto") and value & field_mask(name):
            continue  # What other fields ask for is left in sight.
        without = mask & ~field_mask(name)
        if without != mask and space.meet(among, space.cube((value & without, without))) == wanted:
            value, mask = value & without, without
    return match_of((value, mask))


def kind_of(header: int) -> Kind | None:
    """Return the kind of packets that a header is one of, or None if there is no such packet."""
    for kind in KINDS:
        value, mask = kind.cube
        if header & mask == value and not any(header & hole[1] == hole[0] for hole in kind.holes):
            return kind
    return None


def usual_header(mac: int, ip: int) -> int:
    """Return what a host's packets have in the fields that nothing decides."""
    return header_of(
        {
            "eth_src": mac,
            "eth_dst": 0x0200_0000_00FE,
            "eth_type": 0x88B5,
            "vlan_vid": 1,
            "ip_proto": 253,
            "ipv4_src": ip,
            "ipv4_dst": 0xC0000201,
            "ipv6_src": 0xFE80 << 112 | mac,
            "ipv6_dst": 0x20010DB8 << 96 | 1,
            "ipv6_nd_target": 0x20010DB8 << 96 | 1,
            "tcp_src": 49152,
            "tcp_dst": 80,
            "udp_src": 49152,
            "udp_dst": 53,
            "sctp_src": 49152,
            "sctp_dst": 2905,
            "icmpv4_type": 8,
            "icmpv6_type": 128,
            "arp_op": 1,
            "arp_sha": mac,
            "arp_spa": ip,
            "arp_tpa": 0xC0000201,
            "mpls_label": 16,
            "mpls_bos": 1,
        }
    )
