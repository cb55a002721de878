"""The generator: which input comes next, by seed.

A kind is drawn by its rate, then one of the things that can be done of that kind now.  A kind of which
nothing is possible (nothing failed, so nothing can recover) is drawn again, so rates are relative to
what is possible.  The same seed on the same network gives the same inputs, as long as the network does
the same.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Sequence
from itertools import accumulate
from random import Random
from typing import Final, TypeVar

from penstock._fuzz.building import FuzzContext
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
)
from penstock._fuzz.possible import Possible
from penstock._fuzz.traffic import odd_frame
from penstock._world.component import Endpoint
from penstock._world.hosts import Host

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
        return self._ordered(sender.name, to.name)

    def _broadcast(self, _: Possible) -> Input | None:
        sender = self._any(self._stations)
        return None if sender is None else self._ordered(sender.name, EVERYBODY)

    def _ordered(self, sender: str, to: str) -> Input:
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
