"""Which input comes next: what is possible now, drawn by seed, or read from a script.

What can be done to a network right now: the generator chooses from this, the console lists it.

Only what failed can recover, only a loaded channel can lose a message, a host moves only to a port
that is free.  Nothing is computed before it is asked for, and what is asked for is read off the wiring,
so that a choice costs little in a large network too.

The generator: which input comes next, by seed.

A kind is drawn by its rate, then one of the things that can be done of that kind now.  A kind of which
nothing is possible (nothing failed, so nothing can recover) is drawn again, so rates are relative to
what is possible.  The same seed on the same network gives the same inputs, as long as the network does
the same.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from random import Random
from typing import Any, Final, Protocol, TypeVar

from penstock._fuzz.building import FuzzContext
from penstock._fuzz.delivery_scheduler import DeliveryScheduler
from penstock._fuzz.inputs import (
    EVERYBODY,
    ChangePolicy,
    Check,
    Delay,
    Fault,
    ForgetEntry,
    Hold,
    IgnoreFlowMods,
    InjectFrame,
    Input,
    LimitTables,
    MoveHost,
    Release,
    SendPacket,
    Wait,
    WireFault,
    input_of,
)
from penstock._fuzz.traffic import odd_frame
from penstock._world.channels import can_suffer
from penstock._world.component import Endpoint
from penstock._world.fabric import Wire, Wiring
from penstock._world.hosts import Host
from penstock._world.signals import FABRIC
from penstock._world.world import World


class Possible:
    """The inputs that make sense now, by kind."""

    def __init__(self, setting: FuzzContext, world: World, courier: DeliveryScheduler) -> None:
        self.setting = setting
        self._world = world
        self._courier = courier
        self._limited: dict[str, int] = {}

    def note_limit(self, switch: str, entries: int | None) -> None:
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
            for channel in self._courier.nonempty()
            if channel in data and can_suffer(self._world.queue(channel), fault)
        ]

    def data_loaded(self) -> list[Endpoint]:
        """Return the data channels that hold frames and do not stand still."""
        held = self._courier.held
        data = self.setting.data_channels
        return [channel for channel in self._courier.nonempty() if channel in data and channel not in held]

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


_TRIES: Final = 50
"""How often a kind is drawn before the generator lets time pass instead."""
_PROTOCOLS: Final = ("ping", "ping", "ping", "ping", "tcp", "tcp", "udp", "arp")
_NUMBERS: Final = (1, 1, 1, 1, 2, 2, 3, 4)
"""Which packets of a kind are sent between two hosts: mostly those that were sent before."""
_DELAYS: Final = (10, 50, 200, 1000)
_WAITS: Final = (10, 100, 1000, 6000)
_REAL_WAITS: Final = (10, 50, 200)
"""How long to wait where the time is that of real processes."""
_MOST_ENTRIES: Final = 6
_MOST_IGNORED: Final = 3

T = TypeVar("T")
Maker = Callable[[Possible], Input | None]


class Generator:
    """Draws inputs that are possible now."""

    def __init__(self, setting: FuzzContext, seed: int) -> None:
        self._setting = setting
        self._random = Random(f"inputs {seed}")
        self._stations = [setting.addresses[name] for name in setting.talkers]
        self._waits = _REAL_WAITS if setting.commands else _WAITS
        self._injected = 0
        makers: dict[str, Maker] = {
            "link_failure": lambda now: self._fault("fail", now.links_up()),
            "link_recovery": lambda now: self._fault("recover", now.links_cut()),
            "switch_failure": lambda now: self._fault("fail", now.switches_on()),
            "switch_recovery": lambda now: self._fault("recover", now.switches_off()),
            "controller_crash": lambda now: self._fault("crash", now.controllers_up()),
            "controller_restart": lambda now: self._fault("restart", now.controllers_down()),
            "disconnect": lambda now: self._fault("disconnect", now.sessions_up()),
            "reconnect": lambda now: self._fault("reconnect", now.sessions_cut()),
            "partition": lambda now: self._fault("partition", now.to_partition()),
            "heal": lambda now: self._fault("heal", now.to_heal()),
            "packet": self._packet,
            "broadcast": self._broadcast,
            "odd_packet": self._odd_packet,
            "class_packet": self._class_packet,
            "packet_drop": lambda now: self._wire_fault("drop", now),
            "packet_duplicate": lambda now: self._wire_fault("duplicate", now),
            "packet_reorder": lambda now: self._wire_fault("reorder", now),
            "packet_delay": lambda now: self._delay(now.data_loaded()),
            "control_delay": lambda now: self._delay(now.control_free()),
            "control_block": self._control_block,
            "control_unblock": self._control_unblock,
            "migration": self._migration,
            "table_limit": self._table_limit,
            "table_unlimit": self._table_unlimit,
            "entry_loss": self._entry_loss,
            "flow_mod_loss": self._flow_mod_loss,
            "policy": self._policy,
            "check": lambda _: Check(),
            "wait": lambda _: Wait(self._random.choice(self._waits)),
        }
        self._makers = [makers[kind] for kind in setting.rates]
        self._weights = list(accumulate(setting.rates.values()))

    is_over: Final = False
    """There is always something that can go wrong."""

    def next(self, possible: Possible) -> Input:
        """Return what to do next."""
        weights, random = self._weights, self._random.random
        for _ in range(_TRIES):
            drawn = bisect(weights, random() * weights[-1], 0, len(weights) - 1)
            found = self._makers[drawn](possible)
            if found is not None:
                return found
        return Wait(self._waits[0])

    def _any(self, choices: Sequence[T]) -> T | None:
        return self._random.choice(choices) if choices else None

    # Failures.

    def _fault(self, verb: str, targets: list[str]) -> Input | None:
        target = self._any(targets)
        return None if target is None else Fault(verb, target)

    def _wire_fault(self, fault: str, now: Possible) -> Input | None:
        channel = self._any(now.suffering(fault))
        return None if channel is None else WireFault(fault, channel)

    def _delay(self, channels: list[Endpoint]) -> Input | None:
        channel = self._any(channels)
        return None if channel is None else Delay(channel, self._random.choice(_DELAYS))

    def _control_block(self, now: Possible) -> Input | None:
        channel = self._any(now.control_free())
        return None if channel is None else Hold(channel)

    def _control_unblock(self, now: Possible) -> Input | None:
        channel = self._any(now.held())
        return None if channel is None else Release(channel)

    def _migration(self, now: Possible) -> Input | None:
        move = self._any(now.moves())
        return None if move is None else MoveHost(*move)

    # Tables.

    def _table_limit(self, now: Possible) -> Input | None:
        switch = self._any(now.switches_on())
        return None if switch is None else LimitTables(switch, self._random.randint(1, _MOST_ENTRIES))

    def _table_unlimit(self, now: Possible) -> Input | None:
        switch = self._any(now.limited_switches())
        return None if switch is None else LimitTables(switch, None)

    def _entry_loss(self, now: Possible) -> Input | None:
        switch = self._any(now.with_entries())
        return None if switch is None else ForgetEntry(switch, self._random.randint(1, now.entries(switch)))

    def _flow_mod_loss(self, now: Possible) -> Input | None:
        switch = self._any(now.switches_on())
        return None if switch is None else IgnoreFlowMods(switch, self._random.randint(1, _MOST_IGNORED))

    # Traffic.

    def _packet(self, _: Possible) -> Input | None:
        if len(self._stations) < 2:
            return None
        sender, to = self._random.sample(self._stations, 2)
        return self._random_send(sender.name, to.name)

    def _broadcast(self, _: Possible) -> Input | None:
        sender = self._any(self._stations)
        return None if sender is None else self._random_send(sender.name, EVERYBODY)

    def _random_send(self, sender: str, to: str) -> Input:
        protocol = self._random.choice(_PROTOCOLS)
        return SendPacket(sender, to, protocol, self._random.choice(_NUMBERS))

    def _odd_packet(self, _: Possible) -> Input | None:
        if not self._stations:
            return None
        sender, data = odd_frame(self._random, self._stations)
        return self._injection(Endpoint(sender.name, sender.port), data)

    def _class_packet(self, now: Possible) -> Input | None:
        discovery = self._setting.discovery
        hosts = [made for made in self._setting.network.components if isinstance(made, Host)]
        host = self._any(hosts)
        if discovery is None or host is None:
            return None
        known = self._any(discovery.classes(host, now.states()))
        return None if known is None else self._injection(Endpoint(host.name, host.port), known.data)

    def _injection(self, channel: Endpoint, data: bytes) -> Input:
        self._injected += 1
        return InjectFrame(channel, data, f"{channel.node}~{self._injected}")

    # The user's.

    def _policy(self, _: Possible) -> Input | None:
        name = self._any(sorted(self._setting.policies))
        return None if name is None else ChangePolicy(name, self._random.randrange(1000))


class Source(Protocol):
    """Where inputs come from."""

    @property
    def is_over(self) -> bool:
        """Tell whether there are no more."""
        ...

    def next(self, possible: Possible) -> Input:
        """Return what to do next."""
        ...


class ScriptedInputs:
    """The inputs of a scenario, one after the other."""

    def __init__(self, texts: Sequence[str]) -> None:
        inputs = [input_of(text) for text in texts]
        self._left = len(inputs)
        self._inputs: Iterator[Input] = iter(inputs)

    @property
    def is_over(self) -> bool:
        """Tell whether all of them were handed out."""
        return not self._left

    def next(self, possible: Possible) -> Input:  # noqa: ARG002 - what is written is done, possible or not
        """Return the next of them."""
        self._left -= 1
        return next(self._inputs)
