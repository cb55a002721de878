"""`NoAmbiguousRules` while a run goes on: exact over the tables as they are now.

Which rules overlap others of their priority is kept up rule by rule, by the forwarding model's index, so that
tables in which none do cost next to nothing however large they are.  Only where some do, and something has
changed, is it decided by packets (`_forwarding.ambiguity`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from penstock._forwarding.ambiguity import Ambiguity, all_ambiguities, differ
from penstock._forwarding.following import Follower
from penstock._properties.ambiguous import switches_of
from penstock._world.switch import SwitchState
from penstock._world.switch.flow_table import FlowEntry
from penstock._world.transition import Record
from penstock._world.world import World
from penstock.openflow.match import Match

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
