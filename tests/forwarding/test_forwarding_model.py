"""What the forwarding model says of small networks that were set up by hand."""

from __future__ import annotations

import pytest
from tests.forwarding.flow_lab import Lab, out

from penstock._forwarding.header_space import fields_of
from penstock._world.faults import Faults
from penstock._world.switch import budgets
from penstock._world.switch.state import PortStatus
from penstock.errors import PenstockError
from penstock.openflow.actions import (
    Action,
    ApplyActions,
    DecNwTtl,
    GotoTable,
    Group,
    Output,
    PopVlan,
    PushMpls,
    PushVlan,
    SetField,
    WriteActions,
)
from penstock.openflow.match import Match
from penstock.openflow.messages import (
    V10,
    Bucket,
    FlowCommand,
    FlowMod,
    GroupCommand,
    GroupMod,
    GroupType,
    PortNo,
)

TO_H2 = Match.of(eth_dst="00:00:00:00:00:02")
FLOOD = out(PortNo.FLOOD)


def fates(lab: Lab, host: str, match: Match) -> set[tuple[str, str]]:
    return {(one.fate, one.node) for one in lab.model.outcomes(host, match)}


def line() -> Lab:
    """Return h1-s1-s2-h2 where packets for h2 are sent there."""
    lab = Lab("linear,2", faults=Faults(link_failures=1, switch_failures=1))
    lab.rule("s1", TO_H2, out(2))
    lab.rule("s2", TO_H2, out(1))
    return lab


def test_packets_follow_the_rules_to_a_host_and_the_path_is_told() -> None:
    lab = line()
    (one,) = lab.model.outcomes("h1", TO_H2)
    assert (one.fate, one.node, one.hops) == ("delivered", "h2", ("s1:1", "s2:2"))
    assert one.packets == TO_H2
    assert [step.rule for step in one.path] == [
        "priority=1 eth_dst=00:00:00:00:00:02 -> output:2",
        "priority=1 eth_dst=00:00:00:00:00:02 -> output:1",
    ]
    assert lab.send("h1", one.header).delivered == {("h2", one.at_end)}


def test_what_no_rule_ever_sent_on_is_no_black_hole() -> None:
    lab = line()
    assert fates(lab, "h1", Match.of(eth_dst="00:00:00:00:00:09")) == {("missed", "s1")}
    assert lab.model.black_holes() == []


def test_a_missing_rule_at_the_second_switch_is_a_black_hole_with_a_packet_that_vanishes() -> None:
    lab = line()
    lab.tell("s2", FlowMod(FlowCommand.DELETE_STRICT, TO_H2, (), priority=1))
    (hole,) = lab.model.black_holes()
    assert (hole.source, hole.node, hole.why) == ("h1", "s2", "no rule of s2 table 0 matches it")
    seen = lab.send("h1", hole.header)
    assert not seen.delivered
    assert not seen.handed_over


def test_an_explicit_drop_is_policy() -> None:
    lab = line()
    lab.rule("s2", TO_H2, priority=9)
    assert fates(lab, "h1", TO_H2) == {("dropped", "s2")}
    assert lab.model.black_holes() == []


def test_a_cut_link_makes_a_black_hole_until_it_is_mended() -> None:
    lab = line()
    lab.fabric("fail s1-s2")
    (hole,) = lab.model.black_holes()
    assert (hole.node, hole.why) == ("s1", "port 2 is down")
    lab.fabric("recover s1-s2")
    assert lab.model.black_holes() == []
    assert fates(lab, "h1", TO_H2) == {("delivered", "h2")}


def test_a_model_can_be_told_of_a_port_by_itself() -> None:
    model = line().model
    model.set_port("s2", 2, PortStatus(link=False))
    (hole,) = model.black_holes()
    assert (hole.source, hole.node, hole.why) == ("h1", "s2", "port 2 of s2 is down")
    model.set_port("s2", 2, PortStatus())
    assert model.black_holes() == []


def test_before_the_switch_notices_packets_are_lost_on_the_wire() -> None:
    lab = line()
    lab.world.take("fabric fail s1-s2")
    (hole,) = lab.model.black_holes()
    assert (hole.node, hole.why) == ("s1", "port 2 leads nowhere")


def test_a_switch_that_is_off_forgets_its_rules() -> None:
    lab = line()
    lab.fabric("fail s2")
    assert fates(lab, "h1", TO_H2) == {("lost", "s1")}
    lab.fabric("recover s2")
    assert fates(lab, "h1", TO_H2) == {("lost", "s2")}
    assert lab.model.rules("s2", 0) == 0


def test_what_would_go_back_where_it_came_from_is_lost_behind_the_first_switch_only() -> None:
    lab = Lab("linear,2")
    lab.rule("s1", TO_H2, out(2))
    lab.rule("s2", TO_H2, out(2))
    holes = lab.model.black_holes()
    assert {(hole.source, hole.node) for hole in holes} == {("h1", "s2"), ("h2", "s1")}
    assert all("the port that it came in by" in hole.why for hole in holes)
    to_itself = Match.of(eth_dst="00:00:00:00:00:01")
    lab.rule("s1", to_itself, out(1))
    assert fates(lab, "h1", to_itself) == {("dropped", "s1")}
    assert len(lab.model.black_holes()) == 2


def test_a_flood_in_a_ring_goes_round_for_ever_both_ways() -> None:
    lab = Lab("ring,3")
    for switch in lab.switches:
        lab.rule(switch, Match(), FLOOD)
    loops = lab.model.loops()
    assert {len(loop.path) - loop.cycle for loop in loops} == {3}
    for loop in loops:
        assert not lab.send(loop.source, loop.header).at_rest


def test_a_loop_is_gone_with_the_rule_that_closes_it() -> None:
    lab = Lab("ring,3")
    for switch in lab.switches:
        lab.rule(switch, TO_H2, FLOOD)
    assert lab.model.loops()
    lab.tell("s3", FlowMod(FlowCommand.DELETE_STRICT, TO_H2, (), priority=1))
    assert lab.model.loops() == []


def test_packets_that_change_on_each_round_loop_only_once_they_are_the_same_again() -> None:
    lab = Lab("linear,2")
    rewrite = ApplyActions((SetField("eth_src", 7), Output(PortNo.IN_PORT)))
    lab.rule("s1", Match.of(in_port=1), out(2))
    lab.rule("s1", Match.of(in_port=2), out(PortNo.IN_PORT))
    lab.rule("s2", Match.of(in_port=2), rewrite)
    once, later = (Match.of(eth_src=source) for source in (7, 8))
    (short,) = lab.model.outcomes("h1", once)
    (long,) = lab.model.outcomes("h1", later)
    assert short.fate == long.fate == "loop"
    assert len(short.path) < len(long.path)
    assert not lab.send("h1", long.header).at_rest


def test_a_loop_that_counts_the_time_to_live_down_is_said_to_end() -> None:
    lab = Lab("linear,2")
    ip = Match.of(eth_type=0x0800)
    lab.rule("s1", Match.of(eth_type=0x0800, in_port=1), out(2))
    lab.rule("s1", Match.of(eth_type=0x0800, in_port=2), ApplyActions((DecNwTtl(), Output(PortNo.IN_PORT))))
    lab.rule("s2", ip, out(PortNo.IN_PORT))
    loops = [loop for loop in lab.model.loops() if loop.source == "h1"]
    assert {loop.why for loop in loops} == {"until its time to live is spent"}
    assert lab.send("h1", loops[0].header).at_rest


def test_packets_for_the_controller_are_undecided() -> None:
    lab = Lab("single,2")
    lab.rule("s1", Match(), out(PortNo.CONTROLLER), priority=0)
    assert fates(lab, "h1", Match()) == {("controller", "s1")}
    assert lab.model.black_holes() == lab.model.loops() == []


def test_what_matches_no_rule_goes_to_the_controller_in_version_1_0() -> None:
    assert fates(Lab("single,2", V10), "h1", Match()) == {("controller", "s1")}


def test_of_a_copied_packet_a_lost_copy_is_no_black_hole_if_another_arrives() -> None:
    lab = Lab("linear,3")
    lab.rule("s2", Match(), FLOOD)
    lab.rule("s1", Match.of(in_port=2), out(1))
    assert ("lost", "s3") in fates(lab, "h2", Match())
    assert lab.model.black_holes() == []


def test_a_later_table_sees_what_an_earlier_one_wrote() -> None:
    lab = Lab("single,3")
    written = ApplyActions((SetField("eth_dst", 2),))
    lab.rule("s1", Match.of(eth_dst=3), written, WriteActions((Output(3),)), GotoTable(1))
    lab.rule("s1", TO_H2, out(2), table_id=1)
    outcomes = lab.model.outcomes("h1", Match.of(eth_dst=3))
    assert {(one.fate, one.node) for one in outcomes} == {("delivered", "h2"), ("delivered", "h3")}
    assert {fields_of(one.at_end)["eth_dst"] for one in outcomes} == {2}


def test_tags_are_put_on_and_taken_off() -> None:
    lab = Lab("linear,2")
    untagged = Match.of(vlan_vid=0)
    lab.rule("s1", untagged, ApplyActions((PushVlan(0x8100), SetField("vlan_vid", 0x1005), Output(2))))
    lab.rule("s2", Match.of(vlan_vid=0x1005), ApplyActions((PopVlan(), Output(1))))
    (one,) = lab.model.outcomes("h1", Match.of(vlan_vid=0, eth_type=0x0806))
    assert (one.fate, one.node) == ("delivered", "h2")
    assert one.at_end == one.header
    assert fates(lab, "h1", Match.of(vlan_vid=(0x1000, 0x1000))) == {("missed", "s1")}


def test_a_field_is_written_only_into_packets_that_have_it() -> None:
    lab = Lab("single,2", V10)
    lab.rule("s1", Match(), ApplyActions((SetField("ipv4_dst", 9), Output(2))))
    ended = {fields_of(one.at_end).get("ipv4_dst") for one in lab.model.outcomes("h1", Match())}
    assert ended == {9, None}


def test_fast_failover_follows_the_ports_that_live() -> None:
    lab = Lab("single,3", faults=Faults(link_failures=2))
    buckets = tuple(Bucket((Output(port),), watch_port=port) for port in (2, 3))
    lab.tell("s1", GroupMod(GroupCommand.ADD, GroupType.FAST_FAILOVER, 1, buckets))
    lab.rule("s1", Match(), ApplyActions((Group(1),)))
    assert fates(lab, "h1", Match()) == {("delivered", "h2")}
    lab.fabric("fail h2-s1")
    assert fates(lab, "h1", Match()) == {("delivered", "h3")}
    lab.fabric("fail h3-s1")
    (hole,) = [hole for hole in lab.model.black_holes() if hole.source == "h1"]
    assert hole.why == "group 1 has no bucket that is live"


def test_each_bucket_of_a_group_has_a_copy_of_its_own() -> None:
    lab = Lab("single,3")
    buckets = (Bucket((SetField("eth_dst", 9), Output(2))), Bucket((Output(3),)))
    lab.tell("s1", GroupMod(GroupCommand.ADD, GroupType.ALL, 1, buckets))
    lab.rule("s1", Match(), ApplyActions((Group(1), SetField("eth_src", 8), Output(2))))
    outcomes = lab.model.outcomes("h1", Match.of(eth_dst=5, eth_src=1))
    ended = {(one.node, one.at_end) for one in outcomes}
    fields = {(node, *(fields_of(header)[name] for name in ("eth_dst", "eth_src"))) for node, header in ended}
    assert fields == {("h2", 9, 1), ("h3", 5, 1), ("h2", 5, 8)}
    assert lab.send("h1", outcomes[0].header).delivered == ended


def test_a_select_group_may_choose_any_bucket() -> None:
    lab = Lab("single,3")
    buckets = tuple(Bucket((Output(port),), weight=1) for port in (2, 3))
    lab.tell("s1", GroupMod(GroupCommand.ADD, GroupType.SELECT, 1, buckets))
    lab.rule("s1", Match(), ApplyActions((Group(1),)))
    outcomes = lab.model.outcomes("h1", Match())
    assert {(one.node, one.perhaps) for one in outcomes} == {("h2", True), ("h3", True)}


def groups_of_two(length: int, *last: Action) -> list[GroupMod]:
    """Return groups that each hand two copies to the one before, so that there are 2^(length-1)."""
    two = [((Bucket(last),))] + [(Bucket((Group(number),)),) * 2 for number in range(1, length)]
    return [GroupMod(GroupCommand.ADD, GroupType.ALL, at, buckets) for at, buckets in enumerate(two, 1)]


@pytest.mark.parametrize(
    ("groups", "ends"),
    [
        (groups_of_two(31, Output(2)), {("delivered", "h2", ""), ("delivered", "h3", "")}),
        (groups_of_two(31), {("lost", "s1", str(budgets.BUCKETS))}),
        (
            [
                GroupMod(GroupCommand.ADD, GroupType.INDIRECT, number, (Bucket((Group(number - 1),)),))
                for number in range(1, 66)
            ],
            {("lost", "s1", str(budgets.DEPTH))},
        ),
    ],
)
def test_packets_over_a_budget_of_a_switch_end_as_they_do_there(
    groups: list[GroupMod], ends: set[tuple[str, str, str]]
) -> None:
    lab = Lab("single,3")
    lab.tell("s1", *groups)
    lab.rule("s1", Match(), ApplyActions((Group(len(groups)), Output(3))))
    outcomes = lab.model.outcomes("h1", Match())
    assert {(one.fate, one.node, one.why) for one in outcomes} == ends
    delivered = {(one.node, one.at_end) for one in outcomes if one.fate == "delivered"}
    assert lab.send("h1", outcomes[0].header).delivered <= delivered
    assert lab.model.remarks == ()


def test_a_budget_that_is_met_after_copies_have_left_is_not_followed() -> None:
    lab = Lab("single,3")
    lab.tell("s1", *groups_of_two(31))
    lab.rule("s1", Match(), ApplyActions((Output(3),)), GotoTable(1))
    lab.rule("s1", Match(), ApplyActions((Group(31),)), table_id=1)
    assert ("unfollowed", "s1") in fates(lab, "h1", Match())
    assert lab.model.remarks == (
        f"Some packets are not followed beyond where they are at s1: {budgets.BUCKETS}.",
    )


def test_what_is_not_followed_is_said() -> None:
    lab = Lab("single,2")
    lab.rule("s1", Match.of(eth_type=0x0800), ApplyActions((PushMpls(0x8847), Output(2))))
    assert fates(lab, "h1", Match.of(eth_type=0x0800)) == {("unfollowed", "s1")}
    assert lab.model.remarks == (
        "Some packets are not followed beyond where they are at s1: an MPLS label is put on.",
    )


def test_a_rule_hidden_by_higher_ones_together_gets_no_packets() -> None:
    lab = Lab("single,3")
    halves = [Match.of(eth_type=0x0800, ipv4_dst=(bit << 31, 1 << 31)) for bit in (0, 1)]
    for half in halves:
        lab.rule("s1", half, out(2), priority=5)
    lab.rule("s1", Match.of(eth_type=0x0800), out(3), priority=1)
    assert fates(lab, "h1", Match.of(eth_type=0x0800)) == {("delivered", "h2")}
    lab.tell("s1", FlowMod(FlowCommand.DELETE_STRICT, halves[1], (), priority=5))
    (hidden,) = [one for one in lab.model.outcomes("h1", Match.of(eth_type=0x0800)) if one.node == "h3"]
    assert fields_of(hidden.header)["ipv4_dst"] >> 31 == 1


def test_unknown_names_are_one_sentence() -> None:
    model = Lab("single,2").model
    with pytest.raises(PenstockError, match=r"unknown host 'h9': the hosts are h1, h2\."):
        model.outcomes("h9", Match())
    with pytest.raises(PenstockError, match=r"unknown switch 's9': the switches are s1\."):
        model.remove("s9", 0, 1, Match())
    with pytest.raises(PenstockError, match=r"s1 table 0 has no entry priority=1 any to remove\."):
        model.remove("s1", 0, 1, Match())
    with pytest.raises(PenstockError, match="of no packet that is followed"):
        model.trace("h1", 0)
