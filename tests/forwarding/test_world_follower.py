"""A follower keeps a model in step with a run: rules, time, power, moves, and going back."""

from __future__ import annotations

from dataclasses import replace

from tests.forwarding.flow_lab import Lab, Listener, everything, out

from penstock._forwarding.following import Follower
from penstock._world.assembly import build_network
from penstock._world.component import Endpoint
from penstock._world.fabric import Mobility
from penstock._world.hosts import host
from penstock._world.switch.flow_table import FlowTable
from penstock._world.topology import TopologyBuilder, topology
from penstock._world.world import World
from penstock.openflow.match import Match
from penstock.openflow.messages import FlowCommand, FlowMod, PortNo

TO_H2 = Match.of(eth_dst="00:00:00:00:00:02")


def ends(follower: Follower, name: str, match: Match) -> set[tuple[str, str]]:
    return {(one.fate, one.node) for one in follower.model.outcomes(name, match)}


def test_the_model_has_a_rule_as_soon_as_the_switch_has_it() -> None:
    lab = Lab("single,2")
    lab.world.inject(Endpoint("c0", "s1"), FlowMod(FlowCommand.ADD, TO_H2, (out(2),)))
    assert lab.model.rules("s1", 0) == 0
    lab.world.take("deliver c0:s1")
    assert ends(lab.follower, "h1", TO_H2) == {("delivered", "h2")}


def test_a_modified_rule_does_something_else() -> None:
    lab = Lab("single,3")
    lab.rule("s1", TO_H2, out(2))
    lab.tell("s1", FlowMod(FlowCommand.MODIFY, TO_H2, (out(3),)))
    assert ends(lab.follower, "h1", TO_H2) == {("delivered", "h3")}


def test_rules_that_time_out_are_gone() -> None:
    lab = Lab("single,2")
    lab.rule("s1", TO_H2, out(2), hard_timeout=5)
    lab.world.advance(4_000)
    assert lab.model.rules("s1", 0) == 1
    lab.world.advance(2_000)
    assert lab.model.rules("s1", 0) == 0


def test_deleting_everything_empties_every_table() -> None:
    lab = Lab("single,2")
    for table in (0, 1, 2):
        lab.rule("s1", TO_H2, out(2), table_id=table)
    lab.tell("s1", FlowMod(FlowCommand.DELETE, table_id=0xFF))
    assert [lab.model.rules("s1", table) for table in (0, 1, 2)] == [0, 0, 0]


def test_a_moved_host_sends_from_its_new_place_and_is_reached_there() -> None:
    builder = TopologyBuilder()
    builder.add_switch("s1", ports=(3,))
    for name in ("h1", "h2"):
        builder.add_host(name)
        builder.add_link(name, "s1")
    roaming = {"h2": host("client", to="h1", mobility=Mobility(("s1:3",)))}
    world = World(build_network(builder.build(), hosts=roaming, controllers=Listener()))
    follower = Follower(world)
    world.inject(Endpoint("c0", "s1"), FlowMod(FlowCommand.ADD, Match.of(in_port=1), (out(3),)))
    world.take("deliver c0:s1")
    assert ends(follower, "h1", Match()) == {("lost", "s1")}
    world.take("fabric move h2 to s1:3")
    assert ends(follower, "h1", Match()) == {("delivered", "h2")}


def test_after_going_back_the_model_catches_up() -> None:
    lab = Lab("linear,2")
    lab.rule("s1", TO_H2, out(2))
    before = lab.world.snapshot()
    lab.rule("s2", TO_H2, out(1))
    after = everything(lab.model)
    lab.world.restore(before)
    lab.follower.catch_up()
    assert lab.model.rules("s2", 0) == 0
    assert everything(lab.model) == everything(lab.scratch()) != after


def test_an_entry_that_vanishes_without_a_word_is_noticed() -> None:
    lab = Lab("single,2")
    for priority in (1, 2):
        lab.rule("s1", TO_H2, out(PortNo.FLOOD), priority=priority)
    world = lab.world
    place = world.network.places["s1"]
    snapshot = world.snapshot()
    state = world.state("s1")
    thinner = replace(state, tables=state.tables.set(0, FlowTable(state.tables[0].entries[:1])))
    world.restore(
        snapshot._replace(states=(*snapshot.states[:place], thinner, *snapshot.states[place + 1 :]))
    )
    lab.tell("s1", FlowMod(FlowCommand.ADD, TO_H2, (out(2),), priority=7))
    assert lab.model.rules("s1", 0) == 2
    assert everything(lab.model) == everything(lab.scratch())


def test_a_network_of_hosts_alone_has_nothing_to_say() -> None:
    world = World(build_network(topology("single,2"), controllers=Listener()))
    assert ends(Follower(world), "h1", Match()) == {("missed", "s1")}
