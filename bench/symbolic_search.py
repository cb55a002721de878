"""What it costs a search to find its packets by itself: the same search with them given by hand.

The hosts of a small network have Ryu's learning switch, as it was published, tell them what to send.
Each answer is written down.  Then the same search runs again with the answers looked up and the
controller as it is, not followed; it must come to the same states by the same transitions.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

from bench.separately import separately
from bench.symbolic_apps import LEARNING
from penstock._controllers.osken.binding import OsKenController
from penstock._engine.building import Built, build, joined
from penstock._explore.breadth_first import breadth_first
from penstock._explore.compiled_network import CompiledNetwork
from penstock._explore.search import Bounds, Search
from penstock._scenario.scenario import Scenario
from penstock._world.component import Component
from penstock._world.hosts import SymbolicHost
from penstock._world.hosts.symbolic_host import PacketSource
from penstock._world.topology import topology

APPS = (f"ryu.app.{LEARNING}",)
CONTROLLER = "c0"
Answers = dict[Hashable, tuple[bytes, ...]]


class Recording:
    """A source of packets that writes down what another one says."""

    def __init__(self, source: PacketSource) -> None:
        self.reads = source.reads
        self.answers: Answers = {}
        self._source = source

    def packets(self, host: SymbolicHost, seen: Mapping[str, Any]) -> tuple[bytes, ...]:
        """Return the packets that the other source says."""
        found = self._source.packets(host, seen)
        self.answers[_situation(self, host, seen)] = found
        return found

    def table_packets(self, *_: Any) -> tuple[bytes, ...]:
        """Return no packets that only tables treat."""
        return ()


class ByHand:
    """A source of packets that has all its answers from somebody else."""

    def __init__(self, recording: Recording) -> None:
        self.reads = recording.reads
        self._answers = recording.answers

    def packets(self, host: SymbolicHost, seen: Mapping[str, Any]) -> tuple[bytes, ...]:
        """Return the packets that were written down."""
        return self._answers[_situation(self, host, seen)]

    def table_packets(self, *_: Any) -> tuple[bytes, ...]:
        """Return no packets that only tables treat."""
        return ()


def _situation(source: PacketSource, host: SymbolicHost, seen: Mapping[str, Any]) -> Hashable:
    return (host.name, *(seen[name] for name in source.reads))


class Searched(NamedTuple):
    """What a search came to, and how long it took."""

    result: str
    states: int
    transitions: int
    seconds: float


def _built(shape: str, controller: Component | Mapping[str, Any]) -> Built:
    hosts = {node.name: {"kind": "curious"} for node in topology(shape).hosts}
    return build(
        Scenario(
            controller,
            shape,
            hosts,
            properties=("NoForwardingLoops",),
            symbolic={"symmetry": False},
            search={"start": "cold"},
        )
    )


def _searched(built: Built, source: PacketSource, states: int) -> Searched:
    """Have the switches join, and search from there; the source is first asked when they have."""
    for made in built.network.components:
        if isinstance(made, SymbolicHost):
            made.source = source
    started = time.perf_counter()
    start = joined(built.network, CONTROLLER, built.properties).start
    cells = CompiledNetwork(built.network, built.properties, start)
    outcome = breadth_first(Search(cells, Bounds(states=states), first_only=False))
    seconds = time.perf_counter() - started
    return Searched(outcome.result, outcome.states, outcome.transitions, seconds)


def both_ways(shape: str, states: int) -> tuple[Searched, Searched]:
    """Search with packets that are discovered, then with the same given by hand."""
    gc.enable()  # as it is in `penstock check`
    built = _built(shape, {"apps": APPS, "timers": 0})
    assert built.discovery is not None
    recording = Recording(built.discovery)
    discovered = _searched(built, recording, states)
    del built
    gc.collect()
    plain = OsKenController(APPS, {switch.name: switch.dpid for switch in topology(shape).switches})
    by_hand = _searched(_built(shape, plain), ByHand(recording), states)
    return discovered, by_hand


def compare(shape: str, states: int, times: int) -> dict[str, Any]:
    """Search both ways, several times in turn, and return the best times."""
    runs = [separately(both_ways, shape, states) for _ in range(times)]
    discovered, by_hand = (min(searched.seconds for searched in way) for way in zip(*runs, strict=True))
    counts = {searched[:-1] for run in runs for searched in run}
    found = runs[0][0]
    return {
        "topology": shape,
        "result": found.result,
        "states": found.states,
        "transitions": found.transitions,
        "same": len(counts) == 1,
        "discovered_seconds": round(discovered, 3),
        "by_hand_seconds": round(by_hand, 3),
        "ratio": round(discovered / by_hand, 2),
    }
