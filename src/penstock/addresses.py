"""MAC and IP addresses: whole numbers inside Penstock, text where people read them."""

from __future__ import annotations

import ipaddress
import re
from functools import lru_cache

from penstock.errors import PenstockError

BROADCAST_MAC = 0xFFFFFFFFFFFF

_MAPPED = 0xFFFF
"""What stands above the 32 bits of an IPv4 address that is mapped into IPv6."""
_MAC = re.compile(r"[0-9a-fA-F]{1,2}(:[0-9a-fA-F]{1,2}){5}\Z")


@lru_cache(maxsize=4096)
def mac(text: str) -> int:
    """Return the number of a MAC address written as `00:00:00:00:00:01`."""
    if not _MAC.match(text):
        raise PenstockError(f"invalid MAC address {text!r}: write six hex bytes, as in 00:00:00:00:00:01.")
    return int.from_bytes(bytes(int(part, 16) for part in text.split(":")))


@lru_cache(maxsize=4096)
def mac_text(number: int) -> str:
    """Return a MAC address as people write it."""
    return number.to_bytes(6).hex(":")


@lru_cache(maxsize=4096)
def ipv4(text: str) -> int:
    """Return the number of a dotted IPv4 address."""
    try:
        return int(ipaddress.IPv4Address(text))
    except ValueError:
        raise PenstockError(f"invalid IPv4 address {text!r}: write four numbers, as in 10.0.0.1.") from None


def is_ipv4(text: str) -> bool:
    """Tell whether a text is a dotted IPv4 address."""
    try:
        ipaddress.IPv4Address(text)
    except ValueError:
        return False
    return True


@lru_cache(maxsize=4096)
def ipv4_text(number: int) -> str:
    """Return an IPv4 address as people write it."""
    return str(ipaddress.IPv4Address(number))


@lru_cache(maxsize=4096)
def ipv6(text: str) -> int:
    """Return the number of an IPv6 address."""
    try:
        return int(ipaddress.IPv6Address(text))
    except ValueError:
        raise PenstockError(f"invalid IPv6 address {text!r}: write it as in fe80::1.") from None


@lru_cache(maxsize=4096)
def ipv6_text(number: int) -> str:
    """Return an IPv6 address as people write it (RFC 5952)."""
    if number >> 32 == _MAPPED:
        # Before Python 3.13 `ipaddress` has no dots here.
        return f"::ffff:{ipv4_text(number & 0xFFFFFFFF)}"
    return str(ipaddress.IPv6Address(number))


def is_multicast_mac(number: int) -> bool:
    """Tell whether a MAC address names a group (broadcast included)."""
    return bool(number >> 40 & 1)
