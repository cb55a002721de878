"""The messages of 1.3."""

from __future__ import annotations

from struct import Struct
from typing import Final

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
from penstock.openflow.wire.forms import BODY, SHARED_FORMS, MessageForm, Room, empty_form, fields_form
from penstock.openflow.wire.instructions13 import INSTRUCTIONS13, read_buckets, write_buckets
from penstock.openflow.wire.meters13 import METER_MOD_FORM
from penstock.openflow.wire.octets import bad_length
from penstock.openflow.wire.oxm import read_match, write_match
from penstock.openflow.wire.packet_out import PACKET_OUT_FORM13
from penstock.openflow.wire.ports import PORTS13
from penstock.openflow.wire.queues import QUEUE_FORMS13
from penstock.openflow.wire.stats13 import STATS_FORMS13

_VENDOR = Struct("!II")
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
