"""The greeting, the one message that peers of any versions must understand.

Its elements came with 1.3 and may stand in a greeting of any version.  As the specification asks,
what is not understood in it is passed over, even if it is malformed: a greeting is never refused.
"""

from __future__ import annotations

from struct import Struct

from penstock.errors import PenstockError
from penstock.openflow.messages import Hello
from penstock.openflow.wire.forms import BODY
from penstock.openflow.wire.octets import PADDING, padded

HELLO_TYPE = 0

_ELEMENT = Struct("!HH")
_VERSION_BITMAP = 1
_WORD = 4
_MAX_VERSION = 255
_MAX_WORDS = (_MAX_VERSION + 1) // 32
"""A version is one byte of the header, so the bits after these can name none."""


def write_hello(message: Hello) -> bytes:
    """Return the body of a greeting."""
    if message.versions is None:
        return b""
    if not all(0 <= version <= _MAX_VERSION for version in message.versions):
        raise PenstockError(f"Hello cannot offer the versions {sorted(message.versions)}: give 0 to 255.")
    bits = sum(1 << version for version in message.versions)
    words = max(1, -(-bits.bit_length() // 32))
    octets = b"".join([(bits >> 32 * word & 0xFFFFFFFF).to_bytes(_WORD) for word in range(words)])
    length = _ELEMENT.size + len(octets)
    return _ELEMENT.pack(_VERSION_BITMAP, length) + octets + PADDING[length & 7]


def read_hello(data: bytes, xid: int) -> Hello:
    """Return a greeting of any version; of several version bitmaps the last counts."""
    versions: frozenset[int] | None = None
    at = BODY
    while len(data) - at >= _ELEMENT.size:
        kind, length = _ELEMENT.unpack_from(data, at)
        if length < _ELEMENT.size or at + padded(length) > len(data):
            break
        octets = data[at + _ELEMENT.size : at + length]
        if kind == _VERSION_BITMAP and octets and not len(octets) % _WORD:
            versions = _versions(octets)
        at += padded(length)
    return Hello(versions, data[0], xid=xid)


def _versions(octets: bytes) -> frozenset[int]:
    """Return the versions of a bitmap, which has the lowest first word first."""
    return frozenset(
        word * 32 + bit
        for word in range(min(len(octets) // _WORD, _MAX_WORDS))
        for bit in range(32)
        if int.from_bytes(octets[word * _WORD : word * _WORD + _WORD]) >> bit & 1
    )
