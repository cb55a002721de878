"""Random systems for reductions: with properties of every sort, with runs that have no end, with faults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.explore.random_systems import Automaton, Order, random_network, sparsely_aware_network

from penstock._explore.breadth_first import breadth_first
from penstock._explore.compiled_network import CompiledNetwork
from penstock._explore.depth_first import depth_first
from penstock._explore.expand import expand_all
from penstock._explore.search import Bounds, Key, Search, Successors
from penstock._properties.base import Property, Violated
from penstock._world.network import Network
from penstock._world.signals import FABRIC

LARGEST = 250
"""Systems with more states than this are passed over."""


class Restless(Automaton):
    """An automaton that goes on when it has sent all it may: then runs have no end."""

    def actions(self, state: tuple[int, int]) -> tuple[str, ...]:
        return self.offered[state[0]]


@dataclass
class OtherOrder(Order):
    """Broken like `Order`, by other events, of which it shares one kind."""

    def see(self, record: Any, /) -> str | None:
        kinds = "".join(event.kind for event in record.events if event.kind in "yz")
        return kinds.replace("z", "x") or None


@dataclass
class Together(Property):
    """Broken when components are in certain states at the same time."""

    names: tuple[str, ...]
    forbidden: frozenset[tuple[int, ...]]

    @property
    def name(self) -> str:
        return f"Together({','.join(self.names)})"

    @property
    def reads(self) -> tuple[str, ...]:
        return self.names

    def check(self, states: Mapping[str, Any], /) -> bool:
        found = tuple(states[name][0] for name in self.names)
        if found in self.forbidden:
            raise Violated(f"they are in {found}")
        return True


@dataclass
class InTheEnd(Property):
    """Broken when the network comes to rest in certain states."""

    forbidden: int

    def at_rest(self, _state: None, states: Mapping[str, Any], /) -> bool:
        total = sum(state[0] for name, state in states.items() if name != FABRIC)
        if total == self.forbidden:
            raise Violated(f"the states add up to {total}")
        return True


def random_cells(
    seed: int, *, faults: bool = False, aware: bool = False, restless: bool = False, sparse: bool = False
) -> CompiledNetwork:
    """Return a random network with random properties, compiled."""
    random = Random(seed)
    if sparse:
        network, order = sparsely_aware_network(random)
    else:
        network, order = random_network(random, faults=faults, aware=aware)
    if restless:
        network = _made_restless(random, network)
    names = [component.name for component in network.components if component.name != FABRIC]
    properties: list[Property] = [order] if random.random() < 0.5 else []
    if random.random() < 0.4:
        rows = {(state, kind): random.randrange(4) for state in range(4) for kind in "xy"}
        properties.append(OtherOrder(rows, frozenset({random.randrange(1, 4)})))
    if random.random() < 0.5:
        read = tuple(random.sample(names, random.choice((1, 2, 2))))
        combinations = {tuple(random.randrange(3) for _ in read) for _ in range(2)}
        properties.append(Together(read, frozenset(combinations) - {(0,) * len(read)}))
    if random.random() < 0.5:
        properties.append(InTheEnd(random.randrange(1, 6)))
    return CompiledNetwork(network, properties)


def _made_restless(random: Random, network: Network) -> Network:
    components = [
        Restless(**vars(each)) if type(each) is Automaton and random.random() < 0.6 else each
        for each in network.components
        if each.name != FABRIC
    ]
    return Network(components, network.fabric, [end for end in network.channels if end.node != FABRIC])


def is_small(cells: CompiledNetwork) -> bool:
    """Tell whether a system has no more states than the largest that is compared."""
    expand, first = expand_all(cells), cells.initial()
    met, waiting = {first}, [first]
    while waiting and len(met) <= LARGEST:
        for after in expand(waiting.pop())[0]:
            if after not in met:
                met.add(after)
                if after < cells.violated:
                    waiting.append(after)
    return len(met) <= LARGEST


class Noting(Search):
    """A search that notes which states are at rest."""

    def __init__(
        self, cells: CompiledNetwork, successors: Successors | None = None, key: Key | None = None
    ) -> None:
        super().__init__(cells, Bounds(), first_only=False, successors=successors, key=key)
        self.resting: set[int] = set()

    def at_rest(self, state: int) -> None:
        self.resting.add(state)
        super().at_rest(state)

    @property
    def found(self) -> tuple[set[int], set[tuple[str, str]]]:
        """The states at rest, and what was broken, in which way."""
        return self.resting, {(each.property, each.message) for each in self.outcome.violations}


def searched(
    cells: CompiledNetwork, successors: Successors | None, *, order: str = "breadth", sleep: bool = False
) -> Noting:
    """Return a search of all that successors leave, to its end."""
    search = Noting(cells, successors)
    {"breadth": breadth_first, "depth": depth_first}[order](search, sleep=sleep)
    return search
