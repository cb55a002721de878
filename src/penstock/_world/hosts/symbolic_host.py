"""A host that sends whatever makes a difference: the packets come from a source outside it.

The source looks at the controller, the switches and the fabric as they are, and says which packets
the controller would tell apart (NICE, section 3.3).  How many of them the host sends is bounded as
in PKT-SEQ (section 5.1): `count` packets in all, and at most `burst` before something comes back.  By default
that is one, as long as the controller keeps nothing of the packets in memory; if it does, what comes after an
unanswered packet makes a difference, and a host no longer waits (`waits`).

What the host has sent before it may send again, whatever the source says now, because flows consist
of more than one packet: a rule that has gone stale is met by packets that no longer reach the
controller.  `repeats` turns that off.

Packets that rules treat by themselves change nothing that other packets could meet.  So one of them is
sent in a run, by one host, and is the last that any host sends.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any, NamedTuple, Protocol

from penstock._base.typed import Count, Positive
from penstock._world.component import Port, Step
from penstock._world.hosts.host import Host, HostState, Turn
from penstock.errors import PenstockError
from penstock.packet import describe, parse

_SEND = "send "
_TO_TABLES = " to the tables"


class PacketSource(Protocol):
    """Says which packets of a host make a difference."""

    @property
    def reads(self) -> tuple[str, ...]:
        """The components whose states it goes by."""
        ...

    def packets(self, host: SymbolicHost, seen: Mapping[str, Any]) -> tuple[bytes, ...]:
        """Return the packets that a host may send now, in a fixed order."""
        ...

    def table_packets(
        self, host: SymbolicHost, seen: Mapping[str, Any], sent: tuple[bytes, ...]
    ) -> tuple[bytes, ...]:
        """Return packets that rules treat by themselves, in a fixed order; none like those sent before."""
        ...


class CuriousMemory(NamedTuple):
    """How many packets are left, how many may go out before one comes back, and what went out.

    `done` tells that this host has sent the last packet of all hosts.
    """

    left: int
    credit: int | None
    sent: tuple[bytes, ...] = ()
    done: bool = False


@dataclass(eq=False, kw_only=True)
class SymbolicHost(Host):
    """Sends `count` packets of its source's choosing, at most `burst` of them unanswered."""

    count: Count = 2
    """How many packets it sends."""
    burst: Positive | None = 1
    """How many packets may go out before one comes back."""
    repeats: bool = True
    """Whether it may send again what it has sent before."""
    spoofs: bool = False
    """Whether it may send under addresses that are not its own."""
    source: PacketSource | None = field(default=None, init=False)
    """Who says what makes a difference; the network's builder gives it."""
    remembers: bool = field(default=False, init=False)
    """Whether to remember what was sent even when nothing more can be."""

    waits: bool = field(default=True, init=False)
    """Whether it heeds `burst`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._named: dict[str, bytes] = {}

    def start(self) -> CuriousMemory:
        """Begin with nothing sent."""
        return CuriousMemory(self.count, self.burst)

    @property
    def reads(self) -> tuple[str, ...]:
        """The components whose states decide what there is to send."""
        return self._source().reads

    def _source(self) -> PacketSource:
        if self.source is None:
            raise PenstockError(
                f"{self.name} has no source of packets: run it in a scenario with a controller in process."
            )
        return self.source

    def actions_given(self, state: HostState, seen: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the packets that may be sent now, and questions that may be asked again."""
        memory: CuriousMemory = state.memory
        others = self.actions(state)
        if not memory.left or (memory.credit == 0 and self.waits) or _is_over(seen):
            return others
        source = self._source()
        packets = dict.fromkeys(source.packets(self, seen))
        if self.repeats:
            packets.update(dict.fromkeys(memory.sent))
        last = source.table_packets(self, seen, memory.sent if self.repeats else ())
        return (*map(self._name, packets), *(self._name(data, _TO_TABLES) for data in last), *others)

    def _name(self, data: bytes, where: str = "") -> str:
        """Return the action of sending a packet; its name is the same in every run."""
        name = f"{_SEND}{describe(data)} [{blake2b(data, digest_size=3).hexdigest()}]{where}"
        self._named[name] = data
        return name

    def perform(self, memory: CuriousMemory, action: str) -> Turn:
        """Send a packet."""
        data = self._named[action]
        if action.endswith(_TO_TABLES):
            return Turn(CuriousMemory(0, 0, done=True), (parse(data),))
        credit = memory.credit if memory.credit is None or not self.waits else memory.credit - 1
        left = memory.left - 1
        # What cannot be sent again would only make states differ.
        kept = {*memory.sent, data} if self.remembers or (left and self.repeats) else ()
        return Turn(CuriousMemory(left, credit, tuple(sorted(kept))), (parse(data),))

    def receive(self, state: HostState, port: Port, message: Any) -> Step:
        """Take in a frame; for what was meant for this host, another one may go out."""
        step = super().receive(state, port, message)
        memory: CuriousMemory = step.state.memory
        heard = any(event.kind == "received" for event in step.events)
        if not heard or self.burst is None or memory.credit == self.burst or memory.done:
            return step
        assert memory.credit is not None
        return step._replace(state=replace(step.state, memory=memory._replace(credit=memory.credit + 1)))


def _is_over(seen: Mapping[str, Any]) -> bool:
    """Tell whether a host has sent the last packet of all."""
    memories = (getattr(state, "memory", None) for state in seen.values())
    return any(isinstance(memory, CuriousMemory) and memory.done for memory in memories)
