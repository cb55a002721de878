"""Long answers come in as few messages as they fit, and sessions of tools are told only what they ask for."""

from __future__ import annotations

import pytest

from penstock._world.signals import FABRIC, Carrier, Power
from penstock._world.switch import PortSpec, Switch, SwitchOptions
from penstock.openflow.actions import ApplyActions, Output
from penstock.openflow.match import Match
from penstock.openflow.messages import (
    V10,
    V13,
    Bucket,
    FlowCommand,
    FlowMod,
    GetConfigReply,
    GetConfigRequest,
    GroupCommand,
    GroupMod,
    GroupType,
    OpenFlowMessage,
    PortStatus,
    SetConfig,
)
from penstock.openflow.stats import FlowRequest, Flows, GroupDescRequest, GroupDescs, StatsReply, StatsRequest
from penstock.openflow.wire import decode, encode

LONGEST = 0xFFFF


class Driven:
    """A switch with its state, told one thing after the other."""

    def __init__(self, version: int = V13, controllers: tuple[str, ...] = ("c0",), **options: object) -> None:
        ports = tuple(PortSpec(number, f"s1-eth{number}", number) for number in (1, 2))
        made = SwitchOptions(version=version, **options)  # type: ignore[arg-type]
        self.switch = Switch("s1", 1, ports, made, controllers)
        self.state = self.switch.initial()

    def tell(self, port: str, message: object) -> dict[str, list[OpenFlowMessage]]:
        step = self.switch.receive(self.state, port, message)
        self.state = step.state
        sent: dict[str, list[OpenFlowMessage]] = {}
        for send in step.sends:
            assert isinstance(send.message, OpenFlowMessage)
            sent.setdefault(str(send.port), []).append(send.message)
        return sent


def parts(sent: list[OpenFlowMessage], version: int) -> list[StatsReply]:
    """Return the parts of an answer, which all but the last announce more, as they cross the wire."""
    read = [decode(encode(message, version)) for message in sent]
    assert all(isinstance(message, StatsReply) for message in read)
    replies = [message for message in read if isinstance(message, StatsReply)]
    assert [reply.more for reply in replies] == [True] * (len(replies) - 1) + [False]
    return replies


class TestLongAnswers:
    @pytest.mark.parametrize(("version", "outputs"), [(V10, 1), (V10, 300), (V13, 1), (V13, 300)])
    def test_flow_entries_are_told_in_as_few_messages_as_they_fit(self, version: int, outputs: int) -> None:
        s1 = Driven(version)
        actions = ApplyActions((Output(2),) * outputs)
        matches = [Match.of(eth_dst=number) for number in range(1, 801 if outputs == 1 else 101)]
        for match in matches:
            s1.tell("c0", FlowMod(FlowCommand.ADD, match=match, instructions=(actions,)))
        sent = s1.tell("c0", StatsRequest(FlowRequest(), xid=7))["c0"]
        replies = parts(sent, version)
        flows = [flow for reply in replies if isinstance(reply.body, Flows) for flow in reply.body.flows]
        assert [flow.match for flow in flows] == matches
        lengths = [len(encode(reply, version)) for reply in replies]
        first = replies[0].body
        assert isinstance(first, Flows)
        size = (lengths[0] - len(encode(StatsReply(Flows(())), version))) // len(first.flows)
        assert all(length + size > LONGEST for length in lengths[:-1])

    def test_groups_are_told_in_as_few_messages_as_they_fit(self) -> None:
        s1 = Driven()
        buckets = tuple(Bucket((Output(1),)) for _ in range(500))
        for number in range(1, 11):
            s1.tell("c0", GroupMod(GroupCommand.ADD, GroupType.ALL, number, buckets))
        replies = parts(s1.tell("c0", StatsRequest(GroupDescRequest()))["c0"], V13)
        groups = [g for reply in replies if isinstance(reply.body, GroupDescs) for g in reply.body.groups]
        assert [group.group_id for group in groups] == list(range(1, 11))
        # A group takes 8 + 500 * 32 bytes, so four fit into one message.
        assert len(replies) == 3

    def test_an_empty_answer_is_one_message(self) -> None:
        (reply,) = parts(Driven().tell("c0", StatsRequest(FlowRequest()))["c0"], V13)
        assert reply.body == Flows(())


class TestServices:
    def test_a_service_hears_of_nothing_until_it_sets_how_much_it_wants(self) -> None:
        s1 = Driven(controllers=("c0", "tool"), services=("tool",))
        assert list(s1.tell(FABRIC, Carrier(1, up=False))) == ["c0"]
        s1.tell("tool", SetConfig(0, 64))
        heard = s1.tell(FABRIC, Carrier(1, up=True))
        assert sorted(heard) == ["c0", "tool"]
        assert isinstance(heard["tool"][0], PortStatus)

    def test_a_service_begins_anew_with_each_session(self) -> None:
        s1 = Driven(controllers=("c0", "tool"), services=("tool",))
        s1.tell("tool", SetConfig(0, 64))
        s1.tell(FABRIC, Carrier("tool", up=False))
        s1.tell(FABRIC, Carrier("tool", up=True))
        assert s1.tell("tool", GetConfigRequest())["tool"] == [GetConfigReply(0, 0)]
        assert s1.tell("c0", GetConfigRequest())["c0"] == [GetConfigReply(0, 128)]

    def test_a_service_is_one_after_a_power_cut_too(self) -> None:
        s1 = Driven(controllers=("c0", "tool"), services=("tool",))
        s1.tell(FABRIC, Power(on=False))
        s1.tell(FABRIC, Power(on=True))
        assert [(name, session.service) for name, session in s1.state.sessions.items()] == [
            ("c0", False),
            ("tool", True),
        ]
