"""Lifted networks do what MOCS's section 2.3 says of each action."""

from __future__ import annotations

import pytest
from bench.mocs import BUILDERS, chain, program

from penstock._controllers.native import NativeController
from penstock._verify.abstract_controller import ControllerQueues
from penstock._verify.abstract_switch import SwitchQueues, visited, with_visit
from penstock._verify.lifting import Model, lift
from penstock._verify.naming import named
from penstock._world.assembly import build_network
from penstock._world.switch import SwitchOptions
from penstock._world.world import World
from penstock.errors import PenstockError


def _world(model: Model) -> World:
    world = World(model.network)
    world.restore(model.start)
    return world


def _take(world: World, beginning: str) -> str:
    """Take the first transition whose text begins so, and return it whole."""
    found = next(text for text in map(str, world.enabled()) if text.startswith(beginning))
    world.take(found)
    return found


def _kinds(world: World, node: str) -> list[str]:
    return [str(each).split()[1] for each in world.enabled() if str(each).startswith(f"{node} ")]


def test_nomatch_keeps_the_packet_and_asks_once() -> None:
    model, _ = BUILDERS["mac-learning"](2, 2)
    world = _world(model)
    before: SwitchQueues = world.state("s1")
    _take(world, "s1 nomatch")
    _take(world, "s1 nomatch")
    controller: ControllerQueues = world.state("c0")
    assert world.state("s1") == before
    assert len(controller.requests) == 1


def test_ctrl_takes_the_request_and_fills_the_forward_queue() -> None:
    model, _ = BUILDERS["mac-learning"](2, 2)
    world = _world(model)
    _take(world, "s1 nomatch")
    _take(world, "c0 ctrl s1")
    assert not world.state("c0").requests
    assert len(world.state("s1").forward) == 1
    _take(world, "s1 fwd")
    assert not world.state("s1").forward
    assert {arrival.port for arrival in world.state("s2").packets} == {1, 2}


def test_a_barrier_keeps_later_rules_waiting_until_it_is_answered() -> None:
    model, _ = BUILDERS["stateless-firewall"](1, 2)
    world = _world(model)
    _take(world, "s1 nomatch")
    _take(world, "c0 ctrl")
    assert _kinds(world, "s1").count("add") == 1
    assert "tcp_dst=22" in _take(world, "s1 add")
    assert "brepl" in _kinds(world, "s1") and "add" not in _kinds(world, "s1")
    _take(world, "s1 brepl 1")
    assert _kinds(world, "s1").count("add") == 2
    assert _kinds(world, "c0") == ["bsync"]
    _take(world, "c0 bsync s1 1")
    assert not world.state("c0").replies


def test_messages_between_barriers_are_carried_out_in_any_order() -> None:
    model, _ = BUILDERS["message-reordering"](1, 2)
    orders = []
    for rule in ("in_port=1", "tcp_dst=22"):
        world = _world(model)
        _take(world, "s1 nomatch")
        _take(world, "c0 ctrl")
        possible = [text for text in map(str, world.enabled()) if " add " in text and rule in text]
        orders.append(len(possible))
    assert orders == [1, 1]


def test_a_rule_turns_nomatch_into_match() -> None:
    model, _ = BUILDERS["right-nesting"](1, 2)
    world = _world(model)
    for kind in ("s1 nomatch 1 [h1 > h2 tcp 1024 > 22", "s1 nomatch"):
        _take(world, kind[: len("s1 nomatch")])
    assert set(_kinds(world, "s1")) == {"nomatch"}
    _take(world, "c0 ctrl")
    _take(world, "s1 add")
    assert "match" in _kinds(world, "s1")


def test_kuai_carries_out_what_stands_before_a_barrier_at_once() -> None:
    model, _ = BUILDERS["stateless-firewall"](1, 2, kuai=True)
    world = _world(model)
    _take(world, "s1 nomatch")
    _take(world, "c0 ctrl")
    state: SwitchQueues = world.state("s1")
    assert len(state.inner.tables[0]) == 1
    assert len(state.control) == 1
    assert not world.state("c0").replies


def test_a_packet_remembers_the_switches_it_left() -> None:
    assert visited("") == frozenset()
    tag = with_visit(with_visit(with_visit("", "s2"), "s1"), "s2")
    assert visited(tag) == {"s1", "s2"}
    assert tag == with_visit(with_visit("", "s1"), "s2")


def test_members_that_say_the_same_get_names_of_their_own() -> None:
    assert list(named([1, 2, 3], lambda number: "odd" if number % 2 else "even")) == ["even", "odd", "odd #2"]


def test_packets_from_nowhere_are_refused() -> None:
    network = build_network(
        chain(1, [(1, 1), (1, 2)]),
        controllers=NativeController(program("mac_learning.py:MacLearning"), ("s1",)),
        switches=SwitchOptions(counters=False),
    )
    with pytest.raises(PenstockError, match="'h7'"):
        lift(network, network.initial(), {"h7": ()})
    with pytest.raises(PenstockError, match="'s1:9'"):
        lift(network, network.initial(), {"s1:9": ()})


def test_switches_that_count_packets_are_refused() -> None:
    network = build_network(
        chain(1, [(1, 1), (1, 2)]),
        controllers=NativeController(program("mac_learning.py:MacLearning"), ("s1",)),
    )
    with pytest.raises(PenstockError, match="counters = false"):
        lift(network, network.initial(), {})
