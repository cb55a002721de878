"""Whether switches have the rules that their controllers ordered: the two may part without a word.

For each switch a second one is kept that is told the same by the controllers and never fails: its tables
are unlimited, nothing is forgotten or ignored.  What it has and the real one lacks was ordered and is not
there: refused by a full table, ignored, or forgotten.  A controller that reads errors, or asks for
statistics, can notice and order again; one that does not keeps a wrong picture of its network.

Rules that time out leave both; one that is missing is missed no longer than it would have stayed unused.  A
switch that was switched off begins anew, and so does its double.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from penstock._world.component import Event
from penstock._world.signals import FABRIC, Carrier, Power
from penstock._world.switch import Switch, SwitchState
from penstock._world.switch.budgets import MOST_ENTRIES, MOST_GROUPS
from penstock._world.switch.flow_table import FlowEntry
from penstock._world.transition import Record
from penstock._world.world import World
from penstock.openflow.match import Match
from penstock.openflow.messages import FlowCommand, FlowMod, FlowRemovedReason, GroupMod, MeterMod

_TIMED_OUT: Final = frozenset(
    {FlowRemovedReason.IDLE_TIMEOUT.name.lower(), FlowRemovedReason.HARD_TIMEOUT.name.lower()}
)


@dataclass(slots=True)
class _Double:
    """A switch that does all it is told, and what it has been told so far."""

    switch: Switch
    state: SwitchState


class TablesAsOrdered:
    """Every switch has the rules that the controllers ordered."""

    name = "TablesAsOrdered"

    def __init__(self, world: World) -> None:
        self._world = world
        self._doubles: dict[str, _Double] = {}
        for made in world.network.components:
            if isinstance(made, Switch):
                chassis = made.chassis
                options = replace(
                    made.options,
                    table_size=MOST_ENTRIES,
                    groups=MOST_GROUPS,
                    counters=False,
                    reorder="none",
                    expiries=0,
                    overruns=0,
                    overlaps=0,
                )
                double = Switch(made.name, chassis.dpid, chassis.ports, options, chassis.controllers)
                self._doubles[made.name] = _Double(double, double.initial())
        self._suspects: set[str] = set()
        """The switches that may differ from their doubles."""
        self._due: dict[tuple[str, int, int, Match], int] = {}
        """When rules with timeouts would be gone if nobody used them."""
        self._missing: dict[str, tuple[tuple[int, FlowEntry], ...]] = {}

    def observe(self, record: Record) -> None:
        """Tell the double what the switch was told."""
        double = self._doubles.get(record.node)
        if double is None:
            return
        self._forget_expired(double, record.events)
        self._suspects.add(record.node)
        if record.at is None:
            return
        message, port = record.message, record.at.port
        if isinstance(message, Power | Carrier):
            double.state = double.switch.receive(double.state, FABRIC, message).state
        elif isinstance(message, FlowMod | GroupMod | MeterMod) and _is_in_order(record):
            if isinstance(message, FlowMod):
                self._note_end(record.node, message)
                message = replace(message, idle_timeout=0, hard_timeout=0)
            double.state = double.switch.receive(double.state, port, message).state

    def _note_end(self, switch: str, order: FlowMod) -> None:
        """Remember when a rule would end by itself; the doubles know no time."""
        key = (switch, order.table_id, order.priority, order.match)
        limits = [seconds for seconds in (order.idle_timeout, order.hard_timeout) if seconds]
        if order.command == FlowCommand.ADD:
            self._due.pop(key, None)
            if limits:
                self._due[key] = self._world.clock + 1000 * min(limits)

    def _forget_expired(self, double: _Double, events: tuple[Event, ...]) -> None:
        """Take rules out of the double that timed out in the switch."""
        for event in events:
            if event.kind == "rule-removed" and event.detail[2] in _TIMED_OUT:
                number, gone = event.detail[:2]
                assert isinstance(number, int) and isinstance(gone, FlowEntry)
                table = double.state.tables.get(number)
                if table is not None:
                    kept = table.without(partial(_is_same, gone))
                    double.state = replace(double.state, tables=double.state.tables.set(number, kept))

    def remarks(self) -> tuple[str, ...]:
        """Return nothing: all rules are judged."""
        return ()

    def rules(self, _claim: str, /) -> tuple[str, ...]:
        """Return nothing: the claim itself names the rule that is missing."""
        return ()

    def claims(self) -> Mapping[str, str]:
        """Return the rules that are missing now, each a sentence under a name of its own."""
        for name in self._suspects:
            missing = tuple(self._missing_from(name))
            if missing:
                self._missing[name] = missing
            else:
                self._missing.pop(name, None)
        self._suspects.clear()
        return {
            f"{name} table {number} {entry.priority} {entry.match}": (
                f"{name} was ordered to have the rule {entry} in table {number}, and has not."
            )
            for name, missing in self._missing.items()
            for number, entry in missing
            if self._world.clock < self._due.get((name, number, entry.priority, entry.match), math.inf)
        }

    def _missing_from(self, name: str) -> list[tuple[int, FlowEntry]]:
        state: SwitchState = self._world.state(name)
        if not state.powered:
            return []
        found = []
        for number, table in self._doubles[name].state.tables.items():
            real = state.tables.get(number)
            present = {
                (entry.priority, entry.match): entry.instructions
                for entry in (real if real is not None else ())
            }
            found += [
                (number, entry)
                for entry in table
                if present.get((entry.priority, entry.match)) != entry.instructions
            ]
        return found


def _is_in_order(record: Record) -> bool:
    """Tell whether a switch did as it was told, or would have but for a full table."""
    refused = [event.detail[0] for event in record.events if event.kind == "refused"]
    return not refused or refused == ["flow-table-full"]


def _is_same(one: FlowEntry, other: FlowEntry) -> bool:
    return (one.priority, one.match) == (other.priority, other.match)
