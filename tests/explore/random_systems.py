"""Random small component systems: the ground on which searches and reductions are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any
from zlib import crc32

from penstock._properties.base import Property, Violated
from penstock._world.component import Endpoint, Event, Port, Send, Step
from penstock._world.fabric import Fabric, Wire
from penstock._world.faults import Faults
from penstock._world.network import Network
from penstock._world.signals import FABRIC


@dataclass
class Automaton:
    """A component that follows a table made at random; it sends a bounded number of messages."""

    name: str
    table: dict[tuple[int, str], tuple[int, tuple[Send, ...], tuple[Event, ...]]]
    offered: dict[int, tuple[str, ...]]
    budget: int

    def initial(self) -> tuple[int, int]:
        return 0, self.budget

    def actions(self, state: tuple[int, int]) -> tuple[str, ...]:
        return self.offered[state[0]] if state[1] else ()

    def _go(self, state: tuple[int, int], key: str) -> Step:
        after, sends, events = self.table[state[0], key]
        if state[1] == 0:
            sends = ()
        return Step((after, max(0, state[1] - 1)), sends, events)

    def act(self, state: tuple[int, int], action: str) -> Step:
        return self._go(state, action)

    def receive(self, state: tuple[int, int], port: Any, message: Any) -> Step:
        return self._go(state, f"{port}{message}")


@dataclass
class Onlooker(Automaton):
    """An automaton whose actions come and go with the states of others, in a way made at random."""

    reads: tuple[str, ...]
    salt: int
    restless: bool
    """Whether it goes on, without sending anything, when it has sent all it may: then runs have no end."""

    def actions(self, state: tuple[int, int]) -> tuple[str, ...]:
        raise AssertionError("an aware component is asked for its actions with the others in view")

    def actions_given(self, state: tuple[int, int], seen: Mapping[str, Any]) -> tuple[str, ...]:
        assert tuple(seen) == self.reads
        if not state[1] and not self.restless:
            return ()
        sights = [_sight(name, other) for name, other in seen.items()]
        return _CHOICES[crc32(repr((self.salt, state[0], sights)).encode()) % len(_CHOICES)]


_CHOICES = ((), ("a",), ("b",), ("a", "b"), ("b", "a"))


def _sight(name: str, state: Any) -> object:
    """Return what an onlooker makes of a state; of automata not all, so that some changes are harmless."""
    if name == FABRIC:
        return len(state.wiring.cut), state.budget.drops, state.budget.duplicates
    return state[0]


@dataclass
class Order(Property):
    """Broken when events come in an order made at random."""

    rows: dict[tuple[int, str], int]
    forbidden: frozenset[int]

    def start(self, _network: Network, /) -> int:
        return 0

    def see(self, record: Any, /) -> str | None:
        kinds = "".join(event.kind for event in record.events if event.kind in "xy")
        return kinds or None

    def next(self, state: int, seen: str, /) -> int:
        for kind in seen:
            state = self.rows[state, kind]
            if state in self.forbidden:
                raise Violated(f"reached {state}")
        return state


def random_network(random: Random, *, faults: bool = False, aware: bool = False) -> tuple[Network, Order]:
    """Return a network of two to four automata on a line or in a ring, and a property of it."""
    count = random.randint(2, 4)
    names = [f"p{i}" for i in range(count)]
    pairs = [(i, i + 1) for i in range(count - 1)]
    if count > 2 and random.random() < 0.5:
        pairs.append((count - 1, 0))
    ports, wires = _wired(names, pairs)
    components = [
        random_automaton(random, name, ports[name], 1 if faults else random.randint(1, 2)) for name in names
    ]
    if aware:
        components = [_opened_eyes(random, component, names) for component in components]
    allowed = random.choice([Faults(drops=1), Faults(duplicates=1, reorders=1), Faults(link_failures=1)])
    fabric = Fabric(cables=wires, faults=allowed if faults else Faults())
    return Network(components, fabric, _ends(wires)), _order(random)


def _wired(names: list[str], pairs: list[tuple[int, int]]) -> tuple[dict[str, list[int]], list[Wire]]:
    """Return the ports of components, given which of them are joined, and the wires."""
    ports: dict[str, list[int]] = {name: [] for name in names}
    wires = []
    for pair in pairs:
        ends = []
        for name in (names[i] for i in pair):
            ports[name].append(len(ports[name]) + 1)
            ends.append(Endpoint(name, ports[name][-1]))
        wires.append(Wire(*ends))
    return ports, wires


def _ends(wires: list[Wire]) -> list[Endpoint]:
    return [end for wire in wires for end in wire]


def _order(random: Random) -> Order:
    rows = {(state, kind): random.randrange(4) for state in range(4) for kind in "xy"}
    return Order(rows, frozenset({3} if random.random() < 0.7 else ()))


def random_automaton(random: Random, name: str, ports: Sequence[Port], budget: int) -> Automaton:
    states = random.randint(1, 3)
    keys = ["a", "b", *(f"{port}{message}" for port in ports for message in "mn")]
    keys += [f"fabricCarrier(port {port} {way})" for port in ports for way in ("up", "down")]
    table = {}
    for state in range(states):
        for key in keys:
            sends = tuple(
                Send(random.choice(ports), random.choice("mn")) for _ in range(random.choice((0, 1, 1, 2)))
            )
            events = tuple(Event(random.choice("xyz")) for _ in range(random.choice((0, 0, 1))))
            table[state, key] = (random.randrange(states), sends, events)
    offered = {state: tuple(random.sample(("a", "b"), random.randint(0, 2))) for state in range(states)}
    return Automaton(name, table, offered, budget)


def _opened_eyes(random: Random, automaton: Automaton, names: list[str]) -> Automaton:
    """Return an automaton that looks at others, or in one case of three the one that was given."""
    if random.random() < 1 / 3:
        return automaton
    others = [name for name in (*names, FABRIC) if name != automaton.name]
    return _onlooker(random, automaton, random.sample(others, min(random.choice((1, 1, 2, 4)), len(others))))


def _onlooker(random: Random, automaton: Automaton, reads: list[str]) -> Onlooker:
    salt, restless = random.randrange(1000), random.random() < 0.3
    return Onlooker(**vars(automaton), reads=tuple(reads), salt=salt, restless=restless)


def sparsely_aware_network(random: Random) -> tuple[Network, Order]:
    """Return a network of four to six automata in a tree, of which one looks at one or two others."""
    count = random.randint(4, 6)
    names = [f"p{i}" for i in range(count)]
    ports, wires = _wired(names, [(random.randrange(i), i) for i in range(1, count)])
    components = [random_automaton(random, name, ports[name], 1) for name in names]
    reader = random.randrange(count)
    others = [name for name in (*names, FABRIC) if name != names[reader]]
    reads = random.sample(others, random.choice((1, 1, 2)))
    components[reader] = _onlooker(random, components[reader], reads)
    return Network(components, Fabric(cables=wires), _ends(wires)), _order(random)
