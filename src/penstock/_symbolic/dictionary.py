"""The constants of a program, as values that its inputs might be compared with.

Fuzzers call this a dictionary.  A program that treats one port or address in a special way has it in its
source, as a number, in a text or in bytes, or has worked it out and keeps it.  Python's own compiler finds
those in the source, in nested functions and in expressions of constants too; the others are in what its
modules and apps hold, or in what its functions return and have in variables while they handle a message.
"""

from __future__ import annotations

import ipaddress
import re
import warnings
from collections import deque
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import suppress
from types import CodeType, FunctionType
from typing import Any, Final, NamedTuple

from penstock._concolic.packets.headers import PAYLOAD_SIZE
from penstock._concolic.space import Variable

_COMMON: Final = 256
"""Numbers below are in every program; one from there on is likely to be what a packet is compared with."""

_MOST_RARE: Final = 200
"""How many numbers are tried that are not in every program."""

_MOST_WORKED_OUT: Final = 100
"""How many of those that it only works out with a message."""

_WIDEST: Final = 128
"""How many bits a number may have: those of the widest field."""

_LONGEST: Final = 64
"""How long a text or bytes may be to be taken for a value."""


_DIGITS: Final = re.compile(r"[0-9]{1,20}")
_BINARY: Final = re.compile(r"[01]{5,64}")
_HEX: Final = re.compile(r"\b(?:0x)?(?=[a-fA-F]*[0-9])[0-9a-fA-F]{1,16}\b")
"""Hexadecimal digits, and no word that happens to consist of them."""
_MAC: Final = re.compile(r"[0-9a-fA-F]{2}(?:[:-][0-9a-fA-F]{2}){5}")
_IPV4: Final = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}(?:/[0-9]{1,2})?")


class Dictionary(NamedTuple):
    """The numbers and the bytes that occur in a program: rare ones, common ones, contents of packets.

    What a field of few bits may be is tried whether it occurs or not.
    """

    rare: tuple[int, ...]
    common: tuple[int, ...]
    contents: tuple[bytes, ...]

    def values(self, variable: Variable, *, rare: bool = False) -> Iterator[int]:
        """Yield what an input may be to be what the program looks for, each once; or `rare` ones only."""
        width, most = variable.width, (1 << variable.width) - 1
        found: dict[int, None] = {}
        if variable.name == "payload":
            padded = (each[:PAYLOAD_SIZE].ljust(PAYLOAD_SIZE, b"\0") for each in self.contents)
            found.update(dict.fromkeys(map(int.from_bytes, padded)))
        for number in self.rare if rare else (*self.rare, *self.common):
            # Several fields may be compared at once, as one number.
            found.update(dict.fromkeys((number,) if number <= most else (number & most, number >> width)))
        if not rare:
            found.update(dict.fromkeys((*variable.preferred, 0, 1, most)))
            found.update(dict.fromkeys(range(most + 1) if width <= 8 else (1 << bit for bit in range(width))))
        yield from (value for value in found if value <= most)


def dictionary_of(
    sources: Iterable[str],
    memory: Iterable[Mapping[str, Any]] = (),
    worked_out: Iterable[object] = (),
    known: Container[int] = (),
) -> Dictionary:
    """Return the dictionary of a program by its source texts and the variables of its modules and apps.

    Besides, by what it has `worked_out` with messages whose own values are `known`.
    """
    numbers: dict[int, None] = {}
    contents: dict[bytes, None] = {}
    for source in sources:
        for constant in _constants(source):
            numbers.update(dict.fromkeys(_numbers(constant)))
            contents.update(dict.fromkeys(_contents(constant)))
    for constant in _held(list(memory)):
        numbers.update(dict.fromkeys(_numbers(constant)))
    numbers = {number: None for number in numbers if number.bit_length() <= _WIDEST}
    # In an order that no seed of hashes decides.
    rare = sorted(number for number in numbers if number >= _COMMON)[:_MOST_RARE]
    more = {found for constant in _held([{"": list(worked_out)}]) for found in _numbers(constant)}
    rare += sorted(n for n in more if _COMMON <= n < 1 << _WIDEST and n not in numbers and n not in known)[
        :_MOST_WORKED_OUT
    ]
    near = [other for number in rare for other in _relatives(number) if other >= 0]
    common = sorted(number for number in numbers if number < _COMMON)
    return Dictionary(tuple(dict.fromkeys((*rare, *near))), tuple(common), tuple(sorted(contents)))


def _constants(source: str) -> Iterator[object]:
    """Yield the constants in a source text, with those that its compiler works out."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            waiting: list[object] = [compile(source, "<source>", "exec", dont_inherit=True)]
    except (SyntaxError, ValueError):
        return
    while waiting:
        constant = waiting.pop()
        if isinstance(constant, CodeType):
            waiting += constant.co_consts
            # An attribute may be named like what is in a packet.
            yield from map(_Name, constant.co_names)
        elif isinstance(constant, tuple | frozenset):
            waiting += constant
        else:
            yield constant


class _Name(str):
    """A name, which has numbers in it at most."""


_MOST_HELD: Final = 20_000
"""How many objects are looked at for constants that a program keeps."""


def _held(namespaces: list[Mapping[str, Any]]) -> Iterator[object]:
    """Yield the constants that a program keeps in variables, containers and objects of its own classes."""
    own = {each.get("__name__") for each in namespaces}
    waiting = deque(value for each in namespaces for value in _values(each))
    met: set[int] = set()
    while waiting and len(met) < _MOST_HELD:
        value = waiting.popleft()
        if id(value) not in met:
            met.add(id(value))
            if type(value) in (int, str, bytes, float):
                yield value
            waiting += _inside(value, own)


def _inside(value: Any, own: Container[object]) -> Iterable[Any]:
    """Return what an object holds, without calling anything of the program's: that would be running it."""
    kind: Any = type(value)
    for container in (list, tuple, set, frozenset, deque):
        if issubclass(kind, container):
            return list(container.__iter__(value))
    if issubclass(kind, dict):
        return (*dict.keys(value), *dict.values(value))
    if kind is FunctionType:
        return value.__defaults__ or ()
    reading: Any = type if issubclass(kind, type) else object
    with suppress(AttributeError, TypeError):
        if (reading.__getattribute__(value, "__module__") if reading is type else kind.__module__) in own:
            return _values(reading.__getattribute__(value, "__dict__"))
    return ()


def _values(namespace: Mapping[str, Any]) -> list[Any]:
    """Return the values of variables, without those that Python itself makes."""
    return [value for name, value in list(namespace.items()) if not name.startswith("__")]


def _numbers(constant: object) -> Iterator[int]:
    """Yield the numbers that a constant may stand for in a packet."""
    if isinstance(constant, bool):
        return
    if isinstance(constant, int):
        yield abs(constant)
    elif isinstance(constant, float) and constant.is_integer():
        yield abs(int(constant))
    elif isinstance(constant, bytes) and 0 < len(constant) <= 16:
        yield from (int.from_bytes(constant), int.from_bytes(constant, "little"))
    elif isinstance(constant, str) and 0 < len(constant) <= _LONGEST:
        yield from _in_text(constant)


def _contents(constant: object) -> Iterator[bytes]:
    """Yield what a constant may be in a packet."""
    if isinstance(constant, bytes) and 0 < len(constant) <= _LONGEST:
        yield constant
    elif type(constant) is str and 0 < len(constant) <= _LONGEST and not constant.startswith("__"):
        yield constant.encode(errors="replace")


def _in_text(text: str) -> Iterator[int]:
    """Yield the numbers and addresses that are, or may be, written in a text."""
    for address in _MAC.findall(text):
        yield int(re.sub("[^0-9a-fA-F]", "", address), 16)
    for address in _IPV4.findall(text):
        with suppress(ValueError):
            network = ipaddress.ip_network(address, strict=False)
            yield from (int(network.network_address), int(network.network_address) + 1)
            yield int(network.broadcast_address)
            # As names of addresses have them.
            yield int.from_bytes(network.network_address.packed, "little")
    with suppress(ValueError):
        yield int(ipaddress.ip_network(text, strict=False).network_address)
    for digits in _DIGITS.findall(text):
        yield from (int(digits), int(digits[::-1]))
    for digits in _BINARY.findall(text):
        yield int(digits, 2)
    for digits in _HEX.findall(text):
        yield int(digits, 16)
    if len(text) == 1:
        yield ord(text)


def _relatives(number: int) -> tuple[int, ...]:
    """Return what a program may mean where it has a number: beyond a bound, or in another order."""
    swapped = int.from_bytes(number.to_bytes(2), "little") if number < 1 << 16 else number
    return number - 1, number + 1, swapped, number ^ 0xFFFF, int(str(number)[::-1])
