"""What is known of packets before any program looks at one.

`Addresses` are those of the scenario: its hosts' and its switches', and one fresh of each kind that
nobody has.  They are *preferred* values, as are the types, protocols, flags and ports that packets
usually have: where a program leaves a choice, the first of them that fits is taken, other hosts'
before all.  A program that compares with any other constant is still met.

What is *always* true of a packet is only what makes it one: a source that can be a source, a type
that is one, a payload as long as it says.  Beyond that, a payload is zero where os-ken would take it
for something that `layouts` does not know: behind the ports of its own protocols, say.  A `Sender` is
a host that does not lie about who it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from penstock._concolic.packets.headers import INPUTS, PAYLOAD_SIZE, input_term, is_value
from penstock._concolic.packets.layouts import (
    ETH_SLOW,
    IGMP_QUERY,
    IGMP_REPORT_V3,
    IP_IGMP,
    SLOW_LACP,
    TAGGED,
)
from penstock._concolic.space import Variable
from penstock._concolic.terms import FALSE, Term, bits, both, const, either, eq, le, lt, negation
from penstock.addresses import BROADCAST_MAC, ipv4, ipv6, is_multicast_mac, mac
from penstock.openflow.fields import (
    BY_NAME,
    ETH_ARP,
    ETH_IPV4,
    ETH_IPV6,
    ETH_LLDP,
    ETH_MPLS,
    ETH_MPLS_MULTICAST,
    ETH_PBB,
    ETH_QINQ,
    ETH_VLAN,
    IP_ICMP,
    IP_ICMPV6,
    IP_SCTP,
    IP_TCP,
    IP_UDP,
    VID_PRESENT,
)
from penstock.packet import NEAREST_BRIDGE, NEIGHBOUR_ADVERTISEMENT, NEIGHBOUR_SOLICITATION, TcpFlags

LONGEST_PAYLOAD: Final = 1400
UNASSIGNED_TYPE: Final = 0x88B5
UNASSIGNED_PROTOCOL: Final = 253

MULTICAST_IPV4: Final = ipv4("224.1.1.1")
MULTICAST_MAC: Final = mac("01:00:5e:01:01:01")
SLOW_PROTOCOLS: Final = mac("01:80:c2:00:00:02")

_FRESH_MAC = mac("02:00:00:00:00:01")
_FRESH_IPV4 = ipv4("192.0.2.1")
_FRESH_IPV6 = ipv6("2001:db8::1")
_ALL_NODES = ipv6("ff02::1")


@dataclass(frozen=True, slots=True)
class Addresses:
    """The addresses that a scenario's hosts and switches have, and the switches' datapath ids."""

    macs: tuple[int, ...] = ()
    ipv4s: tuple[int, ...] = ()
    ipv6s: tuple[int, ...] = ()
    switch_macs: tuple[int, ...] = ()
    dpids: tuple[int, ...] = ()

    @property
    def fresh_mac(self) -> int:
        """A MAC address of one station that nobody has."""
        return _unused(_FRESH_MAC, (*self.macs, *self.switch_macs))

    @property
    def fresh_ipv4(self) -> int:
        """An IPv4 address that nobody has, near the others where there are any."""
        first = (self.ipv4s[0] & ~0xFF) + 101 if self.ipv4s else _FRESH_IPV4
        return _unused(first, self.ipv4s)

    @property
    def fresh_ipv6(self) -> int:
        """An IPv6 address that nobody has."""
        return _unused(_FRESH_IPV6, self.ipv6s)


def _unused(address: int, used: tuple[int, ...]) -> int:
    while address in used:
        address += 1
    return address


@dataclass(frozen=True, slots=True)
class Sender:
    """A host that is known by these addresses and uses no others as its own."""

    mac: int
    ipv4: int | None = None
    ipv6: int | None = None


# Preferred values.


_PORTS = (80, 443, 22, 5001)
_FROM_PORTS = (50_000, *_PORTS)
_SYN, _ACK, _FIN, _RST = TcpFlags.SYN, TcpFlags.ACK, TcpFlags.FIN, TcpFlags.RST

_USUAL: Final[Mapping[str, tuple[int, ...]]] = {
    "vlan_vid": (0, VID_PRESENT | 1, VID_PRESENT | 2, VID_PRESENT | 10, VID_PRESENT | 100, VID_PRESENT),
    "eth_type": (ETH_IPV4, ETH_ARP, ETH_IPV6, ETH_LLDP, ETH_SLOW, UNASSIGNED_TYPE),
    "arp_op": (1, 2),
    "ip_proto": (IP_ICMP, IP_TCP, IP_UDP, IP_IGMP, IP_ICMPV6, UNASSIGNED_PROTOCOL),
    "ip_ttl": (64, 1, 255),
    "ip_dscp": (0, 46),
    "tcp_src": _FROM_PORTS,
    "tcp_dst": _PORTS,
    "tcp_flags": tuple(map(int, (_SYN, _SYN | _ACK, _ACK, _FIN | _ACK, _RST, _RST | _ACK))),
    "tcp_window": (0xFFFF,),
    "udp_src": _FROM_PORTS,
    "udp_dst": (53, 123, 5001),
    "icmpv4_type": (8, 0, 3, 11),
    "icmpv6_type": (128, 129, 135, 136),
    "icmp_seq": (1, 0),
    "igmp_type": (0x16, 0x17, IGMP_QUERY, 0x12, IGMP_REPORT_V3),
    "igmp_v3": (0, 1),
    "igmp_max_resp": (0, 100),
    "igmp_address": (MULTICAST_IPV4, 0, MULTICAST_IPV4 + 1),
    "igmp_qrv": (2,),
    "igmp_record_type": (4, 3, 1, 2),
    "slow_subtype": (SLOW_LACP, 2),
    "lldp_own": (1, 0),
    "lldp_chassis_subtype": (7, 4),
    "lldp_port_subtype": (2, 3, 7),
    "lldp_port": (1, 2, 3),
    "lldp_ttl": (120, 0),
    "payload_length": (0, PAYLOAD_SIZE, LONGEST_PAYLOAD),
}

_FIRST: Final = ("vlan_vid", "eth_type", "eth_src", "eth_dst", "arp_op", "ip_proto")
_LAST: Final = ("payload_length", "payload")


def variables(addresses: Addresses, sender: Sender | None = None) -> tuple[Variable, ...]:
    """Return all inputs that a frame is made from, in the order in which their values are chosen."""
    preferred = {**_USUAL, **_addresses_preferred(addresses, sender)}
    names = dict.fromkeys((*_FIRST, *(name for name in INPUTS if name not in _LAST), *_LAST))
    return tuple(Variable(name, INPUTS[name], preferred.get(name, (0,)), _kind(name)) for name in names)


def _kind(name: str) -> str:
    """Return how an input is written for people."""
    if name in BY_NAME:
        kind = BY_NAME[name].kind
        return kind if kind in ("mac", "ipv4", "ipv6", "hex") else "number"
    if name in ("lacp_actor_system", "lacp_partner_system", "lldp_chassis"):
        return "mac"
    if name == "igmp_address":
        return "ipv4"
    return "hex" if name in ("payload", "lldp_dpid", "igmp_type", "tcp_flags") else "number"


def _addresses_preferred(addresses: Addresses, sender: Sender | None) -> dict[str, tuple[int, ...]]:
    macs, ips = addresses.macs, addresses.ipv4s
    ips6 = addresses.ipv6s or tuple(map(_link_local, macs))
    mine = (sender.mac,) if sender else macs[:1]
    my_ip = (sender.ipv4,) if sender and sender.ipv4 is not None else ips[:1]
    my_ip6 = ((sender.ipv6 or _link_local(sender.mac)),) if sender else ips6[:1]
    strange = (addresses.fresh_mac, *addresses.switch_macs)
    sources = _unique((*mine, *macs, *strange))
    others = tuple(address for address in macs if address not in mine)
    targets = _unique((*others, addresses.fresh_mac, *mine, *addresses.switch_macs, 0))
    groups = (BROADCAST_MAC, MULTICAST_MAC, NEAREST_BRIDGE, SLOW_PROTOCOLS)
    ip_sources = _unique((*my_ip, *ips, addresses.fresh_ipv4, 0))
    ip_targets = _unique(
        (*(ip for ip in ips if ip not in my_ip), addresses.fresh_ipv4, *my_ip, MULTICAST_IPV4, 0xFFFFFFFF)
    )
    ip6_sources = _unique((*my_ip6, *ips6, addresses.fresh_ipv6))
    ip6_targets = _unique((*(ip for ip in ips6 if ip not in my_ip6), addresses.fresh_ipv6, _ALL_NODES))
    return {
        "eth_src": tuple(address for address in sources if address and not is_multicast_mac(address)),
        "eth_dst": _unique((*others, *groups[:1], addresses.fresh_mac, *groups[1:], *targets)),
        "arp_sha": sources,
        "arp_spa": ip_sources,
        "arp_tha": _unique((0, *targets)),
        "arp_tpa": ip_targets,
        "ipv4_src": ip_sources,
        "ipv4_dst": ip_targets,
        "ipv6_src": ip6_sources,
        "ipv6_dst": ip6_targets,
        "ipv6_nd_target": ip6_targets,
        "ipv6_nd_sll": sources,
        "ipv6_nd_tll": sources,
        "lacp_actor_system": sources,
        "lacp_partner_system": _unique((0, *targets)),
        "lldp_chassis": sources,
        "lldp_dpid": _unique((*addresses.dpids, 1, 2)),
    }


def _link_local(address: int) -> int:
    """Return the IPv6 address that a host makes from its MAC address (RFC 4291, appendix A)."""
    interface = (address >> 24) << 40 | 0xFFFE << 24 | address & 0xFFFFFF
    return 0xFE80 << 112 | interface ^ 1 << 57


def _unique(values: Iterable[int]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(values))


# What is always true.


_EXTENSIONS: Final = (0, 43, 44, 51, 60)
"""Protocol numbers of IPv6 extension headers."""

_ELSEWHERE_TYPES: Final = (ETH_MPLS, ETH_MPLS_MULTICAST, ETH_PBB, 0x8035, 0x8902)
_ELSEWHERE_PROTOCOLS: Final = (IP_SCTP, 47, 66, 89)
_ELSEWHERE_TCP: Final = (179, 2600, 6633, 6653)
_ELSEWHERE_UDP: Final = (67, 68, 546, 547, 4789, 6081, 8472)
_ELSEWHERE_ICMPV6: Final = (130, 131, 132, 133, 134, 143)
"""What is parsed by os-ken, or looked at by switches, but has no layout here."""

_NEIGHBOURS: Final = (NEIGHBOUR_SOLICITATION, NEIGHBOUR_ADVERTISEMENT)


def constraints(sender: Sender | None = None, longest: int = LONGEST_PAYLOAD) -> tuple[Term, ...]:
    """Return what is true of every frame, from one sender if there is one."""
    source, kind = input_term("eth_src"), input_term("eth_type")
    return (
        negation(eq(source, FALSE)),
        eq(bits(source, 40, 1), FALSE),
        either(TAGGED, eq(input_term("vlan_vid"), FALSE)),
        le(const(0x600), kind),
        negation(is_value("eth_type", ETH_VLAN)),
        negation(is_value("eth_type", ETH_QINQ)),
        negation(both(is_value("eth_type", ETH_IPV6), _one_of("ip_proto", _EXTENSIONS))),
        negation(_one_of("icmpv6_type", _ELSEWHERE_ICMPV6)),
        either(is_value("icmpv6_code", 0), negation(_one_of("icmpv6_type", _NEIGHBOURS))),
        *_payload_constraints(longest),
        *(is_value(name, value) for name, value in _pinned(sender).items()),
    )


def _payload_constraints(longest: int) -> Iterable[Term]:
    length, payload = input_term("payload_length"), input_term("payload")
    yield le(length, const(longest))
    for at in range(PAYLOAD_SIZE):
        byte = bits(payload, 8 * (PAYLOAD_SIZE - 1 - at), 8)
        yield either(lt(const(at), length), eq(byte, FALSE))
    # os-ken looks a protocol up in one table, whatever carries it.
    ip = is_value("eth_type", ETH_IPV4)
    ipv6 = is_value("eth_type", ETH_IPV6)
    elsewhere = either(
        _one_of("eth_type", _ELSEWHERE_TYPES),
        both(either(ip, ipv6), _one_of("ip_proto", _ELSEWHERE_PROTOCOLS)),
        both(ip, is_value("ip_proto", IP_ICMPV6)),
        both(ipv6, _one_of("ip_proto", (IP_ICMP, IP_IGMP))),
        _one_of("tcp_src", _ELSEWHERE_TCP),
        _one_of("tcp_dst", _ELSEWHERE_TCP),
        _one_of("udp_src", _ELSEWHERE_UDP),
        _one_of("udp_dst", _ELSEWHERE_UDP),
    )
    yield either(eq(payload, FALSE), negation(elsewhere))


def _one_of(name: str, values: Iterable[int]) -> Term:
    return either(*(is_value(name, value) for value in values))


def _pinned(sender: Sender | None) -> dict[str, int]:
    """Return the inputs that a sender does not choose."""
    if sender is None:
        return {}
    pinned = dict.fromkeys(_OWN_MACS, sender.mac)
    if sender.ipv4 is not None:
        pinned |= dict.fromkeys(_OWN_IPV4S, sender.ipv4)
    if sender.ipv6 is not None:
        pinned |= dict.fromkeys(_OWN_IPV6S, sender.ipv6)
    return pinned


_OWN_MACS: Final = ("eth_src", "arp_sha", "ipv6_nd_sll", "ipv6_nd_tll")
_OWN_IPV4S: Final = ("arp_spa", "ipv4_src")
_OWN_IPV6S: Final = ("ipv6_src",)
OWN: Final = frozenset({*_OWN_MACS, *_OWN_IPV4S, *_OWN_IPV6S})
"""The inputs that are a sender's own addresses, of which there are few."""
