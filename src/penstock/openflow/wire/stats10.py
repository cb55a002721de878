"""The statistics of 1.0, and the description of ports that Open vSwitch added to them (type 13).

What 1.0 has no place for (the flags of a flow, how long a port has been up) is not written.
"""

from __future__ import annotations

from operator import attrgetter
from struct import Struct
from typing import Final

from penstock.errors import PenstockError
from penstock.openflow.messages import ANY_GROUP, PortNo
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
from penstock.openflow.wire.actions10 import read_instructions10, write_instructions10
from penstock.openflow.wire.forms import Room
from penstock.openflow.wire.match10 import MATCH10_SIZE, read_match10, write_match10
from penstock.openflow.wire.multipart import (
    DESC_FORM,
    BodyForm,
    array_body,
    empty_body,
    fields_body,
    list_body,
    multipart_form,
)
from penstock.openflow.wire.octets import Elements, bad_length, text_field, text_of
from penstock.openflow.wire.ports import PORTS10, port_from10, port_to10

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


def _write_vendor(body: ExperimenterStats) -> bytes:
    return _VENDOR.pack(body.experimenter) + body.body


def _read_vendor(data: bytes, at: int) -> ExperimenterStats:
    return ExperimenterStats(_VENDOR.unpack_from(data, at)[0], 0, data[at + _VENDOR.size :])


_VENDOR_FORM = BodyForm(0xFFFF, ExperimenterStats, Room(_VENDOR.size, 1), _write_vendor, _read_vendor)

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
