"""The static controller: all pings are answered, nothing is flooded, whatever the topology."""

from __future__ import annotations

from typing import Any

import pytest

from penstock._controllers.static import StaticController, StaticState
from penstock._world.assembly import build_network
from penstock._world.hosts import host
from penstock._world.signals import FABRIC, Carrier, Power
from penstock._world.switch import SwitchOptions
from penstock._world.topology import TopologyBuilder, topology
from penstock._world.world import World
from penstock.errors import PenstockError
from penstock.openflow.messages import V10, V13, EchoRequest, FlowMod


def out_ports(controller: StaticController, switch: str) -> list[tuple[str, int]]:
    """Return the rules for a switch as matches and ports, by MAC address only."""
    sends = controller.act(controller.initial(), f"install {switch}").sends
    mods: list[Any] = [send.message for send in sends]
    assert all(isinstance(mod, FlowMod) for mod in mods)
    return [(str(mod.match), mod.instructions[0].actions[0].port) for mod in mods if mod.match.get("eth_dst")]


@pytest.mark.parametrize("version", [V10, V13])
@pytest.mark.parametrize("shape", ["single,3", "linear,3", "ring,4", "mesh,4", "tree,2,2", "fattree,4"])
def test_every_ping_is_answered_without_flooding(shape: str, version: int) -> None:
    drawn = topology(shape)
    names = [node.name for node in drawn.hosts]
    pings = {name: host("ping", to=names[number - 1]) for number, name in enumerate(names)}
    network = build_network(
        drawn, hosts=pings, controllers=StaticController(drawn), switches=SwitchOptions(version=version)
    )
    world = World(network)
    ignored: list[object] = []
    world.observe(lambda record: ignored.extend(e for e in record.events if e.kind in ("ignored", "lost")))
    world.run()
    assert [world.state(name).memory.answered for name in names] == [1] * len(names)
    assert ignored == []


def test_rules_follow_shortest_paths() -> None:
    controller = StaticController(topology("ring,5"))
    ports = [port for _, port in out_ports(controller, "s1")]
    assert ports == [1, 2, 2, 3, 3]


def test_equal_paths_are_shared_among_destinations_the_same_in_every_run() -> None:
    controller = StaticController(topology("fattree,4"))
    edge = "s13"
    up = [port for _, port in out_ports(controller, edge) if port > 2]
    assert set(up) == {3, 4}
    assert out_ports(controller, edge) == out_ports(StaticController(topology("fattree,4")), edge)


def test_each_core_switch_of_a_fat_tree_has_something_to_do() -> None:
    drawn = topology("fattree,4")
    names = [node.name for node in drawn.hosts]
    pings = {name: host("ping", to=names[(n + 8) % 16]) for n, name in enumerate(names)}
    world = World(build_network(drawn, hosts=pings, controllers=StaticController(drawn)))
    busy: set[str] = set()
    world.observe(
        lambda record: busy.add(record.node) if record.at and record.at.port in (1, 2, 3, 4) else None
    )
    world.run()
    assert {f"s{number}" for number in range(1, 5)} <= busy


def test_each_switch_is_installed_once_while_it_stays() -> None:
    controller = StaticController(topology("linear,2"))
    assert controller.actions(controller.initial()) == ("install s1", "install s2")
    step = controller.act(controller.initial(), "install s1")
    assert {send.port for send in step.sends} == {"s1"}
    assert controller.actions(step.state) == ("install s2",)
    with pytest.raises(PenstockError, match="c0 cannot 'install s1'"):
        controller.act(step.state, "install s1")


def test_a_switch_that_comes_back_is_installed_again() -> None:
    controller = StaticController(topology("linear,2"))
    gone = controller.receive(StaticState(("s1",)), FABRIC, Carrier("s1", up=False)).state
    assert controller.actions(gone) == ()
    back = controller.receive(gone, FABRIC, Carrier("s1", up=True)).state
    assert controller.actions(back) == ("install s1",)


def test_a_controller_that_lost_its_power_waits_for_its_switches() -> None:
    controller = StaticController(topology("linear,2"))
    for on in (False, True):
        state = controller.receive(controller.initial(), FABRIC, Power(on=on)).state
        assert controller.actions(state) == ()


def test_what_switches_say_changes_nothing() -> None:
    controller = StaticController(topology("linear,2"))
    assert controller.receive(controller.initial(), "s1", EchoRequest()).state == controller.initial()


def test_hosts_without_a_place_or_an_address_get_no_rules_for_it() -> None:
    drawn = TopologyBuilder()
    drawn.add_switch("s1")
    drawn.add_host("h1")
    drawn.add_host("h2", ip="0.0.0.0")
    drawn.add_link("h2", "s1")
    controller = StaticController(drawn.build())
    sends = controller.act(controller.initial(), "install s1").sends
    assert [str(send.message) for send in sends] == [
        "FlowMod(add priority=100 eth_dst=00:00:00:00:00:02 -> output:1)"
    ]
