"""TCP and UDP.

A segment's checksum also covers addresses of the IP header around it.  So `to_bytes` and the
parsers here take `pseudo`, the sum of both addresses and the protocol number.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag
from functools import cache
from struct import Struct

from penstock.packet.header import blanked, checksum, fit, words_with_options

_TCP = Struct("!HHIIHHHH")
_UDP = Struct("!HHHH")


class TcpFlags(IntFlag):
    """The control bits of a TCP segment; the three reserved bits above them are kept if set."""

    FIN = 0x001
    SYN = 0x002
    RST = 0x004
    PSH = 0x008
    ACK = 0x010
    URG = 0x020
    ECE = 0x040
    CWR = 0x080
    NS = 0x100

    def __str__(self) -> str:
        bits = self.value
        return "+".join(name for name, bit in _FLAG_BITS if bits & bit)


_flags = cache(TcpFlags)  # an enumeration's own look-up is several times slower
_NO_FLAGS = TcpFlags(0)
_FLAG_BITS = tuple((name, flag.value) for name, flag in TcpFlags.__members__.items())


@dataclass(frozen=True, slots=True)
class TCP:
    """A TCP segment; `checksum` is None if it is right, and the wrong one if not."""

    src: int
    dst: int
    seq: int = 0
    ack: int = 0
    flags: TcpFlags = _NO_FLAGS
    window: int = 0xFFFF
    payload: bytes = b""
    options: bytes = b""
    urgent: int = 0
    checksum: int | None = None

    def to_bytes(self, pseudo: int) -> bytes:
        """Return the segment as it is on the wire."""
        bits = words_with_options("TCP", self.options) << 12 | fit("TCP flags", int(self.flags), 12)
        head = (self.src, self.dst, self.seq, self.ack, bits, self.window)
        rest = self.options + self.payload
        found = self.checksum
        if found is None:
            blank = _TCP.pack(*head, 0, self.urgent) + rest
            found = checksum(blank, pseudo + len(blank))
        return _TCP.pack(*head, found, self.urgent) + rest


@dataclass(frozen=True, slots=True)
class UDP:
    """A UDP datagram; `length` and `checksum` are None if right (0 is "no checksum", not right)."""

    src: int
    dst: int
    payload: bytes = b""
    length: int | None = None
    checksum: int | None = None

    def to_bytes(self, pseudo: int) -> bytes:
        """Return the datagram as it is on the wire."""
        length = _UDP.size + len(self.payload) if self.length is None else self.length
        found = self.checksum
        if found is None:
            found = _udp_checksum(_UDP.pack(self.src, self.dst, length, 0) + self.payload, pseudo + length)
        return _UDP.pack(self.src, self.dst, length, found) + self.payload


def _udp_checksum(blank: bytes, extra: int) -> int:
    # RFC 768: a sum of zero is sent as all ones, because zero says that there is none.
    return checksum(blank, extra) or 0xFFFF


def parse_tcp(data: bytes, pseudo: int) -> TCP | bytes:
    """Return the segment, or the bytes themselves where its header is cut short or impossible."""
    if len(data) < _TCP.size:
        return data
    src, dst, seq, ack, bits, window, found, urgent = _TCP.unpack_from(data)
    size = bits >> 12 << 2
    if not _TCP.size <= size <= len(data):
        return data
    right = checksum(blanked(data, 16), pseudo + len(data))
    return TCP(
        src,
        dst,
        seq,
        ack,
        _flags(bits & 0xFFF),
        window,
        data[size:],
        data[_TCP.size : size],
        urgent,
        None if found == right else found,
    )


def parse_udp(data: bytes, pseudo: int) -> UDP | bytes:
    """Return the datagram, or the bytes themselves where its header is cut short."""
    if len(data) < _UDP.size:
        return data
    src, dst, length, found = _UDP.unpack_from(data)
    right = _udp_checksum(blanked(data, 6), pseudo + length)
    return UDP(
        src,
        dst,
        data[_UDP.size :],
        None if length == len(data) else length,
        None if found == right else found,
    )
