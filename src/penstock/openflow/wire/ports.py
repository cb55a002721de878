"""Ports and queues on the wire: 1.0's 16-bit numbers, and how each version describes and configures them."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from struct import Struct
from typing import Final

from penstock.errors import PenstockError
from penstock.openflow.messages import (
    PacketQueue,
    Port,
    PortMod,
    PortStatus,
    QueueGetConfigReply,
    QueueGetConfigRequest,
    QueueProperty,
)
from penstock.openflow.wire.primitives import (
    BODY,
    HEADER,
    Elements,
    MessageForm,
    Room,
    in_eights,
    text_field,
    text_of,
)

_FIRST_RESERVED10 = 0xFF00
_FIRST_RESERVED = 0xFFFFFF00
_NAME_SIZE = 16
_REASON = Struct("!B7x")


def port_from10(number: int) -> int:
    """Return the 32-bit number of a port that 1.0 gives in 16 bits."""
    return number if number < _FIRST_RESERVED10 else number | 0xFFFF0000


def port_to10(number: int) -> int:
    """Return the 16-bit number 1.0 has for a port."""
    if 0 <= number < _FIRST_RESERVED10:
        return number
    if _FIRST_RESERVED <= number <= 0xFFFFFFFF:
        return number & 0xFFFF
    raise PenstockError(f"Port {number} has no number in OpenFlow 1.0: ports end at {_FIRST_RESERVED10 - 1}.")


def _same(number: int) -> int:
    return number


class PortForm:
    """How one version writes ports: their numbers, their descriptions and changes to them."""

    def __init__(
        self,
        description: str,
        features: tuple[str, ...],
        change: str,
        to_wire: Callable[[int], int] = _same,
        from_wire: Callable[[int], int] = _same,
    ) -> None:
        self._description = Struct(description)
        self._features = attrgetter(*features)
        self._change = Struct(change)
        self.to_wire = to_wire
        self.from_wire = from_wire
        self.size: Final = self._description.size
        self.mod_size: Final = HEADER.size + self._change.size
        self.status_size: Final = HEADER.size + _REASON.size + self.size

    def write(self, port: Port) -> bytes:
        """Return the description of a port."""
        return self._description.pack(
            self.to_wire(port.port_no),
            port.hw_addr.to_bytes(6),
            text_field(port.name, _NAME_SIZE),
            *self._features(port),
        )

    def read(self, data: bytes, at: int) -> Port:
        """Return the port described here."""
        number, address, name, *features = self._description.unpack_from(data, at)
        return Port(self.from_wire(number), int.from_bytes(address), text_of(name), *features)

    def write_status(self, message: PortStatus) -> bytes:
        """Return the body of a port-status."""
        return _REASON.pack(message.reason) + self.write(message.desc)

    def read_status(self, data: bytes, xid: int) -> PortStatus:
        """Return the port-status in a whole message."""
        return PortStatus(data[HEADER.size], self.read(data, HEADER.size + _REASON.size), xid=xid)

    def write_mod(self, message: PortMod) -> bytes:
        """Return the body of a port-mod."""
        return self._change.pack(
            self.to_wire(message.port_no),
            message.hw_addr.to_bytes(6),
            message.config,
            message.mask,
            message.advertise,
        )

    def read_mod(self, data: bytes, xid: int) -> PortMod:
        """Return the port-mod in a whole message."""
        number, address, *change = self._change.unpack_from(data, HEADER.size)
        return PortMod(self.from_wire(number), int.from_bytes(address), *change, xid=xid)


_FEATURES = ("config", "state", "curr", "advertised", "supported", "peer")

PORTS10: Final = PortForm("!H6s16s6I", _FEATURES, "!H6sIII4x", port_to10, port_from10)
PORTS13: Final = PortForm("!I4x6s2x16s8I", (*_FEATURES, "curr_speed", "max_speed"), "!I4x6s2xIII4x")


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
