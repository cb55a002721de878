"""Addresses as text, bytes, numbers and objects: `socket`, `binascii` and `ipaddress`.

Address objects are the library's own, with a number in them that depends on the inputs: their methods
compare and mask it, and so are followed.  Only what the libraries put together by means that cannot be
followed is done here: their text and their bytes.
"""

from __future__ import annotations

import ipaddress
import re
import socket
import sys
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from string import hexdigits
from types import MethodType
from typing import Any, Final, cast

from penstock._concolic.code.rewrite import ADDRESS_KINDS
from penstock._concolic.code.summaries import PLAIN, UNFOLLOWED, Functions, Outcome
from penstock._concolic.run import Run, lose
from penstock._concolic.terms import Term, both, const, either, join, le
from penstock._concolic.values.integers import SymInt, boolean, integer, plain, term_of
from penstock._concolic.values.parts import concrete
from penstock._concolic.values.segments import WRITES_DOTS
from penstock._concolic.values.sym_bytes import SymBytes, from_hex, from_int, to_int
from penstock._concolic.values.sym_str_build import (
    Piece,
    SymStr,
    format_value,
    ipv4_text,
    ipv6_text,
    join_texts,
    mac_text,
    pieces_of,
    text,
)

# Texts.

Field = tuple[str | Piece, ...]


def fields(value: str, separator: str) -> list[Field]:
    """Return the parts of a text between separators; what depends on the inputs holds none of those here."""
    found: list[list[str | Piece]] = [[]]
    for piece in pieces_of(value):
        if isinstance(piece, str):
            first, *others = piece.split(separator)
            found[-1] += [first] if first else []
            found += [[other] if other else [] for other in others]
        else:
            found[-1].append(piece)
    return [tuple(field) for field in found]


def decimal_in(field: Field) -> Term | None:
    """Return the number that a part of a text is in decimal digits, if it is one."""
    if len(field) != 1:
        return None
    (piece,) = field
    if isinstance(piece, str):
        return const(int(piece)) if piece.isascii() and piece.isdigit() else None
    return piece.term if piece.form == "d" else None


def hexadecimal_in(field: Field) -> tuple[Term, int] | None:
    """Return the number that a part of a text is in hexadecimal digits, and in how many bits."""
    if len(field) == 1 and isinstance(field[0], Piece) and field[0].form in ("x", "X"):
        return field[0].term, field[0].term.high.bit_length()
    parts: list[tuple[Term, int]] = []
    for piece in field:
        if isinstance(piece, Piece):
            if piece.form not in _WIDTHS:
                return None
            parts.append((piece.term, _WIDTHS[piece.form]))
        elif all(digit in hexdigits for digit in piece):
            parts.append((const(int(piece, 16)), 4 * len(piece)))
        else:
            return None
    return (join(parts), sum(width for _, width in parts)) if parts else None


_WIDTHS: Final = {"x1": 4, "X1": 4, "x2": 8, "X2": 8}
"""How many bits the digits of these forms stand for."""


def ipv4_in(value: str) -> Term | None:
    """Return the address that a text is for all inputs, in dotted decimals."""
    numbers = [decimal_in(field) for field in fields(value, ".")]
    if len(numbers) != 4:
        return None
    parts = [(number, 8) for number in numbers if number is not None and number.high < 256]
    return join(parts) if len(parts) == 4 else None


def ipv6_in(value: str) -> Term | None:
    """Return the address that a text is for all inputs, in IPv6's notation."""
    pieces = [piece for piece in pieces_of(value) if piece]
    if len(pieces) == 1 and isinstance(pieces[0], Piece) and pieces[0].form in ("ipv6", "inet6"):
        return pieces[0].term
    groups = [hexadecimal_in(field) for field in fields(value, ":")]
    parts = [(group[0], 16) for group in groups if group is not None and group[0].high < 1 << 16]
    return join(parts) if len(parts) == len(groups) == 8 else None


def mac_in(value: str) -> Term | None:
    """Return the address that a text is for all inputs, in pairs of hexadecimal digits."""
    for separator in (":", "-"):
        pairs = [hexadecimal_in(field) for field in fields(value, separator)]
        parts = [(pair[0], 8) for pair in pairs if pair is not None and pair[0].high < 256]
        if len(parts) == len(pairs) == 6:
            return join(parts)
    return None


READERS: Final[dict[int, tuple[Callable[[str], Term | None], int]]] = {
    4: (ipv4_in, 4),
    6: (ipv6_in, 16),
    48: (mac_in, 6),
}
"""How to read the text of an address, and how many bytes it has, by version (48 is for MAC addresses)."""


def packed_text(value: str, version: int, pack: Callable[[str], bytes]) -> bytes | Outcome:
    """Return an address in a text as bytes; `pack` does it for a concrete text."""
    read, size = READERS[version]
    if not isinstance(value, SymStr):
        return PLAIN
    term = read(value)
    if term is None:
        return UNFOLLOWED
    return from_int(integer(int.from_bytes(pack(concrete(value)), "big"), term), size)


def address_text(number: int, version: int, form: str = "inet6") -> str:
    """Return an address given as a number as text; of IPv6's notations, the C library's or `ipaddress`'s."""
    value, term = plain(number), term_of(number)
    if version == 48:
        return mac_text(value, term)
    return ipv4_text(value, term) if version == 4 else ipv6_text(value, term, form)


# `socket` and `binascii`.


def _inet_aton(value: str) -> bytes | Outcome:
    return packed_text(value, 4, socket.inet_aton)


def _inet_pton(family: int, value: str) -> bytes | Outcome:
    version = _FAMILIES.get(family)
    return (
        UNFOLLOWED
        if version is None
        else packed_text(value, version, lambda shown: socket.inet_pton(family, shown))
    )


def _inet_ntoa(data: bytes) -> str | Outcome:
    return address_text(to_int(data), 4) if len(data) == 4 else UNFOLLOWED


def _inet_ntop(family: int, data: bytes) -> str | Outcome:
    version = _FAMILIES.get(family)
    if version is None or len(data) != READERS[version][1]:
        return UNFOLLOWED
    return address_text(to_int(data), version)


_FAMILIES: Final[dict[int, int]] = {socket.AF_INET: 4, socket.AF_INET6: 6}


def _swapped(size: int) -> Callable[[int], int | Outcome]:
    """Return the summary of a function that puts a number into the order of the network or back."""

    def swapped(number: int) -> int | Outcome:
        term = term_of(number)
        if term.low < 0 or term.high >> 8 * size:
            return UNFOLLOWED
        return to_int(from_int(number, size, "big"), sys.byteorder)

    return swapped


def _hexlify(data: bytes, *separator: Any) -> bytes | Outcome:
    if separator:
        return UNFOLLOWED
    return data.hex().encode("ascii")


def _unhexlify(value: str | bytes) -> bytes:
    return from_hex(value if isinstance(value, str) else value.decode("ascii"))


# `ipaddress`.


def _of_class(kind: Any, value: Any) -> Any:
    """Return an address object of one class; a text must be such an address for all inputs."""
    read, size = READERS[kind._version]
    number: int
    if isinstance(value, SymStr):
        term = read(value)
        if term is None:
            return UNFOLLOWED
        number = integer(int(kind(concrete(value))), term)
    elif isinstance(value, SymBytes) and len(value) == size:
        number = to_int(value)
    elif isinstance(value, SymInt) and 0 <= value < 1 << 8 * size:
        number = value
    else:
        return kind(concrete(value))
    made: Any = object.__new__(_FOLLOWED[kind])
    if kind is ipaddress.IPv6Address:
        made._scope_id = None
    return _with_number(made, number)


class _FollowedAddress:
    """What an address object does with its number that the library does by means that cannot be followed."""

    __slots__ = ()
    _ip: int

    def __add__(self, distance: Any) -> Any:
        return _of_class(self.__class__, self._ip + distance) if isinstance(distance, int) else NotImplemented

    def __sub__(self, distance: Any) -> Any:
        return _of_class(self.__class__, self._ip - distance) if isinstance(distance, int) else NotImplemented


class _FollowedIPv4Address(_FollowedAddress, ipaddress.IPv4Address):
    __slots__ = ()
    __class__ = property(lambda _: ipaddress.IPv4Address)


class _FollowedIPv6Address(_FollowedAddress, ipaddress.IPv6Address):
    __slots__ = ()
    __class__ = property(lambda _: ipaddress.IPv6Address)


_FOLLOWED: Final[dict[type, type]] = {
    ipaddress.IPv4Address: _FollowedIPv4Address,
    ipaddress.IPv6Address: _FollowedIPv6Address,
}


def _with_number(address: Any, number: int) -> Any:
    """Give an address object a number that depends on the inputs."""
    address._ip = number
    return address


def _ipv4(value: Any) -> Any:
    return _of_class(ipaddress.IPv4Address, value)


def _ipv6(value: Any) -> Any:
    return _of_class(ipaddress.IPv6Address, value)


def _ip_address(value: Any) -> Any:
    if isinstance(value, SymInt):
        return _ipv4(value) if 0 <= value < 1 << 32 else _ipv6(value)
    if isinstance(value, SymBytes):
        return _ipv4(value) if len(value) == 4 else _ipv6(value)
    made = _ipv4(value)
    return _ipv6(value) if made is UNFOLLOWED else made


def _ip_network(value: Any, strict: bool = True) -> Any:
    if isinstance(value, tuple):
        return UNFOLLOWED
    address, prefix = split_prefix(value)
    made = _ip_address(address)
    if made is UNFOLLOWED:
        return UNFOLLOWED
    shown = f"{made.__class__(plain(made._ip))}{prefix}"
    network: Any = ipaddress.ip_network(shown, strict=False)
    if strict and made._ip & int(network.hostmask):
        raise ValueError(f"{shown} has host bits set")
    first = made._ip & int(network.netmask)
    network.broadcast_address = _with_number(network.broadcast_address, first | int(network.hostmask))
    network.network_address = _with_number(network.network_address, first)
    return network


def _ip_interface(value: Any) -> Any:
    if isinstance(value, tuple):
        return UNFOLLOWED
    address, prefix = split_prefix(value)
    made = _ip_address(address)
    if made is UNFOLLOWED:
        return UNFOLLOWED
    shown = f"{made.__class__(plain(made._ip))}{prefix}"
    interface: Any = ipaddress.ip_interface(shown)
    interface.network = _ip_network(value, strict=False)
    return _with_number(interface, made._ip)


def split_prefix(value: Any) -> tuple[Any, str]:
    """Split a text that ends in a length of prefix, such as `/24`, from it."""
    last = value.pieces[-1] if isinstance(value, SymStr) else None
    if not isinstance(last, str) or "/" not in last:
        return value, ""
    before, _, prefix = last.rpartition("/")
    return text((*value.pieces[:-1], before), concrete(value).rpartition("/")[0]), f"/{prefix}"


# Address objects, of `ipaddress` and of `netaddr`.


def number_of(address: Any) -> int | None:
    """Return the number of an address object if it depends on the inputs."""
    number = getattr(address, _NUMBERS.get(address.__class__.__name__, ""), None)
    return number if isinstance(number, SymInt) else None


_NUMBERS: Final = {
    **dict.fromkeys(("IPv4Address", "IPv6Address", "IPv4Interface", "IPv6Interface"), "_ip"),
    **dict.fromkeys(("IPAddress", "EUI", "IPNetwork"), "_value"),
}


_MAPPED: Final = 0xFFFF
"""What stands above the 32 bits of an IPv4 address that is mapped into IPv6."""

NETWORKS: Final = (ipaddress.IPv4Network, ipaddress.IPv6Network)


def text_of_address(address: Any) -> str | None:
    """Return `str` of an address object whose number depends on the inputs; None of anything else."""
    number = number_of(address)
    if number is None:
        if isinstance(address, NETWORKS):
            first = text_of_address(address.network_address)
            return None if first is None else join_texts("", [first, f"/{address.prefixlen}"])
        return None
    if address.__class__.__name__ == "EUI":
        return _eui_text(address, number)
    form = "ipv6" if address.__class__.__module__ == "ipaddress" else "inet6"
    shown = address_text(number, address.version, form)
    if isinstance(address, ipaddress.IPv4Interface | ipaddress.IPv6Interface):
        return join_texts("", [shown, f"/{address.network.prefixlen}"])
    return join_texts("", [shown, f"/{address.prefixlen}"]) if hasattr(address, "prefixlen") else shown


def _eui_text(address: Any, number: int) -> str:
    """Return a MAC address of `netaddr` in the notation it was made for."""
    notation = address.dialect
    words = _words(from_int(number, address._module.width // 8), notation.word_size // 8)
    kind = re.fullmatch(r"%\.?0?(\d*)([xX])", notation.word_fmt)
    if kind is None:
        lose("str of EUI")
        return str(notation.word_sep.join(notation.word_fmt % plain(word) for word in words))
    return join_texts(
        notation.word_sep, [format_value(word, f"{kind[1] and '0' + kind[1]}{kind[2]}") for word in words]
    )


def _words(data: bytes, size: int) -> tuple[int, ...]:
    """Return bytes as numbers of so many bytes each."""
    return tuple(to_int(data[at : at + size]) for at in range(0, len(data), size))


def opened(address: Any) -> Any:
    """Return what a program is to take an attribute of an address object from."""
    if Run.current is None or number_of(address) is None:
        return address
    return _Opened(address)


class _Opened:
    """Stands in for an address object whose number depends on the inputs."""

    def __init__(self, address: Any) -> None:
        self._address = address

    @property
    def packed(self) -> bytes:
        number = number_of(self._address)
        assert number is not None
        return from_int(number, READERS[self._address.version][1])

    @property
    def words(self) -> tuple[int, ...]:
        return _words(self.packed, getattr(self._address._module, "word_size", 8) // 8)

    @property
    def compressed(self) -> str:
        return cast(str, text_of_address(self._address))

    @property
    def exploded(self) -> str:
        if self._address.version != 6:
            return self.compressed
        words = [self.packed[at : at + 2].hex() for at in range(0, 16, 2)]
        number = number_of(self._address)
        if WRITES_DOTS and number is not None and number >> 32 == _MAPPED:  # the library decides the same
            words[6:] = [address_text(number & 0xFFFFFFFF, 4)]
        return join_texts(":", words)

    def __getattr__(self, name: str) -> Any:
        if name in ADDRESS_KINDS and isinstance(self._address, ipaddress.IPv4Address | ipaddress.IPv6Address):
            return _is_of_kind(self._address, name)
        worked_out = getattr(type(self._address), name, None)
        if isinstance(worked_out, property) and worked_out.fget is not None:
            from penstock._concolic.code.calls import called

            return called(MethodType(worked_out.fget, self._address))()
        return getattr(self._address, name)


# Kinds of addresses.


def _is_of_kind(address: ipaddress.IPv4Address | ipaddress.IPv6Address, name: str) -> bool:
    """Tell whether an address is private, a group's or the like, as one question."""
    number = number_of(address)
    assert number is not None
    term, held = term_of(number), plain(number)
    ranges = _addresses_of_kind(address.version, name)
    inside = either(*(both(le(const(first), term), le(term, const(last))) for first, last in ranges))
    return boolean(any(first <= held <= last for first, last in ranges), inside)


@cache
def _addresses_of_kind(version: int, name: str) -> tuple[tuple[int, int], ...]:
    """Return the ranges of addresses of a kind; the library is asked wherever its answer may change."""
    kind = ipaddress.IPv4Address if version == 4 else ipaddress.IPv6Address
    found: list[tuple[int, int]] = []
    for first, after in pairwise((*sorted(_borders(version)), 1 << READERS[version][1] * 8)):
        if getattr(kind(first), name):
            joined = found.pop()[0] if found and found[-1][1] == first - 1 else first
            found.append((joined, after - 1))
    return tuple(found)


def _borders(version: int) -> set[int]:
    """Return where networks that the library knows of begin, and what comes after each of them."""
    kind = ipaddress.IPv4Address if version == 4 else ipaddress.IPv6Address
    found = {0, 1, 2}
    for known in vars(vars(kind)["_constants"]).values():
        for network in known if isinstance(known, list) else (known,):
            if isinstance(network, ipaddress.IPv4Network | ipaddress.IPv6Network):
                found |= {int(network.network_address), int(network.broadcast_address) + 1}
    if version == 6:
        # An address of IPv4 in one of IPv6 is as private as it is by itself.
        mapped = ipaddress.ip_network("::ffff:0:0/96")
        found |= {int(mapped.network_address) + border for border in _borders(4)}
        found.add(int(mapped.broadcast_address) + 1)
    return {border for border in found if border < 1 << READERS[version][1] * 8}


FUNCTIONS: Final[Functions] = {
    ("_socket", "inet_aton"): _inet_aton,
    ("_socket", "inet_pton"): _inet_pton,
    ("_socket", "inet_ntoa"): _inet_ntoa,
    ("_socket", "inet_ntop"): _inet_ntop,
    ("_socket", "htons"): _swapped(2),
    ("_socket", "ntohs"): _swapped(2),
    ("_socket", "htonl"): _swapped(4),
    ("_socket", "ntohl"): _swapped(4),
    ("binascii", "hexlify"): _hexlify,
    ("binascii", "b2a_hex"): _hexlify,
    ("binascii", "unhexlify"): _unhexlify,
    ("binascii", "a2b_hex"): _unhexlify,
    ("ipaddress", "ip_address"): _ip_address,
    ("ipaddress", "IPv4Address"): _ipv4,
    ("ipaddress", "IPv6Address"): _ipv6,
    ("ipaddress", "ip_network"): _ip_network,
    ("ipaddress", "IPv4Network"): _ip_network,
    ("ipaddress", "IPv6Network"): _ip_network,
    ("ipaddress", "ip_interface"): _ip_interface,
    ("ipaddress", "IPv4Interface"): _ip_interface,
    ("ipaddress", "IPv6Interface"): _ip_interface,
}
