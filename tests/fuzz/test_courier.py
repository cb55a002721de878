"""The courier keeps the order of messages, and lets channels stand still."""

from __future__ import annotations

from random import Random

import pytest

from penstock._controllers.static import StaticController
from penstock._fuzz.delivery_scheduler import DeliveryScheduler
from penstock._world.assembly import build_network
from penstock._world.component import Endpoint
from penstock._world.faults import Faults
from penstock._world.frame import Frame
from penstock._world.topology import topology
from penstock._world.transition import DELIVER, Transition
from penstock._world.world import World
from penstock.errors import PenstockError

A, B = Endpoint("h1", 0), Endpoint("h2", 0)


def quiet_world() -> World:
    drawing = topology("linear,2")
    return World(build_network(drawing, controllers=StaticController(drawing), faults=Faults(duplicates=5)))


def courier_of(world: World, order: str = "fifo", seed: int = 0) -> DeliveryScheduler:
    courier = DeliveryScheduler(world, order, Random(seed))
    world.observe(courier.observe)
    return courier


def put(world: World, *channels: Endpoint) -> None:
    for number, channel in enumerate(channels):
        world.inject(channel, Frame(b"frame", f"{channel.node}~{number}"))


def drained(world: World, courier: DeliveryScheduler) -> list[object]:
    """Deliver everything that comes from the two hosts, and return the order of the channels."""
    order: list[object] = []
    while (turn := courier.next()) is not None:
        assert not isinstance(turn, str)
        world.take(Transition(DELIVER, *turn))
        order.append(turn)
    return [turn for turn in order if turn in (A, B)]


def test_messages_are_delivered_in_the_order_in_which_they_were_sent() -> None:
    world = quiet_world()
    courier = courier_of(world)
    put(world, A, B, B, A)
    assert drained(world, courier) == [A, B, B, A]
    assert courier.is_idle


def test_random_order_mixes_channels_by_seed_and_delivers_everything() -> None:
    orders = set()
    for seed in range(6):
        world = quiet_world()
        courier = courier_of(world, "random", seed)
        put(world, *[A, B] * 6)
        order = drained(world, courier)
        assert order.count(A) == order.count(B) == 6
        orders.add(tuple(order))
    assert len(orders) > 1
    again = quiet_world()
    courier = courier_of(again, "random", 3)
    put(again, *[A, B] * 6)
    assert tuple(drained(again, courier)) in orders


def test_a_held_channel_stands_still_while_others_go_on() -> None:
    world = quiet_world()
    courier = courier_of(world)
    courier.hold(A)
    put(world, A, B, A)
    assert drained(world, courier) == [B]
    assert courier.held == (A,) and courier.next_due is None
    assert set(courier.nonempty()) >= {A}
    courier.release(A)
    assert drained(world, courier) == [A, A]


def test_a_delayed_channel_goes_on_when_its_time_has_come() -> None:
    world = quiet_world()
    courier = courier_of(world)
    courier.delay(A, 300)
    put(world, A, B)
    assert drained(world, courier) == [B]
    assert courier.next_due == 300
    assert courier.wake(299) == ()
    assert courier.wake(300) == (A,)
    assert drained(world, courier) == [A]


def test_a_doubled_message_is_delivered_twice() -> None:
    world = quiet_world()
    courier = courier_of(world)
    put(world, A)
    world.take(f"duplicate {A}")
    assert drained(world, courier) == [A, A]


def test_what_is_lost_on_the_way_is_passed_over() -> None:
    world = quiet_world()
    courier = courier_of(world)
    put(world, A)
    world.restore(world.network.initial())
    assert courier.next() is None


def test_a_component_gets_its_turn_once_for_each_offer() -> None:
    courier = courier_of(quiet_world())
    courier.offer("c0")
    courier.offer("c0")
    assert [courier.next(), courier.next()] == ["c0", None]


@pytest.mark.parametrize("channel", [Endpoint("s9", 1), Endpoint("fabric", "s1")])
def test_only_channels_of_the_network_can_be_held(channel: Endpoint) -> None:
    with pytest.raises(PenstockError, match="is not a channel"):
        courier_of(quiet_world()).hold(channel)


def test_an_unknown_order_is_refused() -> None:
    with pytest.raises(PenstockError, match="'fifo' or 'random'"):
        DeliveryScheduler(quiet_world(), "sorted")
