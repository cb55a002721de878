"""What a switch tells of itself when asked: statistics and descriptions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Final

from penstock._world.switch.budgets import MOST_BANDS, MOST_METERS
from penstock._world.switch.checks import UNSUPPORTED_FIELDS, check_match
from penstock._world.switch.flow_table import FlowEntry
from penstock._world.switch.meters import BandType
from penstock._world.switch.rewriting import WRITABLE
from penstock._world.switch.state import PortUsage, TableUsage, Usage
from penstock._world.switch.turn import Turn, outputs_to
from penstock.openflow.actions import UseMeter
from penstock.openflow.error_codes import ErrorCode, OpenFlowError
from penstock.openflow.fields import FIELDS, OPENFLOW_BASIC
from penstock.openflow.messages import (
    ALL_GROUPS,
    ALL_METERS,
    ALL_TABLES,
    ANY_GROUP,
    V10,
    FeaturesReply,
    GroupType,
    PortNo,
)
from penstock.openflow.stats import (
    ALL_QUEUES,
    Aggregate,
    AggregateRequest,
    BucketCounter,
    Desc,
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
    MeterConfig,
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
    StatsReply,
    StatsReplyBody,
    StatsRequestBody,
    TableFeature,
    TableFeatures,
    TableFeaturesReply,
    TableFeaturesRequest,
    TableRequest,
    Tables,
    TableStats,
)
from penstock.openflow.wire import encode
from penstock.openflow.wire.primitives import MAX_LENGTH

_LISTS: Final = (Flows, Ports, PortDescs, GroupDescs, GroupCounters, Meters, MeterConfigs, TableFeaturesReply)
"""The answers that are one list, which may be too long for one message."""

_V10_CAPABILITIES: Final = 0b11000111
_V13_CAPABILITIES: Final = 0b01001111
_V10_ACTIONS: Final = 0xFFF
_V13_ACTIONS: Final = 0b11_1111_1111_1000_0000_0000_0001
_BAND_TYPES: Final = sum(1 << kind for kind in BandType)
_V10_WILDCARDS: Final = 0x3FFFFF


def features(turn: Turn) -> FeaturesReply:
    """Return how the switch introduces itself."""
    old = turn.version == V10
    return FeaturesReply(
        datapath_id=turn.chassis.dpid,
        n_buffers=turn.options.buffers,
        n_tables=turn.options.tables,
        capabilities=_V10_CAPABILITIES if old else _V13_CAPABILITIES,
        actions=_V10_ACTIONS if old else 0,
        ports=tuple(turn.describe_port(number) for number in turn.state.ports) if old else (),
    )


def answer(turn: Turn, body: StatsRequestBody) -> StatsReplyBody:
    """Return the statistics asked for, or refuse."""
    match body:
        case DescRequest():
            return _description(turn)
        case FlowRequest():
            return Flows(tuple(_flow_stats(turn, table, entry) for table, entry in _entries(turn, body)))
        case AggregateRequest():
            usages = [turn.usage_of(table, entry) for table, entry in _entries(turn, body)]
            return Aggregate(sum(u.packets for u in usages), sum(u.octets for u in usages), len(usages))
        case TableRequest():
            return Tables(tuple(_table_stats(turn, number) for number in range(turn.options.tables)))
        case PortStatsRequest(port_no):
            return Ports(tuple(_port_stats(turn, number) for number in _asked_ports(turn, port_no)))
        case QueueRequest(port_no, queue_id):
            return _queues(turn, port_no, queue_id)
        case GroupStatsRequest(group_id):
            return GroupCounters(
                tuple(_group_stats(turn, number) for number in _asked_groups(turn, group_id))
            )
        case GroupDescRequest():
            groups = turn.state.groups
            return GroupDescs(tuple(GroupDesc(g.type, number, g.buckets) for number, g in groups.items()))
        case GroupFeaturesRequest():
            every = (1 << len(GroupType)) - 1
            return GroupFeatures(every, 0b0111, (turn.options.groups,) * 4, (_V13_ACTIONS,) * 4)
        case MeterRequest(meter_id):
            return Meters(tuple(_meter_stats(turn, number) for number in _asked_meters(turn, meter_id)))
        case MeterConfigRequest(meter_id):
            return MeterConfigs(
                tuple(_meter_config(turn, number) for number in _asked_meters(turn, meter_id))
            )
        case MeterFeaturesRequest():
            return MeterFeatures(MOST_METERS, _BAND_TYPES, 0b1111, MOST_BANDS, 0)
        case TableFeaturesRequest(tables):
            if tables:
                raise OpenFlowError(ErrorCode.TABLE_FEATURES_EPERM, "the tables are as they are")
            return _table_features(turn)
        case PortDescRequest():
            return PortDescs(tuple(turn.describe_port(number) for number in turn.state.ports))
        case ExperimenterStats():
            raise OpenFlowError(ErrorCode.BAD_VENDOR, f"vendor {body.experimenter:#x} is unknown")


def in_parts(body: StatsReplyBody, version: int) -> list[StatsReplyBody]:
    """Return a body as several of which each fits one message of a version; most are one."""
    if not isinstance(body, _LISTS):
        return [body]
    (records,) = (getattr(body, field.name) for field in fields(body))
    if len(records) < 2:
        return [body]
    kind: Callable[[tuple[object, ...]], StatsReplyBody] = type(body)
    return [kind(part) for part in _parts(records, kind, version)]


def _parts(
    records: tuple[object, ...], kind: Callable[[tuple[object, ...]], StatsReplyBody], version: int
) -> list[tuple[object, ...]]:
    """Return records in as few groups, in order, as there must be for each to fit one message."""
    frame = len(encode(StatsReply(kind(())), version))
    groups: list[list[object]] = [[]]
    length = frame
    for record in records:
        size = len(encode(StatsReply(kind((record,))), version)) - frame
        if groups[-1] and length + size > MAX_LENGTH:
            groups.append([])
            length = frame
        groups[-1].append(record)
        length += size
    return [tuple(group) for group in groups]


def _description(turn: Turn) -> Desc:
    return Desc("Penstock", "Modelled switch", "OpenFlow 1.0 and 1.3", "None", turn.chassis.name)


def _entries(turn: Turn, body: FlowRequest | AggregateRequest) -> Iterator[tuple[int, FlowEntry]]:
    """Yield the entries that a flow or aggregate request asks for."""
    check_match(body.match, turn.version)
    if body.table_id != ALL_TABLES and body.table_id >= turn.options.tables:
        raise OpenFlowError(ErrorCode.BAD_TABLE_ID, f"there is no table {body.table_id}")
    for number in turn.state.tables if body.table_id == ALL_TABLES else (body.table_id,):
        for entry in turn.table(number):
            asked = entry.match.within(body.match) and outputs_to(entry, body.out_port, body.out_group)
            if asked and not (entry.cookie ^ body.cookie) & body.cookie_mask:
                yield number, entry


def _flow_stats(turn: Turn, table: int, entry: FlowEntry) -> FlowStats:
    usage = turn.usage_of(table, entry)
    seconds, nanoseconds = _duration(turn, entry.created)
    return FlowStats(
        table_id=table,
        match=entry.match,
        instructions=entry.instructions,
        priority=entry.priority,
        cookie=entry.cookie,
        idle_timeout=entry.idle_timeout,
        hard_timeout=entry.hard_timeout,
        flags=entry.flags if turn.version != V10 else 0,
        duration_sec=seconds,
        duration_nsec=nanoseconds,
        packet_count=usage.packets,
        byte_count=usage.octets,
    )


def _duration(turn: Turn, since: int) -> tuple[int, int]:
    seconds, milliseconds = divmod(turn.state.now - since, 1000)
    return seconds, milliseconds * 1_000_000


def _table_stats(turn: Turn, number: int) -> TableStats:
    usage = turn.state.table_usage.get(number) or TableUsage()
    old = turn.version == V10
    return TableStats(
        table_id=number,
        active_count=len(turn.table(number)),
        lookup_count=usage.lookups,
        matched_count=usage.matches,
        wildcards=_V10_WILDCARDS if old else 0,
        max_entries=turn.options.table_size if old else 0,
    )


def _asked_ports(turn: Turn, port_no: int) -> list[int]:
    if port_no == PortNo.ANY:
        return list(turn.state.ports)
    return [port_no] if port_no in turn.state.ports else []


def _port_stats(turn: Turn, number: int) -> PortStats:
    usage = turn.state.port_usage.get(number) or PortUsage()
    seconds, nanoseconds = (0, 0) if turn.version == V10 else _duration(turn, 0)
    return PortStats(
        port_no=number,
        rx_packets=usage.rx_packets,
        tx_packets=usage.tx_packets,
        rx_bytes=usage.rx_bytes,
        tx_bytes=usage.tx_bytes,
        rx_dropped=usage.rx_dropped,
        tx_dropped=usage.tx_dropped,
        duration_sec=seconds,
        duration_nsec=nanoseconds,
    )


def _queues(turn: Turn, port_no: int, queue_id: int) -> Queues:
    """Ports have no queues, so asking after one is an error unless after all."""
    if port_no != PortNo.ANY and port_no not in turn.state.ports:
        raise OpenFlowError(ErrorCode.QUEUE_BAD_PORT, f"there is no port {port_no}")
    if queue_id != ALL_QUEUES:
        raise OpenFlowError(ErrorCode.QUEUE_BAD_QUEUE, f"there is no queue {queue_id}")
    return Queues(())


def _asked_groups(turn: Turn, group_id: int) -> list[int]:
    if group_id in (ALL_GROUPS, ANY_GROUP):
        return list(turn.state.groups) if group_id == ALL_GROUPS else []
    return [group_id] if group_id in turn.state.groups else []


def _group_stats(turn: Turn, number: int) -> GroupStats:
    group = turn.state.groups[number]
    usage = turn.state.group_usage.get(number) or Usage()
    users = sum(
        outputs_to(entry, PortNo.ANY, number) for table in turn.state.tables for entry in turn.table(table)
    )
    seconds, nanoseconds = _duration(turn, group.created)
    per_bucket = [turn.state.bucket_usage.get((number, i)) or Usage() for i in range(len(group.buckets))]
    return GroupStats(
        group_id=number,
        ref_count=users,
        packet_count=usage.packets,
        byte_count=usage.octets,
        duration_sec=seconds,
        duration_nsec=nanoseconds,
        buckets=tuple(BucketCounter(u.packets, u.octets) for u in per_bucket),
    )


def _asked_meters(turn: Turn, meter_id: int) -> list[int]:
    if meter_id == ALL_METERS:
        return list(turn.state.meters)
    if meter_id not in turn.state.meters:
        raise OpenFlowError(ErrorCode.METER_UNKNOWN_METER, f"there is no meter {meter_id}")
    return [meter_id]


def _meter_stats(turn: Turn, number: int) -> MeterStats:
    meter = turn.state.meters[number]
    usage = turn.state.meter_usage.get(number) or Usage()
    seconds, nanoseconds = _duration(turn, meter.created)
    exceeded = [turn.state.band_usage.get((number, i)) or Usage() for i in range(len(meter.bands))]
    bands = tuple(BucketCounter(u.packets, u.octets) for u in exceeded)
    users = sum(
        UseMeter(number) in entry.instructions for table in turn.state.tables for entry in turn.table(table)
    )
    return MeterStats(number, users, usage.packets, usage.octets, seconds, nanoseconds, bands)


def _meter_config(turn: Turn, number: int) -> MeterConfig:
    meter = turn.state.meters[number]
    return MeterConfig(number, meter.flags, meter.bands)


def _table_features(turn: Turn) -> TableFeaturesReply:
    """Return what each table can do; all can do the same but go backwards."""
    instructions = b"".join(kind.to_bytes(2) + b"\0\4" for kind in (1, 2, 3, 4, 5, 6))
    actions = b"".join(kind.to_bytes(2) + b"\0\4" for kind in range(28) if _V13_ACTIONS >> kind & 1)
    matchable = _field_ids([field.name for field in FIELDS if field.name not in UNSUPPORTED_FIELDS])
    writable = _field_ids(sorted(WRITABLE | {"in_port"}))
    last = turn.options.tables

    def properties(number: int) -> tuple[TableFeature, ...]:
        following = bytes(range(number + 1, last))
        return (
            *(TableFeature(kind, instructions if following else instructions[4:]) for kind in (0, 1)),
            *(TableFeature(kind, following) for kind in (2, 3)),
            *(TableFeature(kind, actions) for kind in (4, 5, 6, 7)),
            *(TableFeature(kind, matchable) for kind in (8, 10)),
            *(TableFeature(kind, writable) for kind in (12, 13, 14, 15)),
        )

    every = 0xFFFFFFFFFFFFFFFF
    most = turn.options.table_size
    return TableFeaturesReply(
        tuple(TableFeatures(n, "", every, every, 0, most, properties(n)) for n in range(last))
    )


def _field_ids(names: list[str]) -> bytes:
    """Return OXM headers, as table features list fields."""
    by_name = {field.name: field for field in FIELDS}
    return b"".join(
        OPENFLOW_BASIC.to_bytes(2) + bytes([by_name[name].number << 1, by_name[name].size]) for name in names
    )
