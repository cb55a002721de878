"""What is encoded decodes to the same value, for every message of both versions."""

from __future__ import annotations

import inspect
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.openflow.message_strategies import (
    ACTIONS10,
    ACTIONS13,
    INSTRUCTIONS,
    MESSAGES,
    REPLIES,
    REQUESTS,
    hellos,
)

from penstock.openflow import actions, messages, stats
from penstock.openflow.messages import V10, V13, Hello, OpenFlowMessage
from penstock.openflow.wire import decode, encode

ONLY_13 = {
    messages.GroupMod,
    messages.TableMod,
    messages.RoleRequest,
    messages.RoleReply,
    messages.GetAsyncRequest,
    messages.GetAsyncReply,
    messages.SetAsync,
    messages.MeterMod,
    stats.GroupStatsRequest,
    stats.GroupDescRequest,
    stats.GroupFeaturesRequest,
    stats.MeterRequest,
    stats.MeterConfigRequest,
    stats.MeterFeaturesRequest,
    stats.TableFeaturesRequest,
    stats.GroupCounters,
    stats.GroupDescs,
    stats.GroupFeatures,
    stats.Meters,
    stats.MeterConfigs,
    stats.MeterFeatures,
    stats.TableFeaturesReply,
}
KINDS = [(version, kind) for version in MESSAGES for kind in MESSAGES[version]]
BODIES = [
    (version, outer, kind)
    for outer, bodies in ((stats.StatsRequest, REQUESTS), (stats.StatsReply, REPLIES))
    for version in bodies
    for kind in bodies[version]
]


def message_classes() -> set[type]:
    members = [*vars(messages).values(), *vars(stats).values()]
    return {m for m in members if inspect.isclass(m) and issubclass(m, OpenFlowMessage)} - {OpenFlowMessage}


def round_trip(message: Any, version: int) -> None:
    data = encode(message, version)
    assert data[0] == version
    assert int.from_bytes(data[2:4]) == len(data)
    assert decode(data) == message
    assert decode(data, version) == message
    assert encode(decode(data), version) == data


def test_there_is_a_strategy_for_every_message_and_every_body() -> None:
    requests, replies = set(get_args(stats.StatsRequestBody)), set(get_args(stats.StatsReplyBody))
    assert set(MESSAGES[V13]) == message_classes()
    assert set(MESSAGES[V10]) == message_classes() - ONLY_13
    assert set(REQUESTS[V13]) == requests
    assert set(REQUESTS[V10]) == requests - ONLY_13
    assert set(REPLIES[V13]) == replies
    assert set(REPLIES[V10]) == replies - ONLY_13


def test_there_is_a_strategy_for_every_action_and_instruction() -> None:
    only_10 = {
        actions.Enqueue,
        actions.SetVlanVid,
        actions.SetVlanPcp,
        actions.SetTransportSrc,
        actions.SetTransportDst,
    }
    # One that only the text of a flow dump has is in no message.
    sent = set(get_args(actions.Action)) - {actions.UnknownAction}
    assert set(ACTIONS10) | set(ACTIONS13) == sent
    assert set(ACTIONS13) == sent - only_10
    assert set(INSTRUCTIONS) == set(get_args(actions.Instruction))


@pytest.mark.parametrize(("version", "kind"), KINDS, ids=lambda p: p if isinstance(p, int) else p.__name__)
def test_every_message_comes_back_as_it_was(version: int, kind: type) -> None:
    @settings(max_examples=40)
    @given(MESSAGES[version][kind])
    def check(message: OpenFlowMessage) -> None:
        round_trip(message, version)

    check()


@pytest.mark.parametrize(
    ("version", "outer", "kind"), BODIES, ids=lambda p: p if isinstance(p, int) else p.__name__
)
def test_every_kind_of_statistics_comes_back_as_it_was(version: int, outer: type, kind: type) -> None:
    bodies = (REQUESTS if outer is stats.StatsRequest else REPLIES)[version]

    @settings(max_examples=25)
    @given(bodies[kind], st.booleans())
    def check(body: Any, more: bool) -> None:
        round_trip(outer(body, more, xid=7), version)

    check()


@settings(max_examples=150)
@given(MESSAGES[V10][messages.FlowMod])
def test_a_flow_mod_of_1_0_comes_back_with_any_match_it_can_say(message: messages.FlowMod) -> None:
    round_trip(message, V10)


@settings(max_examples=150)
@given(MESSAGES[V13][messages.FlowMod])
def test_a_flow_mod_of_1_3_comes_back_with_any_match_and_instructions(message: messages.FlowMod) -> None:
    round_trip(message, V13)


@given(st.integers(0, 255).flatmap(hellos))
def test_a_greeting_of_any_version_is_understood(hello: Hello) -> None:
    data = encode(hello, hello.version)
    assert decode(data) == hello
    assert decode(data, V13) == hello


def test_the_tag_of_a_packet_stays_at_home() -> None:
    packet_out = messages.PacketOut(messages.NO_BUFFER, 1, (actions.Output(2),), b"frame", tag="h1#1")
    assert decode(encode(packet_out, V13)) == messages.PacketOut(
        messages.NO_BUFFER, 1, (actions.Output(2),), b"frame"
    )
