"""IPv4 and IPv6, with the transport inside them.

A datagram that claims to be longer than its bytes (a packet_in cuts it, say) is parsed as far as
it goes and keeps the claimed length.  What follows a datagram that is shorter than its frame is
the frame's padding.  Of fragments, only the first holds a transport header; its checksum speaks
of the whole datagram, so it is kept as a "wrong" one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from struct import Struct
from typing import Final

from penstock.openflow.fields import IP_ICMP, IP_ICMPV6, IP_TCP, IP_UDP
from penstock.packet.transport import (
    ICMP,
    TCP,
    UDP,
    ICMPv6,
    blanked,
    checksum,
    fit,
    parse_icmp,
    parse_icmpv6,
    parse_tcp,
    parse_udp,
    words_with_options,
)

MORE_FRAGMENTS: Final = 1
DONT_FRAGMENT: Final = 2

HOP_BY_HOP: Final = 0
ROUTING: Final = 43
FRAGMENT: Final = 44
AUTHENTICATION: Final = 51
DESTINATION_OPTIONS: Final = 60

_EXTENSIONS = frozenset((HOP_BY_HOP, ROUTING, FRAGMENT, AUTHENTICATION, DESTINATION_OPTIONS))
_IPV4 = Struct("!BBHHHBBHII")
_IPV6 = Struct("!IHBBQQQQ")
_LOW = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class IPv4:
    """An IPv4 datagram; `length` (of it all) and `checksum` are None if right."""

    src: int
    dst: int
    protocol: int
    payload: TCP | UDP | ICMP | bytes = b""
    ttl: int = 64
    tos: int = 0
    identification: int = 0
    flags: int = 0
    offset: int = 0
    options: bytes = b""
    length: int | None = None
    checksum: int | None = None

    def to_bytes(self) -> bytes:
        """Return the datagram as it is on the wire."""
        payload = self.payload
        if not isinstance(payload, bytes):
            payload = payload.to_bytes(self.src + self.dst + self.protocol)
        words = words_with_options("IPv4", self.options)
        head = (
            0x40 | words,
            self.tos,
            words * 4 + len(payload) if self.length is None else self.length,
            self.identification,
            fit("IPv4 flags", self.flags, 3) << 13 | fit("fragment offset", self.offset, 13),
            self.ttl,
            self.protocol,
        )
        found = self.checksum
        if found is None:
            found = checksum(_IPV4.pack(*head, 0, self.src, self.dst) + self.options)
        return _IPV4.pack(*head, found, self.src, self.dst) + self.options + payload


@dataclass(frozen=True, slots=True)
class ExtensionHeader:
    """One IPv6 extension header: its own protocol number and all of its bytes after the next one's."""

    protocol: int
    body: bytes


@dataclass(frozen=True, slots=True)
class IPv6:
    """An IPv6 datagram; `protocol` is what the payload is, after any extension headers."""

    src: int
    dst: int
    protocol: int
    payload: TCP | UDP | ICMPv6 | bytes = b""
    hop_limit: int = 64
    traffic_class: int = 0
    flow_label: int = 0
    extensions: tuple[ExtensionHeader, ...] = ()
    length: int | None = None

    def to_bytes(self) -> bytes:
        """Return the datagram as it is on the wire."""
        src, dst, payload = self.src, self.dst, self.payload
        if not isinstance(payload, bytes):
            payload = payload.to_bytes(src + dst + self.protocol)
        chain = [extension.protocol for extension in self.extensions] + [self.protocol]
        if self.extensions:
            headers = zip(chain[1:], self.extensions, strict=True)
            payload = b"".join(bytes((after,)) + header.body for after, header in headers) + payload
        word = 6 << 28 | fit("traffic class", self.traffic_class, 8) << 20
        head = _IPV6.pack(
            word | fit("flow label", self.flow_label, 20),
            len(payload) if self.length is None else self.length,
            chain[0],
            self.hop_limit,
            src >> 64,
            src & _LOW,
            dst >> 64,
            dst & _LOW,
        )
        return head + payload


_OVER_IPV4: dict[int, Callable[[bytes, int], TCP | UDP | ICMP | bytes]] = {
    IP_TCP: parse_tcp,
    IP_UDP: parse_udp,
    IP_ICMP: parse_icmp,
}
_OVER_IPV6: dict[int, Callable[[bytes, int], TCP | UDP | ICMPv6 | bytes]] = {
    IP_TCP: parse_tcp,
    IP_UDP: parse_udp,
    IP_ICMPV6: parse_icmpv6,
}


def parse_ipv4(data: bytes) -> tuple[IPv4, bytes] | None:
    """Return the datagram and the bytes after it, or None if its header is cut short or impossible."""
    if len(data) < _IPV4.size:
        return None
    first, tos, length, identification, fragment, ttl, protocol, found, src, dst = _IPV4.unpack_from(data)
    size = (first & 15) << 2
    if first >> 4 != 4 or not _IPV4.size <= size <= length or size > len(data):
        return None
    body = data[size:length]
    parser = None if fragment & 0x1FFF else _OVER_IPV4.get(protocol)
    datagram = IPv4(
        src,
        dst,
        protocol,
        parser(body, src + dst + protocol) if parser else body,
        ttl,
        tos,
        identification,
        fragment >> 13,
        fragment & 0x1FFF,
        data[_IPV4.size : size],
        length if length > len(data) else None,
        None if found == checksum(blanked(data[:size], 10)) else found,
    )
    return datagram, data[length:]


def parse_ipv6(data: bytes) -> tuple[IPv6, bytes] | None:
    """Return the datagram and the bytes after it, or None if its header is cut short or impossible."""
    if len(data) < _IPV6.size:
        return None
    word, length, following, hop_limit, src, src_low, dst, dst_low = _IPV6.unpack_from(data)
    if word >> 28 != 6:
        return None
    src = src << 64 | src_low
    dst = dst << 64 | dst_low
    end = _IPV6.size + length
    body = data[_IPV6.size : end]
    extensions, protocol, whole = _parse_extensions(following, body)
    upper = body[sum(len(extension.body) + 1 for extension in extensions) :]
    parser = _OVER_IPV6.get(protocol) if whole else None
    datagram = IPv6(
        src,
        dst,
        protocol,
        parser(upper, src + dst + protocol) if parser else upper,
        hop_limit,
        word >> 20 & 0xFF,
        word & 0xFFFFF,
        extensions,
        length if end > len(data) else None,
    )
    return datagram, data[end:]


def _parse_extensions(protocol: int, body: bytes) -> tuple[tuple[ExtensionHeader, ...], int, bool]:
    """Return the extension headers, the protocol after them, and whether its header can follow.

    A header that is cut short ends the chain, and is left to the payload.
    """
    extensions = []
    at = 0
    while protocol in _EXTENSIONS and at + 8 <= len(body):
        if protocol == FRAGMENT:
            size = 8
        elif protocol == AUTHENTICATION:
            size = (body[at + 1] + 2) * 4
        else:
            size = (body[at + 1] + 1) * 8
        if at + size > len(body):
            break
        extensions.append(ExtensionHeader(protocol, body[at + 1 : at + size]))
        later_fragment = protocol == FRAGMENT and (body[at + 2] or body[at + 3] >> 3)
        protocol = body[at]
        at += size
        if later_fragment:
            return tuple(extensions), protocol, False
    return tuple(extensions), protocol, True
