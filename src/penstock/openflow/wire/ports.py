"""Ports on the wire: 1.0's 16-bit numbers, and how each version describes and configures a port."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from struct import Struct
from typing import Final

from penstock.errors import PenstockError
from penstock.openflow.messages import Port, PortMod, PortStatus
from penstock.openflow.wire.framing import HEADER
from penstock.openflow.wire.octets import text_field, text_of

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
