"""No packet meets two rules between which its switch may choose.

A switch's tables are judged after each of its steps, once for all that have the same rules and groups, and
whatever traffic there is: by sets of packets (`_forwarding.ambiguity`), with one of them shown.  Each state
is judged by itself, so the property has no state of its own, and takes no part in which orders a search has
to try.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

from penstock._base.frozen import FrozenMap
from penstock._forwarding.ambiguity import Ambiguity, find_ambiguity
from penstock._properties.base import UPHELD, Property, Violated
from penstock._world.network import Network
from penstock._world.switch import Switch, SwitchState
from penstock._world.switch.flow_table import FlowTable
from penstock._world.switch.state import GroupEntry
from penstock._world.switch.turn import Chassis
from penstock._world.transition import Record

_MOST_JUDGED: Final = 1 << 14
"""How many tables are remembered as judged."""


class NoAmbiguousRules(Property):
    """Which of several rules of the same highest priority a switch uses is undefined; so it must not matter.

    Two rules of one table and priority break it, if some packet at some port of the switch meets both and
    none above them, and they do different things with it.
    """

    sentence = "No packet meets two rules of the same table and priority that do different things."
    needs = "a switch that does anything"

    def start(self, network: Network, /) -> Hashable:
        """Learn what the switches are built of."""
        self._chassis = {made.name: made.chassis for made in switches_of(network)}
        return None

    def see_state(self, record: Record, state: Any, /) -> Hashable | None:
        """Judge the tables of a switch."""
        if record.node not in self._chassis:
            return None
        return self._fault(record.node, state) or UPHELD

    def next(self, _state: Any, seen: str, /) -> Any:
        """Refuse tables that leave a choice."""
        raise Violated(seen)

    def at_rest(self, _state: Any, states: Mapping[str, Any], /) -> bool:
        """Judge the tables that there were from the start, too."""
        for name in self._chassis:
            if fault := self._fault(name, states[name]):
                raise Violated(fault)
        return bool(self._chassis)

    def _fault(self, name: str, state: Any) -> str:
        """Return what is wrong with a switch's tables, if anything."""
        inner: SwitchState = getattr(state, "inner", state)
        found = _ambiguity(self._chassis[name], inner.tables, inner.groups) if inner.tables else None
        return "" if found is None else found.told(name)


def switches_of(network: Network) -> Iterator[Switch]:
    """Yield the switches of a network, those too that are lifted for a proof."""
    for made in network.components:
        inner = getattr(made, "inner", made)
        if isinstance(inner, Switch):
            yield inner


@lru_cache(maxsize=_MOST_JUDGED)
def _ambiguity(
    chassis: Chassis, tables: FrozenMap[int, FlowTable], groups: FrozenMap[int, GroupEntry]
) -> Ambiguity | None:
    made = Switch(chassis.name, chassis.dpid, chassis.ports, chassis.options, chassis.controllers)
    return find_ambiguity(chassis, replace(made.initial(), tables=tables, groups=groups))
