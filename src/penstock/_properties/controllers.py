"""Properties of controllers: no crash or hang, no forgotten buffer, no ambiguous rules.

No packet meets two rules between which its switch may choose.

A switch's tables are judged after each of its steps, once for all that have the same rules and groups, and
whatever traffic there is: by sets of packets (`_forwarding.ambiguity`), with one of them shown.  Each state
is judged by itself, so the property has no state of its own, and takes no part in which orders a search has
to try.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, ClassVar, Final

from penstock._base.frozen import FrozenMap
from penstock._forwarding.ambiguity import Ambiguity, find_ambiguity
from penstock._properties.base import UPHELD, Property, Violated
from penstock._properties.packets import fabric_action, is_move, packet_label
from penstock._world.component import Event
from penstock._world.fabric import Fabric
from penstock._world.hosts import Host
from penstock._world.network import Network
from penstock._world.switch import Switch, SwitchState
from penstock._world.switch.flow_table import FlowTable
from penstock._world.switch.state import GroupEntry
from penstock._world.switch.turn import Chassis
from penstock._world.transition import TIME, Record
from penstock.openflow.messages import NO_BUFFER, PacketIn


@dataclass(eq=False)
class _NoMishap(Property):
    """No step of a controller emits the event `mishap`: its name, what happened, and the traceback."""

    mishap: ClassVar[str]
    did: ClassVar[str]
    needs = "a controller that handles something"

    _controllers: frozenset[str] = field(init=False, repr=False, default=frozenset())

    def start(self, network: Network, /) -> None:
        """Begin with controllers that are well."""
        known = (Switch, Host, Fabric)
        self._controllers = frozenset(p.name for p in network.components if not isinstance(p, known))

    def see(self, record: Record, /) -> Hashable | None:
        """See a handler end well or badly."""
        for event in record.events:
            match event:
                case Event(self.mishap, (str(controller), str(what), *_)):
                    return controller, " ".join(what.split()).rstrip("."), _occasion(record)
        return UPHELD if record.node in self._controllers else None

    def next(self, _state: None, seen: tuple[str, str, str], /) -> None:
        """A mishap is a violation."""
        controller, what, occasion = seen
        raise Violated(f"{controller} {self.did} {what}, while it {occasion}.")


def _occasion(record: Record) -> str:
    if record.transition.verb == TIME:
        return "ran a timer"
    if record.at is None:
        return f"did {str(record.transition.what)!r}"
    return f"handled {record.message} from {record.at.port}"


@dataclass(eq=False)
class ControllerCrash(_NoMishap):
    """No handler of a controller raises an exception."""

    sentence = "No handler of the controller raises an exception."
    mishap = "crashed"
    did = "raised"


@dataclass(eq=False)
class ControllerHang(_NoMishap):
    """Every handler of a controller comes to an end."""

    sentence = "Every handler of the controller comes to an end."
    mishap = "hung"
    did = "did not return:"


UNUSED: Final = "unused"
USED: Final = "used"
FAILED: Final = "failed"
"""How things stand: no switch ever kept a packet; one did; or something failed.

After a failure the controller may never have heard of a packet, so nothing is judged any more.
"""


@dataclass(eq=False)
class NoForgottenPackets(Property):
    """When the network comes to rest, no switch keeps a packet for the controller.

    Switches keep packets only if they have buffers (`SwitchOptions.buffers`); Open vSwitch has none.
    """

    sentence = "The controller releases every packet that a switch buffers for it."
    needs = "switches with buffers, and one that buffers a packet for the controller"
    unjudged_after_faults = "what becomes of packets in buffers"

    def start(self, _network: Network, /) -> str:
        """Begin with unused buffers."""
        return UNUSED

    def see(self, record: Record, /) -> Hashable | None:
        """See that a switch keeps a packet, or that something failed."""
        action = fabric_action(record)
        if action and not is_move(action):
            return FAILED
        kept = any(isinstance(m, PacketIn) and m.buffer_id != NO_BUFFER for _, m in record.sends)
        return USED if kept else None

    def next(self, state: str, seen: str, /) -> str:
        """Remember the worst."""
        return FAILED if FAILED in (state, seen) else USED

    def judges(self, _state: str, _seen: str, /) -> bool:
        """Nothing is judged before the end."""
        return False

    def at_rest(self, state: str, states: Mapping[str, Any], /) -> bool:
        """Look into the buffers."""
        if state != USED:
            return False
        for name, switch in states.items():
            for number, kept in switch.buffers.items() if isinstance(switch, SwitchState) else ():
                packet = packet_label(kept.frame.tag, kept.frame.data)
                raise Violated(
                    f"{name} still holds {packet}, which came in on port {kept.in_port}, in buffer "
                    f"{number}: the controller received its packet-in and never released it."
                )
        return True


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
