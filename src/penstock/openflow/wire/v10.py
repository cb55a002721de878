"""The messages of 1.0.

What 1.0 has no place for is not written where it only tells something (the table and cookie of a
packet-in, the type of a vendor's message).  Where it asks for something that 1.0 cannot ask for (a
table, a cookie to match), that is the caller's mistake, and named.
"""

from __future__ import annotations

from functools import lru_cache
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
    PortStatus,
)
from penstock.openflow.wire.actions10 import read_instructions10, write_instructions10
from penstock.openflow.wire.forms import BODY, SHARED_FORMS, MessageForm, Room, empty_form
from penstock.openflow.wire.match10 import MATCH10_SIZE, read_match10, write_match10
from penstock.openflow.wire.packet_out import PACKET_OUT_FORM10
from penstock.openflow.wire.ports import PORTS10, port_from10, port_to10
from penstock.openflow.wire.queues import QUEUE_FORMS10
from penstock.openflow.wire.stats10 import STATS_FORMS10

_VENDOR = Struct("!I")
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
