"""Header layouts as data: which fields a header has, in order, and what may follow it.

A frame is a tree of choices.  `FRAME` is its root, the two addresses; what is `inside` a header is
the first alternative whose conditions hold, and the conditions speak of fields: a tag follows if
`vlan_vid` says so, IPv4 if `eth_type` is 0x0800.  So a frame's shape is decided by its fields like
everything else about it, and somebody who wants to know only part of the shape decides only that.

Fields are called as OpenFlow calls them (see `openflow.fields`), and have OpenFlow's meaning:
`eth_type` is the type after a tag, `vlan_vid` has a bit more than the tag to say that there is one.
Fields that OpenFlow does not know have names of our own.

Left out: options of IPv4 and TCP, fragments, extension headers of IPv6, second tags, labels, frames
of IEEE 802.3, and what is inside UDP, TCP or protocols not named here: opaque bytes.  LLDP either
names a switch as os-ken does (`dpid:` and 16 digits) or has a chassis of six bytes.  Reports of
IGMPv3 have one record, its queries no sources.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from penstock._concolic.packets.headers import (
    Alternative,
    Checksum,
    Decide,
    Header,
    Length,
    Part,
    declared,
    digits,
    field,
    fixed,
    input_term,
    presence,
    reachable,
    stacked,
    when,
)
from penstock._concolic.terms import TRUE, Term, bits, const, eq, ite
from penstock.openflow.fields import (
    ETH_ARP,
    ETH_IPV4,
    ETH_IPV6,
    ETH_LLDP,
    ETH_VLAN,
    IP_ICMP,
    IP_ICMPV6,
    IP_TCP,
    IP_UDP,
)
from penstock.packet import NEIGHBOUR_ADVERTISEMENT, NEIGHBOUR_SOLICITATION

ETH_SLOW: Final = 0x8809
IP_IGMP: Final = 2
SLOW_LACP: Final = 1
IGMP_QUERY: Final = 0x11
IGMP_REPORT_V3: Final = 0x22

_VID = declared("vlan_vid", 13)
declared("igmp_v3", 1)
declared("lldp_own", 1)

TAGGED: Final = eq(bits(_VID, 12, 1), TRUE)
"""Whether a frame has a VLAN tag."""

_MAC, _IPV4, _IPV6 = 48, 32, 128
_NUMBERS = (field("icmp_id", 16), field("icmp_seq", 16))

ARP: Final = Header(
    "arp",
    (
        fixed(16, 1),
        fixed(16, ETH_IPV4),
        fixed(8, 6),
        fixed(8, 4),
        fixed(8),  # OpenFlow knows operations of eight bits only
        field("arp_op", 8),
        field("arp_sha", _MAC),
        field("arp_spa", _IPV4),
        field("arp_tha", _MAC),
        field("arp_tpa", _IPV4),
    ),
)
ICMP: Final = Header(
    "icmp",
    (field("icmpv4_type", 8), field("icmpv4_code", 8), Checksum("all"), *_NUMBERS),
    payload=True,
)
TCP: Final = Header(
    "tcp",
    (
        field("tcp_src", 16),
        field("tcp_dst", 16),
        field("tcp_seq", 32),
        field("tcp_ack", 32),
        fixed(4, 5),
        fixed(3),
        field("tcp_flags", 9),
        field("tcp_window", 16),
        Checksum("pseudo"),
        fixed(16),
    ),
    payload=True,
)
UDP: Final = Header(
    "udp",
    (field("udp_src", 16), field("udp_dst", 16), Length(16, 8), Checksum("pseudo")),
    payload=True,
)

_IGMP_TYPE = field("igmp_type", 8)
_IGMP_MAX_RESP = field("igmp_max_resp", 8)
_IGMP_ADDRESS = field("igmp_address", _IPV4)
IGMP: Final = Header("igmpv2", (_IGMP_TYPE, _IGMP_MAX_RESP, Checksum("all"), _IGMP_ADDRESS))
IGMPV3_QUERY: Final = Header(
    "igmpv3_query",
    (
        *IGMP.parts,
        fixed(4),
        field("igmp_s_flg", 1),
        field("igmp_qrv", 3),
        field("igmp_qqic", 8),
        fixed(16),
    ),
)
IGMPV3_REPORT: Final = Header(
    "igmpv3_report",
    (
        _IGMP_TYPE,
        fixed(8),
        Checksum("all"),
        fixed(16),
        fixed(16, 1),
        field("igmp_record_type", 8),
        fixed(24),
        _IGMP_ADDRESS,
    ),
)
ANY_IGMP: Final = Header(
    "igmp",
    inside=(
        when(IGMPV3_REPORT, igmp_type=IGMP_REPORT_V3),
        when(IGMPV3_QUERY, igmp_type=IGMP_QUERY, igmp_v3=1),
        when(IGMP),
    ),
)

_ICMPV6 = (field("icmpv6_type", 8), field("icmpv6_code", 8), Checksum("pseudo"))
_TARGET = field("ipv6_nd_target", _IPV6)
ICMPV6: Final = Header("icmpv6_message", (*_ICMPV6, *_NUMBERS), payload=True)
SOLICITATION: Final = Header(
    "neighbour_solicitation",
    (*_ICMPV6, fixed(32), _TARGET, fixed(8, 1), fixed(8, 1), field("ipv6_nd_sll", _MAC)),
)
ADVERTISEMENT: Final = Header(
    "neighbour_advertisement",
    (
        *_ICMPV6,
        field("nd_flags", 3),
        fixed(29),
        _TARGET,
        fixed(8, 2),
        fixed(8, 1),
        field("ipv6_nd_tll", _MAC),
    ),
)
ANY_ICMPV6: Final = Header(
    "icmpv6",
    inside=(
        when(SOLICITATION, icmpv6_type=NEIGHBOUR_SOLICITATION),
        when(ADVERTISEMENT, icmpv6_type=NEIGHBOUR_ADVERTISEMENT),
        when(ICMPV6),
    ),
)

_DSCP, _ECN = field("ip_dscp", 6), field("ip_ecn", 2)
_PROTOCOL, _TTL = field("ip_proto", 8), field("ip_ttl", 8)
IPV4: Final = Header(
    "ipv4",
    (
        fixed(8, 0x45),
        _DSCP,
        _ECN,
        Length(16, 20),
        field("ip_id", 16),
        fixed(1),
        field("ip_df", 1),
        fixed(14),
        _TTL,
        _PROTOCOL,
        Checksum("header"),
        field("ipv4_src", _IPV4),
        field("ipv4_dst", _IPV4),
    ),
    inside=(
        when(ICMP, ip_proto=IP_ICMP),
        when(TCP, ip_proto=IP_TCP),
        when(UDP, ip_proto=IP_UDP),
        when(ANY_IGMP, ip_proto=IP_IGMP),
    ),
    payload=True,
)
IPV6: Final = Header(
    "ipv6",
    (
        fixed(4, 6),
        _DSCP,
        _ECN,
        field("ipv6_flabel", 20),
        Length(16, 0),
        _PROTOCOL,
        _TTL,
        field("ipv6_src", _IPV6),
        field("ipv6_dst", _IPV6),
    ),
    inside=(
        when(ANY_ICMPV6, ip_proto=IP_ICMPV6),
        when(TCP, ip_proto=IP_TCP),
        when(UDP, ip_proto=IP_UDP),
    ),
    payload=True,
)

_SUBTYPE = field("slow_subtype", 8)


def _participant(kind: int, who: str) -> tuple[Part, ...]:
    """Return what LACP tells of one of two participants."""
    return (
        fixed(8, kind),
        fixed(8, 20),
        field(f"lacp_{who}_system_priority", 16),
        field(f"lacp_{who}_system", _MAC),
        field(f"lacp_{who}_key", 16),
        field(f"lacp_{who}_port_priority", 16),
        field(f"lacp_{who}_port", 16),
        field(f"lacp_{who}_state", 8),
        fixed(24),
    )


LACP: Final = Header(
    "lacp",
    (
        _SUBTYPE,
        fixed(8, 1),
        *_participant(1, "actor"),
        *_participant(2, "partner"),
        fixed(8, 3),
        fixed(8, 16),
        field("lacp_collector_max_delay", 16),
        fixed(12 * 8),
        fixed(52 * 8),
    ),
)
SLOW: Final = Header("slow_other", (_SUBTYPE,), payload=True)
ANY_SLOW: Final = Header("slow", inside=(when(LACP, slow_subtype=SLOW_LACP), when(SLOW)))

_LLDP_SUBTYPE = field("lldp_chassis_subtype", 8)
_LLDP_REST = (
    fixed(7, 2),
    fixed(9, 5),
    field("lldp_port_subtype", 8),
    field("lldp_port", 32),
    fixed(7, 3),
    fixed(9, 2),
    field("lldp_ttl", 16),
    fixed(16),
)
LLDP_OWN: Final = Header(
    "lldp_own",
    (
        fixed(7, 1),
        fixed(9, 22),
        _LLDP_SUBTYPE,
        fixed(40, int.from_bytes(b"dpid:")),
        *digits("lldp_dpid", 64),
        *_LLDP_REST,
    ),
)
LLDP_OWN_CHASSIS: Final = bits(LLDP_OWN.term, 8 * (LLDP_OWN.size - 24), 8 * 21)
"""The name that os-ken gives a switch, as a number of 21 bytes."""

LLDP_OTHER: Final = Header(
    "lldp_other",
    (fixed(7, 1), fixed(9, 7), _LLDP_SUBTYPE, field("lldp_chassis", 48), *_LLDP_REST),
)
ANY_LLDP: Final = Header("lldp", inside=(when(LLDP_OWN, lldp_own=1), when(LLDP_OTHER)))

TYPE: Final = Header(
    "type",
    (field("eth_type", 16),),
    inside=(
        when(IPV4, eth_type=ETH_IPV4),
        when(ARP, eth_type=ETH_ARP),
        when(IPV6, eth_type=ETH_IPV6),
        when(ANY_LLDP, eth_type=ETH_LLDP),
        when(ANY_SLOW, eth_type=ETH_SLOW),
    ),
    payload=True,
)
TAG: Final = Header(
    "vlan",
    (
        fixed(16, ETH_VLAN),
        field("vlan_pcp", 3),
        field("vlan_dei", 1),
        Part(12, bits(_VID, 0, 12)),
    ),
    inside=(when(TYPE),),
)
FRAME: Final = Header(
    "ethernet",
    (field("eth_dst", _MAC), field("eth_src", _MAC)),
    inside=(Alternative((TAGGED,), TAG), when(TYPE)),
)
FIRST_TYPE: Final = ite(TAGGED, const(ETH_VLAN), input_term("eth_type"))
"""The type right after the addresses, which is a tag's where there is one."""

PRESENT: Final[Mapping[str, Term]] = presence(FRAME, TYPE)
"""Under which condition each header is there, by name."""


def stack(decide: Decide) -> Iterator[Header]:
    """Go through the headers of a frame, from the outermost in."""
    return stacked(FRAME, decide)


def headers() -> Iterator[Header]:
    """Go through all headers that there are."""
    return reachable(FRAME)
