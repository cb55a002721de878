"""The queues of a port as a switch describes them; in 1.3 each names its port once more."""

from __future__ import annotations

from struct import Struct

from penstock.openflow.messages import PacketQueue, QueueGetConfigReply, QueueGetConfigRequest, QueueProperty
from penstock.openflow.wire.forms import BODY, MessageForm, Room
from penstock.openflow.wire.octets import Elements, in_eights
from penstock.openflow.wire.ports import PORTS10, PORTS13, PortForm

_PROPERTY = Struct("!HH4x")
_PROPERTIES = Elements("A queue's property", least=_PROPERTY.size, length_at=2, step=8)


def _write_property(each: QueueProperty) -> bytes:
    body = in_eights(each.body, "a queue's property")
    return _PROPERTY.pack(each.property, _PROPERTY.size + len(body)) + body


def _read_property(data: bytes, at: int, end: int) -> QueueProperty:
    return QueueProperty(_PROPERTY.unpack_from(data, at)[0], data[at + _PROPERTY.size : end])


def _request_form(number: int, ports: PortForm, layout: str) -> MessageForm:
    struct = Struct(layout)

    def write(message: QueueGetConfigRequest) -> bytes:
        return struct.pack(ports.to_wire(message.port))

    def read(data: bytes, xid: int) -> QueueGetConfigRequest:
        return QueueGetConfigRequest(ports.from_wire(struct.unpack_from(data, BODY)[0]), xid=xid)

    return MessageForm(number, QueueGetConfigRequest, Room(BODY + struct.size), write, read)


def _reply_form(number: int, ports: PortForm, layout: str, queue_layout: str, own_port: bool) -> MessageForm:
    struct, head = Struct(layout), Struct(queue_layout)
    queues = Elements("A queue", least=head.size, length_at=8 if own_port else 4, step=8)

    def write_queue(queue: PacketQueue) -> bytes:
        octets = b"".join([_write_property(each) for each in queue.properties])
        port = (queue.port,) if own_port else ()
        return head.pack(queue.queue_id, *port, head.size + len(octets)) + octets

    def read_queue(data: bytes, at: int, end: int) -> PacketQueue:
        queue_id, *port, _ = head.unpack_from(data, at)
        properties = _PROPERTIES.read(data, at + head.size, end, _read_property)
        return PacketQueue(queue_id, port[0] if own_port else 0, properties)

    def write(message: QueueGetConfigReply) -> bytes:
        return struct.pack(ports.to_wire(message.port)) + b"".join(
            [write_queue(each) for each in message.queues]
        )

    def read(data: bytes, xid: int) -> QueueGetConfigReply:
        port = ports.from_wire(struct.unpack_from(data, BODY)[0])
        return QueueGetConfigReply(
            port, queues.read(data, BODY + struct.size, len(data), read_queue), xid=xid
        )

    return MessageForm(number, QueueGetConfigReply, Room(BODY + struct.size, 8), write, read)


QUEUE_FORMS10 = (
    _request_form(20, PORTS10, "!H2x"),
    _reply_form(21, PORTS10, "!H6x", "!IH2x", own_port=False),
)
QUEUE_FORMS13 = (
    _request_form(22, PORTS13, "!I4x"),
    _reply_form(23, PORTS13, "!I4x", "!IIH6x", own_port=True),
)
