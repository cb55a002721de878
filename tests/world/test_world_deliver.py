"""Delivering by channel is taking the transition, and what the fabric cannot do changes nothing."""

from __future__ import annotations

import pytest
from tests.little_components import Note, Talker, network, two_talkers, wire

from penstock._world.component import Endpoint
from penstock._world.faults import Faults
from penstock._world.world import World
from penstock.errors import PenstockError

A_OUT = Endpoint("a", 1)


def test_a_delivery_by_channel_is_the_same_step_as_by_its_text() -> None:
    one, other = World(two_talkers()), World(two_talkers())
    one.take("a talk")
    other.take("a talk")
    assert one.deliver(A_OUT) == other.take("deliver a:1")
    assert one.snapshot() == other.snapshot()


def test_many_messages_of_a_channel_arrive_in_their_order() -> None:
    world = World(two_talkers(notes=3))
    for _ in range(3):
        world.take("a talk")
    assert [world.deliver(A_OUT).message for _ in range(3)] == [Note("a#1"), Note("a#2"), Note("a#3")]
    assert world.deliveries() == ()


def test_an_empty_channel_and_one_that_is_not_there_have_nothing_to_deliver() -> None:
    world = World(two_talkers())
    with pytest.raises(PenstockError, match=r"'deliver a:1' cannot happen now: enabled are a talk\."):
        world.deliver(A_OUT)
    with pytest.raises(PenstockError, match="'deliver z:1' cannot happen now"):
        world.deliver(Endpoint("z", 1))


def test_whoever_lost_a_session_hears_of_it_before_a_message() -> None:
    built = network(
        [Talker("a", (1, "b"), notes=1), Talker("b", (1, "a"))],
        [wire("a:1", "b:1")],
        sessions=[wire("a:b", "b:a")],
        faults=Faults(disconnects=1),
    )
    world = World(built)
    world.take("a talk")
    world.take("fabric disconnect a-b")
    with pytest.raises(PenstockError, match="'deliver a:1' cannot happen now"):
        world.deliver(A_OUT)
    world.deliver(Endpoint("fabric", "b"))
    assert world.deliver(A_OUT).message == Note("a#1")


@pytest.mark.parametrize("action", ["fail a-b", "recover a-b", "nonsense"])
def test_what_the_fabric_cannot_do_is_refused_and_changes_nothing(action: str) -> None:
    world = World(two_talkers())
    before = world.snapshot()
    with pytest.raises(PenstockError, match=f"'fabric {action}' cannot happen now: enabled are a talk"):
        world.take(f"fabric {action}")
    assert world.snapshot() == before


def test_the_order_of_loaded_channels_is_right_whenever_it_is_asked_for() -> None:
    world = World(
        network([Talker("a", (1, 2), notes=4), Talker("b", (1, 2))], [wire("a:1", "b:1"), wire("a:2", "b:2")])
    )
    world.take("a talk")
    world.take("a talk")
    assert [str(t) for t in world.deliveries()] == ["deliver a:1", "deliver a:2"]
    world.deliver(Endpoint("a", 1))
    world.take("a talk")
    world.deliver(Endpoint("a", 2))
    assert [str(t) for t in world.deliveries()] == ["deliver a:1"]
