"""A packet on its way through a switch, and what actions do to its bytes.

The header fields seen by later tables are those read when the packet came in, changed as actions
change them: they are not read again from the bytes, which is how Open vSwitch works and what
makes a second VLAN tag leave the IP fields in sight.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from penstock._world.frame import Frame
from penstock._world.switch.checksum import adjusted, crc32c
from penstock._world.switch.headers import (
    ARP_TYPES,
    AUTHENTICATION,
    EXTENSIONS,
    FRAGMENT,
    FRAGMENT_LATER,
    ROUTING,
    VLAN_TYPES,
    read,
)
from penstock._world.switch.labels import BOTTOM, MOST_LABELS, MPLS_TYPES, LabelStack, changes
from penstock.openflow.fields import (
    BY_NAME,
    ETH_ARP,
    ETH_IPV4,
    ETH_IPV6,
    ETH_VLAN,
    FIELDS,
    IP_ICMP,
    IP_ICMPV6,
    IP_SCTP,
    IP_TCP,
    IP_UDP,
    VID_PRESENT,
)

MOST_TAGS: Final = 2
_DROP_ELIGIBLE: Final = 0x1000
_Tags = tuple[tuple[int, int], ...]
"""The type and content of each VLAN tag, from the outermost in."""

_SHORT: Final = Struct("!H")
_TAG: Final = Struct("!HH")
_WORD: Final = Struct("!I")

_ARP_AT: Final = {
    "arp_op": (6, 2),
    "arp_sha": (8, 6),
    "arp_spa": (14, 4),
    "arp_tha": (18, 6),
    "arp_tpa": (24, 4),
}
_TRANSPORTS: Final = {IP_TCP: "tcp", IP_UDP: "udp", IP_SCTP: "sctp"}
_SHORTEST: Final = {IP_TCP: 20, IP_UDP: 8, IP_SCTP: 12, IP_ICMP: 8}
"""How many bytes a transport's header has at least; a shorter one is left alone."""

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


def _tags_in_sight(data: bytearray) -> _Tags:
    tpid, tci = _TAG.unpack_from(data, 12)
    return ((tpid, tci & ~_DROP_ELIGIBLE),)


class Packet:
    """A packet inside a switch: its bytes, the fields later tables see, and its copies' origin."""

    __slots__ = (
        "_end",
        "_frame",
        "_network",
        "_real",
        "_real_tags",
        "_stack",
        "_tags",
        "_transport",
        "data",
        "fields",
        "fragment",
        "in_port",
        "label_popped",
        "tag",
    )

    def __init__(self, data: bytes, in_port: int, tag: str = "") -> None:
        self.data = bytearray(data)
        self.in_port = in_port
        self.tag = tag
        self._frame: Frame | None = None
        self._read(data, {"in_port": in_port})

    @classmethod
    def of(cls, frame: Frame, in_port: int) -> Packet:
        """Return the packet that a frame brings in by a port."""
        packet = cls(frame.data, in_port, frame.tag)
        packet._frame = frame
        return packet

    def frame(self) -> Frame:
        """Return the packet as it goes on a wire.

        As long as its bytes do not change this is one object, so that whoever follows many frames may
        know it again.
        """
        frame = self._frame
        if frame is None or frame.data != self.data:
            frame = self._frame = Frame(bytes(self.data), self.tag)
        return frame

    def _read(self, data: bytes, kept: dict[str, int]) -> None:
        headers = read(data)
        self.fields = {**headers.fields, **kept}
        self.fragment = headers.fragment
        self._real_tags = self._tags = _tags_in_sight(self.data) if "vlan_vid" in headers.fields else ()
        self.label_popped = False
        self._network, self._transport, self._end = headers.network, headers.transport, headers.end
        self._real = self._stack = LabelStack(self.ethertype, headers.labels)

    def look_afresh(self) -> None:
        """Forget what was known of the packet but for where it came from, and read it again."""
        self.settle()
        kept = {name: self.fields.get(name, 0) for name in ("in_port", "metadata", "tunnel_id")}
        self._read(bytes(self.data), kept)

    def find_layers(self) -> None:
        """Look where the layers begin in the bytes, as happens when a packet is shown to a controller.

        Under a second tag nothing is found; what is then written to layers goes where they seem to be.
        """
        self.settle()
        headers = read(self.frame().data)
        self._network, self._transport, self._end = headers.network, headers.transport, headers.end

    def copy(self) -> Packet:
        """Return a packet that can be changed without changing this one."""
        twin = object.__new__(Packet)
        twin.data = bytearray(self.data)
        twin.fields = dict(self.fields)
        twin.fragment, twin.in_port, twin.tag = self.fragment, self.in_port, self.tag
        twin._frame = self._frame
        twin.label_popped, twin._tags, twin._real_tags = self.label_popped, self._tags, self._real_tags
        twin._real, twin._stack = self._real, self._stack
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
    def is_mpls(self) -> bool:
        """Tell whether the packet has an MPLS label in sight."""
        return self.ethertype in MPLS_TYPES

    @property
    def labels(self) -> int:
        """How many MPLS labels the packet has."""
        return self._stack.depth

    @property
    def is_tagged(self) -> bool:
        """Tell whether the packet has a VLAN tag in sight."""
        return bool(self._tags)

    def set(self, field: str, value: int) -> None:
        """Write a header field, in the bytes too where the packet really has it."""
        if field in ("eth_dst", "eth_src"):
            at = 0 if field == "eth_dst" else 6
            self.data[at : at + 6] = value.to_bytes(6)
        elif field in ("vlan_vid", "vlan_pcp"):
            if not self.is_tagged:
                if field == "vlan_pcp":
                    return
                self.push_vlan(ETH_VLAN)
            self._write_tag(field, value)
        elif field in _MPLS_FIELDS:
            if not self.is_mpls:
                return
            shift, mask = _MPLS_FIELDS[field]
            self._stack = self._stack.with_top(self._stack.labels[0] & ~(mask << shift) | value << shift)
        elif field in _ARP_AT:
            if self.ethertype not in ARP_TYPES:
                return
            if self.fields.get("arp_op", 0) and self.ethertype == ETH_ARP:
                at, size = _ARP_AT[field]
                self.data[self._network + at : self._network + at + size] = value.to_bytes(size)
        elif field not in ("metadata", "tunnel_id") and not self._set_ip(field, value):
            return
        self.fields[field] = value

    def set_transport(self, end: str, port: int) -> None:
        """Write a port of whatever transport there is; of ICMP, its type or code."""
        protocol = self.fields.get("ip_proto", 0)
        if protocol in _TRANSPORTS:
            self.set(f"{_TRANSPORTS[protocol]}_{end}", port)
        elif protocol in (IP_ICMP, IP_ICMPV6) and self.is_ip and self.fragment != FRAGMENT_LATER:
            version = "v4" if self.ethertype == ETH_IPV4 else "v6"
            name = f"icmp{version}_{'type' if end == 'src' else 'code'}"
            self.set(name, port & 0xFF)
            self.fields[name] = port

    def _write_tag(self, field: str, value: int) -> None:
        (tpid, tci), *inner = self._tags
        tci = tci & 0xE000 | value & 0xFFF if field == "vlan_vid" else tci & 0xFFF | value << 13
        self._tags = ((tpid, tci), *inner)

    def _is_one_with(self, field: str) -> bool:
        """Tell whether the packet is of the kind that has a field of IP or above."""
        if field == "nw_ttl":
            return self.is_ip
        if field in _TRANSPORT_FIELDS and self.fragment == FRAGMENT_LATER:
            return False
        if field in _ND_FIELDS and self.fields.get("icmpv6_code", 0):
            return False
        return all(self.fields.get(needed, 0) in values for needed, values in BY_NAME[field].needs)

    def _set_ip(self, field: str, value: int) -> bool:
        """Write a field of IP or above; say whether the packet is of the kind that has it."""
        if not self._is_one_with(field):
            return False
        protocol = self.fields.get("ip_proto", 0)
        if not protocol:
            return True
        if field in ("ipv4_src", "ipv4_dst"):
            self._set_ipv4_address(12 if field == "ipv4_src" else 16, value, protocol)
        elif field in ("ipv6_src", "ipv6_dst"):
            self._set_ipv6_address(8 if field == "ipv6_src" else 24, value, protocol)
        elif field in ("ip_dscp", "ip_ecn", "nw_ttl", "ipv6_flabel"):
            self._set_ip_header(field, value)
        elif field in _TRANSPORT_FIELDS:
            self._set_port(protocol, 0 if field.endswith("src") else 2, value)
        elif field in _ICMP_FIELDS:
            if self._end - self._transport >= _SHORTEST[IP_ICMP]:
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
        transport = self._transport_checksum(protocol) if self._checksum_has_ipv6() else None
        self._patch(self._network + offset, value.to_bytes(16), *([transport] if transport else []))
        self._avoid_zero_udp(protocol, transport)

    def _checksum_has_ipv6(self) -> bool:
        """Tell whether the transport's checksum is kept up when an IPv6 address changes.

        It is not in a packet with hops still to go, and of fragments only in the first of several.
        """
        kind, at, kept = self.data[self._network + 6], self._network + 40, True
        while kind in EXTENSIONS and self._transport - at >= 8:
            if kind == ROUTING and self.data[at + 3]:
                return False
            if kind == FRAGMENT:
                (offset,) = _SHORT.unpack_from(self.data, at + 2)
                kept = not offset & 0xFFF8 and bool(offset & 1)
                size = 8
            else:
                size = (self.data[at + 1] + 2) * 4 if kind == AUTHENTICATION else (self.data[at + 1] + 1) * 8
            kind, at = self.data[at], at + size
        return kept

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
        if self._end - at < _SHORTEST[protocol]:
            return
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

    def push_vlan(self, ethertype: int) -> None:
        """Put a new outermost VLAN tag on the packet; with more than two, the innermost in sight goes."""
        self._tags = ((ethertype, 0), *self._tags)[:MOST_TAGS]
        self._see_tag()

    def pop_vlan(self) -> None:
        """Take the outermost VLAN tag off, if there is one in sight."""
        self._tags = self._tags[1:]
        self._see_tag()

    def _see_tag(self) -> None:
        tci = self._tags[0][1] if self._tags else 0
        self.fields["vlan_vid"] = VID_PRESENT | tci & 0xFFF if self._tags else 0
        self.fields["vlan_pcp"] = tci >> 13

    def push_mpls(self, ethertype: int) -> None:
        """Put a new outermost MPLS label on the packet, a copy of the one below or a null label."""
        if self.labels:
            label = self._stack.labels[0] & ~BOTTOM
        else:
            self.settle()
            null = 2 if self.ethertype == ETH_IPV6 else 0
            ttl = self.fields.get("nw_ttl", 0) if self.is_ip else 0
            traffic = self.fields.get("ip_dscp", 0) & 7 if self.is_ip else 0
            label = null << 12 | traffic << 9 | BOTTOM | (ttl or 64)
            for field in _BELOW_LABEL:
                self.fields.pop(field, None)
            self._transport = self._end = 0
        self._see_labels(self._stack.pushed(ethertype, label))

    def pop_mpls(self, ethertype: int) -> bool:
        """Take the outermost MPLS label off, if there is one; say whether what comes below is in sight."""
        if not self.labels:
            return True
        if self.labels == MOST_LABELS and not self._stack.labels[-1] & BOTTOM:
            return False
        self._see_labels(self._stack.popped(ethertype))
        self.label_popped = not self.is_mpls
        return True

    def _see_labels(self, stack: LabelStack) -> None:
        self._stack = stack
        self.fields["eth_type"] = stack.ethertype
        for field, (shift, mask) in _MPLS_FIELDS.items():
            self.fields[field] = stack.labels[0] >> shift & mask

    def settle(self) -> None:
        """Make the bytes follow what is known of the packet's labels and tags, as when it is sent."""
        if self._real != self._stack:
            self._settle_labels()
        if self._real_tags != self._tags:
            self._settle_tags()

    def _settle_labels(self) -> None:
        at = self._network
        done = changes(self._real, self._stack)
        for kind, ethertype, label in done:
            self._write_ethertype(ethertype)
            if kind == "push":
                self.data[at:at] = _WORD.pack(label)
            elif kind == "set":
                _WORD.pack_into(self.data, at, label)
            else:
                del self.data[at : at + 4]
        real = self._stack.ethertype if done else self._real.ethertype
        self._real = LabelStack(real, self._stack.labels)

    def _settle_tags(self) -> None:
        old, new = list(self._real_tags), list(self._tags)
        while old and new and old[-1] == new[-1]:
            old.pop()
            new.pop()
        del self.data[12 : 12 + 4 * len(old)]
        self.data[12:12] = b"".join(_SHORT.pack(tpid) + _SHORT.pack(tci) for tpid, tci in new)
        self._shift(4 * (len(new) - len(old)))
        self._real_tags = self._tags

    def resume_after(self, copy: Packet) -> None:
        """Go on after a copy of this packet was sent: a tag that the copy lacked is put on anew.

        In a new tag the bit that says to drop the packet early is not set.  Where the copy's
        layers were found, this packet's are thought to be.
        """
        moved = 4 * (len(self._real_tags) - len(copy._real_tags))
        if copy._real == self._real:
            self._network = copy._network + moved
            self._transport = copy._transport + moved if copy._transport else 0
            self._end = copy._end + moved if copy._end else 0
        shared = 0
        for mine, theirs in zip(reversed(self._real_tags), reversed(copy._real_tags), strict=False):
            if mine != theirs:
                break
            shared += 1
        for place in range(len(self._real_tags) - shared):
            self.data[14 + 4 * place] &= ~_DROP_ELIGIBLE >> 8

    def _write_ethertype(self, ethertype: int) -> None:
        """Write the type of what follows the tags; in an untagged 802.3 frame, over its length."""
        tagged = _SHORT.unpack_from(self.data, 12)[0] in VLAN_TYPES
        _SHORT.pack_into(self.data, self._network - 2 if tagged else 12, ethertype)


WRITABLE: Final = frozenset(BY_NAME) - {
    "in_port",
    "in_phy_port",
    "eth_type",
    "ip_proto",
    "mpls_bos",
    "pbb_isid",
    "ipv6_exthdr",
}
"""The fields an action may write."""
