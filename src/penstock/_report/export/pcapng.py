"""Captures as pcapng files, with times in nanoseconds and a comment on each packet.

    capture = Capture(file, "what this is")
    link = capture.interface("s1:2-s2:1")
    capture.packet(link, 5_000_000, frame, "step 5: s1 sends …")

Only what is needed here of the format is written: one section, interfaces of Ethernet, enhanced packets,
names for addresses.  Interfaces may be declared at any moment before their first packet, so a file can be
written while the packets are being found out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from struct import Struct
from typing import BinaryIO, Final

from penstock._base.clean_text import visible

_SECTION: Final = 0x0A0D0D0A
_INTERFACE: Final = 1
_NAMES: Final = 4
_PACKET: Final = 6
_ORDER: Final = 0x1A2B3C4D
_ETHERNET: Final = 1
_COMMENT: Final = 1
_IF_NAME: Final = 2
_IF_TSRESOL: Final = 9
_USER_APPLICATION: Final = 4
_NANOSECONDS: Final = b"\x09"
_IPV4_NAME: Final = 1
_LONGEST_TEXT: Final = 60_000
"""An option has at most 65,535 bytes; a comment that long has been cut long before."""

_BLOCK: Final = Struct("<II")
_LENGTH: Final = Struct("<I")
_OPTION: Final = Struct("<HH")
_SECTION_BODY: Final = Struct("<IHHq")
_INTERFACE_BODY: Final = Struct("<HHI")
_PACKET_BODY: Final = Struct("<IIIII")


class Capture:
    """A pcapng file that is being written."""

    def __init__(self, file: BinaryIO, comment: str, application: str) -> None:
        self._file = file
        self._interfaces: dict[str, int] = {}
        options = [(_COMMENT, _text(comment)), (_USER_APPLICATION, _text(application))]
        self._block(_SECTION, _SECTION_BODY.pack(_ORDER, 1, 0, -1) + _options(options))

    def interface(self, name: str) -> int:
        """Return the number of an interface, which is declared if it was not yet."""
        known = self._interfaces.get(name)
        if known is None:
            known = self._interfaces[name] = len(self._interfaces)
            options = [(_IF_NAME, _text(name)), (_IF_TSRESOL, _NANOSECONDS)]
            self._block(_INTERFACE, _INTERFACE_BODY.pack(_ETHERNET, 0, 0) + _options(options))
        return known

    def names(self, addresses: Mapping[int, str]) -> None:
        """Write what IPv4 addresses are called."""
        records = b"".join(
            _record(_IPV4_NAME, address.to_bytes(4) + _text(name) + b"\0")
            for address, name in addresses.items()
        )
        self._block(_NAMES, records + _record(0, b""))

    def packet(self, interface: int, nanoseconds: int, data: bytes, comment: str = "") -> None:
        """Write a packet as it was seen at a moment."""
        head = _PACKET_BODY.pack(
            interface, nanoseconds >> 32 & 0xFFFFFFFF, nanoseconds & 0xFFFFFFFF, len(data), len(data)
        )
        options = _options([(_COMMENT, _text(comment))]) if comment else b""
        self._block(_PACKET, head + _padded(data) + options)

    def _block(self, kind: int, body: bytes) -> None:
        length = _BLOCK.size + len(body) + _LENGTH.size
        self._file.write(_BLOCK.pack(kind, length) + body + _LENGTH.pack(length))


def _text(text: str) -> bytes:
    """Return a text as it stands in an option: whole characters, and no lone halves of such."""
    return visible(text).encode()[:_LONGEST_TEXT].decode(errors="ignore").encode()


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def _record(kind: int, value: bytes) -> bytes:
    return _OPTION.pack(kind, len(value)) + _padded(value)


def _options(options: Iterable[tuple[int, bytes]]) -> bytes:
    return b"".join(_record(kind, value) for kind, value in options) + _record(0, b"")
