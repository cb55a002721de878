"""One message of every kind in both versions, full of everything that kind can hold.

The fuzzer starts from these, so each has lists with several elements, odd lengths that need
padding and nested parts; what a version lacks is left at its default.  `LONGEST` are messages of
almost 65,535 bytes made of the smallest parts, the worst that a reader can be given.
"""

from __future__ import annotations

from typing import Final

from penstock.openflow import actions as act
from penstock.openflow import messages as msg
from penstock.openflow import stats
from penstock.openflow.fields import FIELDS
from penstock.openflow.match import Match
from penstock.openflow.messages import V10, V13, OpenFlowMessage

_FRAME: Final = bytes(range(64))
_VENDOR: Final = 0x00002320
_MAC: Final = 0x0200000000A1

_TCP10: Final = Match.of(
    in_port=1, eth_dst=_MAC, eth_src=2, eth_type=0x0800, vlan_vid=0x1005, vlan_pcp=3, ip_dscp=10, ip_proto=6,
    ipv4_src="10.1.0.0/16", ipv4_dst="10.0.0.7", tcp_src=80, tcp_dst=4096,
)  # fmt: skip
_ARP10: Final = Match.of(vlan_vid=0, eth_type=0x0806, arp_op=1, arp_spa="10.0.0.0/8", arp_tpa="10.0.0.1")
_EVERY_FIELD: Final = Match.of(
    **{field.name: (field.full // 3, field.full // 3) if field.maskable else 1 for field in FIELDS}
)
_TCP13: Final = Match.of(in_port=1, eth_type=0x0800, ip_proto=6, ipv4_src="10.0.0.0/8", tcp_dst=80)

_ACTIONS10: Final[tuple[act.Action, ...]] = (
    act.Output(msg.PortNo.CONTROLLER, 128),
    act.SetVlanVid(5),
    act.SetVlanPcp(2),
    act.PopVlan(),
    act.SetField("eth_src", _MAC),
    act.SetField("eth_dst", 3),
    act.SetField("ipv4_src", 0x0A000001),
    act.SetField("ipv4_dst", 0x0A000002),
    act.SetField("ip_dscp", 46),
    act.SetTransportSrc(80),
    act.SetTransportDst(443),
    act.Enqueue(2, 7),
    act.ExperimenterAction(_VENDOR, bytes(range(8))),
)
_ACTIONS13: Final[tuple[act.Action, ...]] = (
    act.Output(msg.PortNo.CONTROLLER, 128),
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
    act.SetField("ipv6_dst", 1 << 127),
    act.SetField("vlan_vid", 0x1007),
    act.PushPbb(0x88E7),
    act.PopPbb(),
    act.ExperimenterAction(_VENDOR, bytes(range(16))),
)
_INSTRUCTIONS: Final[tuple[act.Instruction, ...]] = (
    act.UseMeter(1),
    act.ApplyActions(_ACTIONS13),
    act.ClearActions(),
    act.WriteActions((act.SetField("eth_dst", _MAC), act.Output(2))),
    act.WriteMetadata(0xAB, 0xFF),
    act.ExperimenterInstruction(_VENDOR, bytes(8)),
    act.GotoTable(3),
)
_BUCKETS: Final = (
    msg.Bucket((act.SetField("eth_src", 1), act.Output(1)), weight=5),
    msg.Bucket((act.Output(2),), watch_port=2, watch_group=7),
)
_BANDS: Final = (msg.Band(1, 1000, 10), msg.Band(2, 2000, 20, b"\1\0\0\0"), msg.Band(0xFFFF, 1, 1, bytes(12)))
_PORTS10: Final = (
    msg.Port(1, _MAC, "s1-eth1", 0, 1, 0x40, 0, 0x7F, 0),
    msg.Port(msg.PortNo.LOCAL, 2, "s1\xff\x80", 1, 0x200),
)
_PORTS13: Final = (
    msg.Port(1, _MAC, "s1-eth1", 0, 4, 0x840, 1, 2, 3, 10_000_000, 10_000_000),
    msg.Port(msg.PortNo.LOCAL, 2, "s1", 1, 1),
)
_MIN_RATE: Final = msg.QueueProperty(1, b"\0\x64" + bytes(6))
_MASKS: Final = ((7, 0), (7, 7), (15, 0))
_PACKET_COUNTS: Final = (stats.BucketCounter(1, 64), stats.BucketCounter(2, 128))
_TABLE: Final = stats.TableFeatures(
    0,
    "first",
    0xFF,
    0xFF,
    3,
    1000,
    (stats.TableFeature(0, bytes(20)), stats.TableFeature(2, b"\1\2\3"), stats.TableFeature(8)),
)
_DESC: Final = stats.Desc("Nicira, Inc.", "Open vSwitch", "3.1.0", "None", "s1 caf\xe9")

_SHARED: Final[tuple[OpenFlowMessage, ...]] = (
    msg.Error(1, 6, _FRAME, xid=9),
    msg.EchoRequest(b"are you there", xid=1),
    msg.EchoReply(b"", xid=1),
    msg.FeaturesRequest(xid=2),
    msg.GetConfigRequest(),
    msg.GetConfigReply(0, 128),
    msg.SetConfig(1, 0xFFFF),
    msg.BarrierRequest(xid=0xFFFFFFFF),
    msg.BarrierReply(xid=0xFFFFFFFF),
)

_REQUESTS10: Final[tuple[stats.StatsRequestBody, ...]] = (
    stats.DescRequest(),
    stats.FlowRequest(_TCP10, 0, 2),
    stats.AggregateRequest(_ARP10),
    stats.TableRequest(),
    stats.PortStatsRequest(1),
    stats.QueueRequest(),
    stats.PortDescRequest(),
    stats.ExperimenterStats(_VENDOR, 0, b"12345"),
)
_REPLIES10: Final[tuple[stats.StatsReplyBody, ...]] = (
    _DESC,
    stats.Flows(
        (
            stats.FlowStats(0, _TCP10, (act.ApplyActions(_ACTIONS10),), 7, 8, 9, 10, 0, 11, 12, 13, 14),
            stats.FlowStats(0, _ARP10, (), 1),
        )
    ),
    stats.Aggregate(10, 640, 2),
    stats.Tables((stats.TableStats(0, 1, 2, 3, "classifier", 0x3FFFFF, 1000),)),
    stats.Ports((stats.PortStats(1, *range(12)), stats.PortStats(msg.PortNo.LOCAL, *range(12)))),
    stats.Queues((stats.QueueStats(1, 2, 3, 4, 5),)),
    stats.PortDescs(_PORTS10),
    stats.ExperimenterStats(_VENDOR, 0, b"12345"),
)
_REQUESTS13: Final[tuple[stats.StatsRequestBody, ...]] = (
    stats.DescRequest(),
    stats.FlowRequest(_TCP13, 0, 2, 3, 4, 5),
    stats.AggregateRequest(_EVERY_FIELD),
    stats.TableRequest(),
    stats.PortStatsRequest(),
    stats.QueueRequest(1, 2),
    stats.GroupStatsRequest(1),
    stats.GroupDescRequest(),
    stats.GroupFeaturesRequest(),
    stats.MeterRequest(1),
    stats.MeterConfigRequest(),
    stats.MeterFeaturesRequest(),
    stats.TableFeaturesRequest((_TABLE,)),
    stats.PortDescRequest(),
    stats.ExperimenterStats(_VENDOR, 1, b"12345"),
)
_REPLIES13: Final[tuple[stats.StatsReplyBody, ...]] = (
    _DESC,
    stats.Flows(
        (
            stats.FlowStats(0, _TCP13, _INSTRUCTIONS, 7, 8, 9, 10, 1, 11, 12, 13, 14),
            stats.FlowStats(1, Match(), (), 0),
        )
    ),
    stats.Aggregate(10, 640, 2),
    stats.Tables((stats.TableStats(0, 1, 2, 3), stats.TableStats(1, 0, 0, 0))),
    stats.Ports((stats.PortStats(1, *range(14)),)),
    stats.Queues((stats.QueueStats(1, 2, 3, 4, 5, 6, 7),)),
    stats.GroupCounters(
        (stats.GroupStats(1, 2, 3, 4, 5, 6, _PACKET_COUNTS), stats.GroupStats(2, 0, 0, 0, 0, 0, ()))
    ),
    stats.GroupDescs(
        (stats.GroupDesc(msg.GroupType.SELECT, 1, _BUCKETS), stats.GroupDesc(msg.GroupType.ALL, 2, ()))
    ),
    stats.GroupFeatures(15, 1, (1, 2, 3, 4), (5, 6, 7, 8)),
    stats.Meters((stats.MeterStats(1, 2, 3, 4, 5, 6, _PACKET_COUNTS),)),
    stats.MeterConfigs((stats.MeterConfig(1, 1, _BANDS), stats.MeterConfig(2, 0, ()))),
    stats.MeterFeatures(100, 6, 15, 4, 8),
    stats.TableFeaturesReply((_TABLE, _TABLE)),
    stats.PortDescs(_PORTS13),
    stats.ExperimenterStats(_VENDOR, 1, b"12345"),
)

SAMPLES: Final[dict[int, tuple[OpenFlowMessage, ...]]] = {
    V10: (
        *_SHARED,
        msg.Hello(None, V10),
        msg.Experimenter(_VENDOR, 0, b"abcdef"),
        msg.FeaturesReply(1, 256, 254, 0xC7, 0xFFF, _PORTS10),
        msg.PacketIn(msg.NO_BUFFER, 64, 0, Match.of(in_port=3), _FRAME),
        msg.FlowRemoved(_TCP10, 1, 2, 0, 0, 3, 4, 5, 0, 6, 7),
        msg.PortStatus(2, _PORTS10[0]),
        msg.PacketOut(msg.NO_BUFFER, msg.PortNo.ANY, _ACTIONS10, _FRAME),
        msg.FlowMod(msg.FlowCommand.ADD, _ARP10, (act.ApplyActions(_ACTIONS10),), 5, flags=1),
        msg.FlowMod(msg.FlowCommand.DELETE, _TCP10, (), 5, msg.ALL_TABLES, out_port=3),
        msg.PortMod(1, _MAC, 1, 1, 0),
        msg.QueueGetConfigRequest(1),
        msg.QueueGetConfigReply(1, (msg.PacketQueue(1, 0, (_MIN_RATE,)), msg.PacketQueue(2))),
        *(stats.StatsRequest(body) for body in _REQUESTS10),
        *(stats.StatsReply(body, more=True) for body in _REPLIES10),
    ),
    V13: (
        *_SHARED,
        msg.Hello(frozenset({1, 4, 33}), V13),
        msg.Experimenter(_VENDOR, 24, b"abcdef"),
        msg.FeaturesReply(1, 256, 254, 0x47, auxiliary_id=1),
        msg.PacketIn(msg.NO_BUFFER, 64, 1, Match.of(in_port=3, metadata=5), _FRAME, 2, 77),
        msg.FlowRemoved(_TCP13, 1, 2, 0, 4, 3, 4, 5, 6, 7, 8),
        msg.PortStatus(0, _PORTS13[0]),
        msg.PacketOut(msg.NO_BUFFER, msg.PortNo.CONTROLLER, _ACTIONS13, _FRAME),
        msg.FlowMod(msg.FlowCommand.ADD, _TCP13, _INSTRUCTIONS, 5, 2, 10, 20, 30, 0, 7, flags=1),
        msg.FlowMod(
            msg.FlowCommand.DELETE, _EVERY_FIELD, (), 5, msg.ALL_TABLES, cookie=1, cookie_mask=3, out_group=1
        ),
        msg.GroupMod(0, msg.GroupType.SELECT, 1, _BUCKETS),
        msg.PortMod(1, _MAC, 1, 1, 0),
        msg.TableMod(msg.ALL_TABLES, 3),
        msg.QueueGetConfigRequest(1),
        msg.QueueGetConfigReply(
            1, (msg.PacketQueue(1, 1, (_MIN_RATE, msg.QueueProperty(2))), msg.PacketQueue(2, 1))
        ),
        msg.RoleRequest(2, 1 << 63),
        msg.RoleReply(3, 1),
        msg.GetAsyncRequest(),
        msg.GetAsyncReply(*_MASKS),
        msg.SetAsync(*_MASKS),
        msg.MeterMod(0, 1, 1, _BANDS),
        *(stats.StatsRequest(body) for body in _REQUESTS13),
        *(stats.StatsReply(body, more=True) for body in _REPLIES13),
    ),
}

_MANY: Final = 8000

LONGEST: Final[dict[int, tuple[OpenFlowMessage, ...]]] = {
    V10: (
        msg.FlowMod(msg.FlowCommand.ADD, _ARP10, (act.ApplyActions((act.Output(1),) * _MANY),)),
        msg.QueueGetConfigReply(1, (msg.PacketQueue(1),) * _MANY),
        msg.QueueGetConfigReply(1, (msg.PacketQueue(1, 0, (msg.QueueProperty(1),) * _MANY),)),
        stats.StatsReply(stats.Flows((stats.FlowStats(0, _ARP10, (), 1),) * 700)),
    ),
    V13: (
        msg.FlowMod(msg.FlowCommand.ADD, _TCP13, (act.ApplyActions((act.PopVlan(),) * _MANY),)),
        msg.FlowMod(
            msg.FlowCommand.ADD, _TCP13, (act.ApplyActions((act.SetField("eth_src", 1),) * (_MANY // 2)),)
        ),
        msg.FlowMod(msg.FlowCommand.ADD, _TCP13, (act.ApplyActions(()),) * _MANY),
        msg.GroupMod(0, msg.GroupType.ALL, 1, (msg.Bucket(()),) * (_MANY // 2)),
        stats.StatsReply(stats.Flows((stats.FlowStats(0, Match.of(in_port=1), (), 1),) * 1000)),
        stats.StatsReply(stats.GroupDescs((stats.GroupDesc(0, 1, ()),) * _MANY)),
        stats.StatsReply(stats.MeterConfigs((stats.MeterConfig(1, 1, ()),) * _MANY)),
        stats.StatsReply(
            stats.TableFeaturesReply(
                (stats.TableFeatures(0, "", 0, 0, 0, 0, (stats.TableFeature(1),) * _MANY),)
            )
        ),
    ),
}
