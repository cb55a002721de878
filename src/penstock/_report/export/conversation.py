"""A control session as the TCP connection that it would be on a wire.

The model knows messages and sessions.  What a capture of them shows is made here: the handshake when a
session opens, each message as a segment of its own (or several, if it is long), an acknowledgement when it
is handled, a reset when the session breaks.  Sequence numbers, addresses and checksums are right; round-trip
times and windows mean nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from penstock.openflow.fields import ETH_IPV4, IP_TCP
from penstock.packet import DONT_FRAGMENT, TCP, Ethernet, IPv4, TcpFlags

CONTROLLER_PORT: Final = 6653
"""Where controllers listen, by the number that OpenFlow was given."""

_FIRST_PORT: Final = 32_768
_PORTS: Final = 28_000
_SEGMENT: Final = 1460
_NUMBERS: Final = 1 << 32
_OPENING: Final = TcpFlags.SYN
_ANSWER: Final = TcpFlags.SYN | TcpFlags.ACK
_ACK: Final = TcpFlags.ACK
_DATA: Final = TcpFlags.ACK | TcpFlags.PSH
_RESET: Final = TcpFlags.RST | TcpFlags.ACK
# The largest segment, and a window of up to a gigabyte: nobody in the model waits for one.
_OPTIONS: Final = b"\x02\x04" + _SEGMENT.to_bytes(2) + b"\x01\x03\x03\x0e"


@dataclass(frozen=True, slots=True)
class Station:
    """One end of sessions: its name and the addresses that a capture gives it."""

    name: str
    mac: int
    ip: int


@dataclass(slots=True)
class _End:
    """What one end of a connection has sent, and has taken."""

    station: Station
    port: int
    sent: int
    taken: int = 0


class Conversation:
    """The connections of one switch with one controller, one after the other."""

    def __init__(self, switch: Station, controller: Station, number: int) -> None:
        self._stations = (switch, controller)
        self._number = number
        self._connections = 0
        self._ends: tuple[_End, _End] | None = None

    @property
    def is_open(self) -> bool:
        """Tell whether there is a connection now."""
        return self._ends is not None

    def open(self) -> Iterator[bytes]:
        """Yield the handshake of a new connection."""
        switch, controller = self._stations
        place = self._number + 251 * self._connections
        self._connections += 1
        first = 1_000_000 * (place % 4096)
        ours = _End(switch, _FIRST_PORT + place % _PORTS, first)
        theirs = _End(controller, CONTROLLER_PORT, first + 500_000)
        self._ends = (ours, theirs)
        yield self._segment(ours, theirs, _OPENING, options=_OPTIONS)
        ours.sent += 1
        theirs.taken = ours.sent
        yield self._segment(theirs, ours, _ANSWER, options=_OPTIONS)
        theirs.sent += 1
        ours.taken = theirs.sent
        yield self._segment(ours, theirs, _ACK)

    def say(self, speaker: str, message: bytes) -> Iterator[bytes]:
        """Yield the segments of a message, the last of which is pushed."""
        ours, theirs = self._from(speaker)
        for at in range(0, len(message), _SEGMENT):
            part = message[at : at + _SEGMENT]
            is_last = at + _SEGMENT >= len(message)
            yield self._segment(ours, theirs, _DATA if is_last else _ACK, payload=part)
            ours.sent = (ours.sent + len(part)) % _NUMBERS

    def take(self, listener: str, octets: int) -> None:
        """Note that one end has handled so many bytes more; its next segment says so."""
        ours, _ = self._from(listener)
        ours.taken = (ours.taken + octets) % _NUMBERS

    def acknowledge(self, listener: str) -> bytes:
        """Return the segment that says no more than what one end has handled."""
        return self._segment(*self._from(listener), _ACK)

    def reset(self, breaker: str) -> bytes:
        """Return the segment that ends the connection at once."""
        segment = self._segment(*self._from(breaker), _RESET)
        self._ends = None
        return segment

    def _from(self, name: str) -> tuple[_End, _End]:
        assert self._ends is not None, "nobody speaks without a connection"
        ours, theirs = self._ends
        return (ours, theirs) if ours.station.name == name else (theirs, ours)

    def _segment(
        self, ours: _End, theirs: _End, flags: TcpFlags, *, payload: bytes = b"", options: bytes = b""
    ) -> bytes:
        # The first segment of all acknowledges nothing, and nothing was taken yet then.
        tcp = TCP(ours.port, theirs.port, ours.sent, ours.taken, flags, payload=payload, options=options)
        ip = IPv4(ours.station.ip, theirs.station.ip, IP_TCP, tcp, flags=DONT_FRAGMENT)
        return Ethernet(theirs.station.mac, ours.station.mac, ETH_IPV4, ip).to_bytes()
