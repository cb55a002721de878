"""A property sees the same of a step in a run as in a search, whatever the step."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from penstock._controllers.controller import FLOOD, Controller
from penstock._controllers.native import NativeController
from penstock._explore.breadth_first import breadth_first
from penstock._explore.compiled_network import CompiledNetwork
from penstock._explore.search import Bounds, Search
from penstock._properties.base import Property
from penstock._properties.watch import Watch
from penstock._world.assembly import build_network
from penstock._world.faults import Faults
from penstock._world.hosts import host
from penstock._world.network import Network
from penstock._world.switch import SwitchOptions
from penstock._world.topology import topology
from penstock._world.transition import Record
from penstock._world.world import World
from penstock.openflow.actions import Output
from penstock.openflow.messages import PacketIn, PortNo


class Hub(Controller):
    def switch_join(self, switch: str) -> None:
        self.install(switch, actions=(Output(PortNo.CONTROLLER),), priority=0)

    def packet_in(self, switch: str, message: PacketIn) -> None:
        self.packet_out(switch, message, FLOOD)


class Everything(Property):
    """Remembers each step by all that was shown of it."""

    def __init__(self) -> None:
        self.shown: set[tuple[Any, ...]] = set()

    def see(self, record: Record, /) -> Hashable | None:
        self.shown.add((record.transition, record.message, record.sends, record.events, record.lost))
        return None


def network() -> Network:
    return build_network(
        topology("linear,2"),
        hosts={"h1": host("client", to="h2")},
        controllers=NativeController(Hub(), ("s1", "s2")),
        switches=SwitchOptions(counters=False),
        faults=Faults(link_failures=1, drops=1),
    )


def test_what_a_run_shows_a_search_shows_too() -> None:
    searched = CompiledNetwork(network(), [Everything()])
    breadth_first(Search(searched, Bounds()), sleep=False)
    (in_search,) = searched.properties
    assert isinstance(in_search, Everything)

    watch = Watch(network(), [Everything()])
    (in_run,) = watch.properties
    assert isinstance(in_run, Everything)
    world = World(network())
    waiting, known = [world.snapshot()], {world.snapshot()}
    while waiting:
        here = waiting.pop()
        world.restore(here)
        for transition in world.enabled():
            world.restore(here)
            watch.observe(world.take(transition), {})
            if world.snapshot() not in known:
                known.add(world.snapshot())
                waiting.append(world.snapshot())
    assert in_run.shown == in_search.shown
    assert any(transition.what == "fail s1-s2" for transition, *_ in in_run.shown)
