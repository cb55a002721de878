"""Every search finds the same states, ends and violations as a plain one written apart from them."""

from __future__ import annotations

from collections import deque
from random import Random

import pytest
from random_systems import Order, random_network

from penstock.explore.breadth_first import breadth_first
from penstock.explore.cells import Cells
from penstock.explore.depth_first import depth_first
from penstock.explore.search import Bounds, Search, fingerprint
from penstock.properties.base import Violated
from penstock.world.network import Network
from penstock.world.world import World

SYSTEMS = 250
"""How many systems a test compares; four such tests make a thousand."""

LARGEST = 300
"""Systems with more states than this are passed over: the plain search is slow on purpose."""


class TooLarge(Exception):
    """The system is too large for the plain search."""


def oracle(network: Network, watcher: Order) -> tuple[dict, set, dict]:
    """Search with `World` alone: states with their depths, states at rest, violations with theirs."""
    world = World(network)
    first = (world.snapshot(), watcher.start(network))
    depths, resting, broken = {first: 0}, set(), {}
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


def searched(network: Network, watcher: Order, order: str, sleep: bool, key: object = None) -> Search:
    search = Search(Cells(network, [watcher]), Bounds(), first_only=False, key=key)
    {"depth-first": depth_first, "breadth-first": breadth_first}[order](search, sleep=sleep)
    return search


@pytest.mark.parametrize("part", [0, 1])
@pytest.mark.parametrize("faults", [False, True], ids=["reliable", "faulty"])
def test_searches_agree_with_a_plain_search_on_a_thousand_random_systems(faults: bool, part: int) -> None:
    violated = compared = saved = 0
    seed = part * 1_000_000
    while compared < SYSTEMS:
        seed += 1
        network, watcher = random_network(Random(seed), faults=faults)
        try:
            depths, resting, broken = oracle(network, watcher)
        except TooLarge:
            continue
        compared += 1
        violated += bool(broken)
        taken = {}
        for order, sleep in [("depth-first", True), ("breadth-first", True), ("breadth-first", False)]:
            search = searched(network, watcher, order, sleep)
            outcome = search.outcome
            assert len([key for key in search.parents if key < search.cells.violated]) == len(depths), seed
            assert outcome.terminal == len(resting), seed
            found = {violation.message: len(violation.path) for violation in outcome.violations}
            assert set(found) == set(broken), seed
            if order == "breadth-first":
                assert found == broken, seed
                assert broken or outcome.depth == max(depths.values()), seed
            taken[sleep] = outcome.transitions
        assert taken[True] <= taken[False] or broken, seed
        saved += taken[True] < taken[False]
        compacted = searched(network, watcher, "depth-first", False, fingerprint).outcome
        assert {violation.message for violation in compacted.violations} == set(broken), seed
        assert compacted.terminal == len(resting), seed
    assert SYSTEMS // 20 < violated < SYSTEMS * 9 // 10
    assert saved > SYSTEMS // 4
