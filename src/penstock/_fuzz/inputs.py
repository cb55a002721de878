"""Inputs: what a fuzzer does to a network, each a value with one line of text.

These are the input types of STS (Table 4.2) and those that its code adds.  A text is what a trace
holds and what a person types; `input_of` reads it back.  An input says what is to be done, not
whether it is possible now: the stage finds that out (see `possible`).

    fail s1-s2            recover s1-s2         a link, or by its name alone a switch
    crash c0              restart c0            a controller
    disconnect s1-c0      reconnect s1-c0       a control session
    partition c0          heal c0               all sessions of a controller
    send h1 to h2 ping 3                        a host says something of its own accord
    inject h1:0 ffff… h1~4                      a frame appears on a wire as if sent from there
    drop s1:2    duplicate s1:2   reorder s1:2  the head of a data channel
    delay s1:2 by 300                           the channel stands still for so many milliseconds
    hold s1:c0            release s1:c0         the channel stands still until it is released
    move h1 to s2:3                             a host is plugged in elsewhere
    limit s1 to 5         unlimit s1            no flow table takes more entries than that
    forget s1 2                                 its second flow entry vanishes without a word
    ignore s1 3                                 its next three flow-mods have no effect
    policy change 17                            the user's own function is called with a number
    check                 wait 100              look at the invariants; let milliseconds pass
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from penstock._base.text import hint
from penstock._world.component import Endpoint
from penstock.errors import PenstockError

FAULTS: Final = ("fail", "recover", "crash", "restart", "disconnect", "reconnect", "partition", "heal")
WIRE_FAULTS: Final = ("drop", "duplicate", "reorder")
PROTOCOLS: Final = ("ping", "arp", "tcp", "udp")

EVERYBODY: Final = "everybody"
"""Whom a broadcast is sent to."""

LONGEST_FRAME: Final = 9216
"""An Ethernet frame has no more bytes than this, also a jumbo frame."""


@dataclass(frozen=True, slots=True)
class Input:
    """Something that is done to the network from outside; the subclasses say what."""

    @property
    def verb(self) -> str:
        """The first word of the text."""
        return str(self).partition(" ")[0]


@dataclass(frozen=True, slots=True)
class Fault(Input):
    """A link, switch, controller or session fails or comes back; `what` is one of `FAULTS`."""

    what: str
    target: str

    def __str__(self) -> str:
        return f"{self.what} {self.target}"


@dataclass(frozen=True, slots=True)
class SendPacket(Input):
    """A host sends a packet of its own to another, or to everybody; the number tells alike ones apart."""

    host: str
    to: str
    protocol: str
    number: int = 1

    def __str__(self) -> str:
        return f"send {self.host} to {self.to} {self.protocol} {self.number}"


@dataclass(frozen=True, slots=True)
class InjectFrame(Input):
    """A frame is put on the channel that leaves a port, whoever is there; the tag follows it."""

    channel: Endpoint
    data: bytes
    tag: str = ""

    def __str__(self) -> str:
        tag = f" {self.tag}" if self.tag else ""
        return f"inject {self.channel} {self.data.hex()}{tag}"


@dataclass(frozen=True, slots=True)
class WireFault(Input):
    """Something befalls the head of a data channel; `what` is one of `WIRE_FAULTS`."""

    what: str
    channel: Endpoint

    def __str__(self) -> str:
        return f"{self.what} {self.channel}"


@dataclass(frozen=True, slots=True)
class Delay(Input):
    """A channel, of data or control, stands still for a time."""

    channel: Endpoint
    milliseconds: int

    def __str__(self) -> str:
        return f"delay {self.channel} by {self.milliseconds}"


@dataclass(frozen=True, slots=True)
class Hold(Input):
    """A channel stands still until it is released."""

    channel: Endpoint

    def __str__(self) -> str:
        return f"hold {self.channel}"


@dataclass(frozen=True, slots=True)
class Release(Input):
    """A channel that was held or delayed goes on."""

    channel: Endpoint

    def __str__(self) -> str:
        return f"release {self.channel}"


@dataclass(frozen=True, slots=True)
class MoveHost(Input):
    """A host is plugged into another port."""

    host: str
    place: Endpoint

    def __str__(self) -> str:
        return f"move {self.host} to {self.place}"


@dataclass(frozen=True, slots=True)
class LimitTables(Input):
    """From now on no flow table of a switch takes more than `entries`; None lifts the limit."""

    switch: str
    entries: int | None

    def __str__(self) -> str:
        return f"unlimit {self.switch}" if self.entries is None else f"limit {self.switch} to {self.entries}"


@dataclass(frozen=True, slots=True)
class ForgetEntry(Input):
    """A flow entry of a switch, by its number from 1 in table order, vanishes and nobody is told."""

    switch: str
    number: int

    def __str__(self) -> str:
        return f"forget {self.switch} {self.number}"


@dataclass(frozen=True, slots=True)
class IgnoreFlowMods(Input):
    """The next flow-mods that reach a switch have no effect, and nobody is told."""

    switch: str
    count: int

    def __str__(self) -> str:
        return f"ignore {self.switch} {self.count}"


@dataclass(frozen=True, slots=True)
class ChangePolicy(Input):
    """The user's function of that name changes the policy; the number decides how."""

    name: str
    number: int

    def __str__(self) -> str:
        return f"policy {self.name} {self.number}"


@dataclass(frozen=True, slots=True)
class Check(Input):
    """The invariants are looked at."""

    def __str__(self) -> str:
        return "check"


@dataclass(frozen=True, slots=True)
class Wait(Input):
    """Time passes."""

    milliseconds: int

    def __str__(self) -> str:
        return f"wait {self.milliseconds}"


_NUMBER: Final = re.compile(r"[0-9]{1,12}\Z")
_PLACE: Final = re.compile(r"(\S+):([^\s:]+)\Z")


def endpoint_of(text: str) -> Endpoint:
    """Return the endpoint that `s1:2` or `s1:c0` names."""
    found = _PLACE.match(text)
    if found is None:
        raise PenstockError(f"{text!r} is not a port: write a component and its port, as in s1:2 or s1:c0.")
    node, port = found.groups()
    return Endpoint(node, int(port) if _NUMBER.match(port) else port)


def _number(text: str) -> int:
    if not _NUMBER.match(text):
        raise PenstockError(f"{text!r} is not an integer of at least 0.")
    return int(text)


def _frame(channel: str, data: str, tag: str = "") -> InjectFrame:
    try:
        octets = bytes.fromhex(data)
    except ValueError:
        raise PenstockError(f"{data[:40]!r} is not hex: give pairs of hex digits.") from None
    if not 0 < len(octets) <= LONGEST_FRAME:
        raise PenstockError(f"A frame has 1 to {LONGEST_FRAME} bytes, not {len(octets)}.")
    return InjectFrame(endpoint_of(channel), octets, tag)


def _packet(host: str, _to: str, other: str, protocol: str = "ping", number: str = "1") -> SendPacket:
    if protocol not in PROTOCOLS:
        raise PenstockError(f"unknown protocol {protocol!r}: use {', '.join(PROTOCOLS)}.")
    return SendPacket(host, other, protocol, _number(number))


_READERS: Final[dict[str, tuple[str, Callable[..., Input]]]] = {
    "send": ("send h1 to h2 ping 1", _packet),
    "inject": ("inject h1:0 <hex> [tag]", _frame),
    "delay": ("delay s1:2 by 300", lambda channel, _by, ms: Delay(endpoint_of(channel), _number(ms))),
    "hold": ("hold s1:c0", lambda channel: Hold(endpoint_of(channel))),
    "release": ("release s1:c0", lambda channel: Release(endpoint_of(channel))),
    "move": ("move h1 to s2:3", lambda host, _to, place: MoveHost(host, endpoint_of(place))),
    "limit": ("limit s1 to 5", lambda switch, _to, entries: LimitTables(switch, _number(entries))),
    "unlimit": ("unlimit s1", lambda switch: LimitTables(switch, None)),
    "forget": ("forget s1 2", lambda switch, number: ForgetEntry(switch, _number(number))),
    "ignore": ("ignore s1 3", lambda switch, count: IgnoreFlowMods(switch, _number(count))),
    "policy": ("policy change 17", lambda name, number: ChangePolicy(name, _number(number))),
    "check": ("check", Check),
    "wait": ("wait 100", lambda ms: Wait(_number(ms))),
}
for _verb in FAULTS:
    _READERS[_verb] = (f"{_verb} s1", lambda target, verb=_verb: Fault(verb, target))
for _verb in WIRE_FAULTS:
    _READERS[_verb] = (
        f"{_verb} s1:2",
        lambda channel, verb=_verb: WireFault(verb, endpoint_of(channel)),
    )

VERBS: Final = tuple(sorted(_READERS))
"""The words that inputs begin with."""


def input_of(text: str) -> Input:
    """Return the input that a text means."""
    verb, *words = text.split()[:8] or [""]
    if verb not in _READERS:
        otherwise = f"begin with one of {', '.join(VERBS)}."
        raise PenstockError(f"{text[:80]!r} is not an input: {hint(verb, VERBS, otherwise)}")
    example, read = _READERS[verb]
    try:
        return read(*words)
    except TypeError:
        raise PenstockError(f"{text[:80]!r} is not an input: write it as in {example!r}.") from None
