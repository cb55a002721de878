"""Networks to try properties on: native controllers, model switches, and an exhaustive search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock._controllers.controller import Controller
from penstock._controllers.native import NativeController
from penstock._explore.breadth_first import breadth_first
from penstock._explore.compiled_network import CompiledNetwork
from penstock._explore.search import Bounds, Outcome, Search, Violation
from penstock._properties.base import Property, never_exercised
from penstock._properties.watch import Watch
from penstock._world.assembly import build_network
from penstock._world.faults import NO_FAULTS, Faults
from penstock._world.hosts import HostMaker
from penstock._world.network import GlobalState, Network
from penstock._world.switch import SwitchOptions
from penstock._world.topology import Topology, topology
from penstock._world.topology.builder import TopologyBuilder
from penstock._world.transition import Record
from penstock._world.world import World
from penstock.openflow.messages import V13

MOST_STATES = 400_000


def lab(
    shape: str | Topology,
    program: Any,
    hosts: Mapping[str, HostMaker],
    faults: Faults = NO_FAULTS,
    **switch: Any,
) -> Network:
    """Return a network under a native controller (or any other component in its place)."""
    drawing = topology(shape) if isinstance(shape, str) else shape
    if isinstance(program, Controller):
        program = NativeController(program, tuple(node.name for node in drawing.switches))
    options = SwitchOptions(**{"version": V13, "counters": False, **switch})
    return build_network(drawing, hosts=hosts, controllers=program, switches=options, faults=faults)


def free_port_room() -> Topology:
    """Return h1 and h2 on s1, which has a free port 3."""
    builder = TopologyBuilder()
    builder.add_switch("s1", ports=(3,))
    for name in ("h1", "h2"):
        builder.add_host(name)
        builder.add_link(name, "s1")
    return builder.build()


ROOM = free_port_room()


def ready(network: Network) -> GlobalState:
    """Return the network once the controller and the switches have done all they do by themselves."""
    world = World(network)

    def of_network(transitions: tuple[Any, ...]) -> Any:
        own = (t for t in transitions if t.verb == "deliver" or t.node == "c0" or t.node.startswith("s"))
        return next(own, None)

    while (transition := of_network(world.enabled())) is not None:
        world.take(transition)
    return world.snapshot()


def watch_steps(world: World, watch: Watch) -> None:
    """Have a watch told of every step of a world."""

    def tell(record: Record) -> None:
        watch.observe(record, {})

    world.observe(tell)


@dataclass
class Result:
    """What a search said about some properties."""

    outcome: Outcome
    warnings: tuple[str, ...]
    broken: dict[str, str]
    stories: dict[str, list[str]]

    @property
    def exercised(self) -> dict[str, int]:
        """How often each property was put to the test."""
        return self.outcome.exercised


def search(
    network: Network, *properties: Property, start: GlobalState | None = None, first_only: bool = True
) -> Result:
    """Search every execution from when the controller is ready, breadth first.

    What is found is taken again in a `World`, where the property must break in the same words.
    """
    start = ready(network) if start is None else start
    cells = CompiledNetwork(network, properties, start)
    outcome = breadth_first(Search(cells, Bounds(states=MOST_STATES), first_only=first_only))
    for violation in outcome.violations:
        assert retold(network, start, properties, violation) == violation.message
    return Result(
        outcome,
        never_exercised(properties, outcome.exercised),
        {violation.property: violation.message for violation in outcome.violations},
        {violation.property: [str(step) for step in violation.path] for violation in outcome.violations},
    )


def retold(
    network: Network, start: GlobalState, properties: tuple[Property, ...], violation: Violation
) -> str | None:
    """Return how a violation's property breaks when its path is taken again."""
    world = World(network)
    world.restore(start)
    watch = Watch(network, properties)

    def states() -> dict[str, Any]:
        return {name: world.state(name) for name in network.names}

    for transition in violation.path:
        assert violation.property not in watch.broken, "the path is longer than it need be"
        watch.observe(world.take(transition), states())
    if violation.property not in watch.broken:
        watch.at_rest(states())
    return watch.broken.get(violation.property)
