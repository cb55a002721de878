"""The abstraction covers the network: what `check` finds for a few packets, `verify` finds for any number."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from tests.verify.random_programs import Ingredients, case, ingredients, kind_of, network_with

from penstock._engine.building import joined
from penstock._explore.breadth_first import breadth_first
from penstock._explore.compiled_network import CompiledNetwork
from penstock._explore.search import Bounds, Outcome, Search
from penstock._properties.base import Property, Violated
from penstock._properties.loops import NoForwardingLoops
from penstock._verify.invariants import NeverReceives, NoLoops
from penstock._verify.verification import verify
from penstock._world.frame import Frame
from penstock._world.hosts import Host
from penstock._world.hosts.host import Turn
from penstock._world.transition import Record
from penstock.openflow.messages import PacketOut
from penstock.packet import Ethernet, parse

SEEDS = 120
PORTIONS = 3
SENT = 2
"""How many packets a host sends."""
AT_MOST = Bounds(states=2_000)


@dataclass(eq=False, kw_only=True)
class Sender(Host):
    """Sends so many of its packets, each as often as it likes."""

    packets: tuple[Ethernet, ...] = ()

    def start(self) -> int:
        return SENT

    def offers(self, left: int, /) -> tuple[str, ...]:
        return tuple(f"send {number}" for number in range(len(self.packets))) if left else ()

    def perform(self, left: int, action: str, /) -> Turn:
        return Turn(left - 1, (self.packets[int(action.removeprefix("send "))],))


class Unseen(Property):
    """The concrete counterpart of a property: a host gets no watched packet, or no switch drops one."""

    def __init__(self, parts: Ingredients) -> None:
        self._parts = parts

    def see(self, record: Record, /) -> Hashable | None:
        frame = record.message
        if isinstance(frame, PacketOut):
            frame = Frame(frame.data)
        if not isinstance(frame, Frame) or kind_of(parse(frame.data)) != self._parts.watched:
            return None
        if isinstance(self._parts.made, NeverReceives):
            return "received" if record.node == self._parts.host else None
        dropped = any(event.kind == "dropped" for event in record.events)
        asked = any(flight.channel.port == "c0" for flight in record.sends)
        return "dropped" if dropped and not asked else None

    def next(self, _state: Any, seen: str, /) -> Any:
        raise Violated(f"A packet was {seen}.")


def _checked(seed: int) -> Outcome:
    parts = ingredients(seed)
    hosts = {name: partial(Sender, packets=packets) for name, packets in parts.packets.items()}
    network = network_with(parts, hosts)
    watcher: Property = NoForwardingLoops() if isinstance(parts.made, NoLoops) else Unseen(parts)
    cells = CompiledNetwork(network, [watcher], joined(network, "c0").start)
    return breadth_first(Search(cells, AT_MOST))


@pytest.mark.parametrize("portion", range(PORTIONS))
def test_what_check_finds_verify_finds(portion: int) -> None:
    found = 0
    for seed in range(portion, SEEDS, PORTIONS):
        if _checked(seed).result == "violation":
            found += 1
            model, properties = case(seed)
            assert verify(model, properties).verdict == "violated", seed
    assert found > SEEDS / PORTIONS / 10
