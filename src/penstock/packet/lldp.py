"""LLDP (IEEE 802.1AB), by which controllers discover links: who sent this, out of which port.

The three TLVs that every LLDP packet starts with are fields; the others are kept in their order,
and the one that ends the packet is written for you.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import Final

from penstock.addresses import mac
from penstock.packet.header import fit

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
