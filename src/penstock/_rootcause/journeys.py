"""Which way a packet of a recorded run took, which rules it met, and who had put them there.

The packet is followed through the trace alone; nothing is run.  A step that sends a frame is a cause of the
step that takes it, so hop follows hop.  Where a packet is handed to a controller, it comes back with a
packet-out, or with a flow-mod that names its buffer: in process that is what the step answers.  What a
process says is no step's answer, so there it is the next packet-out of the same controller that sends on
a frame of the same name, or without a name one that reads the same; two alike packets that were at the
controller at once may then be mistaken for one another.

A packet is named as the trace calls it (`h1#3`), or by the number of a line in which it is sent or arrives.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from penstock._trace.trace import Line, Trace
from penstock._world.signals import FABRIC
from penstock._world.transition import DELIVER, INJECT
from penstock.errors import PenstockError

MOST_HOPS: Final = 10_000
"""A packet is followed for so many hops: in a loop it may make any number."""

_FRAME: Final = re.compile(r"(?:(\S+) )?\[.*\]", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Sighting:
    """A packet where it begins: the line that sends it, and how it is written there."""

    line: int
    channel: str
    frame: str


@dataclass(frozen=True, slots=True)
class MetRule:
    """A rule that decided about a packet, and the lines that it came by."""

    table: str
    rule: str
    added: int | None = None
    """The line in which the switch took it in, if the trace has that."""
    said: int | None = None
    """The line in which the controller sent it."""
    because: int | None = None
    """The line that the controller answered to."""


@dataclass(frozen=True, slots=True)
class Hop:
    """One step that a packet, or a copy of it, was part of."""

    line: Line
    rules: tuple[MetRule, ...] = ()
    fates: tuple[str, ...] = ()
    """What became of it here, where it did not go on."""


def name_of(frame: str) -> str:
    """Return what a frame is called in a trace, if it has a name."""
    found = _FRAME.fullmatch(frame)
    return (found[1] or "") if found is not None else ""


def _is_frame(message: str | None) -> bool:
    return message is not None and _FRAME.fullmatch(message) is not None


def packets_of(trace: Trace) -> Iterator[Sighting]:
    """Yield the packets of a run: each where a host, or somebody outside, sends it."""
    switches = {line.node for line in trace.lines if any(map(_is_about_rules, line.events))}
    for line in trace.lines:
        forwarded = _is_frame(line.message) and line.node in switches
        answered = (line.message or "").startswith(("PacketOut", "FlowMod"))
        if forwarded or answered:
            continue
        for channel, frame in _frames(line):
            yield Sighting(line.number, channel, frame)


def _is_about_rules(event: str) -> bool:
    return event.startswith(("rule-", "matched ", "missed ", "dropped "))


def _frames(line: Line, flights: tuple[str, ...] | None = None) -> Iterator[tuple[str, str]]:
    """Yield the frames among what a step sent, with the channels that they left by."""
    for flight in line.sends if flights is None else flights:
        channel, _, message = flight.partition(" ")
        if _is_frame(message):
            yield channel, message


def find_packet(trace: Trace, packet: str) -> Sighting:
    """Return where a packet begins, given its name or the number of a line."""
    if packet.isdecimal() and len(packet) < 10:
        return _on_line(trace, int(packet))
    for line in trace.lines:
        for channel, frame in _frames(line, (*line.sends, *line.lost)):
            if name_of(frame) == packet:
                return Sighting(line.number, channel, frame)
    raise PenstockError(
        f"No packet of the trace is called {packet[:40]!r}: give the number of a line that sends it; "
        "without a packet, all are listed."
    )


def _on_line(trace: Trace, number: int) -> Sighting:
    lines = {line.number: line for line in trace.lines}
    line = lines.get(number)
    if line is None:
        raise PenstockError(
            f"Line {number} is not a step of the trace: give a line in which a packet is sent."
        )
    sent = list(_frames(line, (*line.sends, *line.lost)))
    arrived = _is_frame(line.message)
    if sent and not (arrived and len({frame for _, frame in sent}) == 1 and line.message == sent[0][1]):
        return Sighting(number, *sent[0])
    if arrived and line.message is not None:
        channel = line.transition.partition(" ")[2]
        for cause in line.causes:
            if cause in lines and f"{channel} {line.message}" in lines[cause].sends:
                return Sighting(cause, channel, line.message)
    if sent:
        return Sighting(number, *sent[0])
    raise PenstockError(f"Line {number} neither sends a packet nor takes one: choose another.")


class _Paths:
    """A trace indexed by what follows from what."""

    def __init__(self, trace: Trace) -> None:
        self.lines = {line.number: line for line in trace.lines}
        self._taken: dict[tuple[str, int], list[Line]] = defaultdict(list)
        """The deliveries on a channel, by each of their causes."""
        self._lost: dict[str, list[Line]] = defaultdict(list)
        """The steps in which something on its way was lost, by what was lost and where."""
        self._spoken: dict[str, list[Line]] = defaultdict(list)
        """What each process said."""
        for line in trace.lines:
            verb, _, where = line.transition.partition(" ")
            if verb == DELIVER:
                for cause in line.causes:
                    self._taken[where, cause].append(line)
            elif verb == INJECT and line.node != FABRIC:
                self._spoken[line.node].append(line)
            for flight in line.lost:
                self._lost[flight].append(line)

    def taken(self, sender: int, channel: str, message: str) -> list[Line]:
        """Return the steps that took a message which a step sent."""
        return [line for line in self._taken.get((channel, sender), ()) if line.message == message]

    def lost_after(self, number: int, channel: str, message: str) -> Line | None:
        """Return the step, if any, in which a message was lost on its way."""
        found = self._lost.get(f"{channel} {message}", ())
        return next((line for line in found if line.number > number), None)

    def asked(self, line: Line) -> Iterator[Line]:
        """Yield the steps in which a controller was handed the packet of a step."""
        for flight in line.sends:
            channel, _, message = flight.partition(" ")
            if message.startswith("PacketIn("):
                yield from self.taken(line.number, channel, message)

    def answers(self, asked: Line, frame: str) -> Iterator[Line]:
        """Yield the steps in which a switch sends on what a controller was asked about."""
        for flight in asked.sends:
            channel, _, message = flight.partition(" ")
            for line in self.taken(asked.number, channel, message):
                if message.startswith("PacketOut(") or any(_frames(line)):
                    yield line
        for spoken in self._spoken.get(asked.node, ()):
            if spoken.number <= asked.number:
                continue
            for flight in spoken.sends:
                channel, _, message = flight.partition(" ")
                for line in self.taken(spoken.number, channel, message):
                    if any(_alike(frame, sent) for _, sent in _frames(line, (*line.sends, *line.lost))):
                        yield line
                        return


def _alike(frame: str, other: str) -> bool:
    name = name_of(frame)
    return name == name_of(other) if name else frame == other


class _Rules:
    """Where the rules of a run came from."""

    def __init__(self, lines: dict[int, Line]) -> None:
        self._lines = lines
        self._added: dict[tuple[str, str], list[int]] = defaultdict(list)
        for line in lines.values():
            for event in line.events:
                kind, _, rule = event.partition(" ")
                if kind in ("rule-added", "rule-modified"):
                    self._added[line.node, rule].append(line.number)

    def met(self, line: Line) -> Iterator[MetRule]:
        """Yield the rules that decided in a step."""
        for event in line.events:
            kind, _, rest = event.partition(" ")
            if kind != "matched":
                continue
            _, _, table, rule = (*rest.split(" ", 3), "", "", "")[:4]
            earlier = [n for n in self._added.get((line.node, f"{table} {rule}"), ()) if n < line.number]
            yield self._origin(table, rule, earlier[-1]) if earlier else MetRule(table, rule)

    def _origin(self, table: str, rule: str, added: int) -> MetRule:
        line = self._lines[added]
        said = self._sender(line)
        if said is None:
            return MetRule(table, rule, added)
        asked = self._asked_before(said)
        return MetRule(table, rule, added, said.number, None if asked is None else asked.number)

    def _sender(self, line: Line) -> Line | None:
        flight = f"{line.transition.partition(' ')[2]} {line.message}"
        causes = [self._lines[cause] for cause in line.causes if cause in self._lines]
        return next((cause for cause in causes if flight in cause.sends), None)

    def _asked_before(self, said: Line) -> Line | None:
        """Return what a controller heard when it spoke; of a process, what it heard last."""
        line, left = said, len(self._lines)
        while line.message is None and left:
            mine = [n for n in line.causes if n < line.number and n in self._lines]
            before = [self._lines[n] for n in mine if self._lines[n].node == said.node]
            if not before:
                return None
            line, left = before[-1], left - 1
        return line


class _Journey:
    """A packet that is being followed."""

    def __init__(self, trace: Trace) -> None:
        self.paths = _Paths(trace)
        self._rules = _Rules(self.paths.lines)
        self._met: dict[int, tuple[MetRule, ...]] = {}
        """The steps so far, each with the rules that it met."""
        self._fates: dict[int, list[str]] = defaultdict(list)
        self._under_way: deque[tuple[int, str, str]] = deque()
        """The copies that are still to be followed: who sent each, where, and how it reads."""
        self._answers: deque[tuple[Line, str]] = deque()
        """The steps of switches that are still to be looked at, with the packet as they got it."""

    def begin(self, packet: Sighting) -> None:
        """Begin with the step that sends the packet, whatever else it does."""
        line = self.paths.lines[packet.line]
        self._met[line.number] = ()
        if f"{packet.channel} {packet.frame}" in line.lost:
            self._fates[line.number].append(f"lost out of {packet.channel}")
        else:
            self._under_way.append((line.number, packet.channel, packet.frame))

    def follow(self) -> None:
        """Follow all copies to their ends."""
        while (self._under_way or self._answers) and len(self._met) < MOST_HOPS:
            if self._answers:
                self._cross(*self._answers.popleft())
                continue
            sender, channel, frame = self._under_way.popleft()
            takers = self.paths.taken(sender, channel, frame)
            for line in takers:
                self._arrive(line, frame)
            if not takers:
                lost = self.paths.lost_after(sender, channel, frame)
                how = f": it is lost in line {lost.number}" if lost is not None else ""
                self._fates[sender].append(f"what it sends out of {channel} never arrives{how}")

    def _arrive(self, line: Line, frame: str) -> None:
        kinds = {event.partition(" ")[0] for event in line.events}
        if "received" in kinds or "ignored" in kinds:
            self._met[line.number] = ()
            if "received" in kinds:
                self._fates[line.number].append(f"{line.node} receives it")
        else:
            self._cross(line, frame)

    def _cross(self, line: Line, frame: str) -> None:
        """Take in what a switch does with the packet, and what a controller has it do."""
        if line.number in self._met:
            return
        self._met[line.number] = tuple(self._rules.met(line))
        sent = list(_frames(line))
        self._under_way.extend((line.number, channel, copy) for channel, copy in sent)
        lost = [f"lost out of {channel}" for channel, _ in _frames(line, line.lost)]
        asked = list(self.paths.asked(line))
        for question in asked:
            self._met.setdefault(question.number, ())
            answers = list(self.paths.answers(question, frame))
            if not answers:
                self._fates[question.number].append(f"{question.node} sends it nowhere")
            self._answers.extend((answer, frame) for answer in answers)
        self._fates[line.number] += lost
        if not (sent or lost or asked):
            self._fates[line.number].append(f"it does not leave {line.node}")

    def hops(self) -> list[Hop]:
        """Return the steps in the order of the trace."""
        lines = self.paths.lines
        return [
            Hop(lines[number], rules, tuple(dict.fromkeys(self._fates[number])))
            for number, rules in sorted(self._met.items())
        ]


def journey(trace: Trace, packet: Sighting) -> list[Hop]:
    """Return all steps that a packet and its copies were part of, in order."""
    following = _Journey(trace)
    following.begin(packet)
    following.follow()
    return following.hops()
