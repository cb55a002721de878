"""Ethernet frames with their VLAN tags: the outermost layer, and where parsing starts.

Parsing loses nothing: for every byte string that `parse` accepts, `parse(data).to_bytes() ==
data`.  A layer that is cut short or malformed stays opaque bytes in the layer around it, a wrong
checksum or length is kept where a right one would be None, and what follows a datagram that ends
before its frame does is the frame's `padding`.

Frames of IEEE 802.3, with a length in place of the type, have an opaque payload.  Nothing is
padded to Ethernet's least size: software networks do not do so either.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from penstock.errors import PenstockError
from penstock.openflow.fields import ETH_ARP, ETH_IPV4, ETH_IPV6, ETH_LLDP, ETH_QINQ, ETH_VLAN
from penstock.packet.arp import ARP, parse_arp
from penstock.packet.header import fit
from penstock.packet.ip import IPv4, IPv6, parse_ipv4, parse_ipv6
from penstock.packet.lldp import LLDP, parse_lldp

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
