"""Keeping a forwarding model in step with a run.

After each record only the component that took the step is looked at.  A switch's tables being immutable,
one that is the same object has not changed.  One that is another is brought over by what the step's events
say of single rules, at no more than the cost of those rules; if the tables then have not the same number
of entries, or no event speaks of the change (a switch that was switched off, an entry that vanished without
a word), the table is compared in full.
"""

from __future__ import annotations

from typing import cast

from penstock._forwarding.model import ForwardingModel, HostPort
from penstock._world.component import Endpoint
from penstock._world.fabric import Wiring
from penstock._world.hosts.host import Address, Host
from penstock._world.network import Network
from penstock._world.signals import FABRIC
from penstock._world.switch import Switch, SwitchState
from penstock._world.switch.flow_table import EMPTY_TABLE, FlowEntry
from penstock._world.transition import Record
from penstock._world.world import World


def model_of(network: Network) -> ForwardingModel:
    """Return a model of a network whose tables are empty and whose switches are still off."""
    hosts = [
        HostPort(Address(one.name, one.mac, one.ip), Endpoint(one.name, one.port))
        for one in network.components
        if isinstance(one, Host)
    ]
    return ForwardingModel([one.chassis for one in network.components if isinstance(one, Switch)], hosts)


class Follower:
    """A model of a world's forwarding state, in step with it from now on."""

    def __init__(self, world: World) -> None:
        self.model = model_of(world.network)
        self._world = world
        self._switches = [one.name for one in world.network.components if isinstance(one, Switch)]
        self._known: dict[str, SwitchState] = {}
        self._wiring: Wiring | None = None
        self.catch_up()
        world.observe(self._observe)

    def catch_up(self) -> None:
        """Take over the whole state of the world, as after a restore."""
        with self.model.batch():
            self._follow_fabric()
            for name in self._switches:
                self._follow_switch(name, None)

    def _observe(self, record: Record) -> None:
        if record.node == FABRIC:
            self._follow_fabric()
        elif record.node in self._known:
            self._follow_switch(record.node, record)

    def _follow_fabric(self) -> None:
        state = self._world.state(FABRIC)
        if state.wiring == self._wiring:
            return
        self._wiring = state.wiring
        network = self._world.network
        ends = [end for end in network.channels if isinstance(end.port, int)]
        peers = ((end, network.fabric.peer(state, end)) for end in ends)
        self.model.rewire({end: peer for end, peer in peers if peer is not None})

    def _follow_switch(self, name: str, record: Record | None) -> None:
        state: SwitchState = self._world.state(name)
        before = self._known.get(name)
        if state is before:
            return
        self._known[name] = state
        same_surroundings = before is not None and _same_surroundings(before, state)
        same_tables = before is not None and state.tables is before.tables
        if same_surroundings and same_tables:
            return
        with self.model.batch():
            if not same_surroundings:
                self.model.set_state(name, state)
            if not same_tables:
                self._follow_tables(name, before, state, record)

    def _follow_tables(
        self, name: str, before: SwitchState | None, state: SwitchState, record: Record | None
    ) -> None:
        old = before.tables if before is not None else {}
        changed = {n for n in {*old, *state.tables} if old.get(n) is not state.tables.get(n)}
        told: set[int] = set()
        for event in record.events if record is not None else ():
            if event.kind in ("rule-added", "rule-modified", "rule-removed"):
                number, entry = cast("tuple[int, FlowEntry]", event.detail[:2])
                told.add(number)
                if event.kind != "rule-removed":
                    self.model.put(name, number, entry)
                elif self.model.has(name, number, entry.priority, entry.match):
                    self.model.remove(name, number, entry.priority, entry.match)
        for number in changed:
            table = state.tables.get(number, EMPTY_TABLE)
            if number not in told or len(table) != self.model.rules(name, number):
                self.model.replace_table(name, number, table)


def _same_surroundings(a: SwitchState, b: SwitchState) -> bool:
    return a.powered == b.powered and a.ports is b.ports and a.groups is b.groups and a.sessions is b.sessions
