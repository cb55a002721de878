"""What went over the wires of a run, as Wireshark shows it.

Frames are on an interface for each link, named after its ends (`s1:2-s2:1`).  OpenFlow is on the interface
`control`, each session as a TCP connection (see `Conversation`), in the version that the switches speak.
Both appear when they are sent; that a control message was handled is its acknowledgement.  Each packet
has a comment with the step that it is of.

Times are those of the trace; a search has none, there step 5 is at 5 ms.  Packets of the same millisecond
follow one another by a microsecond, so that their order is that of the trace.

What a trace has of messages are texts, so the run is played again (`_replay.player`).  The greetings of live
sessions are not part of traces, and what was never sent because a link was down is not in the capture.

Frames that a fuzzer cut short on purpose are shown as malformed, since they are.  Wireshark 4.0 also says so
of some messages of OpenFlow 1.0 that are right: flow-mods and packet-outs without actions, and packet-ins
without a byte of the packet.

A session is written as the TCP connection that it would be on a wire: the handshake when it opens, each
message as a segment of its own (or several, if it is long), an acknowledgement when it is handled, a reset
when the session breaks.  Sequence numbers, addresses and checksums are right; round-trip times and windows
mean nothing.

Files are pcapng, with times in nanoseconds.  Only what is needed here of the format is written: one section,
interfaces of Ethernet, enhanced packets, names for addresses.  Interfaces may be declared at any moment
before their first packet, so a file can be written while the packets are being found out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from struct import Struct
from typing import BinaryIO, Final

from penstock._base.text import on_one_line, visible
from penstock._base.version import VERSION
from penstock._replay.player import Played, TracePlayer, playable
from penstock._trace.consent import Consent
from penstock._trace.trace import Line, read_trace, trace_file
from penstock._verify.abstract_switch import AbstractSwitch
from penstock._world.component import Endpoint
from penstock._world.frame import Frame
from penstock._world.network import Network
from penstock._world.signals import FABRIC
from penstock._world.switch import Switch
from penstock._world.transition import DELIVER
from penstock._world.world import World
from penstock.errors import PenstockError
from penstock.openflow.fields import ETH_IPV4, IP_TCP
from penstock.openflow.messages import V13, OpenFlowMessage
from penstock.openflow.wire import encode
from penstock.packet import DONT_FRAGMENT, TCP, Ethernet, IPv4, TcpFlags

# The file.


_SECTION: Final = 0x0A0D0D0A
_INTERFACE: Final = 1
_NAMES: Final = 4
_PACKET: Final = 6
_ORDER: Final = 0x1A2B3C4D
_ETHERNET: Final = 1
_COMMENT: Final = 1
_IF_NAME: Final = 2
_IF_TSRESOL: Final = 9
_USER_APPLICATION: Final = 4
_NANOSECONDS: Final = b"\x09"
_IPV4_NAME: Final = 1
_LONGEST_TEXT: Final = 60_000
"""An option has at most 65,535 bytes; a comment that long has been cut long before."""

_BLOCK: Final = Struct("<II")
_LENGTH: Final = Struct("<I")
_OPTION: Final = Struct("<HH")
_SECTION_BODY: Final = Struct("<IHHq")
_INTERFACE_BODY: Final = Struct("<HHI")
_PACKET_BODY: Final = Struct("<IIIII")


class Capture:
    """A pcapng file that is being written."""

    def __init__(self, file: BinaryIO, comment: str, application: str) -> None:
        self._file = file
        self._interfaces: dict[str, int] = {}
        options = [(_COMMENT, _text(comment)), (_USER_APPLICATION, _text(application))]
        self._block(_SECTION, _SECTION_BODY.pack(_ORDER, 1, 0, -1) + _options(options))

    def interface(self, name: str) -> int:
        """Return the number of an interface, which is declared if it was not yet."""
        known = self._interfaces.get(name)
        if known is None:
            known = self._interfaces[name] = len(self._interfaces)
            options = [(_IF_NAME, _text(name)), (_IF_TSRESOL, _NANOSECONDS)]
            self._block(_INTERFACE, _INTERFACE_BODY.pack(_ETHERNET, 0, 0) + _options(options))
        return known

    def names(self, addresses: Mapping[int, str]) -> None:
        """Write what IPv4 addresses are called."""
        records = b"".join(
            _record(_IPV4_NAME, address.to_bytes(4) + _text(name) + b"\0")
            for address, name in addresses.items()
        )
        self._block(_NAMES, records + _record(0, b""))

    def packet(self, interface: int, nanoseconds: int, data: bytes, comment: str = "") -> None:
        """Write a packet as it was seen at a moment."""
        head = _PACKET_BODY.pack(
            interface, nanoseconds >> 32 & 0xFFFFFFFF, nanoseconds & 0xFFFFFFFF, len(data), len(data)
        )
        options = _options([(_COMMENT, _text(comment))]) if comment else b""
        self._block(_PACKET, head + _pad(data) + options)

    def _block(self, kind: int, body: bytes) -> None:
        length = _BLOCK.size + len(body) + _LENGTH.size
        self._file.write(_BLOCK.pack(kind, length) + body + _LENGTH.pack(length))


def _text(text: str) -> bytes:
    """Return a text as it stands in an option: whole characters, and no lone halves of such."""
    return visible(text).encode()[:_LONGEST_TEXT].decode(errors="ignore").encode()


def _pad(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def _record(kind: int, value: bytes) -> bytes:
    return _OPTION.pack(kind, len(value)) + _pad(value)


def _options(options: Iterable[tuple[int, bytes]]) -> bytes:
    return b"".join(_record(kind, value) for kind, value in options) + _record(0, b"")


# Control sessions.


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
        assert self._ends is not None, "there are no messages without a connection"
        ours, theirs = self._ends
        return (ours, theirs) if ours.station.name == name else (theirs, ours)

    def _segment(
        self, ours: _End, theirs: _End, flags: TcpFlags, *, payload: bytes = b"", options: bytes = b""
    ) -> bytes:
        # The first segment of all acknowledges nothing, and nothing was taken yet then.
        tcp = TCP(ours.port, theirs.port, ours.sent, ours.taken, flags, payload=payload, options=options)
        ip = IPv4(ours.station.ip, theirs.station.ip, IP_TCP, tcp, flags=DONT_FRAGMENT)
        return Ethernet(theirs.station.mac, ours.station.mac, ETH_IPV4, ip).to_bytes()


# A run.


CONTROL: Final = "control"
"""The interface of all OpenFlow."""

_MACS: Final = 0x0600_0000_0000
_SWITCH_IPS: Final = 198 << 24 | 18 << 16
_CONTROLLER_IPS: Final = 198 << 24 | 19 << 16
"""Addresses that no network has: those kept for benchmarks (RFC 2544)."""

_MILLISECOND: Final = 1_000_000
_APART: Final = 1_000
_LONGEST_COMMENT: Final = 500
_MOST_SHOWN: Final = 200


@dataclass(frozen=True, slots=True)
class Captured:
    """What a capture holds."""

    messages: int
    frames: int
    remark: str


def write_pcap(path: Path, file: BinaryIO, consent: Consent | None = None) -> Captured:
    """Take a run again and write what it sent as a capture; its controllers run with consent only."""
    source = trace_file(path)
    player = TracePlayer(playable(read_trace(source), source.parent, consent))
    return _Capturing(player, source.name, file).run()


class _Capturing:
    """A run that is being captured."""

    def __init__(self, player: TracePlayer, name: str, file: BinaryIO) -> None:
        self._player = player
        self._network = player.world.network
        self._version = _version(self._network)
        self._capture = Capture(file, f"OpenFlow and frames of {name}", f"Penstock {VERSION}")
        self._now = 0
        self._messages = self._frames = 0
        sessions = list(_sessions(self._network))
        stations = _stations(sessions)
        self._conversations = {
            end: Conversation(stations[end.node], stations[str(end.port)], number)
            for number, end in enumerate(sessions)
        }
        self._unread: dict[Endpoint, deque[int]] = {
            side: deque() for end in sessions for side in (end, _other(end))
        }
        """How long the messages are that are on their way, by the end that sent them."""
        self._capture.names({station.ip: station.name for station in stations.values()})
        self._capture.interface(CONTROL)
        for link in _links(player.world):
            self._capture.interface(link)

    def run(self) -> Captured:
        """Take all steps and write what they sent."""
        self._reconnect("before the first step")
        remark = ""
        for played in self._player.steps():
            line = played.line
            if played.difference:
                shown = played.difference.rstrip(".")[:_MOST_SHOWN]
                remark = f"The replay diverges at step {line.number}, and the capture ends there: {shown}."
                break
            self._now = max(self._now, (line.number if line.at is None else line.at) * _MILLISECOND)
            self._step(played, _comment(line))
        return Captured(self._messages, self._frames, remark)

    def _step(self, played: Played, comment: str) -> None:
        line = played.line
        verb, _, where = line.transition.partition(" ")
        heard = self._handle(played) if verb == DELIVER else None
        spoken: set[Endpoint] = set()
        for channel, message in played.sends:
            if isinstance(message, Frame):
                self._on_link(channel, message.data, comment)
            elif isinstance(message, OpenFlowMessage):
                self._on_session(channel, self._octets(line, message), comment)
                spoken.add(channel)
        if verb == "duplicate":
            self._twice(where, comment)
        if heard is not None and heard not in spoken:
            conversation = self._conversation(heard)
            if conversation is not None and conversation.is_open:
                self._write(CONTROL, conversation.acknowledge(heard.node), comment)
        if line.node == FABRIC:
            self._reconnect(comment)

    # Control sessions.

    def _conversation(self, end: Endpoint) -> Conversation | None:
        return self._conversations.get(end) or self._conversations.get(_other(end))

    def _handle(self, played: Played) -> Endpoint | None:
        """Note that a control message arrived; return the end that it arrived at."""
        record = played.record
        if record is None or record.at is None or not isinstance(record.message, OpenFlowMessage):
            return None
        unread = self._unread.get(_other(record.at))
        conversation = self._conversation(record.at)
        if not unread or conversation is None or not conversation.is_open:
            return None
        conversation.take(record.at.node, unread.popleft())
        return record.at

    def _on_session(self, channel: Endpoint, octets: bytes, comment: str) -> None:
        conversation = self._conversation(channel)
        if conversation is None:
            return
        self._messages += 1
        self._unread[channel].append(len(octets))
        for segment in conversation.say(channel.node, octets):
            self._write(CONTROL, segment, comment)

    def _octets(self, line: Line, message: OpenFlowMessage) -> bytes:
        """Return the bytes of a message: those that were recorded, or else what the codec makes of it."""
        if line.octets is not None:
            return line.octets
        try:
            return encode(message, self._version)
        except PenstockError as error:
            raise PenstockError(f"A message of step {line.number} has no wire format: {error}") from None

    def _reconnect(self, comment: str) -> None:
        """Open the connections of sessions that are up now, and break those of sessions that are not."""
        fabric, state = self._network.fabric, self._player.world.state(FABRIC)
        for end, conversation in self._conversations.items():
            is_up = fabric.peer(state, end) is not None
            if is_up and not conversation.is_open:
                for segment in conversation.open():
                    self._write(CONTROL, segment, comment)
            elif conversation.is_open and not is_up:
                breaker = str(end.port) if str(end.port) in state.wiring.off else end.node
                self._write(CONTROL, conversation.reset(breaker), comment)
                self._unread[end].clear()
                self._unread[_other(end)].clear()

    # Links.

    def _on_link(self, channel: Endpoint, data: bytes, comment: str) -> None:
        other = self._network.fabric.peer(self._player.world.state(FABRIC), channel)
        if other is not None:
            self._frames += 1
            self._write(link_name(channel, other), data, comment)

    def _twice(self, where: str, comment: str) -> None:
        """Write the copy that a wire made of the frame that is next on it."""
        transition = self._network.parse(f"duplicate {where}")
        channel = Endpoint(transition.node, transition.what)
        queue = self._player.world.queue(channel)
        if queue and isinstance(queue[0], Frame):
            self._on_link(channel, queue[0].data, comment)

    def _write(self, interface: str, data: bytes, comment: str) -> None:
        self._capture.packet(self._capture.interface(interface), self._now, data, comment)
        self._now += _APART


def link_name(end: Endpoint, other: Endpoint) -> str:
    """Return what a link is called, whichever of its ends is given first."""
    return "-".join(map(str, sorted((end, other), key=lambda one: (one.node, str(one.port)))))


def _other(end: Endpoint) -> Endpoint:
    """Return the far end of a session: each end is called by the name of the other."""
    return Endpoint(str(end.port), end.node)


def _version(network: Network) -> int:
    """Return the version of OpenFlow that is spoken; all switches of a network speak the same."""
    for made in network.components:
        inner = made.inner if isinstance(made, AbstractSwitch) else made
        if isinstance(inner, Switch):
            return inner.options.version
    return V13


def _sessions(network: Network) -> Iterator[Endpoint]:
    """Yield the switches' ends of all sessions."""
    switches = {made.name for made in network.components if isinstance(made, Switch | AbstractSwitch)}
    for end in network.channels:
        if isinstance(end.port, str) and end.node in switches:
            yield end


def _links(world: World) -> Iterator[str]:
    """Yield the names of the links as they are at the beginning, each once."""
    network, state = world.network, world.state(FABRIC)
    names: dict[str, None] = {}
    for end in network.channels:
        if isinstance(end.port, int) and (other := network.fabric.peer(state, end)) is not None:
            names.setdefault(link_name(end, other))
    yield from names


def _stations(sessions: list[Endpoint]) -> dict[str, Station]:
    """Return who takes part in sessions, with made-up addresses."""
    switches = dict.fromkeys(end.node for end in sessions)
    controllers = dict.fromkeys(str(end.port) for end in sessions)
    found = {}
    for names, first in ((switches, _SWITCH_IPS), (controllers, _CONTROLLER_IPS)):
        for number, name in enumerate(names, 1):
            found[name] = Station(name, _MACS | first | number, first | number)
    return found


def _comment(line: Line) -> str:
    """Return what a packet is told to be of: the number of the step, and what it says."""
    told = line.told[0] if line.told else line.transition
    return f"step {line.number}: {on_one_line(told[:_LONGEST_COMMENT])}"
