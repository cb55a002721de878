"""UseCorrectRoutingTable: rules are installed on all and just the switches of a packet's path."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from tests.properties.property_lab import lab, search
from tests.properties.sample_controllers import PathInstaller, Sloppy, Stubborn, TrafficEngineer

from penstock._check.check import check
from penstock._controllers.controller import Controller
from penstock._properties.paths import UseCorrectRoutingTable
from penstock._scenario.scenario import Scenario
from penstock._world.hosts import HostMaker, host
from penstock.errors import PenstockError
from penstock.openflow.actions import Output
from penstock.openflow.match import Match
from penstock.openflow.messages import NO_MAX_LEN, PacketIn, PortNo
from penstock.openflow.stats import Ports, PortStatsRequest, StatsReply, StatsRequest
from penstock.packet import Ethernet, parse

ALWAYS_ON = ("s1", "s2")
ON_DEMAND = ("s1", "s3", "s2")
QUIET = {"h1": host("client", to="h2", count=2)}
BUSY = {**QUIET, "h3": host("client", to="h1")}


def path(packet: Ethernet, switch: str, load: str | None) -> tuple[str, ...] | None:
    if switch != "s1" or packet.src != 1:
        return None
    return ON_DEMAND if load == "high" else ALWAYS_ON


def load(before: str | None, switch: str, answer: StatsReply) -> str:
    return "high"


def by_load() -> UseCorrectRoutingTable:
    return UseCorrectRoutingTable(path=path, load=load)


def test_bug_12_the_path_of_another_load_is_used() -> None:
    result = search(lab("ring,3", Stubborn(), BUSY), by_load())
    assert result.broken["UseCorrectRoutingTable"] == (
        "The controller never installed a rule for h1#1 (UDP 10.0.0.1:7 > 10.0.0.2:7 1 byte) on s3, "
        "although its path is s1, s3, s2."
    )


def test_a_rule_off_the_path_is_a_violation_at_once() -> None:
    result = search(
        lab("ring,3", TrafficEngineer(), BUSY),
        UseCorrectRoutingTable(path=lambda packet, switch: path(packet, switch, None)),
    )
    assert result.broken["UseCorrectRoutingTable"] == (
        "The controller installed a rule for h1#1 (UDP 10.0.0.1:7 > 10.0.0.2:7 1 byte) on s3, which is not "
        "on its path s1, s2."
    )


def test_a_path_with_a_gap_is_a_violation_once_nothing_more_happens() -> None:
    result = search(lab("ring,3", Sloppy(), QUIET), by_load())
    assert "on s2, although its path is s1, s2." in result.broken["UseCorrectRoutingTable"]


@pytest.mark.parametrize("hosts", [QUIET, BUSY], ids=["quiet", "busy"])
def test_the_right_path_for_each_load_is_fine(hosts: Mapping[str, HostMaker]) -> None:
    result = search(lab("ring,3", TrafficEngineer(), hosts), by_load())
    assert result.outcome.result == "exhausted"
    assert result.exercised["UseCorrectRoutingTable"] > 2


def test_a_second_packet_of_the_flow_need_not_be_answered_with_rules_again() -> None:
    class Once(PathInstaller):
        def __init__(self) -> None:
            self.known: set[tuple[str, Match]] = set()

        def install(self, switch: str, *rule: Any, **options: Any) -> None:
            match, actions = rule
            if actions and (switch, match) not in self.known:
                self.known.add((switch, match))
                super().install(switch, match, actions, **options)

        def switch_join(self, switch: str) -> None:
            Controller.install(self, switch, actions=(Output(PortNo.CONTROLLER, NO_MAX_LEN),), priority=0)

    watcher = UseCorrectRoutingTable(path=lambda packet, switch: ("s1", "s2"))
    result = search(lab("linear,2", Once(), QUIET), watcher)
    assert result.outcome.result == "exhausted"
    assert result.exercised["UseCorrectRoutingTable"] > 2


class Hesitant(Controller):
    """Installs nothing at s2 unless it heard of much traffic."""

    def __init__(self) -> None:
        self.path = ["s1"]

    def switch_join(self, switch: str) -> None:
        self.install(switch, actions=(Output(PortNo.CONTROLLER, NO_MAX_LEN),), priority=0)
        if switch == "s1":
            self.send("s1", StatsRequest(PortStatsRequest()))

    def stats(self, switch: str, message: StatsReply) -> None:
        assert isinstance(message.body, Ports)
        self.path = ["s1", "s2"] if message.body.ports[0].tx_bytes > 1000 else ["s1"]

    def packet_in(self, switch: str, message: PacketIn) -> None:
        for other in self.path if switch == "s1" else ():
            self.install(other, Match.of(eth_dst=parse(message.data).dst), (Output(2),), priority=1)


@pytest.mark.parametrize(("limit", "result"), [(1000, "exhausted"), (10**9, "violation")])
def test_the_load_is_what_the_controller_heard_when_it_heard_it(limit: int, result: str) -> None:
    def much(before: bool | None, switch: str, answer: StatsReply) -> bool:
        assert isinstance(answer.body, Ports)
        return answer.body.ports[0].tx_bytes > limit

    def by_much(packet: Ethernet, switch: str, load: bool | None) -> list[str] | None:
        return None if switch != "s1" else ["s1", "s2"] if load else ["s1"]

    scenario = Scenario(
        Hesitant(),
        "linear,2",
        {"h1": {"kind": "client", "to": "h2"}},
        [UseCorrectRoutingTable(path=by_much, load=much)],
        symbolic={"messages": ["statistics"]},
    )
    # A packet-in of s1 waits behind the statistics, and meets the load that they tell.
    report = check(scenario)
    assert report.outcome.result == result
    assert not report.unexercised


def test_packets_without_a_path_do_not_put_it_to_the_test() -> None:
    watcher = UseCorrectRoutingTable(path=lambda packet, switch: None)
    result = search(lab("ring,3", TrafficEngineer(), QUIET), watcher)
    assert result.outcome.result == "exhausted"
    assert result.warnings == (
        "UseCorrectRoutingTable was never exercised: it needs a packet that goes to the controller "
        "and has a path.",
    )


def test_a_path_must_lead_through_switches() -> None:
    watcher = UseCorrectRoutingTable(path=lambda packet, switch: ["s1", "s7"])
    with pytest.raises(
        PenstockError, match="goes through 's7', which is not a switch: the switches are s1, s2, s3"
    ):
        search(lab("ring,3", TrafficEngineer(), QUIET), watcher)


@pytest.mark.parametrize("options", [{"path": "s1,s2"}, {"path": path, "load": 3}])
def test_its_options_must_be_functions(options: dict[str, Any]) -> None:
    with pytest.raises(PenstockError, match=r"invalid (path|load) = .*: must be a function"):
        UseCorrectRoutingTable(**options)
