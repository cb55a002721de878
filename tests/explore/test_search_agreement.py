"""Every search finds the same states, ends and violations as a plain one written apart from them."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from tests.explore.plain_search import TooLarge, oracle
from tests.explore.random_systems import Order, random_network

from penstock._explore.breadth_first import breadth_first
from penstock._explore.compiled_network import CompiledNetwork
from penstock._explore.depth_first import depth_first
from penstock._explore.search import Bounds, Search, fingerprint
from penstock._world.network import Network

SYSTEMS = 250
"""How many systems a test compares; four such tests make a thousand."""

AWARE_SYSTEMS = 150
"""The same where components look at each other."""


def searched(
    network: Network, watcher: Order, order: str, sleep: bool, key: Callable[[int], int] | None = None
) -> Search:
    search = Search(CompiledNetwork(network, [watcher]), Bounds(), first_only=False, key=key)
    {"depth-first": depth_first, "breadth-first": breadth_first}[order](search, sleep=sleep)
    return search


@pytest.mark.parametrize("part", [0, 1])
@pytest.mark.parametrize("faults", [False, True], ids=["reliable", "faulty"])
def test_searches_agree_with_a_plain_search_on_a_thousand_random_systems(faults: bool, part: int) -> None:
    compare(SYSTEMS, part * 1_000_000, faults=faults)


@pytest.mark.parametrize("faults", [False, True], ids=["reliable", "faulty"])
def test_they_agree_where_actions_come_and_go_with_the_states_of_others(faults: bool) -> None:
    compare(AWARE_SYSTEMS, 0, faults=faults, aware=True)


def compare(systems: int, seed: int, *, faults: bool, aware: bool = False) -> None:
    violated = compared = saved = 0
    while compared < systems:
        seed += 1
        network, watcher = random_network(Random(seed), faults=faults, aware=aware)
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
    assert systems // 20 < violated < systems * 9 // 10
    assert saved > systems // 4
