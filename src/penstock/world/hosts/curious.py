"""A host that sends whatever makes a difference: the packets come from a source outside it.

The source looks at the controller, the switches and the fabric as they are, and says which packets
the controller would tell apart (NICE, section 3.3).  How many of them the host sends is bounded as
in PKT-SEQ (section 5.1): `count` packets in all, and at most `burst` before something comes back.

What the host has sent before it may send again, whatever the source says now, because flows consist
of more than one packet: a rule that has gone stale is met by packets that no longer reach the
controller.  `repeats` turns that off.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from types import NoneType
from typing import Any, NamedTuple, Protocol

from penstock.errors import PenstockError
from penstock.world.component import Port, Step
from penstock.world.hosts.host import Host, HostState, Turn, at_least
from penstock.world.packet import describe, parse

_SEND = "send "


class PacketSource(Protocol):
    """Says which packets of a host make a difference."""

    @property
    def looks_at(self) -> tuple[str, ...]:
        """The components whose states it goes by."""
        ...

    def packets(self, host: CuriousHost, seen: Mapping[str, Any]) -> tuple[bytes, ...]:
        """Return the packets that a host may send now, in a fixed order."""
        ...


class CuriousMemory(NamedTuple):
    """How many packets are left, how many may go out before one comes back, and what went out."""

    left: int
    credit: int | None
    sent: tuple[bytes, ...] = ()


@dataclass(eq=False, kw_only=True)
class CuriousHost(Host):
    """Sends `count` packets of its source's choosing, at most `burst` of them unanswered.

    With `spoofs`, the source may also have it send under addresses that are not its own.
    """

    count: int = 2
    burst: int | None = 1
    repeats: bool = True
    spoofs: bool = False
    source: PacketSource | None = field(default=None, init=False)
    """Who says what makes a difference; the network's builder gives it."""
    remembers: bool = field(default=False, init=False)
    """Whether to remember what was sent even when nothing more can be."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_type(("repeats", "spoofs"), (bool,), "true or false")
        self._check_type(("count", "burst"), (int, NoneType), "a whole number")
        at_least(self, "count", 0)
        if self.burst is not None:
            at_least(self, "burst", 1)
        self._named: dict[str, bytes] = {}

    def _check_type(self, options: tuple[str, ...], kinds: tuple[type, ...], wanted: str) -> None:
        for option in options:
            value = getattr(self, option)
            if type(value) not in kinds:
                raise PenstockError(f"{self.name} cannot have {option} {value!r}: give {wanted}.")

    def start(self) -> CuriousMemory:
        """Begin with nothing sent."""
        return CuriousMemory(self.count, self.burst)

    @property
    def looks_at(self) -> tuple[str, ...]:
        """The components whose states decide what there is to send."""
        return self._source().looks_at

    def _source(self) -> PacketSource:
        if self.source is None:
            raise PenstockError(
                f"{self.name} has nobody to tell it what to send: run it in a scenario, whose controller can."
            )
        return self.source

    def actions_given(self, state: HostState, seen: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the packets that may be sent now, and questions that may be asked again."""
        memory: CuriousMemory = state.memory
        others = self.actions(state)
        if not memory.left or memory.credit == 0:
            return others
        packets = dict.fromkeys(self._source().packets(self, seen))
        if self.repeats:
            packets.update(dict.fromkeys(memory.sent))
        return (*map(self._name, packets), *others)

    def _name(self, data: bytes) -> str:
        """Return the action of sending a packet; its name is the same in every run."""
        name = f"{_SEND}{describe(data)} [{blake2b(data, digest_size=3).hexdigest()}]"
        self._named[name] = data
        return name

    def perform(self, memory: CuriousMemory, action: str) -> Turn:
        """Send a packet."""
        data = self._named[action]
        credit = None if memory.credit is None else memory.credit - 1
        left = memory.left - 1
        # What cannot be sent again would only make states differ.
        kept = {*memory.sent, data} if self.remembers or (left and self.repeats) else ()
        return Turn(CuriousMemory(left, credit, tuple(sorted(kept))), (parse(data),))

    def receive(self, state: HostState, port: Port, message: Any) -> Step:
        """Take in a frame; for what was meant for this host, another one may go out."""
        step = super().receive(state, port, message)
        memory: CuriousMemory = step.state.memory
        heard = any(event.kind == "received" for event in step.events)
        if not heard or self.burst is None or memory.credit == self.burst:
            return step
        assert memory.credit is not None
        return step._replace(state=replace(step.state, memory=memory._replace(credit=memory.credit + 1)))
