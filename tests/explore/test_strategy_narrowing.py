"""Strategies that leave transitions out: what they leave, alone and together, and that it is real."""

from __future__ import annotations

from collections.abc import Hashable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from random import Random

import pytest
from tests.explore.controlled_systems import controlled_network, planned
from tests.explore.plain_search import TooLarge, oracle
from tests.explore.random_systems import Order
from tests.little_components import Note, Talker, wire
from tests.little_components import network as little_network

from penstock._explore.breadth_first import breadth_first
from penstock._explore.depth_first import depth_first
from penstock._explore.search import Search
from penstock._explore.strategies.guide import together
from penstock._explore.strategies.kinds import Options, TransitionKind, kind_of, roles
from penstock._world.component import Endpoint, Port, Send, Step
from penstock._world.network import Network
from penstock._world.transition import Transition
from penstock._world.world import World

CHOICES = [("no-delay",), ("unusual",), ("no-delay", "unusual")]
ids = [" and ".join(names) for names in CHOICES]


@cache
def systems(*, faults: bool = False) -> tuple[tuple[int, Network, Order, dict[str, int]], ...]:
    """Return some random systems with the depths of their violations."""
    seed, found = 0, list[tuple[int, Network, Order, dict[str, int]]]()
    while len(found) < 25:
        seed += 1
        network, watcher = controlled_network(Random(seed), faults=faults)
        with suppress(TooLarge):
            found.append((seed, network, watcher, oracle(network, watcher)[2]))
    return tuple(found)


def seen(search: Search, network: Network) -> set[Hashable]:
    """Return the states that a search visited, without what strategies remember."""
    cells = search.cells
    return {
        (tuple(cells.component_states(state).items()), tuple(cells.waiting(state, c) for c in range(6)))
        for state in search.parents
        if state < cells.violated
    }


@pytest.mark.parametrize("faults", [False, True], ids=["reliable", "faulty"])
@pytest.mark.parametrize("names", CHOICES, ids=ids)
def test_what_is_found_by_a_strategy_is_found_by_the_full_search(
    names: tuple[str, ...], faults: bool
) -> None:
    narrowed = violated = 0
    for seed, network, watcher, broken in systems(faults=faults):
        full, _, _ = planned(network, [watcher])
        breadth_first(full)
        everything = seen(full, network)
        for explore in (breadth_first, depth_first):
            for sleep in (True, False):
                search, guide, _ = planned(network, [watcher], *names)
                outcome = explore(search, sleep=sleep)
                assert seen(search, network) <= everything, seed
                assert {violation.message for violation in outcome.violations} <= set(broken), seed
                for violation in outcome.violations:
                    assert len(violation.path) >= broken[violation.message], seed
        narrowed += guide.narrowed
        violated += bool(outcome.violations)
    assert narrowed > 8 and violated > 1


@pytest.mark.parametrize("faults", [False, True], ids=["reliable", "faulty"])
@pytest.mark.parametrize("names", CHOICES, ids=ids)
def test_sleep_sets_lose_none_of_the_states_that_a_strategy_leaves(
    names: tuple[str, ...], faults: bool
) -> None:
    saved = 0
    for seed, network, watcher, *_ in systems(faults=faults):
        plain, _, _ = planned(network, [watcher], *names)
        breadth_first(plain, sleep=False)
        for explore in (breadth_first, depth_first):
            wary, _, _ = planned(network, [watcher], *names)
            outcome = explore(wary)
            # The numbers of states differ from search to search, what they stand for does not.
            assert seen(wary, network) == seen(plain, network), seed
            assert len(wary.parents) == len(plain.parents), seed
            assert outcome.terminal == plain.outcome.terminal, seed
            found = {violation.message for violation in outcome.violations}
            assert found == {violation.message for violation in plain.outcome.violations}, seed
        saved += outcome.transitions < plain.outcome.transitions
    assert saved > 5


def test_the_order_in_which_strategies_are_named_makes_no_difference() -> None:
    for seed, network, watcher, *_ in systems(faults=True):
        searches = []
        for names in [("no-delay", "unusual"), ("unusual", "no-delay")]:
            search, _, _ = planned(network, [watcher], *names)
            breadth_first(search, sleep=False)
            searches.append(search)
        one, other = searches
        assert seen(one, network) == seen(other, network), seed
        assert one.outcome.transitions == other.outcome.transitions, seed
        assert one.outcome.violations == other.outcome.violations, seed


def test_strategies_that_have_nothing_in_common_take_what_any_of_them_would() -> None:
    options = Options([(1, 0, (), 0, Transition("act", "h1", "send"))] * 4, [0] * len(TransitionKind), False)
    one, other, third = (lambda _s, _o, mask=mask: mask for mask in (0b0011, 0b1100, 0b0110))
    assert together([])(0, options) == 0b1111
    assert together([one, third])(0, options) == together([third, one])(0, options) == 0b0010
    assert together([one, other])(0, options) == together([other, one])(0, options) == 0b1111
    assert together([one, other, third])(0, options) == 0b1111


def control_under_way(world: World, network: Network) -> bool:
    ends = [end for end in network.channels if isinstance(end.port, str) and end.node != "fabric"]
    return any(world.queue(Endpoint(*end)) for end in ends)


def test_without_delay_nothing_else_happens_while_a_control_message_is_under_way() -> None:
    waited = 0
    for seed, network, watcher, *_ in systems(faults=True):
        search, _, _ = planned(network, [watcher], "no-delay")
        breadth_first(search)
        known = roles(network)
        assert known.controllers == {"c0"} and known.switches == {"s1", "s2", "s3"}
        for state in list(search.parents)[-20:]:
            world = World(network)
            for transition in search.path(state):
                kind = kind_of(transition, "", known)
                if control_under_way(world, network):
                    waited += len(world.enabled()) > 1
                    assert kind in (TransitionKind.ORDER, TransitionKind.REPORT), seed
                # Answers first: a report is taken in only when no order is under way.
                if any(world.queue(Endpoint("c0", switch)) for switch in known.switches):
                    assert kind is TransitionKind.ORDER, seed
                world.take(transition)
    assert waited > 50


INTO_SWITCHES = [
    Endpoint("h1", 1),
    Endpoint("s1", 2),
    Endpoint("s2", 1),
    Endpoint("s2", 2),
    Endpoint("s3", 1),
]
"""The ports from which frames go to switches."""


def test_unusual_control_messages_are_later_than_frames_to_switches() -> None:
    late = 0
    for seed, network, watcher, *_ in systems(faults=True):
        search, _, _ = planned(network, [watcher], "unusual")
        breadth_first(search, sleep=False)
        known = roles(network)
        for state in list(search.parents)[-20:]:
            world = World(network)
            for transition in search.path(state):
                if any(world.queue(end) for end in INTO_SWITCHES) and control_under_way(world, network):
                    late += 1
                    assert kind_of(transition, "", known) not in (
                        TransitionKind.ORDER,
                        TransitionKind.REPORT,
                    ), seed
                world.take(transition)
    assert late > 50


@dataclass(eq=False)
class Announcer:
    """A controller that tells three switches something, in one go."""

    name: str = "c0"
    ports: tuple[str, ...] = ("s1", "s2", "s3")

    def initial(self) -> bool:
        return False

    def actions(self, told: bool) -> tuple[str, ...]:
        return () if told else ("announce",)

    def act(self, told: bool, action: str) -> Step:
        return Step(True, tuple(Send(port, Note("go")) for port in ("s2", "s3", "s1")))

    def receive(self, told: bool, port: Port, message: object) -> Step:
        return Step(told)


def test_unusual_orders_arrive_at_the_switch_written_to_last_or_first_before_others() -> None:
    switches = [Talker(name, ("c0", 1)) for name in ("s1", "s2", "s3")]
    sessions = [wire(f"{each.name}:c0", f"c0:{each.name}") for each in switches]
    search, _, _ = planned(little_network([Announcer(), *switches], sessions=sessions), [], "unusual")
    breadth_first(search, sleep=False)
    paths = [[str(step.what) for step in search.path(state)[1:]] for state in search.parents]
    # They were written to in the order s2, s3, s1.
    assert sorted(path[0] for path in paths if len(path) == 1) == ["s1", "s2"]
    assert {frozenset(path) for path in paths if len(path) == 2} == {
        frozenset({"s1", "s2"}),
        frozenset({"s1", "s3"}),
        frozenset({"s2", "s3"}),
    }
