"""Which packets hosts find worth sending, as controllers and flow tables change."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.symbolic.discovery_apps import (
    SERVICE,
    Balancer,
    Counting,
    Gate,
    Pinned,
    PortKnocking,
    TwoHops,
)
from tests.symbolic.discovery_learning import Learning

from penstock._check.check import check
from penstock._check.packets import list_packets
from penstock._controllers.controller import Controller
from penstock._engine.building import Built, build
from penstock._scenario.scenario import Scenario
from penstock._symbolic.classes import PacketClass
from penstock._world.hosts import Host, SymbolicHost
from penstock._world.world import World, states_of
from penstock.errors import PenstockError
from penstock.packet import IPv4, describe, parse


def scenario(program: Controller, shape: str = "single,2", **more: Any) -> Scenario:
    return Scenario(controller=program, topology=shape, openflow="1.0", **more)


def classes(built: Built, host: str, world: World | None = None) -> tuple[PacketClass, ...]:
    if world is None:
        world = World(built.network)
        world.restore(built.start)
    assert built.discovery is not None
    (made,) = (made for made in built.network.components if made.name == host)
    assert isinstance(made, Host)
    return built.discovery.classes(made, states_of(world))


def test_a_class_for_each_way_through_the_handler() -> None:
    found = classes(build(scenario(PortKnocking())), "h1")
    outcomes = [tuple(decision.outcome for decision in known.path.decisions) for known in found]
    assert sorted(outcomes) == [(False,), (True, False), (True, True)]
    (served,) = (known for known in found if known.path.decisions[-1].outcome)
    ip = parse(served.data).find(IPv4)
    assert ip is not None and ip.dst == SERVICE


def test_an_example_is_from_the_host_itself_and_its_addresses_belong_together() -> None:
    for known in classes(build(scenario(Learning(), "single,3")), "h2"):
        packet = parse(known.data)
        assert packet.src == 2
        ip = packet.find(IPv4)
        if ip is not None and packet.dst in (1, 2, 3):
            assert (ip.src, ip.dst) == (0x0A000002, 0x0A000000 + packet.dst)


def test_what_a_rule_handles_is_no_longer_sent() -> None:
    built = build(scenario(Learning(), hosts={"h1": {"repeats": False}}))
    world = World(built.network)
    world.restore(built.start)
    before = {parse(known.data).dst for known in classes(built, "h1", world)}
    assert 2 in before
    ping = next(
        step for step in world.enabled() if str(step).startswith("h1 send ICMP") and "0.2" in str(step)
    )
    world.take(ping)
    world.run(lambda enabled: next(step for step in enabled if " send " not in str(step)), limit=8)
    # h2's answer made the controller install the way back to h1 ...
    assert {parse(known.data).dst for known in classes(built, "h2", world)}.isdisjoint({1})
    # ... and h1's next packet to h2 still makes a difference.
    assert 2 in {parse(known.data).dst for known in classes(built, "h1", world)}


def test_a_class_that_reaches_the_controller_in_part_gets_an_example_that_does() -> None:
    found = classes(build(scenario(Gate())), "h1")
    low = [known for known in found if known.path.decisions[-1].outcome and len(known.path.decisions) == 2]
    assert len(low) == 1
    assert ":80" not in describe(low[0].data)
    assert describe(low[0].data).startswith("TCP")


def test_a_packet_that_reaches_the_controller_further_on_is_found_too() -> None:
    found = classes(build(scenario(TwoHops(), "linear,2")), "h1")
    assert {known.arrival.switch for known in found} == {"s2"}
    assert {known.path.decisions[0].outcome for known in found} == {True, False}


def test_hosts_send_by_themselves_only_if_nobody_says_what_traffic_there_is() -> None:
    quiet = build(scenario(Learning(), hosts={"h1": {"kind": "ping", "to": "h2"}}))
    assert not any(isinstance(made, SymbolicHost) for made in quiet.network.components)
    assert quiet.discovery is None
    curious = build(scenario(Learning()))
    assert sum(isinstance(made, SymbolicHost) for made in curious.network.components) == 2


def test_the_sequence_is_bounded_and_a_burst_waits_for_an_answer() -> None:
    built = build(scenario(Learning(), hosts={"h1": {"count": 2}, "h2": {"count": 0}}))
    world = World(built.network)
    world.restore(built.start)
    assert any(str(step).startswith("h1 send") for step in world.enabled())
    world.take(next(step for step in world.enabled() if "ICMP echo request 10.0.0.1 > 10.0.0.2" in str(step)))
    assert not any(str(step).startswith("h1 send") for step in world.enabled())
    world.run(lambda enabled: enabled[0], limit=9)
    assert any(str(step).startswith("h1 send") for step in world.enabled())


def test_two_searches_of_the_same_scenario_find_the_same() -> None:
    once, again = (
        check(scenario(Learning(), properties=["NoForwardingLoops"], search={"states": 3000})) for _ in "ab"
    )
    assert (once.outcome.states, once.outcome.transitions) == (
        again.outcome.states,
        again.outcome.transitions,
    )


def test_hosts_that_nothing_tells_apart_take_turns_once() -> None:
    options = {name: {"count": 1} for name in ("h1", "h2", "h3")}
    merged, every = (
        check(
            scenario(
                Learning(),
                "single,3",
                hosts=options,
                properties=["NoForwardingLoops"],
                search={"depth": 9},
                symbolic={"symmetry": symmetry},
            )
        )
        for symmetry in (True, False)
    )
    assert merged.outcome.states * 3 < every.outcome.states * 2
    assert any("are alike" in remark for remark in merged.outcome.remarks)
    assert not any("are alike" in remark for remark in every.outcome.remarks)


def test_a_host_that_is_named_in_the_controller_is_like_no_other() -> None:
    said = {"symmetry": True}
    built = build(scenario(PortKnocking(), "single,8", properties=["NoForwardingLoops"], symbolic=said))
    assert built.discovery is not None and built.discovery.symmetry is not None
    # Its module has the numbers 1, 4, 9 and others, and 0x0a000002, the address of h2.
    names = [[made.name for made in group] for group in built.discovery.symmetry.groups]
    assert names == [["h3", "h7", "h8"]]


def test_statistics_are_heard_in_every_way_that_makes_a_difference() -> None:
    told = scenario(Counting(), hosts={"h1": {"count": 0}, "h2": {"count": 0}})
    told = replace(told, symbolic={"messages": ["statistics"]})
    built = build(told)
    world = World(built.network)
    world.restore(built.start)
    heard = [str(step) for step in world.enabled()]
    assert len(heard) == 2 and all(text.startswith("c0 hear s1: ") for text in heard)
    loads = []
    for text in heard:
        world.restore(built.start)
        (message,) = [world.take(text).message or text]
        loads.append("500000001" in str(message))
    assert sorted(loads) == [False, True]


def test_an_unknown_kind_of_message_is_refused() -> None:
    with pytest.raises(PenstockError, match=r'"statistics", "port-status" or "flow-removed"'):
        build(scenario(Learning(), symbolic={"messages": ["weather"]}))


def test_packets_are_listed_for_scenarios_with_given_traffic_too() -> None:
    given = scenario(PortKnocking(), hosts={"h1": {"kind": "ping", "to": "h2"}})
    found, _ = list_packets(given, host="h1")
    assert [(host.host, len(host.classes)) for host in found] == [("h1", 3)]
    with pytest.raises(PenstockError, match="unknown host 'h9'"):
        list_packets(given, host="h9")
    with pytest.raises(PenstockError, match="--after"):
        list_packets(given, steps=3)


def test_hosts_whose_ports_are_treated_differently_are_all_tried() -> None:
    said = {"symmetry": True}
    crash = check(scenario(Pinned(), "single,3", properties=["ControllerCrash"], symbolic=said))
    assert [finding.property for finding in crash.findings] == ["ControllerCrash"]


def test_classes_that_go_different_ways_are_no_twins() -> None:
    options = {f"h{number}": {"count": 1} for number in range(1, 5)}
    for symmetry in (True, False):
        told = scenario(Balancer(), "single,4", hosts=options, properties=["ControllerCrash"])
        crash = check(replace(told, symbolic={"symmetry": symmetry}))
        assert [finding.property for finding in crash.findings] == ["ControllerCrash"]


def test_a_search_with_packets_that_were_not_all_found_is_not_exhaustive() -> None:
    report = check(scenario(Learning(), symbolic={"paths": 1}, properties=["NoForwardingLoops"]))
    assert report.outcome.result == "bounded"
    assert report.outcome.stopped_by == "packets that could not be found"
    assert any("paths" in remark for remark in report.outcome.remarks)


def test_a_host_that_does_not_exist_is_refused_though_it_has_no_kind() -> None:
    with pytest.raises(PenstockError, match="h9"):
        build(scenario(Learning(), hosts={"h9": {"count": 1}}))


@pytest.mark.parametrize(
    "option", [{"spoofs": "yes"}, {"repeats": 3}, {"burst": 1.5}, {"count": "x"}, {"source": None}]
)
def test_options_of_a_wrong_type_are_refused(option: dict[str, Any]) -> None:
    with pytest.raises(PenstockError, match=next(iter(option))):
        build(scenario(Learning(), hosts={"h1": {"kind": "curious", **option}}))
