"""What a switch does with each message of a controller."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Final

from penstock._world.frame import Frame
from penstock._world.switch import flow_mods, pipeline, reports
from penstock._world.switch.checks import check_action_forms, check_actions
from penstock._world.switch.group_mods import apply_group_mod, apply_meter_mod
from penstock._world.switch.headers import read
from penstock._world.switch.state import OWN_TABLE, Buffered, Session
from penstock._world.switch.turn import Turn
from penstock.openflow.error_codes import ErrorCode, OpenFlowError
from penstock.openflow.match import Match
from penstock.openflow.messages import (
    ALL_TABLES,
    NO_BUFFER,
    V10,
    BarrierReply,
    BarrierRequest,
    EchoReply,
    EchoRequest,
    Error,
    Experimenter,
    FeaturesRequest,
    FlowMod,
    GetAsyncReply,
    GetAsyncRequest,
    GetConfigReply,
    GetConfigRequest,
    GroupMod,
    Hello,
    Masks,
    MeterMod,
    OpenFlowMessage,
    PacketOut,
    PortConfig,
    PortMod,
    PortNo,
    QueueGetConfigReply,
    QueueGetConfigRequest,
    Role,
    RoleReply,
    RoleRequest,
    SetAsync,
    SetConfig,
    TableMod,
)
from penstock.openflow.stats import StatsReply, StatsRequest, TableFeaturesRequest
from penstock.openflow.wire.codec import quotation

_CHANGES: Final = (FlowMod, GroupMod, MeterMod, PacketOut, PortMod, TableMod)
"""What a slave controller may not send (specification 1.3 §6.3.4); its own async settings it may."""

_LAST_PHYSICAL: Final = 0xFF00
_FRAGMENT_MODES: Final = 0b011
_REASSEMBLE: Final = 0b010
_INVALID_TTL: Final = 0b100
_PACKET_IN_REASONS: Final = 0b111
_PORT_REASONS: Final = 0b111
_REMOVAL_REASONS: Final = 0b111111
_CONFIGURABLE: Final = {
    V10: PortConfig.DOWN
    | PortConfig.NO_RECV
    | PortConfig.NO_RECV_STP
    | PortConfig.NO_FLOOD
    | PortConfig.NO_FWD
    | PortConfig.NO_PACKET_IN
    | PortConfig.NO_STP
}
_CONFIGURABLE_13: Final = PortConfig.DOWN | PortConfig.NO_RECV | PortConfig.NO_FWD | PortConfig.NO_PACKET_IN


def handle(turn: Turn, controller: str, message: OpenFlowMessage) -> None:
    """Carry out one message, answering it where an answer is due; a refusal is an answer too."""
    try:
        _dispatch(turn, controller, message)
    except OpenFlowError as refused:
        refuse(turn, controller, refused, message)


def refuse(turn: Turn, controller: str, refused: OpenFlowError, message: OpenFlowMessage) -> None:
    """Answer a message with an error that quotes it (specification 1.3 §7.4.4)."""
    kind, code = refused.refusal.code(turn.version)
    reason = (refused.reason,) if refused.reason else ()
    turn.note("refused", refused.refusal.title, type(message).__name__, *reason)
    turn.reply(controller, Error(kind, code, quotation(message, turn.version), xid=message.xid))


def _dispatch(turn: Turn, controller: str, message: OpenFlowMessage) -> None:
    session = turn.state.sessions[controller]
    if session.role == Role.SLAVE and isinstance(message, _CHANGES):
        raise OpenFlowError(ErrorCode.IS_SLAVE, "a slave may not change anything")
    xid = message.xid
    match message:
        case FlowMod():
            _flow_mod(turn, message)
        case PacketOut():
            _packet_out(turn, message)
        case BarrierRequest():
            turn.reply(controller, BarrierReply(xid=xid))
        case EchoRequest(data=data):
            turn.reply(controller, EchoReply(data, xid=xid))
        case FeaturesRequest():
            turn.reply(controller, replace(reports.features(turn), xid=xid))
        case StatsRequest(body=body):
            if session.role == Role.SLAVE and isinstance(body, TableFeaturesRequest) and body.tables:
                raise OpenFlowError(ErrorCode.IS_SLAVE, "a slave may not change anything")
            *parts, last = reports.in_parts(reports.answer(turn, body), turn.version)
            for part in parts:
                turn.reply(controller, StatsReply(part, more=True, xid=xid))
            turn.reply(controller, StatsReply(last, xid=xid))
        case GetConfigRequest():
            flags = turn.state.fragments | (_INVALID_TTL if session.invalid_ttl else 0)
            turn.reply(controller, GetConfigReply(flags, session.miss_send_len, xid=xid))
        case SetConfig():
            _set_config(turn, controller, session, message)
        case GroupMod():
            apply_group_mod(turn, message)
        case MeterMod():
            apply_meter_mod(turn, message)
        case PortMod():
            _port_mod(turn, controller, message)
        case TableMod(table_id=table_id):
            if table_id == OWN_TABLE:
                raise OpenFlowError(ErrorCode.TABLE_EPERM, "the last table is the switch's own")
            if table_id != ALL_TABLES and table_id >= turn.options.tables:
                raise OpenFlowError(ErrorCode.TABLE_BAD_TABLE, f"there is no table {table_id}")
        case RoleRequest():
            _role(turn, controller, message)
        case GetAsyncRequest():
            reply = GetAsyncReply(session.packet_in, session.port_status, session.flow_removed, xid=xid)
            turn.reply(controller, reply)
        case SetAsync():
            _set_session(
                turn,
                controller,
                replace(
                    session,
                    packet_in=_known(message.packet_in, _PACKET_IN_REASONS),
                    port_status=_known(message.port_status, _PORT_REASONS),
                    flow_removed=_known(message.flow_removed, _REMOVAL_REASONS),
                ),
            )
        case QueueGetConfigRequest():
            _queue_config(turn, controller, message)
        case Experimenter(experimenter=vendor):
            raise OpenFlowError(ErrorCode.BAD_VENDOR, f"vendor {vendor:#x} is unknown")
        case Hello():
            _hello(turn, controller, session, message)
        case Error() | EchoReply():
            pass
        case _:
            raise OpenFlowError(ErrorCode.BAD_TYPE, f"a switch is not sent {type(message).__name__}")


def _known(masks: Masks, reasons: int) -> Masks:
    return masks[0] & reasons, masks[1] & reasons


def _set_session(turn: Turn, controller: str, session: Session) -> None:
    turn.change(sessions=turn.state.sessions.set(controller, session))


def _hello(turn: Turn, controller: str, session: Session, message: Hello) -> None:
    """Agree on the version, or give the session up."""
    if not message.offers(turn.version):
        turn.note("refused", ErrorCode.HELLO_INCOMPATIBLE.title, type(message).__name__)
        kind, code = ErrorCode.HELLO_INCOMPATIBLE.code(turn.version)
        # The one error whose data is a text (1.3 §7.4.4).
        told = f"We support version {turn.version:#04x}, you do not."
        turn.reply(controller, Error(kind, code, told.encode(), xid=message.xid))
        _set_session(turn, controller, replace(session, up=False))


def _flow_mod(turn: Turn, message: FlowMod) -> None:
    flow_mods.apply(turn, message)
    if message.buffer_id != NO_BUFFER and message.command <= 2:
        kept = _buffered(turn, message.buffer_id)
        turn.change(buffers=turn.state.buffers.without(message.buffer_id))
        pipeline.resend(turn, kept)


def _buffered(turn: Turn, number: int) -> Buffered:
    kept = turn.state.buffers.get(number)
    if kept is None:
        raise OpenFlowError(ErrorCode.BUFFER_UNKNOWN, f"there is no packet in buffer {number:#x}")
    return kept


def _packet_out(turn: Turn, message: PacketOut) -> None:
    in_port = message.in_port
    if _LAST_PHYSICAL <= in_port < PortNo.MAX:
        raise OpenFlowError(ErrorCode.ACTION_BAD_OUT_PORT, f"{in_port:#x} is no port's number")
    check_action_forms(message.actions)
    if in_port >= _LAST_PHYSICAL and in_port not in (PortNo.LOCAL, PortNo.ANY, PortNo.CONTROLLER):
        raise OpenFlowError(ErrorCode.BAD_PORT, f"{in_port:#x} is no port a packet comes in by")
    if message.buffer_id != NO_BUFFER:
        frame = _buffered(turn, message.buffer_id).frame
    else:
        frame = Frame(message.data, message.tag)
    check_actions(turn, message.actions, _match_of(frame.data))
    if message.buffer_id != NO_BUFFER:
        turn.change(buffers=turn.state.buffers.without(message.buffer_id))
    pipeline.send_out(turn, frame, in_port, message.actions)


@lru_cache(maxsize=4096)
def _match_of(frame: bytes) -> Match:
    """Return the match of exactly this packet: what its actions may rely on."""
    fields = read(frame).fields
    known = ("eth_type", "ip_proto", "icmpv6_type", "vlan_vid")
    return Match.of(**{name: fields[name] for name in known if name in fields})


def _set_config(turn: Turn, controller: str, session: Session, message: SetConfig) -> None:
    known = _FRAGMENT_MODES | _INVALID_TTL if turn.version == V10 else _FRAGMENT_MODES
    if message.flags & ~known:
        raise OpenFlowError(ErrorCode.CONFIG_BAD_FLAGS, f"flags {message.flags:#x} are unknown")
    fragments = message.flags & _FRAGMENT_MODES
    if fragments != _REASSEMBLE and session.role != Role.SLAVE:
        turn.change(fragments=fragments)
    invalid_ttl = bool(message.flags & _INVALID_TTL)
    _set_session(
        turn, controller, replace(session, miss_send_len=message.miss_send_len, invalid_ttl=invalid_ttl)
    )


def _port_mod(turn: Turn, controller: str, message: PortMod) -> None:
    if message.port_no not in turn.state.ports:
        raise OpenFlowError(ErrorCode.PORT_BAD_PORT, f"there is no port {message.port_no}")
    if turn.describe_port(message.port_no).hw_addr != message.hw_addr:
        raise OpenFlowError(ErrorCode.PORT_BAD_HW_ADDR, "the address is not the port's")
    known = _CONFIGURABLE.get(turn.version, _CONFIGURABLE_13)
    mask = message.mask & known
    status = turn.port_status(message.port_no)
    config = status.config & ~mask | message.config & mask
    turn.set_port(message.port_no, replace(status, config=config), by=controller)


def _queue_config(turn: Turn, controller: str, message: QueueGetConfigRequest) -> None:
    """Ports have no queues; asking after those of all ports is 1.3's."""
    port = message.port
    every = port == PortNo.ANY and turn.version != V10
    if not every and (port == PortNo.LOCAL or port not in turn.state.ports):
        raise OpenFlowError(ErrorCode.QUEUE_BAD_PORT, f"there is no port {port}")
    turn.reply(controller, QueueGetConfigReply(port, (), xid=message.xid))


def _role(turn: Turn, controller: str, message: RoleRequest) -> None:
    """Give a controller its standing; a master makes the last one a slave (§6.3.4)."""
    sessions = turn.state.sessions
    if message.role not in tuple(Role):
        raise OpenFlowError(ErrorCode.ROLE_BAD_ROLE, f"there is no role {message.role}")
    if message.role in (Role.MASTER, Role.SLAVE):
        last = turn.state.generation
        if last is not None and (message.generation_id - last) % (1 << 64) >= 1 << 63:
            raise OpenFlowError(ErrorCode.ROLE_STALE, "a newer generation has spoken")
        turn.change(generation=message.generation_id)
    if message.role == Role.MASTER:
        for name, session in sessions.items():
            if name != controller and session.role == Role.MASTER:
                sessions = sessions.set(name, replace(session, role=Role.SLAVE))
    if message.role != Role.NOCHANGE:
        sessions = sessions.set(controller, replace(sessions[controller], role=message.role))
    turn.change(sessions=sessions)
    generation = turn.state.generation
    reply = RoleReply(
        sessions[controller].role, 0xFFFFFFFFFFFFFFFF if generation is None else generation, xid=message.xid
    )
    turn.reply(controller, reply)
