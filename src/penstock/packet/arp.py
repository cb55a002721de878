"""ARP, between Ethernet and IPv4 addresses; for other pairs it stays opaque bytes."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import Final

from penstock.openflow.fields import ETH_IPV4

ARP_REQUEST: Final = 1
ARP_REPLY: Final = 2

_ARP = Struct("!IHHHIIHII")
_ETHERNET = 1
_ADDRESSES = _ETHERNET << 16 | ETH_IPV4
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
            _ADDRESSES,
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
    if addresses != _ADDRESSES or sizes != _SIZES:
        return None
    return ARP(op, sha << 32 | sha_low, spa, tha << 32 | tha_low, tpa), data[_ARP.size :]
