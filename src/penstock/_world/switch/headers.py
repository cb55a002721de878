"""Which header fields a switch sees in a frame.

The reading follows Open vSwitch's: one VLAN tag is looked through, a header that is cut short or
contradicts itself ends the reading, and what was not read counts as zero.  Fields that are zero
are left out of the result, so looking one up means `fields.get(name, 0)`.
"""

from __future__ import annotations

from functools import lru_cache
from struct import Struct
from typing import Final, NamedTuple

from penstock._world.switch.labels import BOTTOM, MOST_LABELS
from penstock.openflow.fields import (
    ETH_ARP,
    ETH_IPV4,
    ETH_IPV6,
    ETH_MPLS,
    ETH_MPLS_MULTICAST,
    ETH_QINQ,
    ETH_VLAN,
    IP_ICMP,
    IP_ICMPV6,
    IP_SCTP,
    IP_TCP,
    IP_UDP,
    VID_PRESENT,
)

NOT_ETHERNET_II: Final = 0x05FF
"""The Ethernet type of an 802.2 frame without one (specification 1.0 §3.4)."""

ETH_RARP: Final = 0x8035
ARP_TYPES: Final = (ETH_ARP, ETH_RARP)
VLAN_TYPES: Final = (ETH_VLAN, ETH_QINQ)
FRAGMENT_FIRST: Final = 1
FRAGMENT_LATER: Final = 3

ROUTING, FRAGMENT, AUTHENTICATION = 43, 44, 51
EXTENSIONS: Final = frozenset({0, 60, ROUTING, FRAGMENT, AUTHENTICATION})
"""The IPv6 extension headers a switch looks through."""

_SHORT: Final = Struct("!H")
_WORD: Final = Struct("!I")
_PORTS: Final = Struct("!HH")
_IPV4: Final = Struct("!BBHHHBBHII")
_ARP: Final = Struct("!HHBBH6sI6sI")


class Headers(NamedTuple):
    """The fields of one frame, where its layers start, and whether it is a fragment.

    `network` is where what follows the Ethernet header and its tag begins; `transport` to `end`
    is the payload of an IP packet, without padding (both 0 where there is none).  `labels` are
    the MPLS labels in sight, from the outermost in.
    """

    fields: dict[str, int]
    fragment: int
    network: int
    transport: int
    end: int
    labels: tuple[int, int, int] = (0, 0, 0)


@lru_cache(maxsize=65536)
def read(frame: bytes) -> Headers:
    """Return the header fields of a frame; the dictionary is shared, so copy it before writing."""
    if len(frame) < 14:
        return Headers({}, 0, len(frame), 0, 0)
    reader = _Reader(frame)
    fields = {name: value for name, value in reader.found.items() if value}
    return Headers(fields, reader.fragment, reader.network, reader.transport, reader.end, reader.labels)


class _Reader:
    """One pass over a frame, from the outside in."""

    def __init__(self, frame: bytes) -> None:
        self.frame = frame
        self.found: dict[str, int] = {}
        self.fragment = self.network = self.transport = self.end = 0
        self.labels = (0, 0, 0)
        self._link()

    def _link(self) -> None:
        frame, found = self.frame, self.found
        found["eth_dst"] = int.from_bytes(frame[0:6])
        found["eth_src"] = int.from_bytes(frame[6:12])
        at = 12
        (ethertype,) = _SHORT.unpack_from(frame, at)
        if ethertype in VLAN_TYPES and len(frame) >= 18:
            (tci,) = _SHORT.unpack_from(frame, 14)
            found["vlan_vid"] = VID_PRESENT | tci & 0xFFF
            found["vlan_pcp"] = tci >> 13
            at = 16
            (ethertype,) = _SHORT.unpack_from(frame, at)
        at += 2
        if ethertype < 0x600:
            ethertype, at = self._snap(at)
        found["eth_type"] = ethertype
        self.network = at
        if ethertype == ETH_IPV4:
            self._ipv4(at)
        elif ethertype == ETH_IPV6:
            self._ipv6(at)
        elif ethertype in ARP_TYPES:
            self._arp(at)
        elif ethertype in (ETH_MPLS, ETH_MPLS_MULTICAST):
            self._mpls(at)

    def _mpls(self, at: int) -> None:
        stack: list[int] = []
        while len(stack) < MOST_LABELS and at + 4 <= len(self.frame):
            stack.append(_WORD.unpack_from(self.frame, at)[0])
            at += 4
            if stack[-1] & BOTTOM:
                break
        if not stack:
            return
        label, found = stack[0], self.found
        found["mpls_label"] = label >> 12
        found["mpls_tc"] = label >> 9 & 7
        found["mpls_bos"] = label >> 8 & 1
        found["mpls_ttl"] = label & 0xFF
        first, second, third = (*stack, 0, 0)[:MOST_LABELS]
        self.labels = first, second, third

    def _snap(self, at: int) -> tuple[int, int]:
        if self.frame[at : at + 6] == b"\xaa\xaa\x03\x00\x00\x00" and len(self.frame) >= at + 8:
            (ethertype,) = _SHORT.unpack_from(self.frame, at + 6)
            return (ethertype if ethertype >= 0x600 else NOT_ETHERNET_II), at + 8
        return NOT_ETHERNET_II, at

    def _arp(self, at: int) -> None:
        if len(self.frame) < at + 28:
            return
        kind, protocol, hlen, plen, op, sha, spa, tha, tpa = _ARP.unpack_from(self.frame, at)
        if (kind, protocol, hlen, plen) != (1, ETH_IPV4, 6, 4):
            return
        self.found.update(arp_spa=spa, arp_tpa=tpa, arp_sha=int.from_bytes(sha), arp_tha=int.from_bytes(tha))
        if op <= 0xFF:
            self.found["arp_op"] = op

    def _ipv4(self, at: int) -> None:
        size = len(self.frame) - at
        if size < 20:
            return
        vihl, tos, total, _, offset, ttl, protocol, _, src, dst = _IPV4.unpack_from(self.frame, at)
        length = (vihl & 0xF) * 4
        if length < 20 or size < length or not length <= total <= size:
            return
        if offset & 0x3FFF:
            self.fragment = FRAGMENT_LATER if offset & 0x1FFF else FRAGMENT_FIRST
        self.found.update(ipv4_src=src, ipv4_dst=dst)
        self._ip(tos, ttl, protocol)
        self._transport(protocol, at + length, at + total)

    def _ipv6(self, at: int) -> None:
        frame = self.frame
        if len(frame) < at + 40:
            return
        (first,) = _WORD.unpack_from(frame, at)
        (payload,) = _SHORT.unpack_from(frame, at + 4)
        end = at + 40 + payload
        if end > len(frame):
            return
        self.found["ipv6_src"] = int.from_bytes(frame[at + 8 : at + 24])
        self.found["ipv6_dst"] = int.from_bytes(frame[at + 24 : at + 40])
        inner = self._extensions(frame[at + 6], at + 40, end)
        if inner is None:
            return
        protocol, start = inner
        self.found["ipv6_flabel"] = first & 0xFFFFF
        self._ip(first >> 20 & 0xFF, frame[at + 7], protocol)
        self._transport(protocol, start, end)

    def _extensions(self, protocol: int, at: int, end: int) -> tuple[int, int] | None:
        """Skip IPv6 extension headers; None where one is cut short."""
        frame = self.frame
        while protocol in EXTENSIONS:
            if end - at < 8:
                return None
            following = frame[at]
            if protocol == FRAGMENT:
                (offset,) = _SHORT.unpack_from(frame, at + 2)
                if offset:
                    self.fragment = FRAGMENT_FIRST
                    if offset & 0xFFF8:
                        self.fragment = FRAGMENT_LATER
                        return FRAGMENT, at + 8
                length = 8
            elif protocol == AUTHENTICATION:
                length = (frame[at + 1] + 2) * 4
            else:
                length = (frame[at + 1] + 1) * 8
            if end - at < length:
                return None
            protocol, at = following, at + length
        return protocol, at

    def _ip(self, tos: int, ttl: int, protocol: int) -> None:
        self.found.update(ip_dscp=tos >> 2, ip_ecn=tos & 3, ip_proto=protocol, nw_ttl=ttl)

    def _transport(self, protocol: int, at: int, end: int) -> None:
        self.transport, self.end = at, end
        if self.fragment == FRAGMENT_LATER:
            return
        frame, found, size = self.frame, self.found, end - at
        if protocol == IP_TCP:
            if size >= 20 and 20 <= (frame[at + 12] >> 4) * 4 <= size:
                found["tcp_src"], found["tcp_dst"] = _PORTS.unpack_from(frame, at)
        elif protocol == IP_UDP:
            if size >= 8:
                found["udp_src"], found["udp_dst"] = _PORTS.unpack_from(frame, at)
        elif protocol == IP_SCTP:
            if size >= 12:
                found["sctp_src"], found["sctp_dst"] = _PORTS.unpack_from(frame, at)
        elif protocol == IP_ICMP:
            if size >= 8:
                found["icmpv4_type"], found["icmpv4_code"] = frame[at], frame[at + 1]
        elif protocol == IP_ICMPV6 and size >= 8:
            found["icmpv6_type"], found["icmpv6_code"] = frame[at], frame[at + 1]
            if frame[at] in (135, 136) and frame[at + 1] == 0:
                self._neighbour_discovery(at + 8, end)

    def _neighbour_discovery(self, at: int, end: int) -> None:
        frame = self.frame
        if end - at < 16:
            return
        target = int.from_bytes(frame[at : at + 16])
        addresses = {1: 0, 2: 0}
        at += 16
        while end - at >= 8:
            kind, length = frame[at], frame[at + 1] * 8
            if not length or length > end - at:
                break
            if kind in addresses and length == 8:
                if addresses[kind]:
                    return
                addresses[kind] = int.from_bytes(frame[at + 2 : at + 8])
            at += length
        self.found.update(ipv6_nd_target=target, ipv6_nd_sll=addresses[1], ipv6_nd_tll=addresses[2])


TRANSPORT_PORTS: Final = (
    "tcp_src",
    "tcp_dst",
    "udp_src",
    "udp_dst",
    "sctp_src",
    "sctp_dst",
    "icmpv4_type",
    "icmpv4_code",
    "icmpv6_type",
    "icmpv6_code",
)
"""What a switch that does not reassemble cannot trust in a fragment."""
