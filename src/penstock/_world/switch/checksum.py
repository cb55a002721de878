"""Checksums as switches keep them up: adjusted for what changed, never computed afresh.

A packet that came with a wrong checksum therefore leaves with one that is wrong by as much.
"""

from __future__ import annotations

from typing import Final


def adjusted(checksum: int, old: bytes, new: bytes) -> int:
    """Return an Internet checksum after some 16-bit words it covers changed (RFC 1624)."""
    total = ~checksum & 0xFFFF
    for at in range(0, len(old), 2):
        total += (~int.from_bytes(old[at : at + 2]) & 0xFFFF) + int.from_bytes(new[at : at + 2])
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def _crc_table() -> tuple[int, ...]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return tuple(table)


_CRC: Final = _crc_table()


def crc32c(data: bytes) -> int:
    """Return the checksum of SCTP (RFC 4960, appendix B), in its order on the wire."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _CRC[(crc ^ byte) & 0xFF]
    return int.from_bytes((crc ^ 0xFFFFFFFF).to_bytes(4, "little"))
