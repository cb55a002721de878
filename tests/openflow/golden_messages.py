"""Ordinary messages of every kind, for comparison with other libraries.

Each field has a value of its own, so that two fields swapped would show; all values are ones that
a careful library accepts (real reasons and commands, names in ASCII).
"""

from __future__ import annotations

from penstock.openflow import actions as act
from penstock.openflow import messages as msg
from penstock.openflow import stats
from penstock.openflow.match import Match
from penstock.openflow.messages import OpenFlowMessage, PortNo

XID = 0x01020304
MAC = 0x0A1B2C3D4E5F
FRAME = bytes(range(60))

TCP10 = Match.of(
    in_port=3, eth_src=MAC, eth_dst=MAC + 1, eth_type=0x0800, vlan_vid=0x1007, vlan_pcp=5, ip_dscp=10,
    ip_proto=6, ipv4_src="10.1.0.0/16", ipv4_dst="10.0.0.7", tcp_src=80, tcp_dst=4096,
)  # fmt: skip
TCP13 = Match.of(in_port=3, eth_type=0x0800, ip_proto=6, ipv4_src="10.0.0.0/8", tcp_dst=80)
LIST10 = (
    act.Output(2, 128),
    act.SetVlanVid(7),
    act.SetVlanPcp(5),
    act.PopVlan(),
    act.SetField("eth_src", MAC),
    act.SetField("eth_dst", MAC + 1),
    act.SetField("ipv4_src", 0x0A000001),
    act.SetField("ipv4_dst", 0x0A000002),
    act.SetField("ip_dscp", 10),
    act.SetTransportSrc(80),
    act.SetTransportDst(443),
    act.Enqueue(2, 9),
)
LIST13 = (
    act.Output(2, 128),
    act.CopyTtlOut(),
    act.CopyTtlIn(),
    act.SetMplsTtl(9),
    act.DecMplsTtl(),
    act.PushVlan(0x8100),
    act.PopVlan(),
    act.PushMpls(0x8847),
    act.PopMpls(0x0800),
    act.SetQueue(3),
    act.Group(4),
    act.SetNwTtl(64),
    act.DecNwTtl(),
    act.SetField("eth_dst", MAC),
    act.SetField("vlan_vid", 0x1007),
    act.SetField("ipv6_src", 0x20010DB8 << 96 | 1),
    act.PushPbb(0x88E7),
    act.PopPbb(),
)
INSTRUCTIONS = (
    act.UseMeter(1),
    act.ApplyActions(LIST13),
    act.ClearActions(),
    act.WriteActions((act.SetField("eth_src", MAC), act.Output(5, 0))),
    act.WriteMetadata(0xAB, 0xFF),
    act.GotoTable(3),
)
BUCKETS = (msg.Bucket((act.Output(1, 0),), 10, 11, 12), msg.Bucket((act.Output(2, 0),), 20, 21, 22))
BANDS = (msg.Band(1, 1000, 10), msg.Band(2, 2000, 20, b"\x03\0\0\0"))
PORT10 = msg.Port(7, MAC, "s1-eth7", 1, 1, 4, 8, 16, 32)
PORT13 = msg.Port(7, MAC, "s1-eth7", 1, 4, 8, 16, 32, 64, 1000, 2000)
FLOW10 = stats.FlowStats(1, TCP10, (act.ApplyActions(LIST10),), 2, 3, 4, 5, 0, 6, 7, 8, 9)
FLOW13 = stats.FlowStats(1, TCP13, INSTRUCTIONS, 2, 3, 4, 5, 1, 6, 7, 8, 9)
NEXT_TABLES = stats.TableFeature(2, b"\1\2")
TABLE_FEATURES = stats.TableFeatures(1, "first", 2, 3, 3, 5, (NEXT_TABLES,))
DESC = stats.Desc("maker", "hardware", "software", "serial", "switch")


def ask(body: stats.StatsRequestBody) -> stats.StatsRequest:
    return stats.StatsRequest(body, xid=XID)


def answer(body: stats.StatsReplyBody) -> stats.StatsReply:
    return stats.StatsReply(body, xid=XID)


def _shared() -> dict[str, OpenFlowMessage]:
    return {
        "Error": msg.Error(1, 6, FRAME, xid=XID),
        "EchoRequest": msg.EchoRequest(b"ping", xid=XID),
        "EchoReply": msg.EchoReply(b"pong", xid=XID),
        "FeaturesRequest": msg.FeaturesRequest(xid=XID),
        "GetConfigRequest": msg.GetConfigRequest(xid=XID),
        "GetConfigReply": msg.GetConfigReply(1, 128, xid=XID),
        "SetConfig": msg.SetConfig(1, 128, xid=XID),
        "BarrierRequest": msg.BarrierRequest(xid=XID),
        "BarrierReply": msg.BarrierReply(xid=XID),
        "DescRequest": ask(stats.DescRequest()),
        "Desc": answer(DESC),
        "Aggregate": answer(stats.Aggregate(1, 2, 3)),
        "TableRequest": ask(stats.TableRequest()),
    }


GOLDEN10: dict[str, OpenFlowMessage] = {
    **_shared(),
    "Hello": msg.Hello(None, 1, xid=XID),
    "Experimenter": msg.Experimenter(0x2320, 0, b"something", xid=XID),
    "FeaturesReply": msg.FeaturesReply(1, 2, 3, 4, 5, (PORT10,), xid=XID),
    "PacketIn": msg.PacketIn(1, 60, 1, Match.of(in_port=4), FRAME, xid=XID),
    "FlowRemoved": msg.FlowRemoved(TCP10, 1, 2, 1, 0, 5, 6, 7, 0, 9, 10, xid=XID),
    "PortStatus": msg.PortStatus(2, PORT10, xid=XID),
    "PacketOut": msg.PacketOut(msg.NO_BUFFER, 4, LIST10, FRAME, xid=XID),
    "PacketOut of a buffer": msg.PacketOut(5, PortNo.ANY, (act.Output(PortNo.FLOOD, 0),), xid=XID),
    "FlowMod": msg.FlowMod(
        msg.FlowCommand.ADD, TCP10, (act.ApplyActions(LIST10),), 1, 0, 2, 3, 4, 0, 5, flags=1, xid=XID
    ),
    "FlowMod delete": msg.FlowMod(
        msg.FlowCommand.DELETE, table_id=msg.ALL_TABLES, out_port=PortNo.CONTROLLER, xid=XID
    ),
    "PortMod": msg.PortMod(7, MAC, 1, 2, 4, xid=XID),
    "QueueGetConfigRequest": msg.QueueGetConfigRequest(PortNo.LOCAL, xid=XID),
    "QueueGetConfigReply": msg.QueueGetConfigReply(
        PortNo.LOCAL, (msg.PacketQueue(1, 0, (msg.QueueProperty(1, b"\0\x64" + bytes(6)),)),), xid=XID
    ),
    "FlowRequest": ask(stats.FlowRequest(TCP10, 1, 2)),
    "AggregateRequest": ask(stats.AggregateRequest(TCP10, 1, 2)),
    "PortStatsRequest": ask(stats.PortStatsRequest(1)),
    "QueueRequest": ask(stats.QueueRequest(PortNo.ANY, 2)),
    "PortDescRequest": ask(stats.PortDescRequest()),
    "vendor's request": ask(stats.ExperimenterStats(0x2320, 0, b"some")),
    "Flows": answer(stats.Flows((FLOW10, FLOW10))),
    "Tables": answer(stats.Tables((stats.TableStats(1, 2, 3, 4, "first", 5, 6),))),
    "Ports": answer(stats.Ports((stats.PortStats(*range(1, 14)),))),
    "Queues": answer(stats.Queues((stats.QueueStats(1, 2, 3, 4, 5),))),
    "PortDescs": answer(stats.PortDescs((PORT10,))),
    "vendor's reply": answer(stats.ExperimenterStats(0x2320, 0, b"some")),
}

GOLDEN13: dict[str, OpenFlowMessage] = {
    **_shared(),
    "Hello": msg.Hello(frozenset({1, 4}), 4, xid=XID),
    "Experimenter": msg.Experimenter(0x2320, 5, b"something", xid=XID),
    "FeaturesReply": msg.FeaturesReply(1, 2, 3, 4, auxiliary_id=5, xid=XID),
    "PacketIn": msg.PacketIn(1, 60, 1, Match.of(in_port=4), FRAME, 2, 3, xid=XID),
    "FlowRemoved": msg.FlowRemoved(TCP13, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, xid=XID),
    "PortStatus": msg.PortStatus(2, PORT13, xid=XID),
    "PacketOut": msg.PacketOut(msg.NO_BUFFER, 4, LIST13, FRAME, xid=XID),
    "PacketOut of a buffer": msg.PacketOut(5, PortNo.CONTROLLER, (act.Output(PortNo.FLOOD, 0),), xid=XID),
    "FlowMod": msg.FlowMod(msg.FlowCommand.ADD, TCP13, INSTRUCTIONS, 1, 2, 3, 4, 5, 0, 6, 7, 8, 1, xid=XID),
    "FlowMod delete": msg.FlowMod(
        msg.FlowCommand.DELETE, table_id=msg.ALL_TABLES, cookie=1, cookie_mask=3, xid=XID
    ),
    "GroupMod": msg.GroupMod(0, 1, 2, BUCKETS, xid=XID),
    "PortMod": msg.PortMod(7, MAC, 1, 2, 4, xid=XID),
    "TableMod": msg.TableMod(1, 3, xid=XID),
    "QueueGetConfigRequest": msg.QueueGetConfigRequest(PortNo.ANY, xid=XID),
    "QueueGetConfigReply": msg.QueueGetConfigReply(
        PortNo.ANY, (msg.PacketQueue(1, 2, (msg.QueueProperty(1, b"\0\x64" + bytes(6)),)),), xid=XID
    ),
    "RoleRequest": msg.RoleRequest(2, 3, xid=XID),
    "RoleReply": msg.RoleReply(2, 3, xid=XID),
    "GetAsyncRequest": msg.GetAsyncRequest(xid=XID),
    "GetAsyncReply": msg.GetAsyncReply((1, 2), (0, 1), (2, 3), xid=XID),
    "SetAsync": msg.SetAsync((1, 2), (0, 1), (2, 3), xid=XID),
    "MeterMod": msg.MeterMod(0, 1, 3, BANDS, xid=XID),
    "FlowRequest": ask(stats.FlowRequest(TCP13, 1, 2, 3, 4, 5)),
    "AggregateRequest": ask(stats.AggregateRequest(TCP13, 1, 2, 3, 4, 5)),
    "PortStatsRequest": ask(stats.PortStatsRequest(1)),
    "QueueRequest": ask(stats.QueueRequest(1, 2)),
    "GroupStatsRequest": ask(stats.GroupStatsRequest(1)),
    "GroupDescRequest": ask(stats.GroupDescRequest()),
    "GroupFeaturesRequest": ask(stats.GroupFeaturesRequest()),
    "MeterRequest": ask(stats.MeterRequest(1)),
    "MeterConfigRequest": ask(stats.MeterConfigRequest(1)),
    "MeterFeaturesRequest": ask(stats.MeterFeaturesRequest()),
    "TableFeaturesRequest": ask(stats.TableFeaturesRequest((TABLE_FEATURES,))),
    "PortDescRequest": ask(stats.PortDescRequest()),
    "experimenter's request": ask(stats.ExperimenterStats(0x2320, 5, b"some")),
    "Flows": answer(stats.Flows((FLOW13, FLOW13))),
    "Tables": answer(stats.Tables((stats.TableStats(1, 2, 3, 4),))),
    "Ports": answer(stats.Ports((stats.PortStats(*range(1, 16)),))),
    "Queues": answer(stats.Queues((stats.QueueStats(*range(1, 8)),))),
    "GroupCounters": answer(
        stats.GroupCounters((stats.GroupStats(1, 2, 3, 4, 5, 6, (stats.BucketCounter(7, 8),)),))
    ),
    "GroupDescs": answer(stats.GroupDescs((stats.GroupDesc(1, 2, BUCKETS),))),
    "GroupFeatures": answer(stats.GroupFeatures(1, 2, (3, 4, 5, 6), (7, 8, 9, 10))),
    "Meters": answer(stats.Meters((stats.MeterStats(1, 2, 3, 4, 5, 6, (stats.BucketCounter(7, 8),)),))),
    "MeterConfigs": answer(stats.MeterConfigs((stats.MeterConfig(1, 4, BANDS),))),
    "MeterFeatures": answer(stats.MeterFeatures(1, 2, 3, 4, 5)),
    "TableFeaturesReply": answer(stats.TableFeaturesReply((TABLE_FEATURES,))),
    "PortDescs": answer(stats.PortDescs((PORT13,))),
    "experimenter's reply": answer(stats.ExperimenterStats(0x2320, 5, b"some")),
}

GOLDEN = {1: GOLDEN10, 4: GOLDEN13}
