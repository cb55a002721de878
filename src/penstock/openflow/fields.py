"""The header fields OpenFlow can match on (OXM, specification 1.3 §7.2.3.7).

Version 1.0 matches the same headers under other names; its codec translates, so that the rest of
Penstock knows one set of fields.  Values are whole numbers of `bits` bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

OPENFLOW_BASIC: Final = 0x8000

VID_PRESENT: Final = 0x1000
"""The bit of `vlan_vid` that says a VLAN tag is there at all."""

ETH_IPV4, ETH_ARP, ETH_VLAN, ETH_QINQ, ETH_IPV6 = 0x0800, 0x0806, 0x8100, 0x88A8, 0x86DD
ETH_MPLS, ETH_MPLS_MULTICAST, ETH_PBB, ETH_LLDP = 0x8847, 0x8848, 0x88E7, 0x88CC
IP_ICMP, IP_TCP, IP_UDP, IP_ICMPV6, IP_SCTP = 1, 6, 17, 58, 132

Prerequisite = tuple[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Field:
    """One matchable header field."""

    name: str
    number: int
    bits: int
    maskable: bool = False
    needs: tuple[Prerequisite, ...] = ()
    kind: str = "number"

    @property
    def full(self) -> int:
        """The mask that looks at every bit."""
        return (1 << self.bits) - 1

    @property
    def size(self) -> int:
        """How many bytes a value takes on the wire; a label of 20 bits takes four."""
        return 4 if self.bits == 20 else (self.bits + 7) // 8


_IP = ("eth_type", (ETH_IPV4, ETH_IPV6))
_IPV4 = ("eth_type", (ETH_IPV4,))
_IPV6 = ("eth_type", (ETH_IPV6,))
_ARP = ("eth_type", (ETH_ARP,))
_MPLS = ("eth_type", (ETH_MPLS, ETH_MPLS_MULTICAST))
_ICMPV6 = (_IPV6, ("ip_proto", (IP_ICMPV6,)))


def _over(protocol: int) -> tuple[Prerequisite, ...]:
    return (_IP, ("ip_proto", (protocol,)))


FIELDS: Final = (
    Field("in_port", 0, 32, kind="port"),
    Field("in_phy_port", 1, 32, needs=(("in_port", ()),), kind="port"),
    Field("metadata", 2, 64, maskable=True),
    Field("eth_dst", 3, 48, maskable=True, kind="mac"),
    Field("eth_src", 4, 48, maskable=True, kind="mac"),
    Field("eth_type", 5, 16, kind="hex"),
    Field("vlan_vid", 6, 13, maskable=True, kind="vlan"),
    Field("vlan_pcp", 7, 3, needs=(("vlan_vid", ()),)),
    Field("ip_dscp", 8, 6, needs=(_IP,)),
    Field("ip_ecn", 9, 2, needs=(_IP,)),
    Field("ip_proto", 10, 8, needs=(_IP,)),
    Field("ipv4_src", 11, 32, maskable=True, needs=(_IPV4,), kind="ipv4"),
    Field("ipv4_dst", 12, 32, maskable=True, needs=(_IPV4,), kind="ipv4"),
    Field("tcp_src", 13, 16, needs=_over(IP_TCP)),
    Field("tcp_dst", 14, 16, needs=_over(IP_TCP)),
    Field("udp_src", 15, 16, needs=_over(IP_UDP)),
    Field("udp_dst", 16, 16, needs=_over(IP_UDP)),
    Field("sctp_src", 17, 16, needs=_over(IP_SCTP)),
    Field("sctp_dst", 18, 16, needs=_over(IP_SCTP)),
    Field("icmpv4_type", 19, 8, needs=(_IPV4, ("ip_proto", (IP_ICMP,)))),
    Field("icmpv4_code", 20, 8, needs=(_IPV4, ("ip_proto", (IP_ICMP,)))),
    Field("arp_op", 21, 16, needs=(_ARP,)),
    Field("arp_spa", 22, 32, maskable=True, needs=(_ARP,), kind="ipv4"),
    Field("arp_tpa", 23, 32, maskable=True, needs=(_ARP,), kind="ipv4"),
    Field("arp_sha", 24, 48, maskable=True, needs=(_ARP,), kind="mac"),
    Field("arp_tha", 25, 48, maskable=True, needs=(_ARP,), kind="mac"),
    Field("ipv6_src", 26, 128, maskable=True, needs=(_IPV6,), kind="ipv6"),
    Field("ipv6_dst", 27, 128, maskable=True, needs=(_IPV6,), kind="ipv6"),
    Field("ipv6_flabel", 28, 20, maskable=True, needs=(_IPV6,), kind="hex"),
    Field("icmpv6_type", 29, 8, needs=_ICMPV6),
    Field("icmpv6_code", 30, 8, needs=_ICMPV6),
    Field("ipv6_nd_target", 31, 128, needs=(*_ICMPV6, ("icmpv6_type", (135, 136))), kind="ipv6"),
    Field("ipv6_nd_sll", 32, 48, needs=(*_ICMPV6, ("icmpv6_type", (135,))), kind="mac"),
    Field("ipv6_nd_tll", 33, 48, needs=(*_ICMPV6, ("icmpv6_type", (136,))), kind="mac"),
    Field("mpls_label", 34, 20, needs=(_MPLS,)),
    Field("mpls_tc", 35, 3, needs=(_MPLS,)),
    Field("mpls_bos", 36, 1, needs=(_MPLS,)),
    Field("pbb_isid", 37, 24, maskable=True, needs=(("eth_type", (ETH_PBB,)),)),
    Field("tunnel_id", 38, 64, maskable=True),
    Field("ipv6_exthdr", 39, 9, maskable=True, needs=(_IPV6,), kind="hex"),
)

BY_NAME: Final = {field.name: field for field in FIELDS}
BY_NUMBER: Final = {field.number: field for field in FIELDS}
