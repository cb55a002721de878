"""The helpers of os-ken for addresses and numbers: `addrconv`, `mac`, `ip`, `dpid`, `type_desc`."""

from __future__ import annotations

from typing import Any, Final

from penstock._concolic.code.summaries import UNFOLLOWED, Functions
from penstock._concolic.code.summaries.addresses import READERS, address_text, packed_text
from penstock._concolic.code.summaries.formatting import formatted
from penstock._concolic.values import sym_str_build
from penstock._concolic.values.integers import SymInt, term_of
from penstock._concolic.values.sym_bytes import SymBytes, from_int, to_int


def _text_to_bin(converter: Any, value: Any) -> Any:
    return packed_text(value, converter._addr_kwargs["version"], converter.text_to_bin)


def _bin_to_text(converter: Any, data: Any) -> Any:
    version = converter._addr_kwargs["version"]
    if not isinstance(data, SymBytes) or len(data) != READERS[version][1]:
        return UNFOLLOWED
    return address_text(to_int(data), version)


def _to_bin(*versions: int) -> Any:
    """Return the summary of a function that makes bytes of a text."""

    def to_bin(value: str) -> Any:
        from os_ken.lib import addrconv

        converters = {4: addrconv.ipv4, 6: addrconv.ipv6, 48: addrconv.mac}
        for version in versions:
            if READERS[version][0](value) is not None:
                return packed_text(value, version, converters[version].text_to_bin)
        return UNFOLLOWED

    return to_bin


def _to_int(*versions: int) -> Any:
    """Return the summary of a function that makes a number of a text."""

    def read(value: str) -> Any:
        packed = _to_bin(*versions)(value)
        return UNFOLLOWED if packed is UNFOLLOWED else to_int(packed)

    return read


def _to_text(*versions: int) -> Any:
    """Return the summary of a function that makes a text of bytes or of a number."""

    def to_text(value: Any) -> Any:
        if isinstance(value, SymInt):
            (version,) = versions
            return address_text(value, version) if _fits(value, READERS[version][1]) else UNFOLLOWED
        for version in versions:
            if len(value) == READERS[version][1]:
                return address_text(to_int(value), version)
        return UNFOLLOWED

    return to_text


def _fits(value: int, size: int) -> bool:
    term = term_of(value)
    return term.low >= 0 and not term.high >> 8 * size


def _is_valid(version: int) -> Any:
    """Return the summary of a test whether a text is an address."""

    def is_valid(value: str, _flags: int = 0) -> Any:
        return UNFOLLOWED if READERS[version][0](value) is None else True

    return is_valid


def _haddr_bitand(address: bytes, mask: bytes) -> bytes:
    size = min(len(address), len(mask))
    return from_int(to_int(address[:size]) & to_int(mask[:size]), size)


def _is_multicast(address: bytes) -> bool:
    return bool(address[0] & 1)


def _str_to_dpid(value: str) -> Any:
    assert len(value) == 16
    return sym_str_build.to_int(value, 16)


def _descr_to_user(descriptor: Any, data: bytes) -> Any:
    return to_int(data[: descriptor.size]) if len(data) >= descriptor.size else UNFOLLOWED


def _descr_from_user(descriptor: Any, number: int) -> Any:
    return from_int(number, descriptor.size) if _fits(number, descriptor.size) else UNFOLLOWED


FUNCTIONS: Final[Functions] = {
    ("os_ken.lib.addrconv", "AddressConverter.text_to_bin"): _text_to_bin,
    ("os_ken.lib.addrconv", "AddressConverter.bin_to_text"): _bin_to_text,
    ("os_ken.lib.mac", "haddr_to_str"): _to_text(48),
    ("os_ken.lib.mac", "haddr_to_bin"): _to_bin(48),
    ("os_ken.lib.mac", "haddr_to_int"): _to_int(48),
    ("os_ken.lib.mac", "haddr_bitand"): _haddr_bitand,
    ("os_ken.lib.mac", "is_multicast"): _is_multicast,
    ("os_ken.lib.ip", "ipv4_to_bin"): _to_bin(4),
    ("os_ken.lib.ip", "ipv4_to_int"): _to_int(4),
    ("os_ken.lib.ip", "ipv4_to_str"): _to_text(4),
    ("os_ken.lib.ip", "ipv6_to_bin"): _to_bin(6),
    ("os_ken.lib.ip", "ipv6_to_int"): _to_int(6),
    ("os_ken.lib.ip", "ipv6_to_str"): _to_text(6),
    ("os_ken.lib.ip", "text_to_bin"): _to_bin(4, 6),
    ("os_ken.lib.ip", "text_to_int"): _to_int(4, 6),
    ("os_ken.lib.ip", "bin_to_text"): _to_text(4, 6),
    ("os_ken.lib.ip", "valid_ipv4"): _is_valid(4),
    ("os_ken.lib.ip", "valid_ipv6"): _is_valid(6),
    ("os_ken.lib.dpid", "dpid_to_str"): lambda dpid: formatted(dpid, "016x"),
    ("os_ken.lib.dpid", "str_to_dpid"): _str_to_dpid,
    ("os_ken.lib.type_desc", "IntDescr.to_user"): _descr_to_user,
    ("os_ken.lib.type_desc", "IntDescr.from_user"): _descr_from_user,
}
