"""Invariants over a forwarding state: what they find, by which keys, and what they leave undecided."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.forwarding.flow_lab import Lab, out
from tests.forwarding.random_networks import RandomNetwork

from penstock._forwarding.invariants import (
    AllPairsReachability,
    Finding,
    Invariant,
    Isolation,
    Judged,
    NoBlackHoles,
    NoForwardingLoops,
    NothingLost,
)
from penstock._forwarding.model import ForwardingModel
from penstock.errors import PenstockError
from penstock.openflow.match import Match
from penstock.openflow.messages import FlowCommand, FlowMod, PortNo


def keys(invariant: Invariant, model: ForwardingModel) -> list[str]:
    return [finding.key for finding in invariant.check(model)]


def connected() -> Lab:
    lab = Lab("linear,2")
    for host, (at_s1, at_s2) in {1: (1, 2), 2: (2, 1)}.items():
        for switch, port in (("s1", at_s1), ("s2", at_s2)):
            lab.rule(switch, Match.of(eth_dst=host), out(port))
    return lab


def test_hosts_that_reach_each_other_are_found_to() -> None:
    assert keys(AllPairsReachability(), connected().model) == []


def test_a_pair_without_a_way_is_found_and_healed_by_the_same_key() -> None:
    lab, pairs = connected(), AllPairsReachability()
    assert keys(pairs, lab.model) == []
    lab.tell("s2", FlowMod(FlowCommand.DELETE_STRICT, Match.of(eth_dst=2), (), priority=1))
    (finding,) = pairs.check(lab.model)
    assert finding.key == "h1 does not reach h2"
    assert finding.outcome is not None
    assert not lab.send("h1", finding.outcome.header).delivered
    lab.rule("s2", Match.of(eth_dst=2), out(1))
    assert keys(pairs, lab.model) == []


def test_a_pair_whose_packets_go_to_the_controller_is_undecided() -> None:
    lab, pairs = Lab("single,2"), AllPairsReachability(pairs=(("h1", "h2"),))
    lab.rule("s1", Match(), out(PortNo.CONTROLLER), priority=0)
    assert keys(pairs, lab.model) == []
    assert pairs.undecided(lab.model) == ("Whether h1 reaches h2 is for the controller to say.",)


def test_a_loop_has_one_key_whoever_sends_the_packet() -> None:
    lab = Lab("ring,3")
    for switch in lab.switches:
        lab.rule(switch, Match(), out(PortNo.FLOOD))
    found = NoForwardingLoops().check(lab.model)
    assert [finding.key for finding in found] == [
        "loop s1:2 > s3:3 > s2:3",
        "loop s1:3 > s2:2 > s3:2",
    ]
    assert all(finding.outcome is not None and finding.message for finding in found)


def test_a_black_hole_is_named_by_its_place_and_reason() -> None:
    lab = Lab("linear,2")
    lab.rule("s1", Match.of(eth_dst=2), out(2))
    assert keys(NoBlackHoles(), lab.model) == ["black hole at s2: no rule of s2 table 0 matches it"]


BOTH_WAYS = (("h1", "h2"), ("h2", "h1"))


def test_nothing_is_lost_between_hosts_that_reach_each_other() -> None:
    assert keys(NothingLost(BOTH_WAYS), connected().model) == []


def test_packets_of_one_protocol_that_vanish_are_found_though_others_arrive() -> None:
    lab = connected()
    lab.rule("s1", Match.of(eth_dst=2, eth_type=0x0800, ip_proto=6), out(9), priority=50)
    (found,) = NothingLost(BOTH_WAYS).check(lab.model)
    assert found.key == "h1 to h2" and found.message.startswith("h1 loses packets for h2: TCP ")
    assert keys(AllPairsReachability(), lab.model) == []


def test_what_a_rule_drops_hides_nothing_that_is_lost() -> None:
    lab = connected()
    lab.rule("s1", Match.of(eth_dst=2, eth_type=0x0800), out(9), priority=50)
    lab.rule("s1", Match.of(eth_dst=2, eth_type=0x0800, ip_proto=6, tcp_dst=22), priority=60)
    (found,) = NothingLost(BOTH_WAYS).check(lab.model)
    assert found.message.startswith("h1 does not reach h2: ")
    assert found.outcome is not None and found.outcome.fate == "lost"


def test_what_rules_drop_is_not_lost() -> None:
    lab = connected()
    lab.rule("s1", Match.of(eth_dst=2, eth_type=0x0800), priority=50)
    assert keys(NothingLost(BOTH_WAYS), lab.model) == []
    assert keys(AllPairsReachability(), lab.model) == ["h1 does not reach h2"]


def test_a_lost_copy_is_no_loss_where_another_arrives() -> None:
    lab = connected()
    lab.rule("s1", Match.of(eth_dst=2), out(9, 2), priority=50)
    assert keys(NothingLost(BOTH_WAYS), lab.model) == []


def test_isolation_is_broken_by_the_packets_that_get_through() -> None:
    lab = connected()
    walls = Isolation.of(
        [{"from": "h1", "to": "h2", "match": {"eth_type": 0x0800, "ipv4_dst": "10.0.0.0/8"}}]
    )
    (finding,) = walls.check(lab.model)
    assert finding.key == "h1 reaches h2 with eth_type=0x0800,ipv4_dst=10.0.0.0/8"
    assert finding.outcome is not None
    assert {host for host, _ in lab.send("h1", finding.outcome.header).delivered} == {"h2"}
    lab.rule("s2", Match.of(eth_type=0x0800, ipv4_dst="10.0.0.0/8"), priority=9)
    assert keys(walls, lab.model) == []
    assert walls.undecided(lab.model) == ()


def test_isolation_by_a_controller_is_undecided() -> None:
    lab = Lab("single,2")
    lab.rule("s1", Match(), out(PortNo.CONTROLLER), priority=0)
    (sentence,) = Isolation.of([{"from": "h1", "to": "h2"}]).undecided(lab.model)
    assert sentence == "Whether any from h1 reaches h2 is for the controller to say."


def test_a_user_judges_by_a_function_of_the_model() -> None:
    def nothing_at_s2(model: ForwardingModel) -> Iterator[str]:
        if model.rules("s2", 0):
            yield "s2 has rules"

    assert Judged(nothing_at_s2, "empty s2").check(connected().model) == (
        Finding("s2 has rules", "s2 has rules"),
    )


@pytest.mark.parametrize(
    "written", [{"from": "h1"}, {"from": "h1", "to": "h2", "port": 1}, {"from": "h1", "to": "h2", "match": 3}]
)
def test_a_barrier_that_makes_no_sense_is_one_sentence(written: dict[str, object]) -> None:
    with pytest.raises(PenstockError, match="is not a "):
        Isolation.of([written])


def test_a_barrier_between_hosts_that_are_not_there_is_one_sentence() -> None:
    with pytest.raises(PenstockError, match="unknown host 'h7'"):
        Isolation.of([{"from": "h1", "to": "h7"}]).check(connected().model)


@settings(max_examples=12, deadline=None, derandomize=True)
@given(st.integers(0, 1 << 32).map(Random))
def test_answers_kept_from_before_are_those_of_a_new_invariant(random: Random) -> None:
    network = RandomNetwork(random)
    lab = network.lab
    walls = [{"from": "h1", "to": "h2", "match": {"eth_type": kind}} for kind in (0x0800, 0x0806)]

    def both() -> list[Invariant]:
        return [AllPairsReachability(), Isolation.of(walls)]

    kept, model = both(), lab.model
    for _ in range(6):
        network.change()
        for old, new in zip(kept, both(), strict=True):
            assert keys(old, model) == keys(new, model)
            assert old.undecided(model) == new.undecided(model)
