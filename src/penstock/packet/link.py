"""The link layer, where parsing starts: Ethernet with VLAN tags, ARP, and LLDP (IEEE 802.1AB).

ARP between other addresses than Ethernet's and IPv4's stays opaque bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from struct import Struct
from typing import Final, TypeVar

from penstock.addresses import mac
from penstock.errors import PenstockError
from penstock.openflow.fields import ETH_ARP, ETH_IPV4, ETH_IPV6, ETH_LLDP, ETH_QINQ, ETH_VLAN
from penstock.packet.ip import IPv4, IPv6, parse_ipv4, parse_ipv6
from penstock.packet.transport import fit

ARP_REQUEST: Final = 1
ARP_REPLY: Final = 2

_ARP = Struct("!IHHHIIHII")
_ETHERNET = 1
_ADDRESS_TYPES = _ETHERNET << 16 | ETH_IPV4
_SIZES = 6 << 8 | 4


@dataclass(frozen=True, slots=True)
class ARP:
    """An ARP packet: sender's and target's hardware (MAC) and protocol (IPv4) address."""

    op: int
    sha: int
    spa: int
    tha: int
    tpa: int

    def to_bytes(self) -> bytes:
        """Return the packet as it is on the wire."""
        sha, tha = self.sha, self.tha
        return _ARP.pack(
            _ADDRESS_TYPES,
            _SIZES,
            self.op,
            sha >> 32,
            sha & 0xFFFFFFFF,
            self.spa,
            tha >> 32,
            tha & 0xFFFFFFFF,
            self.tpa,
        )


def parse_arp(data: bytes) -> tuple[ARP, bytes] | None:
    """Return the packet and the bytes after it, or None if it is cut short or of other addresses."""
    if len(data) < _ARP.size:
        return None
    addresses, sizes, op, sha, sha_low, spa, tha, tha_low, tpa = _ARP.unpack_from(data)
    if addresses != _ADDRESS_TYPES or sizes != _SIZES:
        return None
    return ARP(op, sha << 32 | sha_low, spa, tha << 32 | tha_low, tpa), data[_ARP.size :]


NEAREST_BRIDGE: Final = mac("01:80:c2:00:00:0e")
"""The group address that no bridge forwards, to which LLDP is sent."""

_END, _CHASSIS, _PORT, _TTL = range(4)
_HEAD = Struct("!H")


@dataclass(frozen=True, slots=True)
class LldpId:
    """A chassis or a port: how it is named (a subtype of the standard) and its name."""

    subtype: int
    value: bytes

    def to_bytes(self) -> bytes:
        """Return the information of the TLV that holds this name."""
        return bytes((self.subtype,)) + self.value


@dataclass(frozen=True, slots=True)
class Tlv:
    """A type, and a value whose length goes without saying."""

    kind: int
    value: bytes

    def to_bytes(self) -> bytes:
        """Return the TLV as it is on the wire."""
        head = fit("LLDP type", self.kind, 7) << 9 | fit("LLDP length", len(self.value), 9)
        return _HEAD.pack(head) + self.value


@dataclass(frozen=True, slots=True)
class LLDP:
    """An LLDP packet: a chassis and one of its ports speak, to be believed for `ttl` seconds."""

    chassis: LldpId
    port: LldpId
    ttl: int = 120
    tlvs: tuple[Tlv, ...] = ()

    def to_bytes(self) -> bytes:
        """Return the packet as it is on the wire."""
        tlvs = (
            Tlv(_CHASSIS, self.chassis.to_bytes()),
            Tlv(_PORT, self.port.to_bytes()),
            Tlv(_TTL, self.ttl.to_bytes(2)),
            *self.tlvs,
            Tlv(_END, b""),
        )
        return b"".join(tlv.to_bytes() for tlv in tlvs)


def parse_lldp(data: bytes) -> tuple[LLDP, bytes] | None:
    """Return the packet and the bytes after it, or None if it does not start or end as it must."""
    tlvs: list[Tlv] = []
    at = 0
    while at + 2 <= len(data):
        (head,) = _HEAD.unpack_from(data, at)
        start, at = at + 2, at + 2 + (head & 0x1FF)
        if at > len(data):
            return None
        if head == _END:
            packet = _from_tlvs(tlvs)
            return (packet, data[at:]) if packet else None
        tlvs.append(Tlv(head >> 9, data[start:at]))
    return None


def _from_tlvs(tlvs: list[Tlv]) -> LLDP | None:
    if [tlv.kind for tlv in tlvs[:3]] != [_CHASSIS, _PORT, _TTL] or any(tlv.kind == _END for tlv in tlvs):
        return None
    chassis, port, ttl = (tlv.value for tlv in tlvs[:3])
    if not chassis or not port or len(ttl) != 2:
        return None
    return LLDP(
        LldpId(chassis[0], chassis[1:]), LldpId(port[0], port[1:]), int.from_bytes(ttl), tuple(tlvs[3:])
    )


_ADDRESSES = struct.Struct("!HIHI")
_HEADER = struct.Struct("!HIHIH")
_TYPE = struct.Struct("!H")
_TAG = struct.Struct("!HH")

_TAGGED = frozenset((ETH_VLAN, ETH_QINQ))

Network = ARP | IPv4 | IPv6 | LLDP
_Layer = TypeVar("_Layer")


@dataclass(frozen=True, slots=True)
class VlanTag:
    """A VLAN tag: the VLAN, its priority, whether to drop it early, and the tag's own type."""

    vid: int
    pcp: int = 0
    dei: int = 0
    tpid: int = ETH_VLAN

    def to_bytes(self) -> bytes:
        """Return the tag as it is on the wire, its own type first."""
        priority = fit("VLAN priority", self.pcp, 3) << 13 | fit("VLAN DEI", self.dei, 1) << 12
        return _TAG.pack(self.tpid, priority | fit("VLAN id", self.vid, 12))


@dataclass(frozen=True, slots=True)
class Ethernet:
    """A frame; `tags` go from the outermost in, and `ethertype` is what the payload is after them."""

    dst: int
    src: int
    ethertype: int
    payload: Network | bytes = b""
    tags: tuple[VlanTag, ...] = ()
    padding: bytes = b""

    def to_bytes(self) -> bytes:
        """Return the frame as it is on the wire, lengths and checksums filled in."""
        dst, src, payload = self.dst, self.src, self.payload
        try:
            head = _ADDRESSES.pack(dst >> 32, dst & 0xFFFFFFFF, src >> 32, src & 0xFFFFFFFF)
            tags = b"".join([tag.to_bytes() for tag in self.tags])
            body = payload if isinstance(payload, bytes) else payload.to_bytes()
            return head + tags + _TYPE.pack(self.ethertype) + body + self.padding
        except (struct.error, OverflowError, ValueError) as error:
            names = ", ".join(type(layer).__name__ for layer in self.layers() if not isinstance(layer, bytes))
            raise PenstockError(
                f"A packet ({names}) has a number that its header field cannot hold: {error}."
            ) from None

    def layers(self) -> Iterator[object]:
        """Go through the layers from the frame inwards, the opaque bytes in the innermost last."""
        layer: object = self
        while layer is not None:
            yield layer
            layer = getattr(layer, "payload", None)

    def find(self, kind: type[_Layer]) -> _Layer | None:
        """Return the layer of a kind (`packet.find(TCP)`), or None if there is none."""
        for layer in self.layers():
            if isinstance(layer, kind):
                return layer
        return None


_PARSERS: dict[int, Callable[[bytes], tuple[Network, bytes] | None]] = {
    ETH_ARP: parse_arp,
    ETH_IPV4: parse_ipv4,
    ETH_IPV6: parse_ipv6,
    ETH_LLDP: parse_lldp,
}


def parse(data: bytes) -> Ethernet:
    """Return the layers of a frame; whatever is malformed inside stays opaque bytes."""
    if len(data) < _HEADER.size:
        raise PenstockError(
            f"{len(data)} bytes are no Ethernet frame: it starts with a header of {_HEADER.size} bytes."
        )
    dst, dst_low, src, src_low, ethertype = _HEADER.unpack_from(data)
    tags: tuple[VlanTag, ...] = ()
    at = _HEADER.size
    if ethertype in _TAGGED:
        tags, ethertype = _parse_tags(data)
        at += 4 * len(tags)
    rest = data[at:]
    parser = _PARSERS.get(ethertype)
    payload, padding = (parser(rest) if parser else None) or (rest, b"")
    return Ethernet(dst << 32 | dst_low, src << 32 | src_low, ethertype, payload, tags, padding)


def _parse_tags(data: bytes) -> tuple[tuple[VlanTag, ...], int]:
    """Return the tags that are there in full, and the type after them."""
    tags = []
    at = 12
    (ethertype,) = _TYPE.unpack_from(data, at)
    while ethertype in _TAGGED and at + 6 <= len(data):
        tpid = ethertype
        word, ethertype = _TAG.unpack_from(data, at + 2)
        tags.append(VlanTag(word & 0xFFF, word >> 13, word >> 12 & 1, tpid))
        at += 4
    return tuple(tags), ethertype
