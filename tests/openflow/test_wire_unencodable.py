"""What a version cannot say is the caller's mistake: one sentence that names it."""

from __future__ import annotations

import pytest

from penstock.errors import PenstockError
from penstock.openflow.actions import (
    Action,
    ApplyActions,
    Enqueue,
    ExperimenterAction,
    GotoTable,
    Group,
    Output,
    SetField,
    SetVlanVid,
)
from penstock.openflow.match import ANYTHING, Match
from penstock.openflow.messages import (
    V10,
    V13,
    Band,
    BarrierRequest,
    EchoRequest,
    FlowCommand,
    FlowMod,
    GroupMod,
    Hello,
    MeterMod,
    OpenFlowMessage,
    PacketIn,
    PacketOut,
    Port,
    PortStatus,
    RoleRequest,
)
from penstock.openflow.stats import FlowRequest, GroupDescRequest, StatsRequest
from penstock.openflow.wire import encode


def add(match: Match = ANYTHING, *actions: Action) -> FlowMod:
    return FlowMod(FlowCommand.ADD, match, (ApplyActions(actions),) if actions else ())


def port(name: str) -> PortStatus:
    return PortStatus(0, Port(1, 1, name))


CASES = [
    (V10, GroupMod(0, 0, 1), "GroupMod"),
    (V10, RoleRequest(1), "RoleRequest"),
    (V10, StatsRequest(GroupDescRequest()), "GroupDescRequest"),
    (V10, add(ANYTHING, Group(1)), "Group"),
    (V10, add(ANYTHING, SetField("tcp_src", 1)), "tcp_src"),
    (V13, add(ANYTHING, SetVlanVid(1)), "SetVlanVid"),
    (V13, add(ANYTHING, Enqueue(1, 1)), "Enqueue"),
    (V10, FlowMod(FlowCommand.ADD, instructions=(GotoTable(1),)), "GotoTable"),
    (V10, FlowMod(FlowCommand.ADD, instructions=(ApplyActions(()), ApplyActions(()))), "ApplyActions"),
    (V10, FlowMod(FlowCommand.ADD, table_id=3), "table"),
    (V10, FlowMod(FlowCommand.DELETE, cookie_mask=1), "cookie"),
    (V10, FlowMod(FlowCommand.DELETE, out_group=1), "group"),
    (V10, StatsRequest(FlowRequest(cookie_mask=1)), "cookie"),
    (V10, add(ANYTHING, Output(0x10000)), "65536"),
    (V10, add(Match.of(metadata=1)), "metadata"),
    (V10, add(Match.of(ipv4_src="10.0.0.1")), "ipv4_src"),
    (V10, add(Match.of(eth_type=0x0800, ip_proto=17, tcp_src=1)), "tcp_src"),
    (V10, add(Match.of(eth_type=0x0800, ipv4_src=(1, 0xFF0000FF))), "prefix"),
    (V10, add(Match.of(eth_src=(1, 0xFF))), "eth_src"),
    (V10, add(Match.of(vlan_vid=(0x1000, 0x1000))), "VLAN"),
    (V10, add(Match.of(vlan_vid=5)), "vlan_vid"),
    (V10, add(Match.of(vlan_vid=0, vlan_pcp=3)), "VLAN priority"),
    (V10, add(Match.of(vlan_pcp=3)), "VLAN priority"),
    (V10, PacketIn(1, 0, 0, Match(), b""), "in_port"),
    (V13, add(ANYTHING, ExperimenterAction(1, b"odd")), "ExperimenterAction"),
    (V13, MeterMod(0, 0, 1, (Band(1, 1, 1, b""),)), "band"),
    (V13, FlowMod(FlowCommand.ADD, priority=0x10000), "FlowMod"),
    (V13, add(ANYTHING, SetField("eth_src", 1 << 48)), "FlowMod"),
    (V13, add(ANYTHING, SetField("colour", 1)), "colour"),
    (V13, port("a name of more than sixteen bytes"), "sixteen"),
    (V13, port("Hafen 北"), "北"),
    (V13, port("a\0b"), "a"),
    (V13, EchoRequest(bytes(65528)), "EchoRequest"),
    (V13, PacketOut(1, 1, (Output(1),) * 5000), "PacketOut"),
    (V13, Hello(frozenset({256})), "256"),
    (3, BarrierRequest(), "version 3"),
]


@pytest.mark.parametrize(("version", "message", "named"), CASES, ids=[f"{v}-{n}" for v, _, n in CASES])
def test_what_a_version_cannot_say_is_named(version: int, message: OpenFlowMessage, named: str) -> None:
    with pytest.raises(PenstockError, match=named):
        encode(message, version)


def test_what_a_version_merely_does_not_tell_is_left_out() -> None:
    told = PacketIn(1, 4, 0, Match.of(in_port=2, metadata=9), b"data", table_id=3, cookie=7)
    plain = PacketIn(1, 4, 0, Match.of(in_port=2), b"data")
    assert encode(told, V10) == encode(plain, V10)
