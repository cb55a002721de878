"""Messages with one thing wrong that a switch should refuse, so that its answer is compared."""

from __future__ import annotations

from random import Random
from typing import Final

from bench.ovs.pool import IPS, MACS
from bench.ovs.programs import PORTS, port_hw_addr
from bench.ovs.rules import NO_SUCH_PORT
from penstock.openflow.actions import (
    Action,
    ApplyActions,
    Enqueue,
    ExperimenterAction,
    GotoTable,
    Group,
    Instruction,
    Output,
    PopPbb,
    PushPbb,
    PushVlan,
    SetField,
    SetVlanPcp,
    SetVlanVid,
    UseMeter,
    WriteActions,
)
from penstock.openflow.match import ANYTHING, Match
from penstock.openflow.messages import (
    V10,
    Band,
    Bucket,
    EchoReply,
    Experimenter,
    FlowCommand,
    FlowMod,
    GroupCommand,
    GroupMod,
    GroupType,
    MeterCommand,
    MeterMod,
    OpenFlowMessage,
    PacketOut,
    PortMod,
    PortNo,
    QueueGetConfigRequest,
    RoleRequest,
    SetConfig,
    TableMod,
)
from penstock.openflow.stats import (
    ExperimenterStats,
    FlowRequest,
    GroupStatsRequest,
    MeterRequest,
    PortStatsRequest,
    QueueRequest,
    StatsRequest,
)

_PRIORITY: Final = 3
"""Where a flow entry that should have been refused stands, if it is not."""

_BAD_PORTS: Final = (0, PortNo.MAX, 0xFFFFFFF0, PortNo.ANY, PortNo.TABLE)
_SOME_VENDOR: Final = 0x00ABCDEF


def draw_mistake(rng: Random, version: int) -> OpenFlowMessage:
    """Return a message that a switch should refuse."""
    if rng.random() < 0.3:
        return _either_message(rng)
    return _v10_message(rng) if version == V10 else _v13_message(rng)


def _rule(*actions: Action, match: Match = ANYTHING, **more: int) -> FlowMod:
    return FlowMod(FlowCommand.ADD, match, (ApplyActions(actions),), _PRIORITY, **more)


def _either_message(rng: Random) -> OpenFlowMessage:
    some_port = rng.choice(PORTS)
    frame = bytes(range(60))
    choices: list[OpenFlowMessage] = [
        _rule(Output(rng.choice(_BAD_PORTS), 0)),
        FlowMod(rng.choice((5, 9, 0xFF)), ANYTHING, (), _PRIORITY),
        FlowMod(FlowCommand.ADD, Match.of(eth_src=MACS[0], eth_dst=0), (), _PRIORITY, buffer_id=5),
        PacketOut(3, some_port, (Output(1, 0),)),
        PacketOut(0xFFFFFFFF, some_port, (Output(rng.choice(_BAD_PORTS[:-1]), 0),), frame),
        PacketOut(0xFFFFFFFF, rng.choice((0, NO_SUCH_PORT, PortNo.ALL)), (Output(2, 0),), frame),
        PacketOut(0xFFFFFFFF, some_port, (Output(2, 0),), frame[: rng.choice((0, 13, 14))]),
        PortMod(NO_SUCH_PORT, MACS[0], 0, 1),
        PortMod(some_port, MACS[0], 0, 1),
        PortMod(some_port, port_hw_addr(some_port), 0x80, 0x80),
        QueueGetConfigRequest(rng.choice((NO_SUCH_PORT, PortNo.ANY, PortNo.MAX))),
        StatsRequest(PortStatsRequest(NO_SUCH_PORT)),
        StatsRequest(QueueRequest(rng.choice((1, NO_SUCH_PORT)), 5)),
        StatsRequest(ExperimenterStats(_SOME_VENDOR, 0, b"\0\0\0\1")),
        Experimenter(_SOME_VENDOR, 0, b"abcd"),
        _rule(ExperimenterAction(_SOME_VENDOR, bytes(8))),
        SetConfig(rng.choice((2, 3, 8)), 128),
        EchoReply(b"nobody asked"),
    ]
    return rng.choice(choices)


def _v10_message(rng: Random) -> OpenFlowMessage:
    choices: list[OpenFlowMessage] = [
        _rule(Output(1), flags=rng.choice((4, 8, 0x80))),
        _rule(SetVlanVid(rng.choice((4096, 0xFFFF))), Output(1)),
        _rule(SetVlanPcp(9), Output(1)),
        _rule(Enqueue(rng.choice((PortNo.CONTROLLER, PortNo.FLOOD, NO_SUCH_PORT)), 0)),
        StatsRequest(FlowRequest(table_id=1)),
    ]
    return rng.choice(choices)


def _v13_rule(rng: Random) -> FlowMod:
    table = rng.choice((0, 2))
    ipv4 = Match.of(eth_type=0x0800)
    wrong: list[tuple[Match, Instruction, int]] = [
        (Match.of(tcp_src=80), ApplyActions(()), 0),
        (Match.of(eth_type=0x0800, tcp_src=80), ApplyActions(()), 0),
        (Match.of(eth_type=0x86DD, ipv4_src=IPS[0]), ApplyActions(()), 0),
        (Match.of(eth_type=0x0806, ip_proto=6), ApplyActions(()), 0),
        (Match.of(vlan_pcp=3), ApplyActions(()), 0),
        (Match.of(vlan_vid=0, vlan_pcp=3), ApplyActions(()), 0),
        (Match.of(in_phy_port=1), ApplyActions(()), 0),
        (Match.of(in_port=rng.choice((NO_SUCH_PORT, PortNo.FLOOD))), ApplyActions(()), 0),
        (Match.of(eth_type=0x88E7, pbb_isid=5), ApplyActions(()), 0),
        (Match.of(eth_type=0x86DD, ipv6_exthdr=1), ApplyActions(()), 0),
        (Match.of(vlan_vid=5), ApplyActions(()), 0),
        (ANYTHING, GotoTable(rng.choice((0, table, 254, 255))), table),
        (ANYTHING, ApplyActions(()), rng.choice((254, 255))),
        (ANYTHING, UseMeter(rng.choice((0, 9))), 0),
        (ANYTHING, ApplyActions((Group(99),)), 0),
        (ANYTHING, WriteActions((Group(99),)), 0),
        (ANYTHING, ApplyActions((PushPbb(0x88E7),)), 0),
        (ANYTHING, ApplyActions((PopPbb(),)), 0),
        (ANYTHING, ApplyActions((PushVlan(0x0800),)), 0),
        (ANYTHING, WriteActions((Output(rng.choice(_BAD_PORTS), 0),)), 0),
        (
            ipv4,
            ApplyActions((SetField(rng.choice(("eth_type", "ip_proto", "in_port")), 1),)),
            0,
        ),
        (ipv4, ApplyActions((SetField("tcp_src", 80),)), 0),
        (ipv4, WriteActions((SetField("arp_op", 1),)), 0),
        (Match.of(vlan_vid=0), ApplyActions((SetField("vlan_vid", 0x1001),)), 0),
        (Match.of(vlan_vid=0x1001), ApplyActions((SetField("vlan_vid", 5),)), 0),
    ]
    match, instruction, where = rng.choice(wrong)
    command = FlowCommand(rng.choice((0, 0, 0, 1, 3)))
    return FlowMod(command, match, (instruction,), _PRIORITY, where, flags=rng.choice((0, 0, 0, 0x40)))


def _v13_group(rng: Random) -> GroupMod:
    out = (Output(1, 0),)
    wrong: list[tuple[int, int, int, tuple[Bucket, ...]]] = [
        (7, GroupType.ALL, 9, ()),
        (GroupCommand.ADD, 9, 9, ()),
        (GroupCommand.MODIFY, GroupType.ALL, 99, (Bucket(out),)),
        (GroupCommand.ADD, GroupType.ALL, rng.choice((0xFFFFFF01, 0xFFFFFFFC, 0xFFFFFFFF)), ()),
        (GroupCommand.DELETE, GroupType.ALL, rng.choice((99, 0xFFFFFF01, 0xFFFFFFFF)), ()),
        (GroupCommand.ADD, GroupType.INDIRECT, 99, rng.choice(((), (Bucket(out), Bucket(out))))),
        (GroupCommand.ADD, GroupType.FAST_FAILOVER, 1, (Bucket(out), Bucket(out, watch_port=1))),
        (GroupCommand.ADD, GroupType.ALL, 1, (Bucket(out, weight=5),)),
        (GroupCommand.ADD, GroupType.ALL, 1, (Bucket(out, watch_port=2),)),
        (GroupCommand.ADD, GroupType.ALL, 1, (Bucket((Output(rng.choice(_BAD_PORTS), 0),)),)),
        (GroupCommand.ADD, GroupType.ALL, 1, (Bucket((SetField("tcp_src", 5),)),)),
        (GroupCommand.ADD, GroupType.ALL, 1, (Bucket((Group(99),)),)),
        (GroupCommand.DELETE, GroupType.ALL, 99, (Bucket(out),)),
    ]
    return GroupMod(*rng.choice(wrong))


def _v13_meter(rng: Random) -> MeterMod:
    drop = (Band(1, 1000, 0),)
    wrong: list[tuple[int, int, int, tuple[Band, ...]]] = [
        (MeterCommand.MODIFY, 1, 99, drop),
        (MeterCommand.ADD, 1, rng.choice((0, 0xFFFF0001)), drop),
        (MeterCommand.ADD, rng.choice((0, 3, 0x40)), 99, drop),
        (MeterCommand.ADD, 1, 99, rng.choice(((), (Band(9, 1000, 0),)))),
        (MeterCommand.DELETE, 1, 99, ()),
        (9, 1, 99, drop),
    ]
    return MeterMod(*rng.choice(wrong))


def _v13_message(rng: Random) -> OpenFlowMessage:
    roll = rng.random()
    if roll < 0.45:
        return _v13_rule(rng)
    if roll < 0.7:
        return _v13_group(rng)
    if roll < 0.8:
        return _v13_meter(rng)
    choices: list[OpenFlowMessage] = [
        RoleRequest(9, 1),
        TableMod(rng.choice((254, 1)), rng.choice((1, 9))),
        StatsRequest(GroupStatsRequest(99)),
        StatsRequest(MeterRequest(99)),
        StatsRequest(FlowRequest(Match.of(tcp_src=80))),
        StatsRequest(PortStatsRequest(PortNo.MAX)),
    ]
    return rng.choice(choices)
