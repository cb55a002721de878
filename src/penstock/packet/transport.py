"""What IP carries: TCP, UDP, ICMP and ICMPv6, and the arithmetic that headers share.

ICMP echo and neighbour discovery are known by name, every other message as type, code, bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag
from functools import cache
from struct import Struct
from typing import Final

from penstock.errors import PenstockError

_ONES = 0xFFFF


def checksum(data: bytes, extra: int = 0) -> int:
    """Return the Internet checksum of some bytes and of `extra`, a sum of words outside them."""
    total = (int.from_bytes(data) << len(data) % 2 * 8) + extra
    # A sum of words that are not all zero never folds to 0 but to its other form, 0xffff.
    return _ONES - (total % _ONES or (_ONES if total else 0))


def blanked(data: bytes, at: int) -> bytes:
    """Return the bytes with the 16-bit field at an offset set to zero, as checksums want them."""
    return data[:at] + b"\0\0" + data[at + 2 :]


def fit(name: str, value: int, bits: int) -> int:
    """Return a value that shares a machine word with others, once it is known to fit."""
    if value >> bits:
        raise PenstockError(f"{value} does not fit the {name}: it has {bits} bits.")
    return value


def words_with_options(header: str, options: bytes) -> int:
    """Return how many 32-bit words a header of five takes with its options."""
    if len(options) % 4 or len(options) > 40:
        raise PenstockError(
            f"{header} options of {len(options)} bytes: pad them to a multiple of 4, at most 40 bytes."
        )
    return 5 + len(options) // 4


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
_NO_TCP_FLAGS = TcpFlags(0)
_FLAG_BITS = tuple((name, flag.value) for name, flag in TcpFlags.__members__.items())


@dataclass(frozen=True, slots=True)
class TCP:
    """A TCP segment; `checksum` is None if it is right, and the wrong one if not."""

    src: int
    dst: int
    seq: int = 0
    ack: int = 0
    flags: TcpFlags = _NO_TCP_FLAGS
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


ECHO_REPLY: Final = 0
ECHO_REQUEST: Final = 8
ECHO_REQUEST_V6: Final = 128
ECHO_REPLY_V6: Final = 129
NEIGHBOUR_SOLICITATION: Final = 135
NEIGHBOUR_ADVERTISEMENT: Final = 136

SOURCE_LINK_LAYER: Final = 1
TARGET_LINK_LAYER: Final = 2

_HEADER = Struct("!BBH")
_ECHO = Struct("!HH")
_NEIGHBOUR = Struct("!IQQ")

_LOW = (1 << 64) - 1
_RESERVED = (1 << 29) - 1


@dataclass(frozen=True, slots=True)
class Echo:
    """What a ping carries, asking or answering."""

    id: int = 0
    seq: int = 0
    payload: bytes = b""

    def to_bytes(self) -> bytes:
        """Return the body as it is on the wire."""
        return _ECHO.pack(self.id, self.seq) + self.payload


@dataclass(frozen=True, slots=True)
class NeighbourOption:
    """An option of neighbour discovery: its kind and its bytes, 6 of them or 14, 22 …"""

    kind: int
    value: bytes

    @classmethod
    def link_layer(cls, kind: int, address: int) -> NeighbourOption:
        """Make the option that tells a MAC address, of the source or of the target."""
        return cls(kind, fit("MAC address", address, 48).to_bytes(6))

    def to_bytes(self) -> bytes:
        """Return the option as it is on the wire."""
        units, excess = divmod(len(self.value) + 2, 8)
        if excess:
            raise PenstockError(
                f"A neighbour option of {len(self.value)} bytes: pad it to 6 bytes or 8 at a time more."
            )
        return bytes((self.kind, units)) + self.value


Options = tuple[NeighbourOption, ...]


class NeighbourFlags(IntFlag):
    """What a neighbour says of its advertisement."""

    OVERRIDE = 1
    SOLICITED = 2
    ROUTER = 4


_NO_NEIGHBOUR_FLAGS = NeighbourFlags(0)


@dataclass(frozen=True, slots=True)
class NeighbourSolicitation:
    """IPv6's question for the MAC address of a target."""

    target: int
    options: Options = ()
    reserved: int = 0

    @property
    def link_layer(self) -> int | None:
        """The MAC address of the asker, where it is told."""
        return _link_layer(self.options, SOURCE_LINK_LAYER)

    def to_bytes(self) -> bytes:
        """Return the body as it is on the wire."""
        return _neighbour_bytes(self.reserved, self.target, self.options)


@dataclass(frozen=True, slots=True)
class NeighbourAdvertisement:
    """IPv6's answer to a solicitation, or an announcement that nobody asked for."""

    target: int
    flags: NeighbourFlags = _NO_NEIGHBOUR_FLAGS
    options: Options = ()
    reserved: int = 0

    @property
    def link_layer(self) -> int | None:
        """The MAC address of the target, where it is told."""
        return _link_layer(self.options, TARGET_LINK_LAYER)

    def to_bytes(self) -> bytes:
        """Return the body as it is on the wire."""
        flags = fit("neighbour flags", self.flags, 3) << 29
        return _neighbour_bytes(flags | fit("reserved bits", self.reserved, 29), self.target, self.options)


Neighbour = NeighbourSolicitation | NeighbourAdvertisement


def _link_layer(options: Options, kind: int) -> int | None:
    values = (option.value for option in options if option.kind == kind and len(option.value) == 6)
    return next((int.from_bytes(value) for value in values), None)


def _neighbour_bytes(word: int, target: int, options: Options) -> bytes:
    head = _NEIGHBOUR.pack(word, target >> 64, target & _LOW)
    return head + b"".join(option.to_bytes() for option in options)


@dataclass(frozen=True, slots=True)
class ICMP:
    """An ICMP message for IPv4; `checksum` is None if it is right, and the wrong one if not."""

    type: int
    code: int = 0
    payload: Echo | bytes = b""
    checksum: int | None = None

    def to_bytes(self, _pseudo: int = 0) -> bytes:
        """Return the message as it is on the wire."""
        return _message_bytes(self, _body(self.payload), 0)


@dataclass(frozen=True, slots=True)
class ICMPv6:
    """An ICMP message for IPv6; `checksum` is None if it is right, and the wrong one if not."""

    type: int
    code: int = 0
    payload: Echo | Neighbour | bytes = b""
    checksum: int | None = None

    def to_bytes(self, pseudo: int) -> bytes:
        """Return the message as it is on the wire."""
        body = _body(self.payload)
        return _message_bytes(self, body, pseudo + _HEADER.size + len(body))


def _body(payload: Echo | Neighbour | bytes) -> bytes:
    return payload if isinstance(payload, bytes) else payload.to_bytes()


def _message_bytes(message: ICMP | ICMPv6, body: bytes, extra: int) -> bytes:
    found = message.checksum
    if found is None:
        found = checksum(_HEADER.pack(message.type, message.code, 0) + body, extra)
    return _HEADER.pack(message.type, message.code, found) + body


def parse_icmp(data: bytes, _pseudo: int = 0) -> ICMP | bytes:
    """Return the message, or the bytes themselves where its header is cut short."""
    if len(data) < _HEADER.size:
        return data
    kind, code, found = _HEADER.unpack_from(data)
    body = data[_HEADER.size :]
    payload = _parse_echo(body) if kind in (ECHO_REQUEST, ECHO_REPLY) else body
    return ICMP(kind, code, payload, None if found == checksum(blanked(data, 2)) else found)


def parse_icmpv6(data: bytes, pseudo: int) -> ICMPv6 | bytes:
    """Return the message, or the bytes themselves where its header is cut short."""
    if len(data) < _HEADER.size:
        return data
    kind, code, found = _HEADER.unpack_from(data)
    body = data[_HEADER.size :]
    payload: Echo | Neighbour | bytes = body
    if kind in (ECHO_REQUEST_V6, ECHO_REPLY_V6):
        payload = _parse_echo(body)
    elif kind in (NEIGHBOUR_SOLICITATION, NEIGHBOUR_ADVERTISEMENT):
        payload = _parse_neighbour(kind, body)
    right = checksum(blanked(data, 2), pseudo + len(data))
    return ICMPv6(kind, code, payload, None if found == right else found)


def _parse_echo(body: bytes) -> Echo | bytes:
    if len(body) < _ECHO.size:
        return body
    number, seq = _ECHO.unpack_from(body)
    return Echo(number, seq, body[_ECHO.size :])


def _parse_neighbour(kind: int, body: bytes) -> Neighbour | bytes:
    if len(body) < _NEIGHBOUR.size:
        return body
    word, high, low = _NEIGHBOUR.unpack_from(body)
    options = _parse_options(body[_NEIGHBOUR.size :])
    if options is None:
        return body
    target = high << 64 | low
    if kind == NEIGHBOUR_SOLICITATION:
        return NeighbourSolicitation(target, options, word)
    return NeighbourAdvertisement(target, NeighbourFlags(word >> 29), options, word & _RESERVED)


def _parse_options(data: bytes) -> Options | None:
    """Return the options that fill these bytes exactly, or None if none do."""
    options = []
    at = 0
    while at + 2 <= len(data):
        size = data[at + 1] * 8
        if size == 0 or at + size > len(data):
            return None
        options.append(NeighbourOption(data[at], data[at + 2 : at + size]))
        at += size
    return tuple(options) if at == len(data) else None
