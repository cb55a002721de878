"""Traces: what one run did, one JSON object per line.

The first line is the header: what wrote the trace, the scenario, and a digest of it.  Then comes one
line per transition with its number, what happened, and the numbers of the steps that caused it (the
one whose message is delivered, and the component's own last step).  A line with a verdict ends the
trace of a violation.  The last line, `{"end": n}`, says how many lines there are before it, so that a
trace which was cut anywhere is known for it.  The lines are text for people and tools alike; nothing in them
is run or unpickled.

A trace is one of three kinds, which its header tells: a `SearchTrace` (of `check`, of a random walk or of a
run by hand), a `FuzzTrace`, or a `ProofTrace`, whose steps are those of a lifted network.

A trace carries what it takes to look at it.  Its header has the network as it was drawn and, where the run
begins after the switches have joined, how they did.  A step of a controller, or of another whose code would
have to run, has the bytes of what was `said` (see `scene`).  The header also has a digest of every file of
code that the run used, under our seal (see `consent`).

A search's trace is written under another name and renamed when it is whole, so there are no half
traces; a reader also takes one that was cut short and says so.  A fuzzing run's grows while it runs
(`TraceWriter`).  It has more kinds of lines, all numbered together and with their moment, `at`, in
milliseconds: what the fuzzer did (`input`), what a controller logged (`log`), that an invariant was
`violated` or `healed`, or how often that was `repeated`.  A message from outside the model has its bytes
as `wire`, with the version of OpenFlow (0 for a frame), so that it can be put in again without the program
that sent it.  Of an echo's bytes only the first `ECHO_KEPT` are written: its length is among them, and the
rest means nothing.
"""

from __future__ import annotations

import contextlib
import json
import json.encoder
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Final, TypeGuard, assert_never

from penstock._base import version
from penstock._base.code_files import digest_code
from penstock._base.files import UnwritableError, absolute, make_folder, open_growing, write_whole
from penstock._base.reading import LARGEST_NUMBER, LONGEST_LINE, parse_object, read_lines
from penstock._base.sealing import seal
from penstock._controllers.origins import NOTES
from penstock._story.explanation import Explanation
from penstock._story.story import sentences
from penstock._trace.scene import Said, Scene, said, said_in
from penstock._world.channels import CHANNEL_FAULTS
from penstock._world.component import Endpoint, Event, Port
from penstock._world.frame import Frame
from penstock._world.signals import FABRIC
from penstock._world.transition import InFlight, Record, Transition
from penstock.errors import PenstockError, TraceCutShort

FORMAT: Final = "penstock-trace"
VERSION: Final = 2
MOST_TEXTS_KEPT: Final = 20_000
"""How many texts of messages a writer keeps before it begins anew."""
FEW_TEXTS_KEPT: Final = 500
"""The same for a run with real processes: they say nothing twice, so a text is wanted when its message is
delivered, soon after it was sent, and never again."""
MOST_KEPT: Final = 16_000_000
"""How many characters and bytes these, and what they are texts of, may have, about."""
ECHO_KEPT: Final = 256
JOINING: Final = "joining"
"""Where a header's network tells how its switches joined."""
_ECHO_TYPES: Final = (2, 3)
_MESSAGE_HEADER: Final = 8
"""How long the header of an OpenFlow message is."""
_LONG_FRAME: Final = 2048
_FUZZ: Final = "fuzz"
"""The engine that the header of a fuzzing run's trace names."""
_PROOF: Final = "verify"
"""Where the header of a proof's trace tells what was to be proved."""
_ABOUT: Final = "about"
"""Where the header of a trace names the invariant that it was recorded for."""
_WIDE: Final = "wide"
"""Where it says that any violation of that invariant will do."""
_LONGEST_ENGINE: Final = 20
_TRACE: Final = "The trace"
"""What is written here, in a sentence that says that it cannot be."""


@dataclass(frozen=True, slots=True)
class Line:
    """One step of a trace, as text."""

    number: int
    transition: str
    node: str
    message: str | None = None
    sends: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    causes: tuple[int, ...] = ()
    told: tuple[str, ...] = ()
    """The step in words, for people."""
    at: int | None = None
    wire: bytes | None = None
    """The bytes of a message that came from outside, if it has any."""
    version: int | None = None
    """The version of OpenFlow that these are in; 0 for a frame."""
    code: tuple[str, ...] = ()
    """Which lines of a program's code did this, as events (see `_controllers.origins`)."""
    said: tuple[Said, ...] = ()
    """What was said by a component whose code it would take to say it again."""

    @property
    def octets(self) -> bytes | None:
        """The bytes of an OpenFlow message that came from outside; what was cut off an echo's is zeros."""
        if self.wire is None or not self.version:
            return None
        is_echo = len(self.wire) >= _MESSAGE_HEADER and self.wire[1] in _ECHO_TYPES
        return self.wire.ljust(int.from_bytes(self.wire[2:4]), b"\0") if is_echo else self.wire

    def differs_from(self, record: Record) -> bool:
        """Tell whether a step that was taken again did something else."""
        again = line_of(self.number, record)
        return (again.transition, again.message, again.sends, again.lost) != (
            self.transition,
            self.message,
            self.sends,
            self.lost,
        )


@dataclass(frozen=True, slots=True)
class InputLine:
    """Something that a fuzzer did, as the text of an input."""

    number: int
    text: str
    at: int


@dataclass(frozen=True, slots=True)
class LogLine:
    """Something that a controller wrote to its log."""

    number: int
    source: str
    text: str
    at: int


@dataclass(frozen=True, slots=True)
class FindingLine:
    """An invariant that was violated, holds again, or was violated often; `persistent` if that lasted."""

    number: int
    verdict: str
    invariant: str
    message: str
    at: int
    persistent: bool = False
    rules: tuple[str, ...] = ()
    """The rules that the packets it speaks of meet, each after the name of its switch."""
    since: int | None = None
    """Of what holds again or was repeated, when it was first found."""
    times: int = 1
    """How often it was found, or how many alike there are."""

    @property
    def lasted(self) -> int | None:
        """How long it was so, in milliseconds, as far as that is known."""
        return None if self.since is None else max(0, self.at - self.since)


TraceLine = Line | InputLine | LogLine | FindingLine
"""The numbered lines of a trace."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Which property a trace breaks, and how."""

    property: str
    message: str
    cause: tuple[str, ...] = ()
    """The lines that tell the cause."""
    code: tuple[str, ...] = ()
    """The places in the program's code that are behind it (see `_controllers.origins`)."""
    needless: tuple[int, ...] = ()
    """The steps that did not matter."""


def verdict_of(name: str, message: str, why: Explanation) -> Verdict:
    """Return a violation and its explanation, as a trace tells them."""
    return Verdict(name, message, tuple(why.lines(name)), tuple(c.text for c in why.code), why.needless)


@dataclass(frozen=True, slots=True)
class End:
    """That a trace ends here: how many lines came before."""

    lines: int


class Recorded(Mapping[str, object]):
    """The scenario of a trace, to be read; what builds a network takes none, for that runs what it names.

    It becomes a `Scenario` by `consent.runnable`, with the consent of the user.
    """

    __slots__ = ("_table",)

    def __init__(self, table: Mapping[str, object]) -> None:
        self._table = dict(table)

    def __getitem__(self, key: str) -> object:
        return self._table[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)

    def __repr__(self) -> str:
        return f"Recorded({self._table!r})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """A run that was written down: what the traces of all engines have."""

    scenario: Mapping[str, object]
    """The scenario as it was recorded: always `Recorded`, so that nobody builds it by mistake."""
    folder: str
    lines: tuple[Line, ...] = ()
    verdict: Verdict | None = None
    cut_short: bool = False
    details: Mapping[str, object] = field(default_factory=dict)
    """What else the header tells: of the engine, and of what it covered."""
    joining: tuple[Line, ...] = ()
    """How the switches joined before the first step, as far as it takes to have that happen again."""
    network: object = None
    """The network as the header tells it (see `scene.read_scene`)."""
    code: Mapping[str, str] | None = None
    """The digests of the code that the run used; a stranger's trace may have none."""
    seal: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "scenario", Recorded(self.scenario))

    @property
    def items(self) -> Sequence[TraceLine]:
        """All numbered lines, in their order."""
        return self.lines

    @property
    def engine(self) -> str:
        """What wrote the trace."""
        named = self.details.get("engine")
        if isinstance(named, str) and named.isidentifier() and len(named) <= _LONGEST_ENGINE:
            return named
        return "walk" if "seed" in self.details else "check"


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchTrace(Trace):
    """A run that a search or a random walk found, or that somebody took by hand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FuzzTrace(Trace):
    """A fuzzing run: besides its steps, what was done, what was logged, and what was found when."""

    inputs: tuple[InputLine, ...] = ()
    logs: tuple[LogLine, ...] = ()
    findings: tuple[FindingLine, ...] = ()

    @property
    def items(self) -> Sequence[TraceLine]:
        """All numbered lines, in their order."""
        lines: list[TraceLine] = [*self.lines, *self.inputs, *self.logs, *self.findings]
        return sorted(lines, key=lambda line: line.number)

    @property
    def engine(self) -> str:
        """What wrote the trace."""
        return _FUZZ

    @property
    def about(self) -> str:
        """The invariant that it was recorded for, as a minimal trace is; empty if for none."""
        named = self.details.get(_ABOUT)
        return named if isinstance(named, str) else ""

    @property
    def is_wide(self) -> bool:
        """Whether any violation of that invariant will do."""
        return self.details.get(_WIDE) is True


@dataclass(frozen=True, slots=True)
class ProofSetup:
    """What was to be proved, and of which lifted network."""

    properties: tuple[str, ...]
    mode: str
    timeouts: bool
    traffic: Mapping[str, tuple[bytes, ...]]
    """The frames that each host may send, any number of times."""
    loop: int
    """How many steps at the end of the trace repeat for ever."""

    def header(self) -> dict[str, object]:
        """Return it as a header tells it."""
        traffic = {source: [frame.hex() for frame in frames] for source, frames in self.traffic.items()}
        told = {"properties": list(self.properties), "mode": self.mode, "timeouts": self.timeouts}
        return {_PROOF: {**told, "traffic": traffic, "loop": self.loop}}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofTrace(Trace):
    """A run of a lifted network that breaks what was to be proved."""

    setup: ProofSetup

    @property
    def engine(self) -> str:
        """What wrote the trace."""
        return _PROOF

    @property
    def loop(self) -> int:
        """How many steps at the end repeat for ever; a trace that was cut short may lack them."""
        return self.setup.loop if self.setup.loop <= len(self.lines) else 0


AnyTrace = SearchTrace | FuzzTrace | ProofTrace


def first_lasting(trace: Trace) -> FindingLine | None:
    """Return the first violation of a fuzzing run that lasted; other runs have none."""
    findings = trace.findings if isinstance(trace, FuzzTrace) else ()
    return next((found for found in findings if found.persistent and found.verdict == "violated"), None)


def recorded_for(invariant: str, *, wide: bool = False) -> dict[str, object]:
    """Return what the header of a trace says of the invariant that it was recorded for."""
    return {_ABOUT: invariant, **({_WIDE: True} if wide else {})}


def line_of(number: int, record: Record, causes: tuple[int, ...] = (), told: tuple[str, ...] = ()) -> Line:
    """Return a step as a line of a trace."""
    return Line(
        number,
        str(record.transition),
        record.node,
        None if record.message is None else str(record.message),
        tuple(map(str, record.sends)),
        tuple(str(event) for event in record.events if event.kind not in NOTES),
        tuple(map(str, record.lost)),
        causes,
        told,
        code=tuple(str(event) for event in record.events if event.kind in NOTES),
    )


class Causality:
    """Who caused what in one run: steps are numbered, told in order, and remembered where they matter."""

    def __init__(self) -> None:
        self._last_of: dict[str, int] = {}
        self._waiting: dict[tuple[str, Port], list[int]] = {}
        """For each channel, the steps that sent what is on it."""

    def causes(self, number: int, record: Record) -> list[int]:
        """Return the numbers of the steps that caused a step, and remember it under its own."""
        (verb, node, what), actor, _, message, sends, _, lost = record
        waiting = self._waiting
        last = self._last_of.get(actor)
        causes = [] if last is None else [last]
        if message is not None:
            sent = waiting.get((node, what))
            if sent:
                causes.append(sent.pop(0))
        elif verb in CHANNEL_FAULTS:
            queue = tuple(waiting.get((node, what), ()))
            causes += queue[:1]
            # What befalls messages befalls the steps that sent them.
            suffered: tuple[object, ...] = CHANNEL_FAULTS[verb](queue)
            waiting[node, what] = [step for step in suffered if isinstance(step, int)]
        elif node == FABRIC:
            for channel, _ in lost:
                waiting.pop(channel, None)
        for channel, _ in sends:
            sent = waiting.get(channel)
            if sent is None:
                waiting[channel] = [number]
            else:
                sent.append(number)
        self._last_of[actor] = number
        return causes


def lines_of(records: Sequence[Record], scene: Scene | None = None) -> Iterator[Line]:
    """Yield the lines of a run, each with its causes, and with what was said by the actors of a scene."""
    causality = Causality()
    for number, (record, told) in enumerate(zip(records, sentences(records), strict=True), 1):
        causes = causality.causes(number, record)
        line = line_of(number, record, tuple(sorted(set(causes))), told)
        yield replace(line, said=_said(record, scene)) if scene is not None else line


def _said(record: Record, scene: Scene) -> tuple[Said, ...]:
    return said_in(record, scene.version) if record.node in scene.actors else ()


def joining_lines(scene: Scene) -> Iterator[Line]:
    """Yield how the switches joined, with no more than it takes to have that happen again."""
    for number, record in enumerate(scene.joining, 1):
        message = None if record.message is None else str(record.message)
        yield Line(number, str(record.transition), record.node, message, said=_said(record, scene))


def digest_of(scenario: Mapping[str, object]) -> str:
    """Return what tells one scenario from another."""
    return blake2b(json.dumps(dict(scenario), sort_keys=True).encode(), digest_size=8).hexdigest()


def sealed_part(scenario: Mapping[str, object], code: Mapping[str, str]) -> list[object]:
    """Return what of a trace is sealed: what would run, and with what in it."""
    return [dict(scenario), dict(code)]


def _header(
    path: Path,
    scenario: Mapping[str, object],
    folder: Path,
    details: Mapping[str, object],
    scene: Scene | None,
) -> dict[str, object]:
    code = digest_code(scenario, folder)
    return {
        "format": FORMAT,
        "version": VERSION,
        "penstock": version.VERSION,
        "scenario": scenario,
        "digest": digest_of(scenario),
        "folder": os.path.relpath(absolute(folder).resolve(), absolute(path).parent.resolve()),
        "code": code,
        "seal": seal(sealed_part(scenario, code)),
        **({} if scene is None else _network(scene)),
        **details,
    }


def _network(scene: Scene) -> dict[str, object]:
    """Return what a header tells of the network, as far as a header can be read that tells it."""
    network = scene.as_json()
    if len(json.dumps(network)) > LONGEST_LINE // 2:
        return {}
    joining = [_as_json(line) for line in joining_lines(scene)]
    is_short = len(json.dumps(joining)) <= LONGEST_LINE // 4
    return {"network": {**network, JOINING: joining if is_short else None}}


def write_trace(
    path: Path,
    scenario: Mapping[str, object],
    folder: Path,
    records: Sequence[Record],
    verdict: Verdict | None = None,
    scene: Scene | None = None,
    *,
    home: Path | None = None,
    **details: object,
) -> Path:
    """Write a whole trace, atomically; a `scene` is what makes it whole to those who look at it.

    It tells where the scenario is from there, or from its `home` if it will be moved to that.
    """
    header = _header(path if home is None else home, scenario, folder, details, scene)
    found: list[Mapping[str, object]] = [header]
    found += map(_as_json, lines_of(records, scene))
    if verdict is not None:
        found.append(_verdict_as_json(verdict))
    text = "".join(f"{json.dumps(each)}\n" for each in (*found, {"end": len(found)}))
    make_folder(path.parent, _TRACE)
    write_whole(path, text, _TRACE)
    return path


class TraceFolder:
    """Where an engine puts its traces.

    A disk that has no room is no reason to lose what was found: why a trace is not there is kept as a
    sentence, the first one, and the engine goes on.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self.unwritten = ""
        """Why nothing, or not all of it, is written down."""
        if path is not None:
            try:
                make_folder(path, "Traces")
            except UnwritableError as error:
                self._note(error)

    def write(
        self,
        name: str,
        scenario: Mapping[str, object],
        folder: Path,
        records: Sequence[Record],
        verdict: Verdict | None = None,
        scene: Scene | None = None,
        **details: object,
    ) -> Path | None:
        """Write a trace under a name; return where it is, if it is anywhere."""
        if self._path is None or self.unwritten:
            return None
        try:
            path = self._path / name
            return write_trace(path, scenario, folder, records, verdict, scene, home=path, **details)
        except UnwritableError as error:
            self._note(error)
            return None

    def _note(self, error: UnwritableError) -> None:
        if not error.is_for_want_of_room:
            raise error
        self.unwritten = str(error)


def _verdict_as_json(verdict: Verdict) -> dict[str, object]:
    found: dict[str, object] = {"violated": verdict.property, "message": verdict.message}
    for name in ("cause", "code", "needless"):
        if getattr(verdict, name):
            found[name] = list(getattr(verdict, name))
    return found


def _as_json(line: Line) -> dict[str, object]:
    found: dict[str, object] = {"step": line.number, "transition": line.transition, "node": line.node}
    if line.message is not None:
        found["message"] = line.message
    for name in ("sends", "events", "lost", "causes", "told", "code"):
        if getattr(line, name):
            found[name] = list(getattr(line, name))
    if line.said:
        found["said"] = [each.as_json() for each in line.said]
    return found


_quoted: Final = json.encoder.encode_basestring_ascii


def _numbers(causes: list[int]) -> str:
    """Return numbers as a list in order, each once; there are mostly two."""
    if len(causes) == 2:
        one, other = causes
        if one != other:
            return f"[{one}, {other}]" if one < other else f"[{other}, {one}]"
    return str(sorted(set(causes)))


@lru_cache(maxsize=MOST_TEXTS_KEPT)
def _frame_text(data: bytes, tag: str) -> str:
    """Return what `str` says of a frame, as JSON without its quotation marks."""
    return _quoted(str(Frame(data, tag)))[1:-1]


def _size(value: object) -> int:
    """Return how many bytes a message or a frame carries."""
    carried = getattr(value, "data", b"") or getattr(value, "body", b"")
    return len(carried) if isinstance(carried, bytes) else 0


def _wire_bytes(wire: bytes, version: int) -> bytes:
    """Return as many of a message's bytes as a trace keeps."""
    return wire[:ECHO_KEPT] if version and wire[1] in _ECHO_TYPES else wire


class TraceWriter:
    """Writes the trace of a run while it goes on, line by line; `flush` puts what there is into the file.

    Most of a line is what other lines said before, so texts are kept and written again.  A file that takes
    no more is told of whenever something is to be put into it, but not once more when it is closed.
    """

    def __init__(
        self,
        path: Path,
        scenario: Mapping[str, object],
        folder: Path,
        scene: Scene | None = None,
        *,
        home: Path | None = None,
        texts: int = MOST_TEXTS_KEPT,
        **details: object,
    ) -> None:
        self.path = path
        self._most_texts = texts
        header = _header(
            path if home is None else home, scenario, folder, {"engine": _FUZZ, **details}, scene
        )
        self._lines: list[str] = [json.dumps(header) + "\n"]
        self._actors = frozenset() if scene is None else scene.actors
        self._version = 0 if scene is None else scene.version
        self._wires: dict[int, tuple[object, str]] = {}
        """What messages of actors are written as, by identity."""
        self._heads: dict[tuple[Transition, str], str] = {}
        """What is written of transitions and who took them."""
        self._texts: dict[int, tuple[object, str]] = {}
        """What values are written as, by identity; each is kept here so that the identity stays its own."""
        self._events_known: dict[int, tuple[object, str]] = {}
        """What the events of whole steps are written as, for components whose steps are remembered."""
        self._channels: dict[Endpoint, str] = {}
        self._kept = 0
        """How much is kept of texts, and of what they are texts of."""
        self.size = 0
        """How many bytes were put into the file."""
        self._count = 0
        """How many lines were."""
        self._failure: OSError | None = None
        make_folder(path.parent, _TRACE)
        self._file = open_growing(path, _TRACE)

    def input(self, number: int, text: str, at: int) -> None:
        """Write what the fuzzer does."""
        self._lines.append(f'{{"step": {number}, "input": {_quoted(text)}, "at": {at}}}\n')

    def log(self, number: int, source: str, text: str, at: int) -> None:
        """Write what a controller logged."""
        found = {"step": number, "log": source, "text": text, "at": at}
        self._lines.append(json.dumps(found) + "\n")

    def finding(self, found: FindingLine) -> None:
        """Write that an invariant is violated or healed, or how often it was violated."""
        line: dict[str, object] = {"step": found.number, found.verdict: found.invariant}
        line |= {"message": found.message, "at": found.at}
        if found.persistent:
            line["persistent"] = True
        if found.rules:
            line["rules"] = list(found.rules)
        if found.since is not None:
            line["since"] = found.since
        if found.times != 1:
            line["times"] = found.times
        self._lines.append(json.dumps(line) + "\n")

    def step(
        self, number: int, record: Record, causes: list[int], at: int, wire: bytes | None, version: int
    ) -> None:
        """Write what happened, with its causes; `wire` are the bytes of what came from outside."""
        transition, node, _, message, sends, events, lost = record
        head = self._heads.get((transition, node))
        if head is None:
            head = f'"transition": {_quoted(str(transition))}, "node": {_quoted(node)}'
            self._heads[transition, node] = head
        line = f'{{"step": {number}, {head}, "at": {at}'
        if message is not None:
            line += f', "message": "{self._text(message)}"'
        if sends:
            line += f', "sends": [{self._flights(sends)}]'
        if events:
            line += self._events(events)
        if lost:
            line += f', "lost": [{self._flights(lost)}]'
        if causes:
            line += f', "causes": {_numbers(causes)}'
        if wire is not None:
            line += f', "wire": "{_wire_bytes(wire, version).hex()}", "version": {version}'
        elif node in self._actors and (sends or lost):
            void = [flight for flight in lost if flight.channel.node == node]
            if sends or void:
                line += f', "said": [{", ".join(map(self._said, (*sends, *void)))}]'
        self._lines.append(line + "}\n")

    def _said(self, flight: InFlight) -> str:
        message = flight.message
        kept = self._wires.get(id(message))
        if kept is None or kept[0] is not message:
            text = json.dumps(said(flight, self._version).as_json()[1:])[1:-1]
            self._make_room(len(text))
            kept = self._wires[id(message)] = (message, text)
        return f"[{_quoted(str(flight.channel))}, {kept[1]}]"

    def _flights(self, flights: tuple[InFlight, ...]) -> str:
        found = []
        for channel, message in flights:
            where = self._channels.get(channel)
            if where is None:
                where = self._channels[channel] = _quoted(str(channel))[1:-1]
            found.append(f'"{where} {self._text(message)}"')
        return found[0] if len(found) == 1 else ", ".join(found)

    def _events(self, events: tuple[Event, ...]) -> str:
        known = self._events_known.get(id(events))
        if known is not None and known[0] is events:
            return known[1]
        seen = [self._event(event) for event in events if event.kind not in NOTES]
        code = [self._event(event) for event in events if event.kind in NOTES]
        found = (f', "events": [{", ".join(seen)}]' if seen else "") + (
            f', "code": [{", ".join(code)}]' if code else ""
        )
        self._make_room(len(found) + sum(_size(value) for event in events for value in event.detail))
        self._events_known[id(events)] = (events, found)
        return found

    def _event(self, event: Event) -> str:
        return f'"{" ".join([event.kind, *map(self._text, event.detail)])}"'

    def _text(self, value: object) -> str:
        """Return the text of a value as JSON without its quotation marks."""
        kept = self._texts.get(id(value))
        if kept is not None and kept[0] is value:
            return kept[1]
        size = _size(value)
        if type(value) is Frame and size < _LONG_FRAME:
            text = _frame_text(value.data, value.tag)
        else:
            text = _quoted(str(value))[1:-1]
        self._make_room(len(text) + size)
        self._texts[id(value)] = (value, text)
        return text

    def _make_room(self, more: int) -> None:
        """Forget all texts before they are too many or too long."""
        self._kept += more
        kept = (self._texts, self._events_known, self._wires)
        if max(map(len, kept)) >= self._most_texts or self._kept > MOST_KEPT:
            for texts in kept:
                texts.clear()
            self._kept = more

    def take_back(self) -> bool:
        """Take back the last line, if it is not in the file yet; tell whether that was so."""
        return bool(self._lines and self._lines.pop())

    def flush(self, least: int = 1) -> None:
        """Put all lines into the file, if there are at least so many."""
        if len(self._lines) < least:
            return
        data = "".join(self._lines).encode()
        self._count += len(self._lines)
        self._lines.clear()
        if self._failure is None:
            try:
                self._file.write(data)
                self._file.flush()
            except OSError as error:
                self._failure = error
        if self._failure is not None:
            raise UnwritableError(_TRACE, self.path, self._failure)
        self.size += len(data)

    def close(self) -> None:
        """Finish the file; nothing can be written any more."""
        if self._file.closed:
            return
        try:
            if self._failure is None:
                self._lines.append(f'{{"end": {self._count + len(self._lines)}}}\n')
                self.flush()
        finally:
            # What the file did not take before it does not take now either.
            with contextlib.suppress(OSError):
                self._file.close()


CUT_SHORT: Final = "The trace was cut short: its end is missing."


def trace_file(path: Path) -> Path:
    """Return the trace that a path names: itself, or the one in a run's folder."""
    if not path.is_dir():
        return path
    for found in (path / "trace.jsonl", path / "minimal" / "trace.jsonl"):
        if found.is_file():
            return found
    raise PenstockError(f"There is no trace.jsonl in {path}: give a trace, or the folder of a run.")


def read_trace(path: Path, *, warn: bool = True) -> AnyTrace:
    """Read a trace, whoever it came from; one that was cut short is warned of."""
    trace = _read(path.name, read_lines(path))
    if trace.cut_short and warn:
        steps = "1 step" if len(trace.lines) == 1 else f"{len(trace.lines):,} steps"
        text = f"{path} was cut short: what came after its {steps} is missing."
        warnings.warn(text, TraceCutShort, stacklevel=2)
    return trace


def read_header(path: Path) -> AnyTrace:
    """Read what a trace tells before its first step."""
    return TraceReader(path.name, next(read_lines(path), "")).trace()


def _read(name: str, texts: Iterator[str]) -> AnyTrace:
    reader = TraceReader(name, next(texts, ""))
    for text in texts:
        if not text.endswith("\n"):
            return reader.trace(cut_short=True)
        reader.add(text)
    return reader.trace(cut_short=not reader.is_whole)


class TraceReader:
    """Reads a trace line by line, so that one can also be read while it grows."""

    def __init__(self, name: str, header: str) -> None:
        self._name = name
        self._count = 1
        found = _object(name, 1, header)
        if found.get("format") != FORMAT:
            raise PenstockError(f"{name} is not a trace: its first line does not say {FORMAT}.")
        if found.get("version") != VERSION:
            version = found.get("version")
            raise PenstockError(
                f"{name} is a trace of version {version!r}: this Penstock reads version {VERSION}."
            )
        self._header = _read_header(name, found)
        self._setup = _proof_setup(found[_PROOF]) if _PROOF in found else None
        self._lines: list[Line] = []
        self._inputs: list[InputLine] = []
        self._logs: list[LogLine] = []
        self._findings: list[FindingLine] = []
        self._verdict: Verdict | None = None
        self._end: int | None = None
        """How many lines there should be before the last one."""

    @property
    def is_whole(self) -> bool:
        """Whether the last line was read, and nothing is missing before it."""
        return self._end == self._count - 1

    def add(self, text: str) -> TraceLine | Verdict | End:
        """Take in the next line, and return what it tells."""
        self._count += 1
        fields = Fields(self._name, self._count, _object(self._name, self._count, text))
        if self._end is not None:
            raise fields.damage("comes after the end")
        if "end" in fields.found:
            self._end = fields.number("end")
            return End(self._end)
        if "violated" in fields.found and "step" not in fields.found:
            self._verdict = _verdict(fields)
            return self._verdict
        line = _line_in(fields)
        match line:
            case Line():
                self._lines.append(line)
                return line
            case InputLine():
                self._inputs.append(line)
            case LogLine():
                self._logs.append(line)
            case FindingLine():
                self._findings.append(line)
            case _:
                assert_never(line)
        if self._setup is not None:
            raise fields.damage("is of a fuzzing run and not of a proof")
        return line

    def trace(self, *, cut_short: bool = False) -> AnyTrace:
        """Return all that was read so far."""
        read = replace(self._header, lines=tuple(self._lines), verdict=self._verdict, cut_short=cut_short)
        common = {each.name: getattr(read, each.name) for each in fields(Trace)}
        if self._setup is not None:
            return ProofTrace(**common, setup=self._setup)
        # A header need not name its engine; what only fuzzing runs have tells it then.
        if read.details.get("engine") == _FUZZ or self._inputs or self._logs or self._findings:
            inputs, logs, findings = tuple(self._inputs), tuple(self._logs), tuple(self._findings)
            return FuzzTrace(**common, inputs=inputs, logs=logs, findings=findings)
        return SearchTrace(**common)


_KNOWN: Final = frozenset(
    {"format", "version", "penstock", "scenario", "digest", "folder", "network", "code", "seal", _PROOF}
)
"""What of a header has a field of its own."""


def _read_header(name: str, found: Mapping[str, object]) -> Trace:
    """Return a trace with what its header tells, and no steps."""
    scenario, folder, network = found.get("scenario"), found.get("folder"), found.get("network")
    if not isinstance(scenario, dict) or not isinstance(folder, str):
        raise PenstockError(f"{name} has no scenario in its first line: it cannot be used.")
    code, seal = found.get("code"), found.get("seal", "")
    if not _are_digests(code) or not isinstance(seal, str):
        raise PenstockError(f"{name} has an invalid list of code: the trace is damaged.")
    return Trace(
        scenario=scenario,
        folder=folder,
        details={key: value for key, value in found.items() if key not in _KNOWN},
        joining=tuple(_joining(name, network)),
        network=network,
        code=code,
        seal=seal,
    )


def _proof_setup(given: object) -> ProofSetup:
    """Return what a header says of its proof, whoever wrote it."""
    match given:
        case {
            "properties": [*properties],
            "mode": str() as mode,
            "timeouts": bool() as timeouts,
            "traffic": dict() as traffic,
            "loop": int() as loop,
        } if loop >= 0 and all(isinstance(each, str) for each in properties):
            frames = {str(source): _frames(texts) for source, texts in traffic.items()}
            return ProofSetup(tuple(properties), mode, timeouts, frames, loop)
    raise PenstockError("The trace is damaged: it does not say what was to be proved.")


def _frames(texts: object) -> tuple[bytes, ...]:
    if not isinstance(texts, list):
        raise PenstockError("The trace is damaged: it does not say which packets hosts may send.")
    try:
        return tuple(bytes.fromhex(str(text)) for text in texts)
    except ValueError:
        raise PenstockError("The trace is damaged: a packet in it is not in hex.") from None


def _are_digests(found: object) -> TypeGuard[dict[str, str] | None]:
    """Tell whether that can be the digests of code, or there are none."""
    if found is None:
        return True
    return isinstance(found, dict) and all(isinstance(digest, str) for digest in found.values())


def _object(name: str, number: int, text: str) -> dict[str, object]:
    try:
        return parse_object(text)
    except ValueError as error:
        if number == 1:
            raise PenstockError(
                f"{name} is not a trace, or was cut in its first line: give a .jsonl file that penstock "
                "wrote."
            ) from None
        raise PenstockError(
            f"Line {number} of {name} is not a JSON object ({error}): the trace is damaged."
        ) from None


class Fields:
    """One line of a trace, whose fields are not what they should be until they are looked at."""

    def __init__(self, name: str, line: int, found: dict[str, object]) -> None:
        self.found = found
        self._place = f"Line {line} of {name}"

    def text(self, key: str) -> str:
        """Return a field that is a text."""
        value = self.found.get(key)
        if not isinstance(value, str):
            raise self.damage(f"has no string {key!r}")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a field that is a list of texts, if it is there."""
        values = self.found.get(key, [])
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            raise self.damage(f"has no list of strings {key!r}")
        return tuple(values)

    def number(self, key: str) -> int:
        """Return a field that is a whole number from 0 up."""
        value = self.found.get(key)
        if type(value) is not int or not 0 <= value < LARGEST_NUMBER:
            raise self.damage("has no step number" if key == "step" else f"has no number {key!r}")
        return value

    def numbers(self, key: str) -> tuple[int, ...]:
        """Return a field that is a list of whole numbers, if it is there."""
        values = self.found.get(key, [])
        if not isinstance(values, list) or not all(type(value) is int for value in values):
            raise self.damage("has no step number")
        return tuple(values)

    def octets(self, key: str) -> bytes:
        """Return a field that is bytes in hex."""
        try:
            return bytes.fromhex(self.text(key))
        except ValueError:
            raise self.damage(f"has no bytes in hex {key!r}") from None

    def damage(self, how: str) -> PenstockError:
        """Return what to raise."""
        return PenstockError(f"{self._place} {how}: the trace is damaged.")


_FINDINGS: Final = frozenset({"violated", "healed", "repeated"})


def _line_in(fields: Fields) -> TraceLine:
    """Return the numbered line that some fields tell."""
    if "input" in fields.found:
        return InputLine(fields.number("step"), fields.text("input"), fields.number("at"))
    if "log" in fields.found:
        said = (fields.text("log"), fields.text("text"))
        return LogLine(fields.number("step"), *said, fields.number("at"))
    return _line(fields) if _FINDINGS.isdisjoint(fields.found) else _finding(fields)


def _verdict(fields: Fields) -> Verdict:
    said = (fields.text("violated"), fields.text("message"))
    return Verdict(*said, fields.texts("cause"), fields.texts("code"), fields.numbers("needless"))


def _finding(fields: Fields) -> FindingLine:
    verdict = next(word for word in ("healed", "repeated", "violated") if word in fields.found)
    persistent = fields.found.get("persistent", False)
    if not isinstance(persistent, bool):
        raise fields.damage("has a 'persistent' that is neither true nor false")
    return FindingLine(
        fields.number("step"),
        verdict,
        fields.text(verdict),
        fields.text("message"),
        fields.number("at"),
        persistent,
        fields.texts("rules"),
        fields.number("since") if "since" in fields.found else None,
        fields.number("times") if "times" in fields.found else 1,
    )


def _line(fields: Fields) -> Line:
    has_wire = "wire" in fields.found
    return Line(
        fields.number("step"),
        fields.text("transition"),
        fields.text("node"),
        fields.text("message") if "message" in fields.found else None,
        fields.texts("sends"),
        fields.texts("events"),
        fields.texts("lost"),
        fields.numbers("causes"),
        fields.texts("told"),
        fields.number("at") if "at" in fields.found else None,
        fields.octets("wire") if has_wire else None,
        fields.number("version") if has_wire else None,
        fields.texts("code"),
        _said_in(fields),
    )


def _joining(name: str, network: object) -> Iterator[Line]:
    """Yield how the switches joined, if a header tells it."""
    given = network.get(JOINING, []) if isinstance(network, dict) else []
    for each in given if isinstance(given, list) else ():
        yield _line(Fields(name, 1, each if isinstance(each, dict) else {}))


def _said_in(fields: Fields) -> tuple[Said, ...]:
    found = fields.found.get("said", [])
    if not isinstance(found, list):
        raise fields.damage("has no list of messages 'said'")
    return tuple(_one_said(fields, each) for each in found)


def _one_said(fields: Fields, given: object) -> Said:
    match given:
        case [str() as channel, int() as version, str() | None as octets, str() as tag]:
            try:
                return Said(channel, version, None if octets is None else bytes.fromhex(octets), tag)
            except ValueError:
                pass
    raise fields.damage("has a message that is not in hex")
