"""Each fault does what its name says, to a network of real switches, and no oftener than allowed."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

import pytest

from penstock._controllers.static import StaticController
from penstock._world.assembly import build_network
from penstock._world.component import Component, Endpoint, Port, Send, Step
from penstock._world.faults import Faults
from penstock._world.hosts import host
from penstock._world.switch import SwitchOptions
from penstock._world.topology import topology
from penstock._world.transition import Record
from penstock._world.world import World
from penstock.errors import PenstockError
from penstock.openflow.actions import ApplyActions, Output
from penstock.openflow.match import ANYTHING
from penstock.openflow.messages import V13, Error, FlowCommand, FlowMod, Hello, PortStatus

LINE = topology("linear,2")


def line(faults: Faults, *, pings: int = 1, controller: Component | None = None, **options: Any) -> World:
    """Return h1 - s1 - s2 - h2, where h1 knows h2's address and pings it, with all rules in place."""
    hosts = {"h1": host("ping", to="h2", count=pings, static_arp=True), "h2": host("host", static_arp=True)}
    world = World(
        build_network(
            LINE,
            hosts=hosts,
            controllers=controller or StaticController(LINE),
            switches=SwitchOptions(**options),
            faults=faults,
        )
    )
    for switch in ("s1", "s2"):
        sent = world.take(f"c0 install {switch}").sends
        world.run(limit=len(sent))
    return world


def answered(world: World) -> int:
    return int(world.state("h1").memory.answered)


def texts(world: World) -> set[str]:
    return {str(transition) for transition in world.enabled()}


def watched(world: World) -> list[Record]:
    records: list[Record] = []
    world.observe(records.append)
    return records


def received(records: list[Record], name: str) -> int:
    return sum(event.kind == "received" and event.detail[0] == name for r in records for event in r.events)


class TestOff:
    def test_without_budgets_nothing_goes_wrong(self) -> None:
        world = line(Faults(), pings=3)
        seen: list[Record] = watched(world)
        world.run(Random(1), faults=True)
        assert answered(world) == 3
        assert all(record.node != "fabric" and not record.lost for record in seen)

    def test_a_run_that_was_not_told_to_leaves_the_faults_alone(self) -> None:
        world = line(Faults(drops=5, link_failures=5), pings=3)
        world.run(Random(1))
        assert answered(world) == 3
        assert "fabric fail s1-s2" in texts(world)


class TestChannelFaults:
    def test_a_dropped_packet_is_gone(self) -> None:
        world = line(Faults(drops=1))
        world.take("h1 send ping h2")
        assert "drop h1:0" in texts(world)
        record = world.take("drop h1:0")
        assert [flight.channel for flight in record.lost] == [Endpoint("h1", 0)]
        world.run()
        assert answered(world) == 0
        assert world.state("fabric").budget.drops == 0

    def test_a_duplicated_packet_arrives_twice(self) -> None:
        world = line(Faults(duplicates=1))
        records = watched(world)
        world.take("h1 send ping h2")
        world.take("duplicate h1:0")
        assert not any(text.startswith("duplicate") for text in texts(world))
        world.run()
        assert received(records, "h2") == 2
        assert received(records, "h1") == 2
        assert answered(world) == 1

    def test_two_packets_change_places(self) -> None:
        world = line(Faults(reorders=1), pings=2)
        order: list[object] = []
        world.observe(lambda r: order.extend(e.detail[1] for e in r.events if e.kind == "answered"))
        world.take("h1 send ping h2")
        assert "reorder h1:0" not in texts(world)
        world.take("h1 send ping h2")
        world.take("reorder h1:0")
        world.run()
        assert order == [2, 1]

    def test_control_channels_are_reliable(self) -> None:
        world = line(Faults(drops=9, duplicates=9, reorders=9, disconnects=1))
        world.take("fabric disconnect s1-c0")
        world.run()
        world.take("fabric reconnect s1-c0")
        while world.enabled():
            for text in texts(world):
                verb, _, where = text.partition(" ")
                assert verb not in ("drop", "duplicate", "reorder") or where.split(":")[1].isdecimal()
            if not world.run(limit=1):
                break


class TestLinkFailure:
    def test_packets_are_lost_until_the_link_recovers(self) -> None:
        world = line(Faults(link_failures=1), pings=2)
        records = watched(world)
        world.take("h1 send ping h2")
        world.take("deliver h1:0")
        record = world.take("fabric fail s1-s2")
        assert [flight.channel for flight in record.lost] == [Endpoint("s1", 2)]
        world.run()
        assert answered(world) == 0
        assert not any(text.startswith("fabric fail") for text in texts(world))
        world.take("fabric recover s1-s2")
        world.run()
        told = [r.message for r in records if r.node == "c0" and isinstance(r.message, PortStatus)]
        assert len(told) == 4
        assert answered(world) == 0

    def test_after_recovery_packets_get_through(self) -> None:
        world = line(Faults(link_failures=1))
        world.take("fabric fail s1-s2")
        world.take("deliver fabric:s1")
        world.take("deliver fabric:s2")
        world.take("fabric recover s1-s2")
        world.run()
        assert answered(world) == 1

    def test_a_switch_may_notice_late(self) -> None:
        world = line(Faults(link_failures=1))
        world.take("fabric fail s1-s2")
        world.take("h1 send ping h2")
        record = world.take("deliver h1:0")
        assert [flight.channel for flight in record.lost] == [Endpoint("s1", 2)]


class TestSwitchFailure:
    def test_a_switch_forgets_its_rules(self) -> None:
        world = line(Faults(switch_failures=1))
        assert world.state("s2").tables
        world.take("fabric fail s2")
        world.run()
        assert answered(world) == 0
        assert not world.state("s2").tables

    def test_a_switch_that_rejoined_forwards_once_it_is_installed(self) -> None:
        world = line(Faults(switch_failures=1))
        world.take("fabric fail s2")
        world.take("fabric recover s2")
        records = watched(world)
        world.run()
        assert any(r.at == Endpoint("c0", "s2") and isinstance(r.message, Hello) for r in records)
        assert "c0 install s2" in [str(r.transition) for r in records]
        assert answered(world) == 1

    def test_a_switch_takes_in_that_it_lost_its_power_before_anything_else(self) -> None:
        world = line(Faults(switch_failures=1))
        world.take("h1 send ping h2")
        world.take("fabric fail s2")
        world.take("fabric recover s2")
        world.take("deliver h1:0")
        assert "deliver s1:2" not in texts(world)
        with pytest.raises(PenstockError, match="'deliver s1:2' cannot happen now"):
            world.take("deliver s1:2")
        while world.queue(Endpoint("fabric", "s2")):
            world.take("deliver fabric:s2")
        assert "deliver s1:2" in texts(world)


class TestControllerCrash:
    def test_the_switches_keep_their_rules_while_it_is_away(self) -> None:
        world = line(Faults(controller_crashes=1))
        world.take("fabric crash c0")
        world.run()
        assert answered(world) == 1

    def test_it_starts_anew_when_it_is_back(self) -> None:
        world = line(Faults(controller_crashes=1))
        world.take("fabric crash c0")
        world.run()
        assert not any(text.startswith("c0 ") for text in texts(world))
        world.take("fabric restart c0")
        while world.queue(Endpoint("fabric", "c0")):
            world.take("deliver fabric:c0")
        assert {"c0 install s1", "c0 install s2"} <= texts(world)


class TestDisconnect:
    def test_what_is_on_its_way_to_the_switch_is_lost(self) -> None:
        hosts = {"h1": host("ping", to="h2", static_arp=True)}
        network = build_network(
            LINE, hosts=hosts, controllers=StaticController(LINE), faults=Faults(disconnects=1)
        )
        world = World(network)
        world.take("c0 install s1")
        record = world.take("fabric disconnect s1-c0")
        assert len(record.lost) == 4
        world.run()
        assert answered(world) == 0
        assert not world.state("s1").tables

    def test_a_session_that_is_back_begins_with_a_greeting_and_a_new_installation(self) -> None:
        world = line(Faults(disconnects=1))
        world.take("fabric disconnect s1-c0")
        world.run()
        records = watched(world)
        world.take("fabric reconnect s1-c0")
        world.run()
        assert any(r.at == Endpoint("c0", "s1") and isinstance(r.message, Hello) for r in records)
        assert "c0 install s1" in [str(r.transition) for r in records]


@dataclass
class Brief:
    """Installs on every switch one rule that is gone after a second of silence."""

    name: str = "c0"

    def initial(self) -> tuple[str, ...]:
        return ("s1", "s2")

    def actions(self, state: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(f"install {switch}" for switch in state)

    def act(self, state: tuple[str, ...], action: str) -> Step:
        switch = action.removeprefix("install ")
        rule = FlowMod(FlowCommand.ADD, ANYTHING, (ApplyActions((Output(2),)),), idle_timeout=1)
        return Step(tuple(name for name in state if name != switch), (Send(switch, rule),))

    def receive(self, state: tuple[str, ...], port: Port, message: Any) -> Step:
        return Step(state)


class TestRules:
    def test_a_rule_with_a_timeout_expires_at_any_moment_as_often_as_allowed(self) -> None:
        world = line(Faults(rule_expiries=1), controller=Brief())
        expiring = [text for text in texts(world) if " expire " in text]
        assert sorted(text.split()[0] for text in expiring) == ["s1", "s2"]
        before = world.state("s1").tables
        world.take(next(text for text in expiring if text.startswith("s1")))
        assert world.state("s1").tables != before
        assert not any(text.startswith("s1 expire") for text in texts(world))

    def test_without_a_budget_only_time_makes_rules_expire(self) -> None:
        world = line(Faults(), controller=Brief())
        assert not any(" expire " in text for text in texts(world))
        before = world.state("s1").tables
        world.advance(999)
        assert world.state("s1").tables == before
        world.advance(1)
        assert world.state("s1").tables != before

    def test_a_full_table_refuses_rules(self) -> None:
        world = World(
            build_network(LINE, controllers=StaticController(LINE), switches=SwitchOptions(table_size=3))
        )
        records = watched(world)
        world.run()
        refused = [record for record in records if record.node == "c0" and isinstance(record.message, Error)]
        assert [str(record.at) for record in refused] == ["c0:s1", "c0:s2"]
        first = refused[0].message
        assert isinstance(first, Error) and first.name(V13) == "flow-table-full"


class TestBadBudgets:
    def test_a_negative_budget_is_refused(self) -> None:
        with pytest.raises(
            PenstockError, match=r"invalid link_failures = -1 in \[faults\]: must be an integer"
        ):
            Faults(link_failures=-1)

    def test_a_budget_that_is_no_number_is_refused(self) -> None:
        with pytest.raises(PenstockError, match=r'invalid drops = "many" in \[faults\]: must be an integer'):
            Faults(drops="many")  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(5))
def test_a_random_run_with_every_fault_stays_within_its_budgets(seed: int) -> None:
    faults = Faults(
        drops=1,
        duplicates=1,
        reorders=1,
        link_failures=1,
        switch_failures=1,
        controller_crashes=1,
        disconnects=1,
    )
    world = line(faults, pings=3)
    verbs: list[str] = []
    world.observe(lambda record: verbs.append(" ".join(str(record.transition).split()[:2])))
    world.run(Random(seed), faults=True, limit=2000)
    assert verbs.count("fabric crash") <= 1
    assert verbs.count("fabric disconnect") <= 1
    assert sum(verb == "fabric fail" for verb in verbs) <= 2
    assert all(sum(v.split()[0] == kind for v in verbs) <= 1 for kind in ("drop", "duplicate", "reorder"))
