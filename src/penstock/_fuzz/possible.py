"""What can be done to a network right now: the generator chooses from this, the console lists it.

Only what failed can recover, only a loaded channel can lose a message, a host moves only to a port
that is free.  Nothing is computed before it is asked for, and what is asked for is read off the wiring,
so that a choice costs little in a large network too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock._fuzz.building import FuzzContext
from penstock._fuzz.delivery_scheduler import DeliveryScheduler
from penstock._world.channels import can_suffer
from penstock._world.component import Endpoint
from penstock._world.fabric import Wire, Wiring
from penstock._world.signals import FABRIC
from penstock._world.world import World


class Possible:
    """The inputs that make sense now, by kind."""

    def __init__(self, setting: FuzzContext, world: World, courier: DeliveryScheduler) -> None:
        self.setting = setting
        self._world = world
        self._courier = courier
        self._limited: dict[str, int] = {}

    def limited(self, switch: str, entries: int | None) -> None:
        """Take note that a switch's tables are limited, or no longer so."""
        if entries is None:
            self._limited.pop(switch, None)
        else:
            self._limited[switch] = entries

    @property
    def wiring(self) -> Wiring:
        """How the wires are now."""
        found: Wiring = self._world.state(FABRIC).wiring
        return found

    def states(self) -> dict[str, Any]:
        """Return the states of all components by name."""
        return {name: self._world.state(name) for name in self._world.network.names}

    # Links.

    def _wires_now(self, wiring: Wiring) -> Iterator[tuple[Wire, bool]]:
        """Yield every link as it now runs, and whether its ports are part of its name."""
        moved = dict(wiring.moved)
        for wire, is_long in self.setting.links:
            place = moved.get(wire.a) if moved else None
            yield (wire if place is None else Wire(wire.a, place)), is_long

    def links_up(self) -> list[str]:
        """Return the links that can fail: they are not cut and both ends have power."""
        wiring = self.wiring
        return [_name(wire, is_long) for wire, is_long in self._wires_now(wiring) if _is_live(wiring, wire)]

    def links_cut(self) -> list[str]:
        """Return the links that can recover."""
        wiring = self.wiring
        if not wiring.cut:
            return []
        return [_name(wire, is_long) for wire, is_long in self._wires_now(wiring) if wire.a in wiring.cut]

    # Nodes.

    def switches_on(self) -> list[str]:
        """Return the switches that have power."""
        off = self.wiring.off
        return [name for name in self.setting.switches if name not in off]

    def switches_off(self) -> list[str]:
        """Return the switches that can recover."""
        off = self.wiring.off
        return [name for name in self.setting.switches if name in off] if off else []

    def controllers_up(self) -> list[str]:
        """Return the controllers that can crash."""
        off = self.wiring.off
        return [name for name in self.setting.controllers if name not in off]

    def controllers_down(self) -> list[str]:
        """Return the controllers that can restart."""
        off = self.wiring.off
        return [name for name in self.setting.controllers if name in off] if off else []

    # Sessions.

    def sessions_up(self, controller: str | None = None) -> list[str]:
        """Return the sessions that can be cut, of one controller or of all."""
        wiring = self.wiring
        return [
            _name(wire, False)
            for wire in self.setting.sessions
            if controller in (None, wire.b.node) and _is_live(wiring, wire)
        ]

    def sessions_cut(self, controller: str | None = None) -> list[str]:
        """Return the sessions that can be opened again, of one controller or of all."""
        cut = self.wiring.cut
        return [
            _name(wire, False)
            for wire in self.setting.sessions
            if controller in (None, wire.b.node) and wire.a in cut
        ]

    def sessions_to(self, verb: str, controller: str) -> list[str]:
        """Return the sessions that a partition of a controller cuts, or that healing it mends."""
        return self.sessions_up(controller) if verb == "partition" else self.sessions_cut(controller)

    def to_partition(self) -> list[str]:
        """Return the controllers that have a session to lose."""
        return [name for name in self.setting.controllers if self.sessions_up(name)]

    def to_heal(self) -> list[str]:
        """Return the controllers that lost a session."""
        if not self.wiring.cut:
            return []
        return [name for name in self.setting.controllers if self.sessions_cut(name)]

    # Hosts.

    def moves(self) -> list[tuple[str, Endpoint]]:
        """Return the hosts that can move, each with a free port."""
        if not self.setting.places:
            return []
        moved = dict(self.wiring.moved)
        taken = set(moved.values())
        free = [place for place in self.setting.places if place not in taken]
        found = []
        for host, home in self.setting.homes.items():
            end = Endpoint(host, self.setting.addresses[host].port)
            if end in moved:
                found.append((host, home))
            found += [(host, place) for place in free]
        return found

    # Channels.

    def suffering(self, fault: str) -> list[Endpoint]:
        """Return the data channels whose head can suffer a fault now."""
        data = self.setting.data_channels
        return [
            channel
            for channel in self._courier.loaded()
            if channel in data and can_suffer(self._world.queue(channel), fault)
        ]

    def data_loaded(self) -> list[Endpoint]:
        """Return the data channels that hold frames and do not stand still."""
        held = self._courier.held
        data = self.setting.data_channels
        return [channel for channel in self._courier.loaded() if channel in data and channel not in held]

    def control_free(self) -> list[Endpoint]:
        """Return the control channels of open sessions that do not stand still."""
        wiring, held = self.wiring, self._courier.held
        ends = (end for wire in self.setting.sessions if _is_live(wiring, wire) for end in wire)
        return [end for end in ends if end not in held]

    def held(self) -> tuple[Endpoint, ...]:
        """Return the channels that stand still."""
        return self._courier.held

    # Tables.

    def limited_switches(self) -> list[str]:
        """Return the switches whose tables are limited."""
        return [name for name in self.setting.switches if name in self._limited]

    def entries(self, switch: str) -> int:
        """Return how many flow entries a switch has."""
        return sum(map(len, self._world.state(switch).tables.values()))

    def with_entries(self) -> list[str]:
        """Return the switches that have flow entries."""
        return [name for name in self.setting.switches if self._world.state(name).tables]


def _name(wire: Wire, is_long: bool) -> str:
    """Return what the fabric calls a wire."""
    return f"{wire.a}-{wire.b}" if is_long else f"{wire.a.node}-{wire.b.node}"


def _is_live(wiring: Wiring, wire: Wire) -> bool:
    return wire.a not in wiring.cut and wire.a.node not in wiring.off and wire.b.node not in wiring.off
