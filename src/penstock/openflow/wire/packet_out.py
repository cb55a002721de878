"""Packet-outs: a list of actions whose length is told, then the packet itself."""

from __future__ import annotations

from struct import Struct
from typing import Final

from penstock.openflow.actions import Action
from penstock.openflow.messages import PacketOut
from penstock.openflow.wire.actions10 import ACTIONS10
from penstock.openflow.wire.actions13 import ACTIONS13
from penstock.openflow.wire.forms import BODY, MessageForm, Room
from penstock.openflow.wire.octets import bad_length
from penstock.openflow.wire.ports import PORTS10, PORTS13, PortForm
from penstock.openflow.wire.typed import Forms


def _form(layout: str, ports: PortForm, forms: Forms[Action]) -> MessageForm:
    struct = Struct(layout)
    start = BODY + struct.size

    def write(message: PacketOut) -> bytes:
        actions = forms.write(message.actions)
        head = struct.pack(message.buffer_id, ports.to_wire(message.in_port), len(actions))
        return head + actions + message.data

    def read(data: bytes, xid: int) -> PacketOut:
        buffer_id, in_port, length = struct.unpack_from(data, BODY)
        end = start + length
        if end > len(data) or length % 8:
            raise bad_length("The list of actions of a PacketOut", length)
        actions = forms.read(data, start, end)
        return PacketOut(buffer_id, ports.from_wire(in_port), actions, data[end:], xid=xid)

    return MessageForm(13, PacketOut, Room(start, 1), write, read)


PACKET_OUT_FORM10: Final = _form("!IHH", PORTS10, ACTIONS10)
PACKET_OUT_FORM13: Final = _form("!IIH6x", PORTS13, ACTIONS13)
