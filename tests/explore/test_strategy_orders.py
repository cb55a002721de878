"""Strategies with an order of their own: by cost, by delays, races first, random walks."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.explore.controlled_systems import controlled_network, planned
from tests.explore.plain_search import TooLarge, oracle
from tests.explore.random_systems import Order, random_network

from penstock._explore.breadth_first import breadth_first
from penstock._explore.search import Bounds, Outcome, Search, fingerprint
from penstock._explore.strategies.by_cost import LOOKS, by_cost
from penstock._explore.strategies.guide import Guide
from penstock._explore.strategies.kinds import TransitionKind
from penstock._explore.strategies.plan import plan_of
from penstock._world.network import Network
from penstock.errors import PenstockError

WITHOUT_END = [
    {"name": "delay-bounded"},
    {"name": "races", "transitions": None},
    {"name": "races", "transitions": 7},
]


def ordered(network: Network, watcher: Order, *names: object, **options: Any) -> Search:
    """Return a search that has gone through a network by strategies."""
    search, guide, plan = planned(network, [watcher], *names)
    search.bounds = options.pop("bounds", search.bounds)
    search.key = options.pop("key", None)
    assert plan.ordering is not None
    plan.ordering.explore(search, guide, breadth_first)
    return search


def any_network(seed: int) -> tuple[Network, Order]:
    random = Random(seed)
    if seed % 2:
        return controlled_network(random, faults=seed % 4 == 1)
    return random_network(random, faults=seed % 4 == 0, aware=seed % 8 == 2)


@pytest.mark.parametrize("name", WITHOUT_END, ids=str)
def test_without_a_bound_they_find_what_a_plain_search_finds(name: dict[str, Any]) -> None:
    compared = violated = 0
    for seed in range(60):
        network, watcher = any_network(seed)
        try:
            depths, resting, broken = oracle(network, watcher)
        except TooLarge:
            continue
        for key in (None, fingerprint):
            search = ordered(network, watcher, name, key=key)
            outcome = search.outcome
            assert outcome.result == ("violation" if broken else "exhausted"), seed
            assert {violation.message for violation in outcome.violations} == set(broken), seed
            assert outcome.terminal == len(resting), seed
            if key is None:
                assert len([s for s in search.parents if s < search.cells.violated]) == len(depths), seed
        compared += 1
        violated += bool(broken)
    assert compared > 20 and violated > 5


def cheapest(search: Search, guide: Guide) -> dict[int, int]:
    """Return the fewest delays that each state needs, by going round until nothing changes."""
    start = search.cells.initial()
    costs, changed = {start: 0}, True
    while changed:
        changed = False
        for state, cost in list(costs.items()):
            if state >= search.cells.violated:
                continue
            options, picked = guide.picked(state)
            due = {
                entry[4]: delays
                for delays, entry in enumerate(options.in_order(list(TransitionKind), picked))
            }
            for after, _, transition in search.cells.steps(state):
                if cost + due[transition] < costs.get(after, 1000):
                    costs[after] = cost + due[transition]
                    changed = True
    return costs


def test_a_bound_on_delays_leaves_exactly_the_states_that_need_no_more() -> None:
    bounded = 0
    for seed in range(1, 60, 2):
        network, watcher = any_network(seed)
        full, guide, plan = planned(network, [watcher], "delay-bounded")
        assert plan.ordering is not None
        if breadth_first(full).states > 150:
            continue
        costs = cheapest(full, guide)
        for delays in range(3):
            bound = plan_of([{"name": "delay-bounded", "delays": delays}], Path()).ordering
            search = Search(full.cells, Bounds(), first_only=False)
            assert bound is not None
            outcome = bound.explore(search, guide, breadth_first)
            assert set(search.parents) == {state for state, cost in costs.items() if cost <= delays}, seed
            if len(search.parents) < len(costs):
                bounded += 1
                assert outcome.stopped_by == ("1 delay" if delays == 1 else f"{delays} delays")
                assert outcome.result in ("bounded", "violation")
    assert bounded > 20


@pytest.mark.parametrize("name", ["delay-bounded", "races"])
def test_a_bound_on_the_depth_is_kept(name: str) -> None:
    network, watcher = any_network(9)
    search = ordered(network, watcher, name, bounds=Bounds(depth=3))
    assert search.outcome.depth == 3 and search.outcome.stopped_by == "depth 3"


@pytest.mark.parametrize("name", ["delay-bounded", "races"])
def test_a_bound_on_states_is_kept_as_near_as_the_looks_at_it_are(name: str) -> None:
    network, watcher = larger_network()
    search = ordered(network, watcher, name, bounds=Bounds(states=100))
    assert search.outcome.stopped_by == "100 states"
    assert 100 <= search.outcome.states <= 100 + LOOKS


def larger_network() -> tuple[Network, Order]:
    """Return a network with so many states that a bound on them is looked at more than once."""
    return next(
        (network, watcher)
        for network, watcher in map(any_network, range(1, 200, 2))
        if len(ordered(network, watcher, "delay-bounded").parents) > 3 * LOOKS
    )


def test_races_go_onward_after_their_share_of_transitions_and_keep_what_they_found() -> None:
    network, watcher = next(
        (network, watcher)
        for network, watcher in map(any_network, range(1, 99, 2))
        if len(ordered(network, watcher, "delay-bounded").outcome.violations) == 1
    )
    called: list[int] = []

    def onward(search: Search) -> Outcome:
        called.append(search.outcome.transitions)
        assert not search.parents
        return breadth_first(search)

    search, guide, plan = planned(network, [watcher], {"name": "races", "transitions": 200})
    assert plan.ordering is not None
    outcome = plan.ordering.explore(search, guide, onward)
    whole, *_ = planned(network, [watcher])
    breadth_first(whole)
    assert called == [200]
    assert outcome.states == whole.outcome.states and outcome.depth == whole.outcome.depth
    assert len(outcome.violations) == 1


def test_free_runs_come_first_and_a_transition_counts_when_it_is_taken() -> None:
    search, guide, _ = planned(any_network(9)[0], [])
    by_cost(search, guide, lambda _s, options, picked: list(enumerate(options.within(picked))), most=0)
    assert search.outcome.transitions == len(search.parents) - 1 == search.outcome.depth


def test_strategies_that_narrow_and_one_that_orders_go_together() -> None:
    for seed in range(1, 16, 2):
        network, watcher = any_network(seed)
        narrow, _, _ = planned(network, [watcher], "no-delay")
        breadth_first(narrow, sleep=False)
        for order in WITHOUT_END:
            both = ordered(network, watcher, order, "no-delay")
            assert both.outcome.states == narrow.outcome.states, seed
            assert both.outcome.terminal == narrow.outcome.terminal, seed


def test_random_walks_are_decided_by_their_seed() -> None:
    network, watcher = any_network(9)
    first, again, other = (
        list(ordered(network, watcher, {"name": "random-walk", "seed": seed, "walks": 3}).parents)
        for seed in (1, 1, 2)
    )
    assert first == again != other
    outcome = ordered(network, watcher, "random-walk:walks=3,longest=2").outcome
    assert outcome.transitions <= 6 and outcome.stopped_by == "3 walks"


@pytest.mark.parametrize(
    ("spelt", "sentence"),
    [
        (
            "delay-bounded:delays=-1",
            "invalid delays = -1 in the strategy delay-bounded: must be an integer of at least 0.",
        ),
        (
            "races:transitions=0",
            "invalid transitions = 0 in the strategy races: must be an integer of at least 1.",
        ),
        (
            "random-walk:walks=0",
            "invalid walks = 0 in the strategy random-walk: must be an integer of at least 1.",
        ),
        ("random-walk:seed=x", 'invalid seed = "x" in the strategy random-walk: must be an integer.'),
    ],
)
def test_options_that_make_no_sense_are_refused(spelt: str, sentence: str) -> None:
    with pytest.raises(PenstockError) as refused:
        plan_of([spelt], Path())
    assert str(refused.value) == sentence
