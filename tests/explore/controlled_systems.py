"""Random small systems with a controller: automata joined by links and control sessions."""

from __future__ import annotations

from pathlib import Path
from random import Random

from tests.explore.random_systems import Automaton, Order, random_automaton

from penstock._explore.compiled_network import CompiledNetwork
from penstock._explore.search import Bounds, Search
from penstock._explore.strategies.guide import Guide
from penstock._explore.strategies.plan import Plan, plan_of
from penstock._properties.base import Property
from penstock._world.component import Endpoint, Port
from penstock._world.fabric import Fabric, Wire
from penstock._world.faults import Faults
from penstock._world.network import Network

PORTS: dict[str, list[Port]] = {
    "c0": ["s1", "s2", "s3"],
    "s1": ["c0", 1, 2],
    "s2": ["c0", 1, 2],
    "s3": ["c0", 1],
    "h1": [1],
}
SESSIONS = [Wire(Endpoint(switch, "c0"), Endpoint("c0", switch)) for switch in ("s1", "s2", "s3")]
LINKS = [("h1", 1, "s1", 1), ("s1", 2, "s2", 1), ("s2", 2, "s3", 1)]


def controlled_network(random: Random, *, faults: bool = False) -> tuple[Network, Order]:
    """Return a host, three switches in a row and a controller, all automata, and a property of them."""
    components: list[Automaton] = [
        random_automaton(random, name, ports, random.choice((1, 1, 2))) for name, ports in PORTS.items()
    ]
    wires = [Wire(Endpoint(a, i), Endpoint(b, j)) for a, i, b, j in LINKS]
    fabric = Fabric(
        cables=wires,
        sessions=SESSIONS,
        switches=["s1", "s2", "s3"],
        controllers=["c0"],
        faults=Faults(drops=1) if faults else Faults(),
    )
    channels = [Endpoint(name, port) for name, ports in PORTS.items() for port in ports]
    rows = {(state, kind): random.randrange(4) for state in range(4) for kind in "xy"}
    return Network(components, fabric, channels), Order(rows, frozenset({3}))


def planned(network: Network, watchers: list[Property], *names: object) -> tuple[Search, Guide, Plan]:
    """Return a search of a network by strategies that are named."""
    plan = plan_of(names, Path())
    cells = CompiledNetwork(network, [*watchers, *plan.watchers()])
    guide = plan.guide(cells)
    search = Search(cells, Bounds(), first_only=False, successors=guide if plan.narrowing else None)
    return search, guide, plan
