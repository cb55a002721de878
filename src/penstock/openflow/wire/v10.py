"""The messages of 1.0 with its statistics, and the port description that Open vSwitch added (type 13)."""

from __future__ import annotations

from functools import lru_cache
from operator import attrgetter
from struct import Struct
from typing import Final

from penstock.errors import PenstockError
from penstock.openflow.match import Match, Term
from penstock.openflow.messages import (
    ALL_TABLES,
    ANY_GROUP,
    BarrierReply,
    BarrierRequest,
    Experimenter,
    FeaturesReply,
    FlowCommand,
    FlowMod,
    FlowRemoved,
    PacketIn,
    PortMod,
    PortNo,
    PortStatus,
)
from penstock.openflow.stats import (
    Aggregate,
    AggregateRequest,
    DescRequest,
    ExperimenterStats,
    FlowRequest,
    Flows,
    FlowStats,
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
    TableRequest,
    Tables,
    TableStats,
)
from penstock.openflow.wire.ports import PORTS10, QUEUE_FORMS10, port_from10, port_to10
from penstock.openflow.wire.primitives import (
    BODY,
    SHARED_FORMS,
    Elements,
    MessageForm,
    Room,
    bad_length,
    empty_form,
    text_field,
    text_of,
)
from penstock.openflow.wire.shared_messages import (
    DESC_FORM,
    PACKET_OUT_FORM10,
    BodyForm,
    array_body,
    empty_body,
    fields_body,
    list_body,
    multipart_form,
)
from penstock.openflow.wire.structures10 import (
    MATCH10_SIZE,
    read_instructions10,
    read_match10,
    write_instructions10,
    write_match10,
)

_FLOW_REQUEST = Struct("!BxH")
_FLOW = Struct("!HBx40sIIHHH6xQQQ")
_TABLE = Struct("!B3x32sIIIQQ")
_PORT = Struct("!H6x12Q")
_PORT_REQUEST = Struct("!H6x")
_QUEUE_REQUEST = Struct("!H2xI")
_QUEUE = Struct("!H2xI3Q")
_VENDOR = Struct("!I")

_FLOWS = Elements("A flow", least=_FLOW.size)
_MATCH_IN_FLOW = 4


def _flow_request_form(number: int, kind: type[FlowRequest] | type[AggregateRequest]) -> BodyForm:
    def write(body: FlowRequest | AggregateRequest) -> bytes:
        if body.cookie_mask or body.out_group != ANY_GROUP:
            raise PenstockError("OpenFlow 1.0 cannot ask for flows by cookie or group: leave both out.")
        return write_match10(body.match) + _FLOW_REQUEST.pack(body.table_id, port_to10(body.out_port))

    def read(data: bytes, at: int) -> FlowRequest | AggregateRequest:
        table_id, out_port = _FLOW_REQUEST.unpack_from(data, at + MATCH10_SIZE)
        return kind(read_match10(data, at)[0], table_id, port_from10(out_port))

    return BodyForm(number, kind, Room(MATCH10_SIZE + _FLOW_REQUEST.size), write, read)


_flow_counters = attrgetter(
    "duration_sec", "duration_nsec", "priority", "idle_timeout", "hard_timeout",
    "cookie", "packet_count", "byte_count",
)  # fmt: skip


def _write_flow(flow: FlowStats) -> bytes:
    actions = write_instructions10(flow.instructions)
    length = _FLOW.size + len(actions)
    return _FLOW.pack(length, flow.table_id, write_match10(flow.match), *_flow_counters(flow)) + actions


def _read_flow(data: bytes, at: int, end: int) -> FlowStats:
    if (end - at) % 8:
        raise bad_length("A flow", end - at)
    _, table_id, _, sec, nsec, priority, idle, hard, cookie, packets, octets = _FLOW.unpack_from(data, at)
    return FlowStats(
        table_id,
        read_match10(data, at + _MATCH_IN_FLOW)[0],
        read_instructions10(data, at + _FLOW.size, end),
        priority,
        cookie,
        idle,
        hard,
        duration_sec=sec,
        duration_nsec=nsec,
        packet_count=packets,
        byte_count=octets,
    )


def _write_table(table: TableStats) -> bytes:
    return _TABLE.pack(
        table.table_id,
        text_field(table.name, 32),
        table.wildcards,
        table.max_entries,
        table.active_count,
        table.lookup_count,
        table.matched_count,
    )


def _read_table(data: bytes, at: int) -> TableStats:
    table_id, name, wildcards, max_entries, active, looked_up, matched = _TABLE.unpack_from(data, at)
    return TableStats(table_id, active, looked_up, matched, text_of(name), wildcards, max_entries)


_port_counters = attrgetter(
    "rx_packets", "tx_packets", "rx_bytes", "tx_bytes", "rx_dropped", "tx_dropped",
    "rx_errors", "tx_errors", "rx_frame_err", "rx_over_err", "rx_crc_err", "collisions",
)  # fmt: skip


def _write_port(port: PortStats) -> bytes:
    return _PORT.pack(port_to10(port.port_no), *_port_counters(port))


def _read_port(data: bytes, at: int) -> PortStats:
    number, *counters = _PORT.unpack_from(data, at)
    return PortStats(port_from10(number), *counters)


def _write_port_request(body: PortStatsRequest) -> bytes:
    return _PORT_REQUEST.pack(port_to10(body.port_no))


def _read_port_request(data: bytes, at: int) -> PortStatsRequest:
    return PortStatsRequest(port_from10(_PORT_REQUEST.unpack_from(data, at)[0]))


def _write_queue_request(body: QueueRequest) -> bytes:
    # All ports are asked for as ALL in 1.0, as ANY in 1.3.
    number = PortNo.ALL if body.port_no == PortNo.ANY else body.port_no
    return _QUEUE_REQUEST.pack(port_to10(number), body.queue_id)


def _read_queue_request(data: bytes, at: int) -> QueueRequest:
    number, queue_id = _QUEUE_REQUEST.unpack_from(data, at)
    port = port_from10(number)
    return QueueRequest(PortNo.ANY if port == PortNo.ALL else port, queue_id)


def _write_queue(queue: QueueStats) -> bytes:
    return _QUEUE.pack(
        port_to10(queue.port_no), queue.queue_id, queue.tx_bytes, queue.tx_packets, queue.tx_errors
    )


def _read_queue(data: bytes, at: int) -> QueueStats:
    number, *rest = _QUEUE.unpack_from(data, at)
    return QueueStats(port_from10(number), *rest)


def _write_vendor_stats(body: ExperimenterStats) -> bytes:
    return _VENDOR.pack(body.experimenter) + body.body


def _read_vendor_stats(data: bytes, at: int) -> ExperimenterStats:
    return ExperimenterStats(_VENDOR.unpack_from(data, at)[0], 0, data[at + _VENDOR.size :])


_VENDOR_FORM = BodyForm(
    0xFFFF, ExperimenterStats, Room(_VENDOR.size, 1), _write_vendor_stats, _read_vendor_stats
)

_REQUESTS: Final = (
    empty_body(0, DescRequest),
    _flow_request_form(1, FlowRequest),
    _flow_request_form(2, AggregateRequest),
    empty_body(3, TableRequest),
    BodyForm(4, PortStatsRequest, Room(_PORT_REQUEST.size), _write_port_request, _read_port_request),
    BodyForm(5, QueueRequest, Room(_QUEUE_REQUEST.size), _write_queue_request, _read_queue_request),
    empty_body(13, PortDescRequest),
    _VENDOR_FORM,
)
_REPLIES: Final = (
    DESC_FORM,
    list_body(1, Flows, "flows", _FLOWS, _write_flow, _read_flow, step=1),
    fields_body(2, Aggregate, "QQI4x", "packet_count", "byte_count", "flow_count"),
    array_body(3, Tables, "tables", _TABLE.size, _write_table, _read_table),
    array_body(4, Ports, "ports", _PORT.size, _write_port, _read_port),
    array_body(5, Queues, "queues", _QUEUE.size, _write_queue, _read_queue),
    array_body(13, PortDescs, "ports", PORTS10.size, PORTS10.write, PORTS10.read),
    _VENDOR_FORM,
)

STATS_FORMS10: Final = (
    multipart_form(16, StatsRequest, "1.0", "!HH", _REQUESTS),
    multipart_form(17, StatsReply, "1.0", "!HH", _REPLIES),
)


_FEATURES = Struct("!QIB3xII")
_PACKET_IN = Struct("!IHHBx")
_FLOW_REMOVED = Struct("!QHBxIIH2xQQ")
_FLOW_MOD = Struct("!QHHHHIHH")

_AFTER_MATCH = BODY + MATCH10_SIZE
_FULL_PORT = 0xFFFFFFFF
_HIGHEST_PRIORITY = 0xFFFF


def _write_vendor(message: Experimenter) -> bytes:
    return _VENDOR.pack(message.experimenter) + message.body


def _read_vendor(data: bytes, xid: int) -> Experimenter:
    return Experimenter(_VENDOR.unpack_from(data, BODY)[0], 0, data[BODY + _VENDOR.size :], xid=xid)


def _write_features(message: FeaturesReply) -> bytes:
    head = _FEATURES.pack(
        message.datapath_id, message.n_buffers, message.n_tables, message.capabilities, message.actions
    )
    return head + b"".join([PORTS10.write(port) for port in message.ports])


def _read_features(data: bytes, xid: int) -> FeaturesReply:
    start = BODY + _FEATURES.size
    ports = tuple([PORTS10.read(data, at) for at in range(start, len(data), PORTS10.size)])
    dpid, n_buffers, n_tables, capabilities, actions = _FEATURES.unpack_from(data, BODY)
    return FeaturesReply(dpid, n_buffers, n_tables, capabilities, actions, ports, xid=xid)


def _write_packet_in(message: PacketIn) -> bytes:
    in_port = message.match.value("in_port")
    if in_port is None:
        raise PenstockError("A PacketIn of OpenFlow 1.0 needs a port: put in_port into its match.")
    head = _PACKET_IN.pack(message.buffer_id, message.total_len, port_to10(in_port), message.reason)
    return head + message.data


def _read_packet_in(data: bytes, xid: int) -> PacketIn:
    buffer_id, total_len, in_port, reason = _PACKET_IN.unpack_from(data, BODY)
    return PacketIn(
        buffer_id, total_len, reason, _from_port(in_port), data[BODY + _PACKET_IN.size :], xid=xid
    )


@lru_cache(maxsize=1024)
def _from_port(number: int) -> Match:
    """Return the match that says where a packet came in; a switch has few ports and many packets."""
    return Match((Term("in_port", port_from10(number), _FULL_PORT),))


def _write_flow_removed(message: FlowRemoved) -> bytes:
    return write_match10(message.match) + _FLOW_REMOVED.pack(
        message.cookie,
        message.priority,
        message.reason,
        message.duration_sec,
        message.duration_nsec,
        message.idle_timeout,
        message.packet_count,
        message.byte_count,
    )


def _read_flow_removed(data: bytes, xid: int) -> FlowRemoved:
    cookie, priority, reason, sec, nsec, idle, packets, octets = _FLOW_REMOVED.unpack_from(data, _AFTER_MATCH)
    match, _ = read_match10(data, BODY)
    return FlowRemoved(match, cookie, priority, reason, 0, sec, nsec, idle, 0, packets, octets, xid=xid)


def _write_flow_mod(message: FlowMod) -> bytes:
    if message.table_id not in (0, ALL_TABLES) or message.cookie_mask or message.out_group != ANY_GROUP:
        raise PenstockError(
            "A FlowMod of OpenFlow 1.0 cannot name a table, a cookie mask or a group: leave them out."
        )
    head = _FLOW_MOD.pack(
        message.cookie,
        message.command,
        message.idle_timeout,
        message.hard_timeout,
        message.priority,
        message.buffer_id,
        port_to10(message.out_port),
        message.flags,
    )
    return write_match10(message.match) + head + write_instructions10(message.instructions)


def _read_flow_mod(data: bytes, xid: int) -> FlowMod:
    match, exact = read_match10(data, BODY)
    cookie, command, idle, hard, priority, buffer_id, out_port, flags = _FLOW_MOD.unpack_from(
        data, _AFTER_MATCH
    )
    return FlowMod(
        command,
        match,
        read_instructions10(data, _AFTER_MATCH + _FLOW_MOD.size, len(data)),
        # A flow that wildcards nothing goes before all others, whatever it says (specification 1.0 §3.4).
        _HIGHEST_PRIORITY if exact else priority,
        0 if command == FlowCommand.ADD else ALL_TABLES,
        idle,
        hard,
        cookie,
        0,
        buffer_id,
        port_from10(out_port),
        flags=flags,
        xid=xid,
    )


FORMS10: Final = (
    *SHARED_FORMS,
    MessageForm(4, Experimenter, Room(BODY + _VENDOR.size, 1), _write_vendor, _read_vendor),
    MessageForm(6, FeaturesReply, Room(BODY + _FEATURES.size, PORTS10.size), _write_features, _read_features),
    MessageForm(10, PacketIn, Room(BODY + _PACKET_IN.size, 1), _write_packet_in, _read_packet_in),
    MessageForm(
        11, FlowRemoved, Room(_AFTER_MATCH + _FLOW_REMOVED.size), _write_flow_removed, _read_flow_removed
    ),
    MessageForm(12, PortStatus, Room(PORTS10.status_size), PORTS10.write_status, PORTS10.read_status),
    PACKET_OUT_FORM10,
    MessageForm(14, FlowMod, Room(_AFTER_MATCH + _FLOW_MOD.size, 8), _write_flow_mod, _read_flow_mod),
    MessageForm(15, PortMod, Room(PORTS10.mod_size), PORTS10.write_mod, PORTS10.read_mod),
    *STATS_FORMS10,
    empty_form(18, BarrierRequest),
    empty_form(19, BarrierReply),
    *QUEUE_FORMS10,
)
"""All messages of 1.0 but the greeting."""
