"""OpenFlow replay: the switches of a run alone, at any line of it, to be looked at (as with OFRewind).

Nothing of the controllers is there but the messages they sent; so whatever a person tries out, nobody
answers.  One can go forward and back; going back goes to a moment that was kept, and forward from there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from penstock._fuzz.inputs import PROTOCOLS, SendPacket
from penstock._fuzz.tracing import hops_of
from penstock._fuzz.traffic import order_of
from penstock._rootcause.recording import Player, Recording, Turn
from penstock._world.component import Endpoint
from penstock._world.frame import Frame
from penstock._world.hosts import ASK
from penstock._world.network import GlobalState
from penstock._world.switch import SwitchState
from penstock._world.transition import Record
from penstock._world.world import World
from penstock.errors import PenstockError
from penstock.openflow.match import port_text

_KEPT_EVERY: Final = 500
"""After how many steps a moment is kept to come back to."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first line that did not go as recorded."""

    line: int
    how: str


class Rewind:
    """The switches of a run at one moment of it."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.world = World(recording.network)
        self.world.restore(recording.start)
        self._player = Player(self.world)
        self._taken = 0
        self._kept: dict[int, GlobalState] = {0: self.world.snapshot()}
        self.difference: Difference | None = None

    @property
    def line(self) -> int:
        """The number of the last line that was taken; 0 at the beginning."""
        return self.recording.turns[self._taken - 1].line.number if self._taken else 0

    @property
    def is_at_end(self) -> bool:
        """Tell whether there is nothing left to take."""
        return self._taken == len(self.recording.turns)

    def forward(self) -> tuple[Turn, Record | None]:
        """Take the next line; return it and what it did."""
        if self.is_at_end:
            raise PenstockError(f"Line {self.line} is the last step of the trace: go back, or quit.")
        turn = self.recording.turns[self._taken]
        record = self._player.take(turn)
        self._taken += 1
        self._compare(turn, record)
        if self._taken % _KEPT_EVERY == 0:
            self._kept.setdefault(self._taken, self.world.snapshot())
        return turn, record

    def go_to(self, line: int) -> None:
        """Go to the moment right after a line."""
        turns = self.recording.turns
        if line < self.line:
            place = max(n for n in self._kept if not n or turns[n - 1].line.number <= line)
            self.world.restore(self._kept[place])
            self._player.forget()
            self._taken = place
        while not self.is_at_end and turns[self._taken].line.number <= line:
            self.forward()

    def go_back(self, steps: int) -> None:
        """Go back some steps, at most to the beginning."""
        place = self._taken - steps
        self.go_to(self.recording.turns[place - 1].line.number if place > 0 else 0)

    def _compare(self, turn: Turn, record: Record | None) -> None:
        if self.difference is not None:
            return
        line = turn.line
        if self._player.failure:
            self.difference = Difference(line.number, self._player.failure)
        elif record is not None and line.node not in self.recording.controllers and line.differs_from(record):
            self.difference = Difference(line.number, f"it is now {str(record)[:200]}")

    # Looking around.

    def flows(self, switch: str) -> Iterator[str]:
        """Yield the flow tables, groups and meters of a switch as text."""
        state = self._switch(switch)
        if not state.powered:
            yield f"{switch} is off"
        for number, table in sorted(state.tables.items()):
            for entry in table:
                yield f"table {number}: {entry}"
        for number, group in sorted(state.groups.items()):
            yield f"group {number}: {' | '.join(map(str, group.buckets)) or 'drop'}"
        for number in sorted(state.meters):
            yield f"meter {number}"
        if not any(len(table) for table in state.tables.values()):
            yield f"{switch} has no rules"

    def ports(self, switch: str) -> Iterator[str]:
        """Yield the ports of a switch, each with its state and where it leads."""
        state = self._switch(switch)
        network = self.recording.network
        wiring = self.world.state(network.fabric.name)
        for number, port in sorted(state.ports.items()):
            end = network.fabric.peer(wiring, Endpoint(switch, number))
            up = "up" if port.usable else "down"
            yield f"port {port_text(number)}: {up}, {f'to {end}' if end is not None else 'leads nowhere'}"

    def queues(self) -> Iterator[str]:
        """Yield what is in flight."""
        for channel in self.recording.network.channels:
            if waiting := self.world.queue(channel):
                yield f"{channel}: {'; '.join(map(str, waiting))}"

    def path(self, host: str, to: str, protocol: str = PROTOCOLS[0]) -> Iterator[Record]:
        """Yield where a packet from one host to another would go at this moment."""
        if protocol not in PROTOCOLS:
            raise PenstockError(f"{protocol!r} is nothing to send: choose {', '.join(PROTOCOLS)}.")
        stations = self.recording.stations
        packet = order_of(SendPacket(host, to, protocol), stations).packet
        if packet.dst == ASK:
            packet = replace(packet, dst=stations[to].mac)
        frame = Frame(packet.to_bytes(), f"{host}?")
        return hops_of(self.world, Endpoint(host, stations[host].port), frame)

    def _switch(self, name: str) -> SwitchState:
        if name not in self.recording.switches:
            known = ", ".join(self.recording.switches[:8])
            raise PenstockError(f"There is no switch {name[:40]!r}: choose {known}.")
        state = self.world.state(name)
        assert isinstance(state, SwitchState), "switches have such states"
        return state
