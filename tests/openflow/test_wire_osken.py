"""os-ken agrees with the codec: on the bytes it writes, and on the values it reads.

It writes what controllers send (BUILT: the bytes must be the same) and reads what switches send
(READ: every field must have the value we wrote).  FLOW_MOD it does both ways.  Where it cannot,
or is wrong, the message is named in CANNOT with the reason.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from os_ken.ofproto import ofproto_parser
from os_ken.ofproto import ofproto_v1_0_parser as p10
from os_ken.ofproto import ofproto_v1_3_parser as p13
from os_ken.ofproto.ofproto_protocol import ProtocolDesc
from tests.openflow.golden_messages import FRAME, GOLDEN, MAC, XID
from tests.openflow.message_strategies import INSTRUCTIONS, few, matches13, u8, u16, u32, u64

from penstock.addresses import mac_text
from penstock.openflow import actions as act
from penstock.openflow.messages import V10, V13, FlowMod
from penstock.openflow.wire import decode, encode

DP10, DP13 = ProtocolDesc(version=V10), ProtocolDesc(version=V13)
NO_BUFFER = 0xFFFFFFFF
SRC, DST = mac_text(MAC), mac_text(MAC + 1)

match10 = p10.OFPMatch(
    16 << 8, in_port=3, dl_src=SRC, dl_dst=DST, dl_type=0x0800, dl_vlan=7, dl_vlan_pcp=5, nw_tos=40,
    nw_proto=6, nw_src="10.1.0.0", nw_dst="10.0.0.7", tp_src=80, tp_dst=4096,
)  # fmt: skip
any10 = p10.OFPMatch(0x3820FF)
match13 = p13.OFPMatch(in_port=3, eth_type=0x0800, ip_proto=6, ipv4_src=("10.0.0.0", "255.0.0.0"), tcp_dst=80)
list10 = [
    p10.OFPActionOutput(2, 128),
    p10.OFPActionVlanVid(7),
    p10.OFPActionVlanPcp(5),
    p10.OFPActionStripVlan(),
    p10.OFPActionSetDlSrc(SRC),
    p10.OFPActionSetDlDst(DST),
    p10.OFPActionSetNwSrc("10.0.0.1"),
    p10.OFPActionSetNwDst("10.0.0.2"),
    p10.OFPActionSetNwTos(40),
    p10.OFPActionSetTpSrc(80),
    p10.OFPActionSetTpDst(443),
    p10.OFPActionEnqueue(2, 9),
]
list13 = [
    p13.OFPActionOutput(2, 128),
    p13.OFPActionCopyTtlOut(),
    p13.OFPActionCopyTtlIn(),
    p13.OFPActionSetMplsTtl(9),
    p13.OFPActionDecMplsTtl(),
    p13.OFPActionPushVlan(0x8100),
    p13.OFPActionPopVlan(),
    p13.OFPActionPushMpls(0x8847),
    p13.OFPActionPopMpls(0x0800),
    p13.OFPActionSetQueue(3),
    p13.OFPActionGroup(4),
    p13.OFPActionSetNwTtl(64),
    p13.OFPActionDecNwTtl(),
    p13.OFPActionSetField(eth_dst=SRC),
    p13.OFPActionSetField(vlan_vid=0x1007),
    p13.OFPActionSetField(ipv6_src="2001:db8::1"),
    p13.OFPActionPushPbb(0x88E7),
    p13.OFPActionPopPbb(),
]
instructions = [
    p13.OFPInstructionMeter(1),
    p13.OFPInstructionActions(4, list13),
    p13.OFPInstructionActions(5, []),
    p13.OFPInstructionActions(3, [p13.OFPActionSetField(eth_src=SRC), p13.OFPActionOutput(5, 0)]),
    p13.OFPInstructionWriteMetadata(0xAB, 0xFF),
    p13.OFPInstructionGotoTable(3),
]
buckets = [
    p13.OFPBucket(10, 11, 12, [p13.OFPActionOutput(1, 0)]),
    p13.OFPBucket(20, 21, 22, [p13.OFPActionOutput(2, 0)]),
]
bands = [p13.OFPMeterBandDrop(1000, 10), p13.OFPMeterBandDscpRemark(2000, 20, 3)]
next_tables = p13.OFPTableFeaturePropNextTables(type_=2, table_ids=[1, 2])
table_features = p13.OFPTableFeaturesStats(
    table_id=1,
    name=b"first",
    metadata_match=2,
    metadata_write=3,
    config=3,
    max_entries=5,
    properties=[next_tables],
)

BUILT: dict[tuple[int, str], Callable[[], Any]] = {
    (V10, "Hello"): lambda: p10.OFPHello(DP10),
    (V10, "EchoRequest"): lambda: p10.OFPEchoRequest(DP10, b"ping"),
    (V10, "EchoReply"): lambda: p10.OFPEchoReply(DP10, b"pong"),
    (V10, "Error"): lambda: p10.OFPErrorMsg(DP10, 1, 6, FRAME),
    (V10, "FeaturesRequest"): lambda: p10.OFPFeaturesRequest(DP10),
    (V10, "GetConfigRequest"): lambda: p10.OFPGetConfigRequest(DP10),
    (V10, "SetConfig"): lambda: p10.OFPSetConfig(DP10, 1, 128),
    (V10, "BarrierRequest"): lambda: p10.OFPBarrierRequest(DP10),
    (V10, "PacketOut"): lambda: p10.OFPPacketOut(DP10, NO_BUFFER, 4, list10, FRAME),
    (V10, "PacketOut of a buffer"): lambda: p10.OFPPacketOut(
        DP10, 5, 0xFFFF, [p10.OFPActionOutput(0xFFFB, 0)]
    ),
    (V10, "FlowMod"): lambda: p10.OFPFlowMod(
        DP10, match10, 4, 0, 2, 3, priority=1, buffer_id=5, out_port=0xFFFF, flags=1, actions=list10
    ),
    (V10, "FlowMod delete"): lambda: p10.OFPFlowMod(
        DP10, any10, 0, 3, priority=0x8000, buffer_id=NO_BUFFER, out_port=0xFFFD
    ),
    (V10, "PortMod"): lambda: p10.OFPPortMod(DP10, 7, SRC, 1, 2, 4),
    (V10, "QueueGetConfigRequest"): lambda: p10.OFPQueueGetConfigRequest(DP10, 0xFFFE),
    (V10, "DescRequest"): lambda: p10.OFPDescStatsRequest(DP10, 0),
    (V10, "FlowRequest"): lambda: p10.OFPFlowStatsRequest(DP10, 0, match10, 1, 2),
    (V10, "AggregateRequest"): lambda: p10.OFPAggregateStatsRequest(DP10, 0, match10, 1, 2),
    (V10, "TableRequest"): lambda: p10.OFPTableStatsRequest(DP10, 0),
    (V10, "PortStatsRequest"): lambda: p10.OFPPortStatsRequest(DP10, 0, 1),
    (V10, "QueueRequest"): lambda: p10.OFPQueueStatsRequest(DP10, 0, 0xFFFC, 2),
    (V10, "vendor's request"): lambda: p10.OFPVendorStatsRequest(DP10, 0, 0x2320, b"some"),
    (V13, "EchoRequest"): lambda: p13.OFPEchoRequest(DP13, b"ping"),
    (V13, "EchoReply"): lambda: p13.OFPEchoReply(DP13, b"pong"),
    (V13, "Error"): lambda: p13.OFPErrorMsg(DP13, 1, 6, FRAME),
    (V13, "Experimenter"): lambda: p13.OFPExperimenter(DP13, 0x2320, 5, b"something"),
    (V13, "FeaturesRequest"): lambda: p13.OFPFeaturesRequest(DP13),
    (V13, "GetConfigRequest"): lambda: p13.OFPGetConfigRequest(DP13),
    (V13, "SetConfig"): lambda: p13.OFPSetConfig(DP13, 1, 128),
    (V13, "BarrierRequest"): lambda: p13.OFPBarrierRequest(DP13),
    (V13, "PacketOut"): lambda: p13.OFPPacketOut(DP13, NO_BUFFER, 4, list13, FRAME),
    (V13, "PacketOut of a buffer"): lambda: p13.OFPPacketOut(
        DP13, 5, 0xFFFFFFFD, [p13.OFPActionOutput(0xFFFFFFFB, 0)]
    ),
    (V13, "FlowMod"): lambda: p13.OFPFlowMod(DP13, 5, 0, 2, 0, 3, 4, 1, 6, 7, 8, 1, match13, instructions),
    (V13, "FlowMod delete"): lambda: p13.OFPFlowMod(
        DP13, 1, 3, 255, 3, 0, 0, 0x8000, NO_BUFFER, 0xFFFFFFFF, 0xFFFFFFFF, 0, p13.OFPMatch()
    ),
    (V13, "GroupMod"): lambda: p13.OFPGroupMod(DP13, 0, 1, 2, buckets),
    (V13, "PortMod"): lambda: p13.OFPPortMod(DP13, 7, SRC, 1, 2, 4),
    (V13, "TableMod"): lambda: p13.OFPTableMod(DP13, 1, 3),
    (V13, "MeterMod"): lambda: p13.OFPMeterMod(DP13, 0, 1, 3, bands),
    (V13, "QueueGetConfigRequest"): lambda: p13.OFPQueueGetConfigRequest(DP13, 0xFFFFFFFF),
    (V13, "RoleRequest"): lambda: p13.OFPRoleRequest(DP13, 2, 3),
    (V13, "GetAsyncRequest"): lambda: p13.OFPGetAsyncRequest(DP13),
    (V13, "SetAsync"): lambda: p13.OFPSetAsync(DP13, [1, 2], [0, 1], [2, 3]),
    (V13, "DescRequest"): lambda: p13.OFPDescStatsRequest(DP13, 0),
    (V13, "FlowRequest"): lambda: p13.OFPFlowStatsRequest(DP13, 0, 1, 2, 3, 4, 5, match13),
    (V13, "AggregateRequest"): lambda: p13.OFPAggregateStatsRequest(DP13, 0, 1, 2, 3, 4, 5, match13),
    (V13, "TableRequest"): lambda: p13.OFPTableStatsRequest(DP13, 0),
    (V13, "PortStatsRequest"): lambda: p13.OFPPortStatsRequest(DP13, 0, 1),
    (V13, "QueueRequest"): lambda: p13.OFPQueueStatsRequest(DP13, 0, 1, 2),
    (V13, "GroupStatsRequest"): lambda: p13.OFPGroupStatsRequest(DP13, 0, 1),
    (V13, "GroupDescRequest"): lambda: p13.OFPGroupDescStatsRequest(DP13, 0),
    (V13, "GroupFeaturesRequest"): lambda: p13.OFPGroupFeaturesStatsRequest(DP13, 0),
    (V13, "MeterRequest"): lambda: p13.OFPMeterStatsRequest(DP13, 0, 1),
    (V13, "MeterConfigRequest"): lambda: p13.OFPMeterConfigStatsRequest(DP13, 0, 1),
    (V13, "MeterFeaturesRequest"): lambda: p13.OFPMeterFeaturesStatsRequest(DP13, 0),
    (V13, "TableFeaturesRequest"): lambda: p13.OFPTableFeaturesStatsRequest(DP13, 0, [table_features]),
    (V13, "PortDescRequest"): lambda: p13.OFPPortDescStatsRequest(DP13, 0),
    (V13, "experimenter's request"): lambda: p13.OFPExperimenterStatsRequest(DP13, 0, 0x2320, 5, b"some"),
}

Values = tuple[Any, ...]


def counters(row: Any, *names: str) -> Values:
    return tuple(getattr(row, name) for name in names)


def port_values(port: Any) -> Values:
    fields = ("port_no", "hw_addr", "name", "config", "state", "curr", "advertised", "supported", "peer")
    return counters(port, *fields)


def flow_values(flow: Any) -> Values:
    return counters(
        flow, "table_id", "priority", "cookie", "idle_timeout", "hard_timeout", "duration_sec",
        "duration_nsec", "packet_count", "byte_count",
    )  # fmt: skip


def band_values(band: Any) -> Values:
    return (band.type, band.rate, band.burst_size, getattr(band, "prec_level", None))


def bucket_values(bucket: Any) -> Values:
    (output,) = bucket.actions
    return (bucket.weight, bucket.watch_port, bucket.watch_group, output.port)


_PORT = (7, SRC, b"s1-eth7", 1)
_STATS = (
    "port_no", "rx_packets", "tx_packets", "rx_bytes", "tx_bytes", "rx_dropped", "tx_dropped",
    "rx_errors", "tx_errors", "rx_frame_err", "rx_over_err", "rx_crc_err", "collisions",
)  # fmt: skip

READ: dict[tuple[int, str], tuple[Callable[[Any], Values], Values]] = {
    (V10, "FeaturesReply"): (
        lambda m: (
            m.datapath_id, m.n_buffers, m.n_tables, m.capabilities, m.actions, *port_values(m.ports[7]),
        ),
        (1, 2, 3, 4, 5, *_PORT, 1, 4, 8, 16, 32),
    ),
    (V10, "GetConfigReply"): (lambda m: (m.flags, m.miss_send_len), (1, 128)),
    (V10, "PacketIn"): (
        lambda m: (m.buffer_id, m.total_len, m.in_port, m.reason, m.data),
        (1, 60, 4, 1, FRAME),
    ),
    (V10, "FlowRemoved"): (
        lambda m: (
            m.match.nw_src, m.match.tp_dst, m.cookie, m.priority, m.reason, m.duration_sec, m.duration_nsec,
            m.idle_timeout, m.packet_count, m.byte_count,
        ),
        (0x0A010000, 4096, 1, 2, 1, 5, 6, 7, 9, 10),
    ),
    (V10, "PortStatus"): (lambda m: (m.reason, *port_values(m.desc)), (2, *_PORT, 1, 4, 8, 16, 32)),
    (V10, "BarrierReply"): (lambda m: (m.xid,), (XID,)),
    (V10, "QueueGetConfigReply"): (
        lambda m: (m.port, m.queues[0].queue_id, m.queues[0].properties[0].rate),
        (0xFFFE, 1, 100),
    ),
    (V10, "Desc"): (
        lambda m: counters(m.body, "mfr_desc", "hw_desc", "sw_desc", "serial_num", "dp_desc"),
        (b"maker", b"hardware", b"software", b"serial", b"switch"),
    ),
    (V10, "Flows"): (
        lambda m: (len(m.body), *flow_values(m.body[1]), m.body[1].match.tp_src, len(m.body[1].actions)),
        (2, 1, 2, 3, 4, 5, 6, 7, 8, 9, 80, 12),
    ),
    (V10, "Aggregate"): (
        lambda m: counters(m.body[0], "packet_count", "byte_count", "flow_count"),
        (1, 2, 3),
    ),
    (V10, "Tables"): (
        lambda m: counters(
            m.body[0], "table_id", "active_count", "lookup_count", "matched_count", "name", "wildcards",
            "max_entries",
        ),
        (1, 2, 3, 4, b"first", 5, 6),
    ),
    (V10, "Ports"): (lambda m: counters(m.body[0], *_STATS), tuple(range(1, 14))),
    (V10, "Queues"): (
        lambda m: counters(m.body[0], "port_no", "queue_id", "tx_bytes", "tx_packets", "tx_errors"),
        (1, 2, 3, 4, 5),
    ),
    (V13, "Hello"): (lambda m: tuple(m.elements[0].versions), (1, 4)),
    (V13, "FeaturesReply"): (
        lambda m: (m.datapath_id, m.n_buffers, m.n_tables, m.capabilities, m.auxiliary_id),
        (1, 2, 3, 4, 5),
    ),
    (V13, "GetConfigReply"): (lambda m: (m.flags, m.miss_send_len), (1, 128)),
    (V13, "PacketIn"): (
        lambda m: (m.buffer_id, m.total_len, m.reason, m.table_id, m.cookie, m.match["in_port"], m.data),
        (1, 60, 1, 2, 3, 4, FRAME),
    ),
    (V13, "FlowRemoved"): (
        lambda m: (
            m.cookie, m.priority, m.reason, m.table_id, m.duration_sec, m.duration_nsec, m.idle_timeout,
            m.hard_timeout, m.packet_count, m.byte_count, m.match["ipv4_src"], m.match["tcp_dst"],
        ),
        (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, ("10.0.0.0", "255.0.0.0"), 80),
    ),
    (V13, "PortStatus"): (
        lambda m: (m.reason, *port_values(m.desc), m.desc.curr_speed, m.desc.max_speed),
        (2, *_PORT, 4, 8, 16, 32, 64, 1000, 2000),
    ),
    (V13, "BarrierReply"): (lambda m: (m.xid,), (XID,)),
    (V13, "QueueGetConfigReply"): (
        lambda m: (m.port, m.queues[0].queue_id, m.queues[0].port, m.queues[0].properties[0].rate),
        (0xFFFFFFFF, 1, 2, 100),
    ),
    (V13, "RoleReply"): (lambda m: (m.role, m.generation_id), (2, 3)),
    (V13, "GetAsyncReply"): (
        lambda m: (m.packet_in_mask, m.port_status_mask, m.flow_removed_mask),
        ([1, 2], [0, 1], [2, 3]),
    ),
    (V13, "Desc"): (
        lambda m: counters(m.body, "mfr_desc", "hw_desc", "sw_desc", "serial_num", "dp_desc"),
        (b"maker", b"hardware", b"software", b"serial", b"switch"),
    ),
    (V13, "Flows"): (
        lambda m: (
            len(m.body), *flow_values(m.body[1]), m.body[1].flags, m.body[1].match["tcp_dst"],
            len(m.body[1].instructions), len(m.body[1].instructions[1].actions),
        ),
        (2, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 80, 6, 18),
    ),
    (V13, "Aggregate"): (lambda m: counters(m.body, "packet_count", "byte_count", "flow_count"), (1, 2, 3)),
    (V13, "Tables"): (
        lambda m: counters(m.body[0], "table_id", "active_count", "lookup_count", "matched_count"),
        (1, 2, 3, 4),
    ),
    (V13, "Ports"): (
        lambda m: counters(m.body[0], *_STATS, "duration_sec", "duration_nsec"),
        tuple(range(1, 16)),
    ),
    (V13, "Queues"): (
        lambda m: counters(
            m.body[0], "port_no", "queue_id", "tx_bytes", "tx_packets", "tx_errors", "duration_sec",
            "duration_nsec",
        ),
        (1, 2, 3, 4, 5, 6, 7),
    ),
    (V13, "GroupCounters"): (
        lambda m: (
            *counters(
                m.body[0], "group_id", "ref_count", "packet_count", "byte_count", "duration_sec",
                "duration_nsec",
            ),
            m.body[0].bucket_stats[0].packet_count,
            m.body[0].bucket_stats[0].byte_count,
        ),
        (1, 2, 3, 4, 5, 6, 7, 8),
    ),
    (V13, "GroupDescs"): (
        lambda m: (m.body[0].type, m.body[0].group_id, *map(bucket_values, m.body[0].buckets)),
        (1, 2, (10, 11, 12, 1), (20, 21, 22, 2)),
    ),
    (V13, "GroupFeatures"): (
        lambda m: (m.body.types, m.body.capabilities, m.body.max_groups, m.body.actions),
        (1, 2, [3, 4, 5, 6], [7, 8, 9, 10]),
    ),
    (V13, "Meters"): (
        lambda m: (
            *counters(
                m.body[0], "meter_id", "flow_count", "packet_in_count", "byte_in_count", "duration_sec",
                "duration_nsec",
            ),
            m.body[0].band_stats[0].packet_band_count,
            m.body[0].band_stats[0].byte_band_count,
        ),
        (1, 2, 3, 4, 5, 6, 7, 8),
    ),
    (V13, "MeterConfigs"): (
        lambda m: (m.body[0].meter_id, m.body[0].flags, *map(band_values, m.body[0].bands)),
        (1, 4, (1, 1000, 10, None), (2, 2000, 20, 3)),
    ),
    (V13, "MeterFeatures"): (
        lambda m: counters(m.body[0], "max_meter", "band_types", "capabilities", "max_bands", "max_color"),
        (1, 2, 3, 4, 5),
    ),
    (V13, "TableFeaturesReply"): (
        lambda m: (
            *counters(
                m.body[0], "table_id", "name", "metadata_match", "metadata_write", "config", "max_entries"
            ),
            m.body[0].properties[0].table_ids,
        ),
        (1, b"first", 2, 3, 3, 5, [1, 2]),
    ),
    (V13, "PortDescs"): (
        lambda m: (*port_values(m.body[0]), m.body[0].curr_speed, m.body[0].max_speed),
        (*_PORT, 4, 8, 16, 32, 64, 1000, 2000),
    ),
    (V13, "experimenter's reply"): (
        lambda m: (m.body.experimenter, m.body.exp_type, m.body.data),
        (0x2320, 5, b"some"),
    ),
}  # fmt: skip

CANNOT = {
    (V10, "Experimenter"): "its vendor messages are only Nicira's own",
    (V10, "PortDescRequest"): "an extension of Open vSwitch to 1.0",
    (V10, "PortDescs"): "an extension of Open vSwitch to 1.0",
    (V10, "vendor's reply"): "it only reads replies of vendors it knows",
}


UNKNOWN = {act.ExperimenterAction, act.ExperimenterInstruction}
"""What os-ken does not write back as it was read, if it does not know the vendor."""


def labels(pairs: list[tuple[int, str]]) -> list[str]:
    return [f"{version}-{name}" for version, name in pairs]


def test_every_message_is_compared_or_named_with_the_reason() -> None:
    every = {(version, name) for version, messages in GOLDEN.items() for name in messages}
    assert {*BUILT, *READ, *CANNOT} == every
    assert not CANNOT.keys() & {*BUILT, *READ}


@pytest.mark.parametrize(("version", "name"), list(BUILT), ids=labels(list(BUILT)))
def test_os_ken_writes_the_same_bytes(version: int, name: str) -> None:
    built = BUILT[version, name]()
    built.set_xid(XID)
    built.serialize()
    message = GOLDEN[version][name]
    assert encode(message, version).hex() == bytes(built.buf).hex()
    assert decode(bytes(built.buf)) == message


def parsed(data: bytes) -> Any:
    version, number, length, xid = struct.unpack_from("!BBHI", data)
    datapath = {V10: DP10, V13: DP13}[version]
    reader = SimpleNamespace(ofproto=datapath.ofproto, ofproto_parser=datapath.ofproto_parser)
    return ofproto_parser.msg(reader, version, number, length, xid, data)


@pytest.mark.parametrize(("version", "name"), list(READ), ids=labels(list(READ)))
def test_os_ken_reads_the_same_values(version: int, name: str) -> None:
    values, expected = READ[version, name]
    assert values(parsed(encode(GOLDEN[version][name], version))) == expected


known_instructions = st.one_of(*(s for kind, s in INSTRUCTIONS.items() if kind not in UNKNOWN))
known = few(
    known_instructions.filter(lambda each: not UNKNOWN & {type(a) for a in getattr(each, "actions", ())})
)


@settings(max_examples=150)
@given(st.builds(FlowMod, u8, matches13, known, u16, u8, u16, u16, u64, u64, u32, u32, u32, u16))
def test_os_ken_reads_a_flow_mod_with_any_match_and_writes_it_back(message: FlowMod) -> None:
    data = encode(message, V13)
    read = parsed(data)
    read.serialize()
    assert bytes(read.buf).hex() == data.hex()
