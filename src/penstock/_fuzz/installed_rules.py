"""The rules that switches have: whether all that was ordered, and whether any are ambiguous.

Whether switches have the rules that their controllers ordered: the two may part without a word.

For each switch a second one is kept that is told the same by the controllers and never fails: its tables
are unlimited, nothing is forgotten or ignored.  What it has and the real one lacks was ordered and is not
there: refused by a full table, ignored, or forgotten.  A controller that reads errors, or asks for
statistics, can notice and order again; one that does not keeps a wrong picture of its network.

Rules that time out leave both; one that is missing is missed no longer than it would have stayed unused.  A
switch that was switched off begins anew, and so does its double.

`NoAmbiguousRules` while a run goes on: exact over the tables as they are now.

Which rules overlap others of their priority is kept up rule by rule, by the forwarding model's index, so that
tables in which none do cost next to nothing however large they are.  Only where some do, and something has
changed, is it decided by packets (`_forwarding.ambiguity`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, cast

from penstock._forwarding.ambiguity import Ambiguity, all_ambiguities, differ
from penstock._forwarding.following import Follower
from penstock._properties.controllers import switches_of
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
                f"{name} was sent the rule {entry} for table {number}, and does not have it."
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


RuleKey = tuple[int, int, Match]


class AmbiguousRules:
    """What a switch's tables leave to its choice."""

    name = "NoAmbiguousRules"

    def __init__(self, world: World, follower: Follower) -> None:
        self._world, self._follower = world, follower
        self._chassis = {made.name: made.chassis for made in switches_of(world.network)}
        self._new: dict[str, set[RuleKey]] = {name: set() for name in self._chassis}
        """The rules that came or changed since somebody looked."""
        self._clashing: dict[str, set[RuleKey]] = {name: set() for name in self._chassis}
        """The rules that overlapped others of their priority when they came, as long as they are there."""
        self._judged: dict[str, tuple[object, object]] = {}
        """The tables and groups of each switch when they were last judged."""
        self._found: dict[str, Ambiguity] = {}
        self._of: dict[str, Mapping[str, Ambiguity]] = {}

    def observe(self, record: Record) -> None:
        """Note which rules came or changed."""
        new = self._new.get(record.node)
        if new is None:
            return
        for event in record.events:
            if event.kind in ("rule-added", "rule-modified"):
                number, entry = cast("tuple[int, FlowEntry]", event.detail[:2])
                new.add((number, entry.priority, entry.match))

    def remarks(self) -> tuple[str, ...]:
        """Return nothing: what is not judged is not followed by the other invariants either, which say so."""
        return ()

    def claims(self) -> Mapping[str, str]:
        """Return which rules leave a choice now, each pair under a name of its own."""
        for name, chassis in self._chassis.items():
            state: SwitchState = self._world.state(name)
            tables, groups = self._judged.get(name, (None, None))
            if state.tables is tables and state.groups is groups:
                continue
            self._judged[name] = state.tables, state.groups
            self._of[name] = all_ambiguities(chassis, state) if self._may_clash(name) else {}
        self._found = {f"{name} {key}": one for name, some in self._of.items() for key, one in some.items()}
        return {claim: one.told(claim.split(" ", 1)[0]) for claim, one in self._found.items()}

    def rules(self, claim: str) -> tuple[str, ...]:
        """Return the two rules that a claim is about."""
        one, switch = self._found[claim], claim.split(" ", 1)[0]
        return f"{switch} {one.first}", f"{switch} {one.second}"

    def _may_clash(self, name: str) -> bool:
        model, clashing = self._follower.model, self._clashing[name]
        for key in self._new[name]:
            entries = model.overlapping(name, *key)
            if any(differ(entries[0], other) for other in entries[1:]):
                clashing.add(key)
        self._new[name].clear()
        clashing -= {key for key in clashing if not model.has(name, *key)}
        return bool(clashing)
