"""OpenFlow replay: the switches of a run alone, at any line of it, to be looked at (as with OFRewind).

Nothing of the controllers is there but the messages they sent; so whatever a person tries out, nobody
answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from penstock._fuzz.inputs import PROTOCOLS, SendPacket
from penstock._fuzz.tracing import hops_of
from penstock._fuzz.traffic import order_of
from penstock._replay.player import TracePlayer
from penstock._world.component import Endpoint
from penstock._world.frame import Frame
from penstock._world.hosts import ASK
from penstock._world.switch import SwitchState
from penstock._world.transition import Record
from penstock.errors import PenstockError
from penstock.openflow.match import port_text


class Rewind(TracePlayer):
    """The switches of a run at one moment of it, to be looked at."""

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
        network = self.playable.network
        wiring = self.world.state(network.fabric.name)
        for number, port in sorted(state.ports.items()):
            end = network.fabric.peer(wiring, Endpoint(switch, number))
            up = "up" if port.usable else "down"
            yield f"port {port_text(number)}: {up}, {f'to {end}' if end is not None else 'leads nowhere'}"

    def queues(self) -> Iterator[str]:
        """Yield what is in flight."""
        for channel in self.playable.network.channels:
            if waiting := self.world.queue(channel):
                yield f"{channel}: {'; '.join(map(str, waiting))}"

    def path(self, host: str, to: str, protocol: str = PROTOCOLS[0]) -> Iterator[Record]:
        """Yield where a packet from one host to another would go at this moment."""
        if protocol not in PROTOCOLS:
            raise PenstockError(f"{protocol!r} is nothing to send: choose {', '.join(PROTOCOLS)}.")
        stations = self.playable.stations
        packet = order_of(SendPacket(host, to, protocol), stations).packet
        if packet.dst == ASK:
            packet = replace(packet, dst=stations[to].mac)
        frame = Frame(packet.to_bytes(), f"{host}?")
        return hops_of(self.world, Endpoint(host, stations[host].port), frame)

    def _switch(self, name: str) -> SwitchState:
        if name not in self.playable.switches:
            known = ", ".join(self.playable.switches[:8])
            raise PenstockError(f"There is no switch {name[:40]!r}: choose {known}.")
        state = self.world.state(name)
        assert isinstance(state, SwitchState), "switches have such states"
        return state
