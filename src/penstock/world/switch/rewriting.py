"""A packet on its way through a switch, and what actions do to its bytes.

The header fields seen by later tables are those read when the packet came in, changed as actions
change them: they are not read again from the bytes, which is how Open vSwitch works and what
makes a second VLAN tag leave the IP fields in sight.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from penstock.openflow.fields import (
    BY_NAME,
    ETH_ARP,
    ETH_IPV4,
    ETH_IPV6,
    ETH_MPLS,
    ETH_MPLS_MULTICAST,
    FIELDS,
    IP_ICMPV6,
    IP_SCTP,
    IP_TCP,
    IP_UDP,
    VID_PRESENT,
)
from penstock.world.switch.checksum import adjusted, crc32c
from penstock.world.switch.headers import VLAN_TYPES, read

_SHORT: Final = Struct("!H")
_WORD: Final = Struct("!I")

_ARP_AT: Final = {
    "arp_op": (6, 2),
    "arp_sha": (8, 6),
    "arp_spa": (14, 4),
    "arp_tha": (18, 6),
    "arp_tpa": (24, 4),
}
_TRANSPORTS: Final = {IP_TCP: "tcp", IP_UDP: "udp", IP_SCTP: "sctp"}
_TRANSPORT_FIELDS: Final = frozenset(
    f"{transport}_{end}" for transport in _TRANSPORTS.values() for end in ("src", "dst")
)
_ICMP_FIELDS: Final = frozenset({"icmpv4_type", "icmpv4_code", "icmpv6_type", "icmpv6_code"})
_ND_FIELDS: Final = frozenset({"ipv6_nd_target", "ipv6_nd_sll", "ipv6_nd_tll"})
_MPLS_FIELDS: Final = {
    "mpls_label": (12, 0xFFFFF),
    "mpls_tc": (9, 7),
    "mpls_bos": (8, 1),
    "mpls_ttl": (0, 255),
}
_BELOW_LABEL: Final = (
    "nw_ttl",
    *(f.name for f in FIELDS if f.needs and f.needs[0][0] == "eth_type" and not f.name.startswith("mpls")),
)
"""What an MPLS label hides."""


class Packet:
    """A packet inside a switch: its bytes, the fields later tables see, and its copies' origin."""

    __slots__ = ("_end", "_network", "_transport", "data", "fields", "fragment", "in_port", "tag")

    def __init__(self, data: bytes, in_port: int, tag: str = "") -> None:
        headers = read(data)
        self.data = bytearray(data)
        self.fields = dict(headers.fields)
        self.fields["in_port"] = in_port
        self.fragment = headers.fragment
        self.in_port = in_port
        self.tag = tag
        self._network, self._transport, self._end = headers.network, headers.transport, headers.end

    def copy(self) -> Packet:
        """Return a packet that can be changed without changing this one."""
        twin = object.__new__(Packet)
        twin.data = bytearray(self.data)
        twin.fields = dict(self.fields)
        twin.fragment, twin.in_port, twin.tag = self.fragment, self.in_port, self.tag
        twin._network, twin._transport, twin._end = self._network, self._transport, self._end
        return twin

    @property
    def ethertype(self) -> int:
        """The type of what lies below the Ethernet header and its tags."""
        return self.fields.get("eth_type", 0)

    @property
    def is_ip(self) -> bool:
        """Tell whether this is an IPv4 or IPv6 packet."""
        return self.ethertype in (ETH_IPV4, ETH_IPV6)

    @property
    def is_tagged(self) -> bool:
        """Tell whether the packet has a VLAN tag in sight."""
        return bool(self.fields.get("vlan_vid", 0) & VID_PRESENT)

    def set(self, field: str, value: int) -> None:
        """Write a header field, in the bytes too where the packet really has it."""
        if field in ("eth_dst", "eth_src"):
            at = 0 if field == "eth_dst" else 6
            self.data[at : at + 6] = value.to_bytes(6)
        elif field in ("vlan_vid", "vlan_pcp"):
            if not self.is_tagged:
                return
            self._write_tag(field, value)
        elif field in _MPLS_FIELDS:
            if self.ethertype not in (ETH_MPLS, ETH_MPLS_MULTICAST):
                return
            shift, mask = _MPLS_FIELDS[field]
            (label,) = _WORD.unpack_from(self.data, self._network)
            _WORD.pack_into(self.data, self._network, label & ~(mask << shift) | value << shift)
        elif field in _ARP_AT:
            if self.ethertype != ETH_ARP:
                return
            if self.fields.get("arp_op", 0):
                at, size = _ARP_AT[field]
                self.data[self._network + at : self._network + at + size] = value.to_bytes(size)
        elif field not in ("metadata", "tunnel_id") and not self._set_ip(field, value):
            return
        self.fields[field] = value

    def _write_tag(self, field: str, value: int) -> None:
        (tci,) = _SHORT.unpack_from(self.data, 14)
        tci = tci & 0xF000 | value & 0xFFF if field == "vlan_vid" else tci & 0x1FFF | value << 13
        _SHORT.pack_into(self.data, 14, tci)

    def _set_ip(self, field: str, value: int) -> bool:
        """Write a field of IP or above; say whether the packet is of the kind that has it."""
        protocol = self.fields.get("ip_proto", 0)
        if not self.is_ip:
            return False
        if not protocol or not self._transport:
            return True
        if field in ("ipv4_src", "ipv4_dst"):
            if self.ethertype != ETH_IPV4:
                return False
            self._set_ipv4_address(12 if field == "ipv4_src" else 16, value, protocol)
        elif field in ("ipv6_src", "ipv6_dst"):
            if self.ethertype != ETH_IPV6:
                return False
            self._set_ipv6_address(8 if field == "ipv6_src" else 24, value, protocol)
        elif field in ("ip_dscp", "ip_ecn", "nw_ttl", "ipv6_flabel"):
            self._set_ip_header(field, value)
        elif field in _TRANSPORT_FIELDS:
            if _TRANSPORTS.get(protocol) != field.partition("_")[0]:
                return False
            self._set_port(protocol, 0 if field.endswith("src") else 2, value)
        elif field in _ICMP_FIELDS:
            self._patch(self._transport + field.endswith("code"), value.to_bytes(1), self._transport + 2)
        elif field in _ND_FIELDS:
            self._set_neighbour(field, value)
        return True

    def _patch(self, at: int, new: bytes, *checksums: int) -> None:
        """Write bytes and keep up the checksums that cover them; UDP's zero stays zero."""
        start = at - (at - self._network & 1)
        stop = at + len(new) + (at + len(new) - self._network & 1)
        old = bytes(self.data[start:stop])
        self.data[at : at + len(new)] = new
        for where in checksums:
            (checksum,) = _SHORT.unpack_from(self.data, where)
            _SHORT.pack_into(self.data, where, adjusted(checksum, old, bytes(self.data[start:stop])))

    def _transport_checksum(self, protocol: int) -> int | None:
        """Return where the transport's checksum is, if it covers the IP addresses and is in use."""
        size, at = self._end - self._transport, self._transport
        if protocol == IP_TCP and size >= 20:
            return at + 16
        if protocol == IP_UDP and size >= 8 and (self.data[at + 6] or self.data[at + 7]):
            return at + 6
        if protocol == IP_ICMPV6 and self.ethertype == ETH_IPV6 and size >= 4:
            return at + 2
        return None

    def _set_ipv4_address(self, offset: int, value: int, protocol: int) -> None:
        checksums = [self._network + 10]
        transport = self._transport_checksum(protocol)
        if transport is not None:
            checksums.append(transport)
        self._patch(self._network + offset, value.to_bytes(4), *checksums)
        self._avoid_zero_udp(protocol, transport)

    def _set_ipv6_address(self, offset: int, value: int, protocol: int) -> None:
        transport = None if self.fragment else self._transport_checksum(protocol)
        self._patch(self._network + offset, value.to_bytes(16), *([transport] if transport else []))
        self._avoid_zero_udp(protocol, transport)

    def _avoid_zero_udp(self, protocol: int, checksum: int | None) -> None:
        if protocol == IP_UDP and checksum is not None and not any(self.data[checksum : checksum + 2]):
            self.data[checksum : checksum + 2] = b"\xff\xff"

    def _set_ip_header(self, field: str, value: int) -> None:
        at = self._network
        if self.ethertype == ETH_IPV4:
            if field == "nw_ttl":
                self._patch(at + 8, value.to_bytes(1), at + 10)
            elif field == "ip_dscp":
                self._patch(at + 1, (self.data[at + 1] & 3 | value << 2).to_bytes(1), at + 10)
            elif field == "ip_ecn":
                self._patch(at + 1, (self.data[at + 1] & 0xFC | value).to_bytes(1), at + 10)
            return
        if field == "nw_ttl":
            self.data[at + 7] = value
            return
        shift, mask = {"ip_dscp": (22, 0x3F), "ip_ecn": (20, 3), "ipv6_flabel": (0, 0xFFFFF)}[field]
        (first,) = _WORD.unpack_from(self.data, at)
        _WORD.pack_into(self.data, at, first & ~(mask << shift) | value << shift)

    def _set_port(self, protocol: int, offset: int, value: int) -> None:
        at = self._transport
        if protocol == IP_SCTP:
            old = crc32c(bytes(self.data[at : at + 8] + b"\0\0\0\0" + self.data[at + 12 : self._end]))
            _SHORT.pack_into(self.data, at + offset, value)
            new = crc32c(bytes(self.data[at : at + 8] + b"\0\0\0\0" + self.data[at + 12 : self._end]))
            (checksum,) = _WORD.unpack_from(self.data, at + 8)
            _WORD.pack_into(self.data, at + 8, checksum ^ old ^ new)
            return
        checksum = at + 16 if protocol == IP_TCP else self._transport_checksum(IP_UDP)
        self._patch(at + offset, value.to_bytes(2), *([checksum] if checksum is not None else []))
        self._avoid_zero_udp(protocol, checksum)

    def _set_neighbour(self, field: str, value: int) -> None:
        checksum, at = self._transport + 2, self._transport + 8
        if field == "ipv6_nd_target":
            if self._end - at >= 16:
                self._patch(at, value.to_bytes(16), checksum)
            return
        kind, at = (1 if field == "ipv6_nd_sll" else 2), at + 16
        while self._end - at >= 8 and self.data[at + 1]:
            if self.data[at] == kind and self.data[at + 1] == 1:
                self._patch(at + 2, value.to_bytes(6), checksum)
                return
            at += self.data[at + 1] * 8

    def _shift(self, size: int) -> None:
        self._network += size
        if self._transport:
            self._transport += size
            self._end += size

    def push_vlan(self, ethertype: int, tci: int = 0) -> None:
        """Put a new outermost VLAN tag on the packet."""
        self.data[12:12] = _SHORT.pack(ethertype) + _SHORT.pack(tci)
        self.fields["vlan_vid"] = VID_PRESENT | tci & 0xFFF
        self.fields["vlan_pcp"] = tci >> 13
        self._shift(4)

    def pop_vlan(self) -> None:
        """Take the outermost VLAN tag off, if there is one; one below it comes into sight."""
        if not self.is_tagged:
            return
        del self.data[12:16]
        self._shift(-4)
        self.fields["vlan_vid"] = self.fields["vlan_pcp"] = 0
        if self._network >= 18 and _SHORT.unpack_from(self.data, 12)[0] in VLAN_TYPES:
            (tci,) = _SHORT.unpack_from(self.data, 14)
            self.fields["vlan_vid"] = VID_PRESENT | tci & 0xFFF
            self.fields["vlan_pcp"] = tci >> 13

    def push_mpls(self, ethertype: int) -> None:
        """Put a new outermost MPLS label on the packet, a copy of the one below or a null label."""
        if self.ethertype in (ETH_MPLS, ETH_MPLS_MULTICAST):
            (label,) = _WORD.unpack_from(self.data, self._network)
            label &= ~0x100
        else:
            null = 2 if self.ethertype == ETH_IPV6 else 0
            ttl = self.fields.get("nw_ttl", 0) if self.is_ip else 0
            traffic = self.fields.get("ip_dscp", 0) & 7 if self.is_ip else 0
            label = null << 12 | traffic << 9 | 0x100 | (ttl or 64)
        _SHORT.pack_into(self.data, self._network - 2, ethertype)
        self.data[self._network : self._network] = _WORD.pack(label)
        for field in _BELOW_LABEL:
            self.fields.pop(field, None)
        self._transport = self._end = 0
        self._see_label(ethertype)

    def pop_mpls(self, ethertype: int) -> None:
        """Take the outermost MPLS label off and read what lies below."""
        if self.ethertype not in (ETH_MPLS, ETH_MPLS_MULTICAST):
            return
        _SHORT.pack_into(self.data, self._network - 2, ethertype)
        del self.data[self._network : self._network + 4]
        kept = {name: self.fields.get(name, 0) for name in ("in_port", "metadata", "tunnel_id")}
        headers = read(bytes(self.data))
        self.fields = {**headers.fields, **kept}
        self.fragment = headers.fragment
        self._network, self._transport, self._end = headers.network, headers.transport, headers.end

    def _see_label(self, ethertype: int) -> None:
        (label,) = _WORD.unpack_from(self.data, self._network)
        self.fields["eth_type"] = ethertype
        for field, (shift, mask) in _MPLS_FIELDS.items():
            self.fields[field] = label >> shift & mask


WRITABLE: Final = frozenset(BY_NAME) - {
    "in_port",
    "in_phy_port",
    "eth_type",
    "ip_proto",
    "pbb_isid",
    "ipv6_exthdr",
}
"""The fields an action may write."""
