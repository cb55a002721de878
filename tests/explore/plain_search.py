"""A search as plain as can be, over `World` alone: what the real ones are compared with."""

from __future__ import annotations

from collections import deque
from typing import Any

from penstock._properties.base import Property, Violated
from penstock._world.network import GlobalState, Network
from penstock._world.world import World

LARGEST = 300
"""Systems with more states than this are passed over: the plain search is slow on purpose."""


Place = tuple[GlobalState, Any]
"""A state of the network, and of the property."""


class TooLarge(Exception):
    """The system is too large for the plain search."""


def oracle(network: Network, watcher: Property) -> tuple[dict[Place, int], set[Place], dict[str, int]]:
    """Search with `World` alone: states with their depths, states at rest, violations with theirs."""
    world = World(network)
    first = (world.snapshot(), watcher.start(network))
    depths, resting = {first: 0}, set[Place]()
    broken: dict[str, int] = {}
    waiting = deque([first])
    while waiting:
        here = waiting.popleft()
        world.restore(here[0])
        transitions = world.enabled()
        if not any(t.verb == "deliver" or (t.verb == "act" and t.node != "fabric") for t in transitions):
            resting.add(here)
        for transition in transitions:
            world.restore(here[0])
            record = world.take(transition)
            watched, seen = here[1], watcher.see(record)
            if seen is not None:
                try:
                    watched = watcher.next(watched, seen)
                except Violated as violated:
                    broken.setdefault(str(violated), depths[here] + 1)
                    continue
            after = (world.snapshot(), watched)
            if after not in depths:
                depths[after] = depths[here] + 1
                waiting.append(after)
                if len(depths) > LARGEST:
                    raise TooLarge
    return depths, resting, broken
