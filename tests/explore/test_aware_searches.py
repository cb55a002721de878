"""Searches where components look at others: what is asked, when, and which orders may be left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest
from tests.explore.plain_search import oracle
from tests.explore.random_systems import Onlooker, random_network
from tests.little_components import Talker, network, wire

from penstock._explore import interning
from penstock._explore.breadth_first import breadth_first
from penstock._explore.compiled_network import CompiledNetwork
from penstock._explore.depth_first import depth_first
from penstock._explore.random_walk import random_walk
from penstock._explore.search import Bounds, Outcome, Search
from penstock._properties.base import Property, Violated
from penstock._world.component import Port, Step
from penstock._world.faults import Faults
from penstock._world.network import ComponentRaised, Network
from penstock._world.signals import FABRIC
from penstock._world.transition import ACT, Transition
from penstock._world.world import World
from penstock.errors import PenstockError

SEARCHES = [(depth_first, True), (breadth_first, True), (depth_first, False), (breadth_first, False)]


@dataclass(eq=False)
class Counter:
    """Counts on by itself where its rule allows it, given the counts of those it looks at."""

    name: str
    reads: tuple[str, ...]
    rule: Callable[..., bool]
    ports: tuple[Port, ...] = ()
    asked: list[Any] = field(default_factory=list)

    def initial(self) -> int:
        return 0

    def actions(self, state: int) -> tuple[str, ...]:
        raise AssertionError("never asked")

    def actions_given(self, state: int, seen: Mapping[str, Any]) -> tuple[str, ...]:
        self.asked.append((state, dict(seen)))
        return ("count",) if self.rule(state, *seen.values()) else ()

    def act(self, state: int, action: str) -> Step:
        return Step(state + 1)

    def receive(self, state: int, port: Any, message: Any) -> Step:
        return Step(state)


def counts(net: Network, explore: Callable[..., Outcome], sleep: bool) -> set[tuple[int, ...]]:
    """Return the counts that a search comes across."""
    search = Search(CompiledNetwork(net), Bounds())
    explore(search, sleep=sleep)
    states = (search.cells.component_states(state) for state in search.parents)
    return {tuple(found[name] for name in net.names if name != FABRIC) for found in states}


@pytest.mark.parametrize(("explore", "sleep"), SEARCHES)
def test_a_step_that_takes_an_action_away_does_not_sleep_through_that_action(
    explore: Any, sleep: bool
) -> None:
    # b may count whenever it likes; a only while b has not.  So a's step must come before b's.
    b = Counter("b", (), lambda own: own < 1)
    a = Counter("a", ("b",), lambda own, other: own < 1 and other == 0)
    assert counts(network([b, a]), explore, sleep) == {(0, 0), (1, 0), (0, 1), (1, 1)}


@pytest.mark.parametrize(("explore", "sleep"), SEARCHES)
def test_an_action_that_vanished_while_it_slept_is_awake_when_it_returns(explore: Any, sleep: bool) -> None:
    # c needs a step of b and none of a, and b's one step takes a's away until the next: b, c, b, a.
    a = Counter("a", ("b",), lambda own, b: own < 1 and b != 1)
    b = Counter("b", (), lambda own: own < 2)
    c = Counter("c", ("a", "b"), lambda own, a, b: own < 1 and a == 0 and b == 1)
    found = counts(network([a, b, c]), explore, sleep)
    assert (1, 2, 1) in found
    assert found == counts(network([a, b, c]), depth_first, False)


def test_orders_that_take_nothing_away_are_still_left_out() -> None:
    others = [Counter(name, (), lambda own: own < 2) for name in "bcd"]
    eyes = Counter("a", ("b", "c", "d"), lambda own, *_: own < 2)
    plain = depth_first(Search(CompiledNetwork(network([*others, eyes])), Bounds()), sleep=False)
    wary = depth_first(Search(CompiledNetwork(network([*others, eyes])), Bounds()))
    assert plain.states == wary.states == 3**4
    assert wary.transitions == wary.states - 1 < plain.transitions


def test_an_aware_component_is_asked_once_per_combination_of_states_whatever_waits_in_inboxes() -> None:
    eyes = Counter("eyes", ("b", FABRIC), lambda own, *_: own < 2)
    net = network([Talker("a", (1,), 2), Talker("b"), eyes], [wire("a:1", "b:1")])
    search = Search(CompiledNetwork(net), Bounds())
    depth_first(search, sleep=False)
    held = {(states["eyes"], states["b"]) for states in map(search.cells.component_states, search.parents)}
    assert len(eyes.asked) == len(held) == 9
    assert {(own, seen["b"]) for own, seen in eyes.asked} == held
    assert len(search.cells.size()) == 4 and search.cells.size()["b"] > 3


@pytest.mark.parametrize(("explore", "sleep"), SEARCHES)
def test_news_of_power_and_sessions_come_before_what_it_may_do(explore: Any, sleep: bool) -> None:
    eyes = Counter("eyes", ("k", FABRIC), lambda own, k, fabric: own < 1 + len(k[1]), ("k",))
    faults = Faults(disconnects=1, controller_crashes=1, recovery=False)
    net = network([Talker("k", ("eyes",), 1), eyes], sessions=[wire("eyes:k", "k:eyes")], faults=faults)
    states, resting, _ = oracle(net, Property())
    search = Search(CompiledNetwork(net), Bounds())
    outcome = explore(search, sleep=sleep)
    assert outcome.states == len(states)
    assert outcome.terminal == len(resting) == 4


def test_a_name_that_nobody_has_is_refused() -> None:
    net = network([Counter("eyes", ("s9",), lambda *_: True), Talker("b")])
    sentence = "eyes looks at 's9', which is no component here: the components are eyes, b, fabric."
    with pytest.raises(PenstockError, match=sentence):
        CompiledNetwork(net)
    with pytest.raises(PenstockError, match=sentence):
        World(net)


def test_an_exception_while_it_looks_is_the_components_own() -> None:
    net = network([Counter("eyes", ("b",), lambda own, other: own / other > 0), Counter("b", (), bool)])
    with pytest.raises(ComponentRaised, match=r"eyes raised ZeroDivisionError: .*, on 'eyes …'"):
        depth_first(Search(CompiledNetwork(net), Bounds()))
    with pytest.raises(ComponentRaised, match=r"eyes raised ZeroDivisionError: .*, on 'eyes …'"):
        World(net).enabled()


def test_a_random_walk_takes_only_what_a_run_can_take() -> None:
    found = 0
    for seed in range(60):
        net, watcher = random_network(Random(seed), faults=seed % 2 == 0, aware=True)
        outcome = random_walk(Search(CompiledNetwork(net, [watcher]), Bounds()), seed, longest=40, walks=5)
        for violation in outcome.violations:
            found += 1
            world, state, broken = World(net), watcher.start(net), ""
            for transition in violation.path:
                seen = watcher.see(world.take(transition))
                try:
                    state = state if seen is None else watcher.next(state, seen)
                except Violated as violated:
                    broken = str(violated)
            assert broken == violation.message
    assert found > 5


def test_a_run_asks_again_whenever_a_state_that_matters_has_changed() -> None:
    changes = 0
    for seed in range(150):
        net, _ = random_network(Random(seed), faults=seed % 2 == 0, aware=True)
        world, random = World(net), Random(seed)
        start = world.snapshot()
        for _ in range(25):
            enabled = world.enabled()
            asked = {t for t in enabled if t.verb == ACT and t.node != FABRIC}
            assert asked == actions_asked_anew(world)
            assert world.is_at_rest() == (not asked and not any(t.verb == "deliver" for t in enabled))
            if not enabled:
                break
            node = world.take(random.choice(enabled)).node
            changes += any(t.node != node for t in asked ^ actions_asked_anew(world))
        world.restore(start)
        assert {t for t in world.enabled() if t.verb == ACT and t.node != FABRIC} == actions_asked_anew(world)
    assert changes > 100


def actions_asked_anew(world: World) -> set[Transition]:
    """Return what components may do by themselves, found by asking each of them."""
    found = set()
    for each in world.network.components[:-1]:
        state = world.state(each.name)
        if isinstance(each, Onlooker):
            actions = each.actions_given(state, {name: world.state(name) for name in each.reads})
        else:
            actions = each.actions(state)
        found |= {Transition(ACT, each.name, action) for action in actions}
    return found


@pytest.mark.parametrize("explore", [depth_first, breadth_first])
@pytest.mark.parametrize("sleep", [True, False])
def test_more_values_than_a_cell_can_number_are_a_bound(monkeypatch: Any, explore: Any, sleep: bool) -> None:
    monkeypatch.setattr(interning, "MASK", 3)
    restless = Counter("c1", (), lambda own: True)
    outcome = explore(Search(CompiledNetwork(network([restless])), Bounds()), sleep=sleep)
    assert outcome.result == "bounded"
    assert outcome.stopped_by == "4 states of c1, the most it can tell apart"
    assert outcome.states == 4
