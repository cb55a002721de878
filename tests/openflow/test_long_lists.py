"""Lists as long as a message has room for: they are read, written and told."""

from __future__ import annotations

import pytest

from penstock.openflow.actions import Action, ApplyActions, GotoTable, Output, PopVlan, actions_text
from penstock.openflow.messages import (
    NO_BUFFER,
    V10,
    V13,
    Bucket,
    FlowCommand,
    FlowMod,
    GroupCommand,
    GroupMod,
    GroupType,
    OpenFlowMessage,
    PacketOut,
    PortNo,
)
from penstock.openflow.wire import decode, encode

LONGEST = 65_535
FLOOD = Output(PortNo.FLOOD)


@pytest.mark.parametrize(
    ("message", "version"),
    [
        (PacketOut(NO_BUFFER, 1, (FLOOD,) * 4094, b""), V13),
        (PacketOut(NO_BUFFER, 1, (PopVlan(),) * 8188, b""), V13),
        (PacketOut(NO_BUFFER, 1, (FLOOD,) * 8189, b""), V10),
        (FlowMod(FlowCommand.ADD, instructions=(ApplyActions((FLOOD,) * 4091),)), V13),
        (FlowMod(FlowCommand.ADD, instructions=(GotoTable(1),) * 8184), V13),
        (GroupMod(GroupCommand.ADD, GroupType.ALL, 1, (Bucket(()),) * 4094), V13),
    ],
)
def test_the_longest_lists_there_are_come_back_from_the_wire(message: OpenFlowMessage, version: int) -> None:
    data = encode(message, version)
    assert LONGEST - 16 <= len(data) <= LONGEST
    assert decode(data) == message


@pytest.mark.parametrize(
    ("actions", "text"),
    [
        ((), "drop"),
        ((FLOOD,) * 3, "output:flood,output:flood,output:flood"),
        ((FLOOD,) * 4000, "output:flood×4000"),
        ((Output(1), *(FLOOD,) * 4, Output(1), Output(1)), "output:1,output:flood×4,output:1,output:1"),
    ],
)
def test_an_action_that_comes_many_times_in_a_row_is_told_once(
    actions: tuple[Action, ...], text: str
) -> None:
    assert actions_text(actions) == text
