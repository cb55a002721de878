"""What went over the wires of a run, as Wireshark shows it.

Frames are on an interface for each link, named after its ends (`s1:2-s2:1`).  OpenFlow is on the interface
`control`, each session as a TCP connection (see `conversation`), in the version that the switches speak.
Both appear when they are sent; that a control message was handled is its acknowledgement.  Each packet
has a comment with the step that it is of.

Times are those of the trace; a search has none, there step 5 is at 5 ms.  Packets of the same millisecond
follow one another by a microsecond, so that their order is that of the trace.

What a trace has of messages are texts, so the run is taken again (see `retaking`).  The greetings of live
sessions are not part of traces, and what was never sent because a link was down is not in the capture.

Frames that a fuzzer cut short on purpose are shown as malformed, since they are.  Wireshark 4.0 also says so
of some messages of OpenFlow 1.0 that are right: flow-mods and packet-outs without actions, and packet-ins
without a byte of the packet.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from penstock._base.clean_text import on_one_line
from penstock._base.version import VERSION
from penstock._report.export.conversation import Conversation, Station
from penstock._report.export.pcapng import Capture
from penstock._report.export.retaking import Retaking, Taken, retake
from penstock._trace.consent import Consent
from penstock._trace.trace import Line
from penstock._verify.abstract_switch import AbstractSwitch
from penstock._world.component import Endpoint
from penstock._world.frame import Frame
from penstock._world.signals import FABRIC
from penstock._world.switch import Switch
from penstock._world.transition import DELIVER
from penstock.errors import PenstockError
from penstock.openflow.messages import OpenFlowMessage
from penstock.openflow.wire import encode

CONTROL: Final = "control"
"""The interface of all OpenFlow."""

_MACS: Final = 0x0600_0000_0000
_SWITCH_IPS: Final = 198 << 24 | 18 << 16
_CONTROLLER_IPS: Final = 198 << 24 | 19 << 16
"""Addresses that no network has: those kept for benchmarks (RFC 2544)."""

_MILLISECOND: Final = 1_000_000
_APART: Final = 1_000
_LONGEST_COMMENT: Final = 500
_ECHOES: Final = (2, 3)


@dataclass(frozen=True, slots=True)
class Captured:
    """What a capture holds."""

    messages: int
    frames: int
    remark: str


def write_pcap(path: Path, file: BinaryIO, consent: Consent | None = None) -> Captured:
    """Take a run again and write what it sent as a capture; its controllers run with consent only."""
    return _Capturing(retake(path, consent), file).run()


class _Capturing:
    """A run that is being captured."""

    def __init__(self, again: Retaking, file: BinaryIO) -> None:
        self._again = again
        self._version = again.version()
        self._capture = Capture(file, f"OpenFlow and frames of {again.file.name}", f"Penstock {VERSION}")
        self._now = 0
        self._messages = self._frames = 0
        sessions = list(_sessions(again))
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
        for link in _links(again):
            self._capture.interface(link)

    def run(self) -> Captured:
        """Take all steps and write what they sent."""
        self._reconnect("before the first step")
        for taken in self._again.steps():
            line = taken.line
            self._now = max(self._now, (line.number if line.at is None else line.at) * _MILLISECOND)
            self._step(taken, _comment(line))
        return Captured(self._messages, self._frames, self._again.remark)

    def _step(self, taken: Taken, comment: str) -> None:
        line = taken.line
        verb, _, where = line.transition.partition(" ")
        heard = self._handle(taken) if verb == DELIVER else None
        spoken: set[Endpoint] = set()
        for channel, message in taken.sends:
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

    def _handle(self, taken: Taken) -> Endpoint | None:
        """Note that a control message arrived; return the end that it arrived at."""
        record = taken.record
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
        if line.wire is not None and line.version:
            cut = len(line.wire) >= 8 and line.wire[1] in _ECHOES
            return line.wire.ljust(int.from_bytes(line.wire[2:4]), b"\0") if cut else line.wire
        try:
            return encode(message, self._version)
        except PenstockError as error:
            raise PenstockError(f"A message of step {line.number} has no form on the wire: {error}") from None

    def _reconnect(self, comment: str) -> None:
        """Open the connections of sessions that are up now, and break those of sessions that are not."""
        fabric, state = self._again.network.fabric, self._again.world.state(FABRIC)
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
        other = self._again.network.fabric.peer(self._again.world.state(FABRIC), channel)
        if other is not None:
            self._frames += 1
            self._write(link_name(channel, other), data, comment)

    def _twice(self, where: str, comment: str) -> None:
        """Write the copy that a wire made of the frame that is next on it."""
        transition = self._again.network.parse(f"duplicate {where}")
        channel = Endpoint(transition.node, transition.what)
        queue = self._again.world.queue(channel)
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


def _sessions(again: Retaking) -> Iterator[Endpoint]:
    """Yield the switches' ends of all sessions."""
    network = again.network
    switches = {made.name for made in network.components if isinstance(made, Switch | AbstractSwitch)}
    for end in network.channels:
        if isinstance(end.port, str) and end.node in switches:
            yield end


def _links(again: Retaking) -> Iterator[str]:
    """Yield the names of the links as they are at the beginning, each once."""
    network, state = again.network, again.world.state(FABRIC)
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
