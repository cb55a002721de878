"""How much a switch does for one packet, and how much it holds (see `tests/ovs/test_ovs_budgets.py`)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from penstock._world.component import Event, Step
from penstock._world.frame import Frame
from penstock._world.switch import PortSpec, Switch, SwitchOptions, budgets, group_mods
from penstock.openflow.actions import Action, ApplyActions, Group, Output, SetField
from penstock.openflow.error_codes import ErrorCode
from penstock.openflow.match import ANYTHING, Match
from penstock.openflow.messages import (
    NO_BUFFER,
    V10,
    V13,
    Band,
    Bucket,
    Error,
    FlowCommand,
    FlowMod,
    GroupCommand,
    GroupMod,
    GroupType,
    MeterCommand,
    MeterMod,
    OpenFlowMessage,
    PacketOut,
    PortNo,
)
from penstock.openflow.stats import GroupFeatures, GroupFeaturesRequest, StatsReply, StatsRequest
from penstock.packet import udp_datagram

DATA = udp_datagram(
    eth_src=1, eth_dst=2, ip_src="10.0.0.1", ip_dst="10.0.0.2", udp_src=1, udp_dst=2
).to_bytes()
FRAME = Frame(DATA, "h1#1")
PORTS = tuple(PortSpec(number, f"s1-eth{number}", number) for number in (1, 2, 3, 4))
TO_TABLE = Output(PortNo.TABLE)


def rule(*actions: Action, match: Match = ANYTHING, priority: int = 1) -> FlowMod:
    return FlowMod(FlowCommand.ADD, match, (ApplyActions(actions),), priority)


def group(number: int, *buckets: tuple[Action, ...], command: GroupCommand = GroupCommand.ADD) -> GroupMod:
    return GroupMod(command, GroupType.ALL, number, tuple(map(Bucket, buckets)))


def doubling_groups(length: int, *last: Action) -> list[OpenFlowMessage]:
    return [group(1, last), *(group(at, (Group(at - 1),), (Group(at - 1),)) for at in range(2, length + 1))]


def chained_groups(length: int) -> list[OpenFlowMessage]:
    return [group(1, (Output(2),)), *(group(at, (Group(at - 1),)) for at in range(2, length + 1))]


def doubling_rules(length: int) -> list[OpenFlowMessage]:
    """Each rule sends the packet to table 0 twice, with the next value in a field."""
    return [
        *(
            rule(
                *(SetField("ip_dscp", value + 1), TO_TABLE) * 2,
                match=Match.of(eth_type=0x0800, ip_dscp=value),
                priority=2,
            )
            for value in range(length)
        ),
        rule(Output(2)),
    ]


def told(messages: Sequence[OpenFlowMessage], options: SwitchOptions | None = None) -> tuple[Switch, Step]:
    switch = Switch("s1", 1, PORTS, options)
    step = Step(switch.initial())
    for message in messages:
        step = switch.receive(step.state, "c0", message)
    return switch, step


def arrival(messages: Sequence[OpenFlowMessage], version: int = V13) -> Step:
    switch, step = told(messages, SwitchOptions(version=version))
    return switch.receive(step.state, 1, FRAME)


def ends(step: Step) -> list[Event]:
    return [event for event in step.events if event.kind in ("dropped", "not-output")]


OVER: dict[str, tuple[list[OpenFlowMessage], budgets.Budget]] = {
    "depth": ([*chained_groups(65), rule(Output(3), Group(65))], budgets.DEPTH),
    "depth, in a circle": (
        [group(1, (Output(2),), (Group(2),)), group(2, (Group(1),)), rule(Output(3), Group(1))],
        budgets.DEPTH,
    ),
    "depth, by returning to table 0": ([rule(Output(3), TO_TABLE)], budgets.DEPTH),
    "resubmits": (doubling_rules(60), budgets.RESUBMITS),
    "buckets": ([*doubling_groups(40), rule(Output(3), Group(40))], budgets.BUCKETS),
}


@pytest.mark.parametrize("what", OVER)
def test_a_packet_over_a_budget_is_dropped_whole_and_the_switch_says_which(what: str) -> None:
    messages, budget = OVER[what]
    step = arrival(messages)
    assert step.sends == ()
    assert ends(step) == [Event("dropped", ("h1#1", 1, str(budget)))]
    assert budgets.is_over_budget(str(budget))


def test_of_a_packet_with_too_many_copies_those_made_so_far_are_sent() -> None:
    step = arrival([*doubling_groups(31, Output(2)), rule(Group(31), Output(3))])
    assert [send.port for send in step.sends] == [2] * budgets.COPIES.most + [3]
    assert ends(step) == [Event("not-output", ("h1#1", 1, str(budgets.COPIES)))]


def test_the_number_of_copies_is_counted_for_each_packet_anew() -> None:
    switch, step = told([*doubling_groups(13, Output(2)), rule(Group(13))])
    for _ in range(3):
        step = switch.receive(step.state, 1, FRAME)
        assert (len(step.sends), ends(step)) == (4096, [])


@pytest.mark.parametrize("version", [V10, V13])
def test_a_packet_out_over_a_budget_is_refused_and_what_it_carried_is_dropped(version: int) -> None:
    looped = rule(TO_TABLE)
    _, step = told(
        [looped, PacketOut(NO_BUFFER, 1, (TO_TABLE,), DATA, "h1#1")], SwitchOptions(version=version)
    )
    (send,) = step.sends
    assert isinstance(send.message, Error)
    assert (send.message.type, send.message.code) == ErrorCode.FLOW_UNKNOWN.code(version)
    assert ends(step) == [Event("dropped", ("h1#1", 1, str(budgets.DEPTH)))]


def refusal(step: Step) -> tuple[int, int]:
    (send,) = step.sends
    assert isinstance(send.message, Error)
    return send.message.type, send.message.code


class TestSizes:
    """What a switch holds, and what it says when there is no more room."""

    def test_a_list_with_more_actions_than_a_message_has_room_for(self) -> None:
        longest = (Output(2),) * budgets.MOST_ACTIONS
        for fits in (PacketOut(NO_BUFFER, 1, longest, DATA), rule(*longest), group(1, longest)):
            assert Error not in {type(send.message) for send in told([fits])[1].sends}
        too_long = (*longest, Output(2))
        for message in (PacketOut(NO_BUFFER, 1, too_long, DATA), rule(*too_long), group(1, too_long)):
            assert refusal(told([message])[1]) == ErrorCode.ACTION_TOO_MANY.code(V13)

    def test_a_full_table(self) -> None:
        first, second = (rule(match=Match.of(in_port=port)) for port in (1, 2))
        switch, step = told([first, second], SwitchOptions(table_size=1))
        assert refusal(step) == ErrorCode.FLOW_TABLE_FULL.code(V13)
        again = switch.receive(step.state, "c0", first)
        assert again.sends == ()

    def test_no_room_for_another_group(self) -> None:
        switch, step = told([group(1, (Output(2),)), group(2, (Output(2),))], SwitchOptions(groups=1))
        assert refusal(step) == ErrorCode.GROUP_OUT_OF_GROUPS.code(V13)
        changed = switch.receive(step.state, "c0", group(1, (Output(3),), command=GroupCommand.MODIFY))
        assert changed.sends == ()

    def test_it_says_how_many_groups_there_is_room_for(self) -> None:
        _, step = told([StatsRequest(GroupFeaturesRequest())], SwitchOptions(groups=7))
        (send,) = step.sends
        assert isinstance(send.message, StatsReply)
        assert isinstance(send.message.body, GroupFeatures)
        assert send.message.body.max_groups == (7, 7, 7, 7)

    def test_no_room_for_another_meter(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(group_mods, "MOST_METERS", 1)
        first, second = (MeterMod(MeterCommand.ADD, 1, number, (Band(1, 10, 10),)) for number in (1, 2))
        assert refusal(told([first, second])[1]) == ErrorCode.METER_OUT_OF_METERS.code(V13)

    def test_groups_that_lead_back_to_themselves_are_taken(self) -> None:
        loop = group(1, (Output(2),), (Group(3),), command=GroupCommand.MODIFY)
        assert told([*chained_groups(3), loop])[1].sends == ()
