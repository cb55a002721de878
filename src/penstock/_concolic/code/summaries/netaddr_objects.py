"""The objects of `netaddr`: addresses, networks, MAC addresses, and sets of addresses.

As with `ipaddress`, an object is the library's own with a number in it that depends on the inputs.
"""

from __future__ import annotations

from typing import Any, Final

from penstock._concolic.code.summaries import PLAIN, UNFOLLOWED, Functions
from penstock._concolic.code.summaries.addresses import READERS, split_prefix
from penstock._concolic.terms import Term
from penstock._concolic.values.integers import SymInt, integer, plain
from penstock._concolic.values.parts import concrete
from penstock._concolic.values.sym_bytes import to_int
from penstock._concolic.values.sym_str_build import SymStr


def _ip_address(value: Any, version: int | None = None, flags: int = 0) -> Any:
    import netaddr

    if isinstance(value, SymInt):
        version = version or (4 if value < 1 << 32 else 6)
        if not 0 <= value < 1 << 8 * READERS[version][1]:
            return netaddr.IPAddress(concrete(value), version)
        return _with_number(netaddr.IPAddress(plain(value), version), value)
    if not isinstance(value, SymStr):
        return PLAIN
    term = _read(value, (4, 6) if version is None else (version,))
    if term is None:
        return UNFOLLOWED
    made = netaddr.IPAddress(concrete(value), version, flags)
    return _with_number(made, integer(made._value, term))


def _ip_network(value: Any, *options: Any, **more: Any) -> Any:
    import netaddr

    if not isinstance(value, SymStr):
        return PLAIN
    address, _ = split_prefix(value)
    term = _read(address, (4, 6))
    if term is None:
        return UNFOLLOWED
    made = netaddr.IPNetwork(concrete(value), *options, **more)
    return _with_number(made, integer(made._value, term))


def _eui(value: Any, version: int | None = None, dialect: Any = None) -> Any:
    import netaddr

    if isinstance(value, SymInt):
        if version not in (None, 48) or not 0 <= value < 1 << 48:
            return UNFOLLOWED
        return _with_number(netaddr.EUI(plain(value), 48, dialect), value)
    if not isinstance(value, SymStr):
        return PLAIN
    term = _read(value, (48,))
    if term is None:
        return UNFOLLOWED
    made = netaddr.EUI(concrete(value), version, dialect)
    return _with_number(made, integer(made._value, term))


def _read(value: str, versions: tuple[int, ...]) -> Term | None:
    """Return the number of an address in a text that may be of several versions."""
    for version in versions:
        if (term := READERS[version][0](value)) is not None:
            return term
    return None


def _with_number(made: Any, number: int) -> Any:
    made._value = number
    return made


def _is_valid(version: int) -> Any:
    """Return the summary of a test whether a text is an address."""

    def is_valid(value: str, *_flags: int) -> Any:
        return UNFOLLOWED if READERS[version][0](value) is None else True

    return is_valid


def is_set(container: object) -> bool:
    """Tell whether an object is a set of addresses."""
    return type(container).__name__ == "IPSet" and type(container).__module__.startswith("netaddr")


def is_inside(container: Any, address: Any) -> bool:
    """Tell whether a set of addresses has one; the blocks it is made of are asked in turn."""
    return any(address in block for block in container.iter_cidrs())


FUNCTIONS: Final[Functions] = {
    ("netaddr.ip", "IPAddress"): _ip_address,
    ("netaddr.ip", "IPNetwork"): _ip_network,
    ("netaddr.eui", "EUI"): _eui,
    ("netaddr.strategy.ipv4", "valid_str"): _is_valid(4),
    ("netaddr.strategy.ipv6", "valid_str"): _is_valid(6),
    ("netaddr.strategy.eui48", "valid_str"): _is_valid(48),
    ("netaddr.strategy.ipv4", "packed_to_int"): to_int,
    ("netaddr.strategy.ipv6", "packed_to_int"): to_int,
    ("netaddr.strategy.eui48", "packed_to_int"): to_int,
}
