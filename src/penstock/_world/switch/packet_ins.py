"""Handing packets to controllers, and keeping them for the controllers where there are buffers."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from penstock._world.frame import Frame
from penstock._world.switch.flow_table import FlowEntry
from penstock._world.switch.rewriting import Packet
from penstock._world.switch.state import Buffered, Session
from penstock._world.switch.turn import Turn
from penstock.openflow.fields import BY_NAME
from penstock.openflow.match import Match, Term
from penstock.openflow.messages import NO_BUFFER, NO_MAX_LEN, PacketIn, PacketInReason

NO_COOKIE: Final = 0xFFFFFFFFFFFFFFFF
"""The cookie of a packet_in that no flow entry caused."""


def send_packet_in(
    turn: Turn,
    packet: Packet,
    table: int,
    entry: FlowEntry | None,
    reason: PacketInReason,
    max_len: int | None,
) -> None:
    """Hand a packet to the controllers that want it; `max_len` None means a plain miss.

    Only a packet that is kept in a buffer is cut short.
    """
    packet.find_layers()
    data = packet.frame().data

    def wants(session: Session) -> bool:
        return session.wants(session.packet_in, reason)

    if not any(wants(session) for session in turn.state.sessions.values()):
        return
    buffer_id = _buffer(turn, packet.frame(), packet.in_port) if max_len != NO_MAX_LEN else NO_BUFFER

    def message(session: Session) -> PacketIn:
        limit = session.miss_send_len if max_len is None else max_len
        return PacketIn(
            buffer_id=buffer_id,
            total_len=len(data),
            reason=reason,
            match=_pipeline_fields(
                packet.in_port, packet.fields.get("metadata", 0), packet.fields.get("tunnel_id", 0)
            ),
            data=data if buffer_id == NO_BUFFER else data[:limit],
            table_id=table,
            cookie=entry.cookie if entry is not None else NO_COOKIE,
            tag=packet.tag,
        )

    turn.tell(wants, message)


@lru_cache(maxsize=4096)
def _pipeline_fields(in_port: int, metadata: int, tunnel_id: int) -> Match:
    found = {"metadata": metadata, "tunnel_id": tunnel_id}
    seen = {"in_port": in_port} | {name: value for name, value in found.items() if value}
    return Match(tuple(Term(name, value, BY_NAME[name].full) for name, value in seen.items()))


def _buffer(turn: Turn, frame: Frame, in_port: int) -> int:
    """Keep a packet under the smallest free number, or say that it is not kept."""
    kept = turn.state.buffers
    for number in range(turn.options.buffers):
        if number not in kept:
            turn.change(buffers=kept.set(number, Buffered(frame, in_port)))
            return number
    return NO_BUFFER
