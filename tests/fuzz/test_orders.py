"""Switches have the rules that they were ordered to have, or it is known which one lacks which."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.fuzz.fuzz_lab import perform, scenario

from penstock._controllers.controller import Controller
from penstock._fuzz.building import build_setting
from penstock._fuzz.fuzzing import run_folder, stage_of
from penstock._fuzz.harness import Harness
from penstock._fuzz.installed_rules import TablesAsOrdered
from penstock._scenario.scenario import Scenario
from penstock._world.component import Endpoint
from penstock.openflow.actions import ApplyActions, GotoTable, Output
from penstock.openflow.match import Match
from penstock.openflow.messages import FlowCommand, FlowMod, OpenFlowMessage, PacketIn, Role, RoleRequest


class Silent(Controller):
    """Leaves the tables alone."""

    def switch_join(self, switch: str) -> None:
        """Say nothing."""

    def packet_in(self, switch: str, message: PacketIn) -> None:
        """Say nothing."""


def rule(port: int, out: int = 2, **more: Any) -> FlowMod:
    return FlowMod(FlowCommand.ADD, Match.of(in_port=port), (ApplyActions((Output(out),)),), **more)


class Watched:
    """A network whose tables are compared with what was ordered."""

    def __init__(self, folder: Path, given: Scenario) -> None:
        self.stage: Harness = stage_of(build_setting(given), run_folder(folder, given))
        self.invariant = TablesAsOrdered(self.stage.world)
        self.stage.observers.append(self.invariant.observe)
        asyncio.run(self.stage.open())

    def order(self, *messages: OpenFlowMessage, switch: str = "s1", by: str = "c0") -> None:
        for message in messages:
            self.stage.inject(Endpoint(by, switch), message)
        perform(self.stage, "wait 1")

    def do(self, *inputs: str) -> None:
        perform(self.stage, *inputs, "wait 1")

    @property
    def missing(self) -> list[str]:
        """The names of what is missing now."""
        return list(self.invariant.claims())


@pytest.fixture
def network(tmp_path: Path) -> Watched:
    return Watched(tmp_path, scenario(Silent(), topology="single,3"))


def test_orders_that_are_carried_out_leave_nothing_to_say(network: Watched) -> None:
    network.order(rule(1), rule(2), rule(3, priority=7))
    assert network.missing == []


def test_a_rule_that_a_full_table_refuses_is_missing(network: Watched) -> None:
    network.do("limit s1 to 1")
    network.order(rule(1), rule(2))
    assert network.invariant.claims() == {
        "s1 table 0 32768 in_port=2": (
            "s1 was sent the rule priority=32768 in_port=2 -> output:2 for table 0, and does not have it."
        )
    }
    network.do("unlimit s1")
    assert len(network.missing) == 1
    network.order(rule(2))
    assert network.missing == []


def test_a_rule_that_was_ignored_is_missing_until_it_is_ordered_again(network: Watched) -> None:
    network.do("ignore s1 1")
    network.order(rule(1), rule(2))
    assert network.missing == ["s1 table 0 32768 in_port=1"]
    network.order(rule(1))
    assert network.missing == []


def test_a_change_that_was_ignored_is_missing_too(network: Watched) -> None:
    network.order(rule(1))
    network.do("ignore s1 1")
    network.order(replace(rule(1, out=3), command=FlowCommand.MODIFY))
    assert network.missing == ["s1 table 0 32768 in_port=1"]
    assert "output:3" in network.invariant.claims()["s1 table 0 32768 in_port=1"]


def test_a_rule_that_was_forgotten_is_missing(network: Watched) -> None:
    network.order(rule(1), rule(2))
    network.do("forget s1 1")
    assert len(network.missing) == 1


def test_what_is_deleted_is_no_longer_ordered(network: Watched) -> None:
    network.do("limit s1 to 1")
    network.order(rule(1), rule(2))
    network.order(FlowMod(FlowCommand.DELETE_STRICT, Match.of(in_port=2)))
    assert network.missing == []
    network.order(FlowMod(FlowCommand.DELETE))
    assert network.missing == []


def test_a_rule_that_should_be_gone_is_not_missing(network: Watched) -> None:
    network.order(rule(1))
    network.do("ignore s1 1")
    network.order(FlowMod(FlowCommand.DELETE))
    assert network.missing == []


def test_a_modification_counts_as_ordered(network: Watched) -> None:
    network.order(rule(1), replace(rule(1, out=3), command=FlowCommand.MODIFY))
    assert network.missing == []
    network.do("forget s1 1")
    assert "output:3" in network.invariant.claims()["s1 table 0 32768 in_port=1"]


def test_rules_time_out_in_both(network: Watched) -> None:
    network.order(rule(1, idle_timeout=2), rule(2, hard_timeout=3), rule(3))
    network.do("wait 2500")
    assert network.missing == []
    network.do("wait 2500")
    assert network.missing == []
    network.do("forget s1 1")
    assert network.missing == ["s1 table 0 32768 in_port=3"]


def test_a_rule_that_never_came_to_be_is_missed_as_long_as_it_would_have_stayed(network: Watched) -> None:
    network.do("ignore s1 2")
    network.order(rule(1, hard_timeout=2), rule(2, hard_timeout=9, idle_timeout=3))
    assert len(network.missing) == 2
    network.do("wait 2500")
    assert network.missing == ["s1 table 0 32768 in_port=2"]
    network.do("wait 2500")
    assert network.missing == []


def test_a_switch_that_was_off_begins_anew(network: Watched) -> None:
    network.order(rule(1))
    network.do("ignore s1 1")
    network.order(rule(2))
    network.do("fail s1")
    assert network.missing == []
    network.do("recover s1")
    assert network.missing == []
    network.order(rule(2))
    assert network.missing == []


def test_what_cannot_be_done_at_all_is_no_order(network: Watched) -> None:
    backwards = FlowMod(FlowCommand.ADD, Match.of(in_port=1), (GotoTable(0),), table_id=3)
    network.order(backwards)
    assert network.missing == []


def test_each_table_is_looked_at_by_itself(network: Watched) -> None:
    network.order(rule(1, table_id=1), rule(1, table_id=2))
    network.do("forget s1 2")
    assert network.missing == ["s1 table 2 32768 in_port=1"]


def test_the_same_rule_on_another_switch_is_another_rule(tmp_path: Path) -> None:
    network = Watched(tmp_path, scenario(Silent(), topology="linear,2"))
    network.do("ignore s2 1")
    for switch in ("s1", "s2"):
        network.order(rule(1), switch=switch)
    assert network.missing == ["s2 table 0 32768 in_port=1"]


def test_several_controllers_order_and_a_slave_does_not(tmp_path: Path) -> None:
    given = Scenario(controllers={"c0": Silent(), "c1": Silent()}, topology="single,3")
    network = Watched(tmp_path, given)
    network.order(rule(1))
    network.order(rule(2), by="c1")
    assert network.missing == []
    network.order(RoleRequest(Role.SLAVE, 1), by="c1")
    network.order(rule(3), by="c1")
    assert network.missing == []
    network.do("forget s1 1", "forget s1 1")
    assert sorted(network.missing) == ["s1 table 0 32768 in_port=1", "s1 table 0 32768 in_port=2"]
