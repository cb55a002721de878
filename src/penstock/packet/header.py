"""Arithmetic that headers share: the Internet checksum, narrow fields, the length of options.

The Internet checksum (RFC 1071) is a ones' complement sum of 16-bit words.  Such a sum is the
whole text, read as one big number, modulo 65535, because 65536 leaves the remainder 1.  Python
does that division in one step, and the words of a pseudo-header can be added as plain numbers:
no pseudo-header bytes are ever built.
"""

from __future__ import annotations

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
