"""The lines of a trace as the steps of a report, one after the other, so that a growing run can be followed.

Most texts of a run are said again and again, so they are kept once (`Strings`) and named by number.  Texts
come from strangers and from other machines: where they tell absolute paths of a machine, only the last part
of each is kept.

Packets that have names are called by them.  A fuzzing run may leave them nameless; there a packet is called
after the step that first sent it (`h1@12`) and followed from sender to receiver: through a switch it stays
the same packet, and so it does through a controller that answers in the same step.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final, TypedDict, assert_never

from penstock._base.text import visible
from penstock._report.layout import Drawing
from penstock._report.run_story import finding_text
from penstock._report.states import Change
from penstock._rootcause.journeys import name_of
from penstock._story.story import Story
from penstock._trace.retelling import record_of
from penstock._trace.trace import FindingLine, InputLine, Line, LogLine, TraceLine
from penstock._world.channels import CHANNEL_FAULTS
from penstock._world.signals import FABRIC
from penstock._world.transition import DELIVER, INJECT, TIME

LONGEST_TEXT: Final = 20_000
"""How much is shown of one text."""
_MOST_SENT: Final = 50_000
"""How many steps' messages are remembered until they arrive."""

_ROOTS: Final = (
    "home|root|usr|opt|tmp|var|work|mnt|srv|etc|lib|private|Users|Library|build|builds|data|nix|app|workspace"
)
_PART: Final = r"[\w.@+~-]"
_PATH: Final = re.compile(
    # A slash that follows a part of a name begins no path, so every character is looked at once.
    rf"(?<![\w.@+~:/\\-])(?:/(?:{_ROOTS})(?:/{_PART}+)*/|/(?:{_PART}+/)+(?={_PART}+\.\w)"
    r"|[A-Za-z]:\\(?:[^\\\s\"']+\\)*)"
)
_FRAME: Final = re.compile(r"(?:\S+ )?\[.*\]", re.DOTALL)
_TAG: Final = re.compile(r"(?<!\S)([A-Za-z_][\w.-]*#\d+)(?= \[)")


@lru_cache(maxsize=50_000)
def placeless(text: str) -> str:
    """Return a text that can be shown, without the absolute paths of the machine that it was written on."""
    if len(text) > LONGEST_TEXT:
        text = f"{text[:LONGEST_TEXT]}… ({len(text) - LONGEST_TEXT:,} more characters)"
    shown = _PATH.sub("…/", text) if "/" in text or "\\" in text else text
    return visible(shown, keep="\n\t")


class Strings:
    """Texts, each kept once and named by its number."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """Return the number of a text."""
        found = self._numbers.get(text)
        if found is None:
            found = self._numbers[text] = len(self.texts)
            self.texts.append(placeless(text))
        return found

    def numbers(self, texts: Iterable[str]) -> list[int]:
        """Return the numbers of texts."""
        return [self.number(text) for text in texts]


ReportStep = TypedDict(
    "ReportStep",
    {
        "n": int,
        "kind": str,
        "lane": int,
        "at": int | None,
        "title": int,
        "told": list[int],
        "packet": int | None,
        "message": int | None,
        "sends": list[list[int]],
        "from": int | None,
        "causes": list[int],
        "events": list[int],
        "lost": list[int],
        "relevant": bool,
        "changes": list[tuple[int, int, list[int], list[int]]],
    },
)
"""A step as the page and `penstock report --json` have it; texts are named by number."""


class StepWriter:
    """Turns lines into steps, in order."""

    def __init__(self, drawing: Drawing, lanes: list[str], strings: Strings) -> None:
        self._kinds = drawing.kinds
        self._lanes = {name: place for place, name in enumerate(lanes)}
        self._strings = strings
        self._peers: dict[str, str] = {}
        """Who hears what leaves a port, as far as links are known."""
        self._heard: defaultdict[str, dict[str, None]] = defaultdict(dict)
        """For each component the channels that it hears."""
        for a, b in drawing.links:
            self._lead(str(a), b.node)
            self._lead(str(b), a.node)
        self._ports = {b.node: str(b) for _, b in drawing.links} | {a.node: str(a) for a, _ in drawing.links}
        self._sent: dict[int, dict[tuple[str, str | None], deque[str | None]]] = {}
        """For each step, by channel and message, the packets that its messages are about."""
        self._story = Story()

    def step(self, line: TraceLine, *, relevant: bool, changes: Iterable[Change] = ()) -> ReportStep:
        """Return a line as a step."""
        match line:
            case Line():
                found = self._line(line)
            case InputLine():
                found = self._plain(line.number, "input", -1, line.at, f"Input: {line.text}")
            case LogLine():
                lane = self._lanes.get(line.source, -1)
                found = self._plain(line.number, "log", lane, line.at, f"{line.source} logs: {line.text}")
            case FindingLine():
                found = self._plain(line.number, line.verdict, -1, line.at, finding_text(line).strip(" ✓✗"))
            case _:
                assert_never(line)
        found["relevant"] = relevant
        number = self._strings.number
        found["changes"] = [
            (
                number(change.component),
                number(change.section),
                self._strings.numbers(change.removed),
                self._strings.numbers(change.added),
            )
            for change in changes
        ]
        return found

    def _plain(self, number: int, kind: str, lane: int, at: int | None, title: str) -> ReportStep:
        return {
            "n": number,
            "kind": kind,
            "lane": lane,
            "at": at,
            "title": self._strings.number(title),
            "told": [],
            "packet": None,
            "message": None,
            "sends": [],
            "from": None,
            "causes": [],
            "events": [],
            "lost": [],
            "relevant": False,
            "changes": [],
        }

    def _line(self, line: Line) -> ReportStep:
        told = line.told or self._story.step(line.number, record_of(line))
        verb, _, where = line.transition.partition(" ")
        sender, packet = self._origin(line, where) if verb == DELIVER else (None, None)
        packet = self._packet(line, packet)
        found = self._plain(
            line.number,
            self._kind(line, verb),
            self._lanes.get(line.node, -1),
            line.at,
            told[0] if told else "",
        )
        strings = self._strings
        found["told"] = strings.numbers(told[1:])
        found["packet"] = None if packet is None else strings.number(packet)
        found["message"] = None if line.message is None else strings.number(line.message)
        found["from"] = sender
        found["causes"] = list(line.causes)
        found["events"] = strings.numbers(line.events)
        found["lost"] = strings.numbers(line.lost)
        found["sends"] = self._sends(line, packet)
        if line.node == FABRIC and where.startswith("move "):
            self._move(where)
        return found

    def _kind(self, line: Line, verb: str) -> str:
        if verb == TIME:
            return "time"
        if verb in CHANNEL_FAULTS:
            return "fault"
        return "fabric" if line.node == FABRIC else self._kinds.get(line.node, "switch")

    # Who sends what to whom.

    def _origin(self, line: Line, channel: str) -> tuple[int | None, str | None]:
        """Return the step that sent what a line delivers, and the packet that it is about."""
        for cause in line.causes:
            if queue := self._sent.get(cause, {}).get((channel, line.message)):
                return cause, queue.popleft()
        return None, None

    def _packet(self, line: Line, carried: str | None) -> str | None:
        """Return the packet that a step is about."""
        named = name_of(line.message) if line.message is not None else ""
        if named or carried:
            return named or carried
        for text in (*line.sends, *line.lost, *line.events):
            if found := _TAG.search(text):
                return found[1]
        takes_frame = line.message is not None and _is_frame(line.message)
        if not takes_frame and any(_is_frame(flight.partition(" ")[2]) for flight in line.sends):
            return f"{line.node}@{line.number}"
        return None

    def _sends(self, line: Line, packet: str | None) -> list[list[int]]:
        found: list[list[int]] = []
        queues: dict[tuple[str, str | None], deque[str | None]] = {}
        for flight in line.sends:
            channel, _, message = flight.partition(" ")
            about = self._about(line, message, packet)
            queues.setdefault((channel, message), deque()).append(about)
            found.append([self._receiver(channel), self._strings.number(message)])
        if queues:
            self._sent[line.number] = queues
            if len(self._sent) > _MOST_SENT:
                del self._sent[next(iter(self._sent))]
        return found

    def _about(self, line: Line, message: str, packet: str | None) -> str | None:
        """Return the packet that a message is about which a step sends."""
        if not _is_frame(message):
            return packet
        is_answer = self._kinds.get(line.node) == "host" and message != line.message
        return name_of(message) or (f"{line.node}@{line.number}" if is_answer else packet)

    def _receiver(self, channel: str) -> int:
        """Return the lane of who hears a channel."""
        peer = self._peers.get(channel)
        if peer is None:
            # A control session is named after who is at its other end, and so are the fabric's signals.
            peer = channel.partition(":")[2]
        return self._lanes.get(peer, -1)

    def _move(self, action: str) -> None:
        """Take in that a host is somewhere else."""
        host, _, place = action.removeprefix("move ").partition(" to ")
        card = self._ports.get(host)
        if card is None:
            return
        for channel in self._heard.pop(host, ()):
            if self._peers.get(channel) == host:
                del self._peers[channel]
        self._lead(card, place.partition(":")[0])
        self._lead(place, host)

    def _lead(self, channel: str, node: str) -> None:
        """Have a component hear a channel."""
        self._peers[channel] = node
        self._heard[node][channel] = None


def _is_frame(message: str) -> bool:
    return _FRAME.fullmatch(message) is not None


def channel_receivers(lines: Iterable[Line]) -> Mapping[str, str]:
    """Return who was heard by whom, as far as the lines of a trace tell: the receiver of each channel."""
    found: dict[str, str] = {}
    for line in lines:
        verb, _, where = line.transition.partition(" ")
        if verb == DELIVER:
            found.setdefault(where, line.node)
        elif verb == INJECT:
            found.setdefault(where, where.partition(":")[2])
    return found
