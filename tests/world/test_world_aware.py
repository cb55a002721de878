"""Components that look at others, in one run: their actions come and go as the others change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest
from tests.little_components import Talker, network, wire

from penstock._world.component import Aware
from penstock._world.faults import NO_FAULTS, Faults
from penstock._world.network import Network
from penstock._world.signals import FABRIC
from penstock._world.world import World
from penstock.errors import PenstockError


@dataclass(eq=False)
class Polite(Talker):
    """Talks only while b has heard an even number of notes and no cable is cut."""

    reads: tuple[str, ...] = ("b", FABRIC)

    def actions_given(self, state: tuple[int, tuple[Any, ...]], seen: Mapping[str, Any]) -> tuple[str, ...]:
        _, heard = seen["b"]
        return self.actions(state) if len(heard) % 2 == 0 and not seen[FABRIC].wiring.cut else ()


def polite_talk(faults: Faults = NO_FAULTS) -> Network:
    components = [Polite("a", (1,), 3), Talker("b", (1, 2)), Talker("c", (1,), 2)]
    return network(components, [wire("a:1", "b:1"), wire("c:1", "b:2")], faults=faults)


def texts(world: World) -> list[str]:
    return [str(transition) for transition in world.enabled()]


def test_only_what_says_what_it_looks_at_is_aware() -> None:
    assert isinstance(Polite("a"), Aware)
    assert not isinstance(Talker("a"), Aware)


def test_an_action_vanishes_and_returns_with_the_state_of_another() -> None:
    world = World(polite_talk())
    world.take("c talk")
    assert texts(world) == ["deliver c:1", "a talk", "c talk"]
    world.take("deliver c:1")
    assert texts(world) == ["c talk"]
    with pytest.raises(PenstockError, match="'a talk' cannot happen now: enabled are c talk"):
        world.take("a talk")
    world.take("c talk")
    assert not world.is_at_rest()
    world.take("deliver c:1")
    assert texts(world) == ["a talk"]


def test_the_fabric_can_be_looked_at() -> None:
    world = World(polite_talk(Faults(link_failures=1, targets=("c-b",))))
    assert "a talk" in texts(world)
    world.take("fabric fail c-b")
    assert "a talk" not in texts(world)


def test_going_back_brings_back_what_was_possible() -> None:
    world = World(polite_talk())
    start = world.snapshot()
    world.take("c talk")
    world.take("deliver c:1")
    assert "a talk" not in texts(world)
    world.restore(start)
    assert texts(world) == ["a talk", "c talk"]


@pytest.mark.parametrize("choice", [Random(3), lambda transitions: transitions[-1]])
def test_a_run_ends_when_nothing_is_left_to_happen(choice: Any) -> None:
    world = World(polite_talk())
    world.run(choice)
    assert world.is_at_rest()
    sent, heard = world.state("a")[0], len(world.state("b")[1])
    assert sent + world.state("c")[0] == heard
    assert sent == 3 or heard % 2 == 1
