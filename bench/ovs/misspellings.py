"""Bytes that are no right message: what a switch answers to them is compared too.

A type that does not exist, a message for the other direction, a right message cut short, with
something after it or with a byte changed, and 1.0 matches with fields that mean nothing together.
A header that makes no sense (length below eight, another version) is left to the codec's tests:
it ends the session rather than being refused.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random
from struct import Struct, pack
from typing import Final

from bench.ovs.pool import IPS, MACS
from bench.ovs.programs import PORTS, TellBytes, port_hw_addr
from penstock.openflow.actions import ApplyActions, Output, SetField
from penstock.openflow.match import ANYTHING, Match
from penstock.openflow.messages import (
    V10,
    V13,
    Band,
    BarrierReply,
    Bucket,
    FeaturesReply,
    FlowCommand,
    FlowMod,
    FlowRemoved,
    GetAsyncReply,
    GetConfigReply,
    GroupCommand,
    GroupMod,
    GroupType,
    MeterCommand,
    MeterMod,
    OpenFlowMessage,
    PacketOut,
    Port,
    PortMod,
    PortStatus,
    QueueGetConfigReply,
    QueueGetConfigRequest,
    RoleReply,
    RoleRequest,
    SetConfig,
    TableMod,
)
from penstock.openflow.stats import FlowRequest, PortStatsRequest, StatsRequest
from penstock.openflow.wire import encode

_PRIORITY: Final = 4
_STRANGE_TYPES: Final = {V10: (30, 99, 255), V13: (31, 99, 255)}
_MATCH10: Final = Struct("!IH6s6sHBxHBB2xIIHH")
_EVERY_WILDCARD: Final = (1 << 22) - 1
_ETH_SRC, _ETH_TYPE, _PROTOCOL = 1 << 2, 1 << 4, 1 << 5


def draw_misspelling(rng: Random, version: int, controller: str, xid: int) -> TellBytes:
    """Return a step in which a controller sends bytes that are no right message."""
    roll = rng.random()
    if roll < 0.1:
        body = rng.randbytes(rng.choice((0, 8, 16)))
        data = pack("!BBHI", version, rng.choice(_STRANGE_TYPES[version]), 8 + len(body), xid) + body
        return TellBytes(controller, data, "a message of no known type")
    if roll < 0.2:
        data = encode(replace(_answer(rng, version), xid=xid), version)
        return TellBytes(controller, data, "what only a switch sends")
    if roll < 0.3:
        kind = 16 if version == V10 else 18
        tail = b"" if version == V10 else bytes(4)
        number = rng.choice((14, 77, 0xFF00))
        data = pack("!BBHIHH", version, kind, 12 + len(tail), xid, number, 0) + tail
        return TellBytes(controller, data, "a request for unknown statistics")
    if roll < 0.5 and version == V10:
        return TellBytes(controller, _odd_match(rng, xid), "a match of fields that do not belong together")
    whole = encode(replace(_whole_message(rng, version), xid=xid), version)
    if roll < 0.8:
        size = rng.randrange(8, len(whole)) if len(whole) > 8 else 8
        data, what = whole[:size], "a message cut short"
    else:
        data, what = whole + bytes(rng.choice((1, 4, 8))), "a message with more after it"
    return TellBytes(controller, data[:2] + len(data).to_bytes(2) + data[4:], what)


def _odd_match(rng: Random, xid: int) -> bytes:
    """Return a 1.0 flow-mod whose match has the Ethernet source and any fields with any wildcards.

    Without a field that means something Open vSwitch remembers that others were there; in
    requests it even matches on them.
    """
    wildcards = (rng.randrange(_EVERY_WILDCARD) | rng.choice((1, _ETH_TYPE, _PROTOCOL))) & ~_ETH_SRC
    match = _MATCH10.pack(
        wildcards,
        rng.choice((*PORTS, 0, 0xFFFE)),
        rng.choice(MACS).to_bytes(6),
        rng.choice(MACS).to_bytes(6),
        rng.choice((1, 10, 0xFFFF, 0x1FFF)),
        rng.choice((0, 3, 9)),
        rng.choice((0x0800, 0x0806, 0x86DD, 0x8035, 0x05FF)),
        rng.choice((0, 40, 43)),
        rng.choice((1, 2, 6, 17, 58)),
        rng.choice(IPS),
        rng.choice(IPS),
        rng.choice((8, 80, 0x101)),
        rng.choice((0, 53, 0x101)),
    )
    rule = FlowMod(FlowCommand(rng.randrange(5)), ANYTHING, (ApplyActions((Output(1, 0),)),), 65000 - xid)
    whole = encode(replace(rule, xid=xid), V10)
    return whole[:8] + match + whole[48:]


def _answer(rng: Random, version: int) -> OpenFlowMessage:
    """Return a message for the other direction."""
    choices: list[OpenFlowMessage] = [
        BarrierReply(),
        GetConfigReply(),
        FeaturesReply(1, 0, 1, 0),
        QueueGetConfigReply(1),
        FlowRemoved(ANYTHING, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0),
        PortStatus(0, Port(1, 2, "p")),
    ]
    if version != V10:
        choices += [RoleReply(1), GetAsyncReply((0, 0), (0, 0), (0, 0))]
    return rng.choice(choices)


def _whole_message(rng: Random, version: int) -> OpenFlowMessage:
    """Return a message that is right, to be cut."""
    match = Match.of(in_port=1, eth_type=0x0800, ipv4_src=(IPS[0], 0xFFFFFF00))
    actions = (SetField("eth_src", MACS[1]), Output(2, 0))
    choices: list[OpenFlowMessage] = [
        FlowMod(FlowCommand.ADD, match, (ApplyActions(actions),), _PRIORITY),
        FlowMod(FlowCommand.ADD, match, (ApplyActions(actions),), _PRIORITY),
        PacketOut(0xFFFFFFFF, 1, actions, bytes(range(20))),
        PortMod(1, port_hw_addr(1), 0, 0),
        SetConfig(0, 128),
        StatsRequest(FlowRequest(match)),
        StatsRequest(PortStatsRequest()),
        QueueGetConfigRequest(1),
    ]
    if version != V10:
        choices += [
            GroupMod(GroupCommand.ADD, GroupType.ALL, 50, (Bucket(actions), Bucket(actions))),
            MeterMod(MeterCommand.ADD, 1, 50, (Band(1, 1000, 0),)),
            RoleRequest(0, 0),
            TableMod(0, 0),
        ]
    return rng.choice(choices)
