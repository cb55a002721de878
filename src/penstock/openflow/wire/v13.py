"""The messages of 1.3.  What only 1.0 has (a table's name among its counters) is not written."""

from __future__ import annotations

from operator import attrgetter
from struct import Struct
from typing import Final

from penstock.openflow.error_codes import ErrorCode
from penstock.openflow.messages import (
    BarrierReply,
    BarrierRequest,
    Experimenter,
    FeaturesReply,
    FlowMod,
    FlowRemoved,
    GetAsyncReply,
    GetAsyncRequest,
    GroupMod,
    PacketIn,
    PortMod,
    PortStatus,
    RoleReply,
    RoleRequest,
    SetAsync,
    TableMod,
)
from penstock.openflow.stats import (
    Aggregate,
    AggregateRequest,
    BucketCounter,
    DescRequest,
    ExperimenterStats,
    FlowRequest,
    Flows,
    FlowStats,
    GroupCounters,
    GroupDesc,
    GroupDescRequest,
    GroupDescs,
    GroupFeatures,
    GroupFeaturesRequest,
    GroupStats,
    GroupStatsRequest,
    MeterConfigRequest,
    MeterConfigs,
    MeterFeatures,
    MeterFeaturesRequest,
    MeterRequest,
    Meters,
    MeterStats,
    PortDescRequest,
    PortDescs,
    Ports,
    PortStats,
    PortStatsRequest,
    QueueRequest,
    Queues,
    QueueStats,
    StatsReply,
    StatsRequest,
    TableFeature,
    TableFeatures,
    TableFeaturesReply,
    TableFeaturesRequest,
    TableRequest,
    Tables,
    TableStats,
)
from penstock.openflow.wire.ports import PORTS13, QUEUE_FORMS13
from penstock.openflow.wire.primitives import (
    BODY,
    PADDING,
    SHARED_FORMS,
    Elements,
    MessageForm,
    Room,
    bad_length,
    empty_form,
    fields_form,
    text_field,
    text_of,
)
from penstock.openflow.wire.shared_messages import (
    DESC_FORM,
    PACKET_OUT_FORM13,
    BodyForm,
    array_body,
    empty_body,
    fields_array,
    fields_body,
    list_body,
    multipart_form,
)
from penstock.openflow.wire.structures13 import (
    INSTRUCTIONS13,
    METER_CONFIGS,
    METER_MOD_FORM,
    read_buckets,
    read_match,
    read_meter_config,
    write_buckets,
    write_match,
    write_meter_config,
)

_FLOW_REQUEST = Struct("!B3xII4xQQ")
_FLOW = Struct("!HBxIIHHHH4xQQQ")
_COUNTER = Struct("!QQ")
_GROUP = Struct("!H2xII4xQQII")
_GROUP_DESC = Struct("!HBxI")
_GROUP_FEATURES = Struct("!10I")
_METER = Struct("!IH6xIQQII")
_TABLE_FEATURES = Struct("!HB5x32sQQII")
_PROPERTY = Struct("!HH")
_VENDOR = Struct("!II")

_FLOWS = Elements("A flow", least=_FLOW.size, step=8)
_GROUPS = Elements("A group", least=_GROUP.size)
_GROUP_DESCS = Elements("A group", least=_GROUP_DESC.size)
_METERS = Elements("A meter", least=_METER.size, length_at=4)
_TABLES = Elements("A table", least=_TABLE_FEATURES.size, step=8, refusal=ErrorCode.TABLE_FEATURES_BAD_LEN)
_PROPERTIES = Elements(
    "A table's property",
    least=_PROPERTY.size,
    length_at=2,
    pad=True,
    refusal=ErrorCode.TABLE_FEATURES_BAD_LEN,
)


def _flow_request_form(number: int, kind: type[FlowRequest] | type[AggregateRequest]) -> BodyForm:
    values = attrgetter("table_id", "out_port", "out_group", "cookie", "cookie_mask")

    def write(body: FlowRequest | AggregateRequest) -> bytes:
        return _FLOW_REQUEST.pack(*values(body)) + write_match(body.match)

    def read(data: bytes, at: int) -> FlowRequest | AggregateRequest:
        match, _ = read_match(data, at + _FLOW_REQUEST.size, len(data))
        return kind(match, *_FLOW_REQUEST.unpack_from(data, at))

    return BodyForm(number, kind, Room(_FLOW_REQUEST.size, 8), write, read)


def _write_flow(flow: FlowStats) -> bytes:
    octets = write_match(flow.match) + INSTRUCTIONS13.write(flow.instructions)
    head = _FLOW.pack(
        _FLOW.size + len(octets),
        flow.table_id,
        flow.duration_sec,
        flow.duration_nsec,
        flow.priority,
        flow.idle_timeout,
        flow.hard_timeout,
        flow.flags,
        flow.cookie,
        flow.packet_count,
        flow.byte_count,
    )
    return head + octets


def _read_flow(data: bytes, at: int, end: int) -> FlowStats:
    _, table_id, sec, nsec, priority, idle, hard, flags, cookie, packets, octets = _FLOW.unpack_from(data, at)
    match, start = read_match(data, at + _FLOW.size, end)
    instructions = INSTRUCTIONS13.read(data, start, end)
    return FlowStats(
        table_id, match, instructions, priority, cookie, idle, hard, flags, sec, nsec, packets, octets
    )


def _write_counters(counters: tuple[BucketCounter, ...]) -> bytes:
    return b"".join([_COUNTER.pack(each.packet_count, each.byte_count) for each in counters])


def _read_counters(data: bytes, at: int, end: int) -> tuple[BucketCounter, ...]:
    if (end - at) % _COUNTER.size:
        raise bad_length("A list of counters", end - at)
    return tuple(
        [BucketCounter(*_COUNTER.unpack_from(data, place)) for place in range(at, end, _COUNTER.size)]
    )


_group_counters = attrgetter(
    "group_id", "ref_count", "packet_count", "byte_count", "duration_sec", "duration_nsec"
)


def _write_group(group: GroupStats) -> bytes:
    counters = _write_counters(group.buckets)
    return _GROUP.pack(_GROUP.size + len(counters), *_group_counters(group)) + counters


def _read_group(data: bytes, at: int, end: int) -> GroupStats:
    _, group_id, references, packets, octets, sec, nsec = _GROUP.unpack_from(data, at)
    buckets = _read_counters(data, at + _GROUP.size, end)
    return GroupStats(group_id, references, packets, octets, sec, nsec, buckets)


def _write_group_desc(group: GroupDesc) -> bytes:
    buckets = write_buckets(group.buckets)
    return _GROUP_DESC.pack(_GROUP_DESC.size + len(buckets), group.type, group.group_id) + buckets


def _read_group_desc(data: bytes, at: int, end: int) -> GroupDesc:
    _, kind, group_id = _GROUP_DESC.unpack_from(data, at)
    return GroupDesc(kind, group_id, read_buckets(data, at + _GROUP_DESC.size, end))


def _write_group_features(body: GroupFeatures) -> bytes:
    return _GROUP_FEATURES.pack(body.types, body.capabilities, *body.max_groups, *body.actions)


def _read_group_features(data: bytes, at: int) -> GroupFeatures:
    types, capabilities, *rest = _GROUP_FEATURES.unpack_from(data, at)
    return GroupFeatures(types, capabilities, tuple(rest[:4]), tuple(rest[4:]))


_meter_counters = attrgetter(
    "flow_count", "packet_in_count", "byte_in_count", "duration_sec", "duration_nsec"
)


def _write_meter(meter: MeterStats) -> bytes:
    counters = _write_counters(meter.bands)
    return _METER.pack(meter.meter_id, _METER.size + len(counters), *_meter_counters(meter)) + counters


def _read_meter(data: bytes, at: int, end: int) -> MeterStats:
    meter_id, _, flows, packets, octets, sec, nsec = _METER.unpack_from(data, at)
    bands = _read_counters(data, at + _METER.size, end)
    return MeterStats(meter_id, flows, packets, octets, sec, nsec, bands)


def _write_property(feature: TableFeature) -> bytes:
    length = _PROPERTY.size + len(feature.body)
    return _PROPERTY.pack(feature.type, length) + feature.body + PADDING[length & 7]


def _read_property(data: bytes, at: int, end: int) -> TableFeature:
    return TableFeature(_PROPERTY.unpack_from(data, at)[0], data[at + _PROPERTY.size : end])


def _write_table_features(table: TableFeatures) -> bytes:
    properties = b"".join([_write_property(feature) for feature in table.properties])
    head = _TABLE_FEATURES.pack(
        _TABLE_FEATURES.size + len(properties),
        table.table_id,
        text_field(table.name, 32),
        table.metadata_match,
        table.metadata_write,
        table.config,
        table.max_entries,
    )
    return head + properties


def _read_table_features(data: bytes, at: int, end: int) -> TableFeatures:
    _, table_id, name, matched, written, config, max_entries = _TABLE_FEATURES.unpack_from(data, at)
    properties = _PROPERTIES.read(data, at + _TABLE_FEATURES.size, end, _read_property)
    return TableFeatures(table_id, text_of(name), matched, written, config, max_entries, properties)


def _table_features_form(kind: type[TableFeaturesRequest] | type[TableFeaturesReply]) -> BodyForm:
    return list_body(12, kind, "tables", _TABLES, _write_table_features, _read_table_features)


def _write_vendor_stats(body: ExperimenterStats) -> bytes:
    return _VENDOR.pack(body.experimenter, body.exp_type) + body.body


def _read_vendor_stats(data: bytes, at: int) -> ExperimenterStats:
    experimenter, exp_type = _VENDOR.unpack_from(data, at)
    return ExperimenterStats(experimenter, exp_type, data[at + _VENDOR.size :])


_VENDOR_FORM = BodyForm(
    0xFFFF, ExperimenterStats, Room(_VENDOR.size, 1), _write_vendor_stats, _read_vendor_stats
)

_REQUESTS: Final = (
    empty_body(0, DescRequest),
    _flow_request_form(1, FlowRequest),
    _flow_request_form(2, AggregateRequest),
    empty_body(3, TableRequest),
    fields_body(4, PortStatsRequest, "I4x", "port_no"),
    fields_body(5, QueueRequest, "II", "port_no", "queue_id"),
    fields_body(6, GroupStatsRequest, "I4x", "group_id"),
    empty_body(7, GroupDescRequest),
    empty_body(8, GroupFeaturesRequest),
    fields_body(9, MeterRequest, "I4x", "meter_id"),
    fields_body(10, MeterConfigRequest, "I4x", "meter_id"),
    empty_body(11, MeterFeaturesRequest),
    _table_features_form(TableFeaturesRequest),
    empty_body(13, PortDescRequest),
    _VENDOR_FORM,
)
_REPLIES: Final = (
    DESC_FORM,
    list_body(1, Flows, "flows", _FLOWS, _write_flow, _read_flow, step=1),
    fields_body(2, Aggregate, "QQI4x", "packet_count", "byte_count", "flow_count"),
    fields_array(
        3, Tables, "tables", TableStats, "B3xIQQ", "table_id", "active_count", "lookup_count", "matched_count"
    ),
    fields_array(4, Ports, "ports", PortStats, "I4x12QII", *PortStats.__slots__),
    fields_array(5, Queues, "queues", QueueStats, "II3QII", *QueueStats.__slots__),
    list_body(6, GroupCounters, "groups", _GROUPS, _write_group, _read_group),
    list_body(7, GroupDescs, "groups", _GROUP_DESCS, _write_group_desc, _read_group_desc),
    BodyForm(8, GroupFeatures, Room(_GROUP_FEATURES.size), _write_group_features, _read_group_features),
    list_body(9, Meters, "meters", _METERS, _write_meter, _read_meter),
    list_body(10, MeterConfigs, "meters", METER_CONFIGS, write_meter_config, read_meter_config),
    fields_body(
        11, MeterFeatures, "IIIBB2x", "max_meter", "band_types", "capabilities", "max_bands", "max_color"
    ),
    _table_features_form(TableFeaturesReply),
    array_body(13, PortDescs, "ports", PORTS13.size, PORTS13.write, PORTS13.read),
    _VENDOR_FORM,
)

STATS_FORMS13: Final = (
    multipart_form(18, StatsRequest, "1.3", "!HH4x", _REQUESTS),
    multipart_form(19, StatsReply, "1.3", "!HH4x", _REPLIES),
)


_FEATURES = Struct("!QIBB2xI4x")
_PACKET_IN = Struct("!IHBBQ")
_FLOW_REMOVED = Struct("!QHBBIIHHQQ")
_FLOW_MOD = Struct("!QQBBHHHIIIH2x")
_GROUP_MOD = Struct("!HBxI")
_ASYNC = Struct("!6I")

_PACKET_IN_PAD = b"\0\0"


def _write_vendor(message: Experimenter) -> bytes:
    return _VENDOR.pack(message.experimenter, message.exp_type) + message.body


def _read_vendor(data: bytes, xid: int) -> Experimenter:
    experimenter, exp_type = _VENDOR.unpack_from(data, BODY)
    return Experimenter(experimenter, exp_type, data[BODY + _VENDOR.size :], xid=xid)


def _write_features(message: FeaturesReply) -> bytes:
    return _FEATURES.pack(
        message.datapath_id, message.n_buffers, message.n_tables, message.auxiliary_id, message.capabilities
    )


def _read_features(data: bytes, xid: int) -> FeaturesReply:
    dpid, n_buffers, n_tables, auxiliary_id, capabilities = _FEATURES.unpack_from(data, BODY)
    return FeaturesReply(dpid, n_buffers, n_tables, capabilities, auxiliary_id=auxiliary_id, xid=xid)


def _write_packet_in(message: PacketIn) -> bytes:
    head = _PACKET_IN.pack(
        message.buffer_id, message.total_len, message.reason, message.table_id, message.cookie
    )
    return head + write_match(message.match) + _PACKET_IN_PAD + message.data


def _read_packet_in(data: bytes, xid: int) -> PacketIn:
    buffer_id, total_len, reason, table_id, cookie = _PACKET_IN.unpack_from(data, BODY)
    match, end = read_match(data, BODY + _PACKET_IN.size, len(data), loose=True)
    start = end + len(_PACKET_IN_PAD)
    if start > len(data):
        raise bad_length("A PacketIn", len(data))
    return PacketIn(buffer_id, total_len, reason, match, data[start:], table_id, cookie, xid=xid)


def _write_flow_removed(message: FlowRemoved) -> bytes:
    head = _FLOW_REMOVED.pack(
        message.cookie,
        message.priority,
        message.reason,
        message.table_id,
        message.duration_sec,
        message.duration_nsec,
        message.idle_timeout,
        message.hard_timeout,
        message.packet_count,
        message.byte_count,
    )
    return head + write_match(message.match)


def _read_flow_removed(data: bytes, xid: int) -> FlowRemoved:
    match, _ = read_match(data, BODY + _FLOW_REMOVED.size, len(data))
    return FlowRemoved(match, *_FLOW_REMOVED.unpack_from(data, BODY), xid=xid)


def _write_flow_mod(message: FlowMod) -> bytes:
    head = _FLOW_MOD.pack(
        message.cookie,
        message.cookie_mask,
        message.table_id,
        message.command,
        message.idle_timeout,
        message.hard_timeout,
        message.priority,
        message.buffer_id,
        message.out_port,
        message.out_group,
        message.flags,
    )
    return head + write_match(message.match) + INSTRUCTIONS13.write(message.instructions)


def _read_flow_mod(data: bytes, xid: int) -> FlowMod:
    (
        cookie, cookie_mask, table_id, command, idle, hard, priority, buffer_id, out_port, out_group, flags,
    ) = _FLOW_MOD.unpack_from(data, BODY)  # fmt: skip
    match, at = read_match(data, BODY + _FLOW_MOD.size, len(data))
    instructions = INSTRUCTIONS13.read(data, at, len(data))
    return FlowMod(
        command, match, instructions, priority, table_id, idle, hard,
        cookie, cookie_mask, buffer_id, out_port, out_group, flags, xid=xid,
    )  # fmt: skip


def _write_group_mod(message: GroupMod) -> bytes:
    return _GROUP_MOD.pack(message.command, message.type, message.group_id) + write_buckets(message.buckets)


def _read_group_mod(data: bytes, xid: int) -> GroupMod:
    buckets = read_buckets(data, BODY + _GROUP_MOD.size, len(data))
    command, kind, group_id = _GROUP_MOD.unpack_from(data, BODY)
    return GroupMod(command, kind, group_id, buckets, xid=xid)


def _async_form(number: int, kind: type[GetAsyncReply] | type[SetAsync]) -> MessageForm:
    def write(message: GetAsyncReply | SetAsync) -> bytes:
        return _ASYNC.pack(*message.packet_in, *message.port_status, *message.flow_removed)

    def read(data: bytes, xid: int) -> GetAsyncReply | SetAsync:
        masks = _ASYNC.unpack_from(data, BODY)
        return kind(masks[0:2], masks[2:4], masks[4:6], xid=xid)

    return MessageForm(number, kind, Room(BODY + _ASYNC.size), write, read)


FORMS13: Final = (
    *SHARED_FORMS,
    MessageForm(4, Experimenter, Room(BODY + _VENDOR.size, 1), _write_vendor, _read_vendor),
    MessageForm(6, FeaturesReply, Room(BODY + _FEATURES.size), _write_features, _read_features),
    MessageForm(10, PacketIn, Room(BODY + _PACKET_IN.size, 1), _write_packet_in, _read_packet_in),
    MessageForm(11, FlowRemoved, Room(BODY + _FLOW_REMOVED.size, 8), _write_flow_removed, _read_flow_removed),
    MessageForm(12, PortStatus, Room(PORTS13.status_size), PORTS13.write_status, PORTS13.read_status),
    PACKET_OUT_FORM13,
    MessageForm(14, FlowMod, Room(BODY + _FLOW_MOD.size, 8), _write_flow_mod, _read_flow_mod),
    MessageForm(15, GroupMod, Room(BODY + _GROUP_MOD.size, 8), _write_group_mod, _read_group_mod),
    MessageForm(16, PortMod, Room(PORTS13.mod_size), PORTS13.write_mod, PORTS13.read_mod),
    fields_form(17, TableMod, "B3xI", "table_id", "config"),
    *STATS_FORMS13,
    empty_form(20, BarrierRequest),
    empty_form(21, BarrierReply),
    *QUEUE_FORMS13,
    fields_form(24, RoleRequest, "I4xQ", "role", "generation_id"),
    fields_form(25, RoleReply, "I4xQ", "role", "generation_id"),
    empty_form(26, GetAsyncRequest),
    _async_form(27, GetAsyncReply),
    _async_form(28, SetAsync),
    METER_MOD_FORM,
)
"""All messages of 1.3 but the greeting."""
