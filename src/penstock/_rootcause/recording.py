"""A trace as what has to be done to switches alone so that everything in it happens again.

A replay without controllers, as OFRewind makes it, needs the messages that they sent.  The trace has them
byte by byte, and so has what other actors said (see `scene`): what comes out is a network in which every
actor is silent, and one `Turn` for each step of the trace.  Nothing that the trace names is run for that.

Older traces have only the texts of what controllers in process sent.  With the user's consent these are run
again once, step by step as recorded, and what they say is put into the trace (`said_again`).  A controller
that does something else this time is told of in one sentence, since its messages are then not those of the
trace.

For states of controllers, which no trace has, `recording_again` leaves them in the network.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from penstock._controllers.held import Ledger
from penstock._engine.building import build
from penstock._fuzz.building import build_setting
from penstock._fuzz.inputs import (
    ForgetEntry,
    IgnoreFlowMods,
    InjectFrame,
    LimitTables,
    SendPacket,
    endpoint_of,
    input_of,
)
from penstock._fuzz.traffic import Station, order_of
from penstock._minimize.recording import is_fuzzed, trace_file
from penstock._rootcause.inert import inert_network
from penstock._trace.causal_slice import first_lasting
from penstock._trace.consent import Consent, runnable, what_runs
from penstock._trace.scene import Scene, said_in
from penstock._trace.trace import Line, Trace, joining_lines, read_trace
from penstock._world.component import Endpoint, Message
from penstock._world.frame import Frame
from penstock._world.hosts import Host
from penstock._world.network import ComponentRaised, GlobalState, Network
from penstock._world.signals import EntryForgotten, FlowModsIgnored, TableLimit
from penstock._world.switch import Switch
from penstock._world.transition import INJECT, TIME, InFlight, Record
from penstock._world.world import World
from penstock.errors import PenstockError
from penstock.openflow.error_codes import OpenFlowError
from penstock.openflow.messages import PacketIn
from penstock.openflow.wire import decode

_ECHOES: Final = (2, 3)
_HEADER: Final = 8
MOST_MS: Final = 10**9
"""No run lasts longer than this, eleven days; a stranger's trace may say so."""
SLACK_MS: Final = 500
"""How much later than recorded something may fall due, since a process's trace tells times only about."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One step of a trace, to be taken without controllers."""

    line: Line
    transition: str | None = None
    """What is taken, unless it was a controller's own doing."""
    puts: tuple[InFlight, ...] = ()
    """What is put on channels from outside after that: what a controller said."""
    moment: int | None = None
    """How far the clock goes before it."""
    is_brief: bool = False
    """Whether its line has only the bytes of what was said, and no words for that."""
    falls_due: bool = False
    """Whether it is something that happens by itself when the clock gets there."""


@dataclass(frozen=True, slots=True)
class Recording:
    """A run, ready to be taken again without its controllers."""

    trace: Trace
    network: Network
    start: GlobalState
    turns: tuple[Turn, ...]
    controllers: frozenset[str]
    stations: Mapping[str, Station]

    @property
    def switches(self) -> tuple[str, ...]:
        """The names of the switches."""
        return tuple(made.name for made in self.network.components if isinstance(made, Switch))

    @property
    def end(self) -> int:
        """The line at which a look is most telling: the first lasting violation, or else the last."""
        finding = first_lasting(self.trace)
        if finding is not None:
            return finding.number
        return self.turns[-1].line.number if self.turns else 0


def load_recording(path: Path, consent: Consent | None = None) -> Recording:
    """Read a trace, or that of a run's folder, as a recording; with consent, what it lacks is run again."""
    file = trace_file(path)
    trace = read_trace(file)
    if "verify" in trace.details:
        raise PenstockError(f"{path} is of a proof, whose messages are sets of packets: use penstock show.")
    return recording_of(trace if consent is None else said_again(trace, file.parent, consent))


def recording_of(trace: Trace) -> Recording:
    """Return a trace as a recording in which every actor is silent; nothing is run."""
    try:
        inert = inert_network(trace)
        reading = _Reading(trace, inert.network)
        said = {} if inert.actors <= inert.processes else reading.said(inert.actors)
        start = _joined(inert.network, reading.joining(inert.actors))
    except PenstockError as error:
        text, run = str(error).rstrip("."), what_runs(trace.scenario)
        raise PenstockError(f"{text}: --run runs {run} for it.") from None
    turns = tuple(reading.turns(inert.actors, said))
    return Recording(trace, inert.network, start, turns, inert.actors, reading.stations)


def recording_again(trace: Trace, base: Path, consent: Consent) -> Recording:
    """Return a trace as a recording whose controllers, if they run in process, say again what they said.

    `base` is the folder that the trace is in.
    """
    return _again(trace, base, consent)[0]


def _again(trace: Trace, base: Path, consent: Consent) -> tuple[Recording, Scene | None]:
    scenario = runnable(trace, base, consent)
    if is_fuzzed(trace):
        setting = build_setting(scenario)
        network, start, scene = setting.network, setting.network.initial(), setting.scene
    else:
        built = build(scenario)
        network, start, scene = built.network, built.start, built.scene
    reading = _Reading(trace, network)
    turns = tuple(reading.steps())
    return Recording(trace, network, start, turns, frozenset(), reading.stations), scene


def said_again(trace: Trace, base: Path, consent: Consent) -> Trace:
    """Return a trace with all that its actors said, after they were run again for it."""
    recording, scene = _again(trace, base, consent)
    assert scene is not None, "a scenario's network was drawn"
    world = World(recording.network)
    world.restore(recording.start)
    player = Player(world)
    lines = []
    for turn in recording.turns:
        record, line = player.take(turn), turn.line
        if player.failure or record is None or line.differs_from(record):
            raise PenstockError(
                f"The controller does not do the same again at line {line.number}, so what it sent "
                f"is not known: {player.failure or f'now it is {str(record)[:200]}'}."
            )
        own = line.node in scene.actors and line.wire is None
        lines.append(replace(line, said=said_in(record, scene.version)) if own else line)
    joining = tuple(joining_lines(scene))
    return replace(trace, lines=tuple(lines), joining=joining, network=scene.as_json())


def _joined(network: Network, turns: Iterator[Turn]) -> GlobalState:
    """Return a network as it is once its switches have joined as they did."""
    world = World(network)
    player = Player(world)
    for turn in turns:
        player.take(turn)
        if player.failure:
            raise PenstockError(f"The switches do not join as they did ({player.failure}).")
    return world.snapshot()


class _Reading:
    """A trace whose messages are being found out."""

    def __init__(self, trace: Trace, network: Network) -> None:
        self._trace = trace
        self.stations = {
            made.name: Station(made.name, made.mac, made.ip, made.port)
            for made in network.components
            if isinstance(made, Host)
        }
        self._inputs = {line.number: line.text for line in trace.inputs}

    # What came from outside.

    def put_in(self, line: Line) -> InFlight:
        """Return what a step put on a channel from outside."""
        channel = endpoint_of(line.transition.partition(" ")[2])
        return InFlight(channel, self._message(line))

    def _message(self, line: Line) -> Message:
        given = [input_of(self._inputs[cause]) for cause in line.causes if cause in self._inputs]
        what = given[0] if given else None
        if line.wire is not None:
            if line.version:
                return _decoded(line, line.wire)
            return Frame(line.wire, what.tag if isinstance(what, InjectFrame) else "")
        match what:
            case SendPacket():
                return order_of(what, self.stations)
            case LimitTables(_, entries):
                return TableLimit(entries)
            case ForgetEntry(_, number):
                return EntryForgotten(number)
            case IgnoreFlowMods(_, count):
                return FlowModsIgnored(count)
        raise PenstockError(
            f"Line {line.number} of the trace puts in a message that it neither has the bytes nor the "
            "input of: it cannot be played."
        )

    # What actors said.

    def said(self, actors: frozenset[str]) -> dict[int, tuple[InFlight, ...]]:
        """Return what actors said, by line; an error tells that the trace does not have it."""
        found: dict[int, tuple[InFlight, ...]] = {}
        for line in self._trace.lines:
            if line.node not in actors or line.transition.partition(" ")[0] == INJECT:
                continue
            if line.sends and not line.said:
                raise PenstockError(
                    f"Line {line.number} of the trace lacks the bytes of what {line.node} sent."
                )
            found[line.number] = _flights(line)
        return found

    def joining(self, actors: frozenset[str]) -> Iterator[Turn]:
        """Yield the steps by which the switches joined."""
        for line in self._trace.joining:
            yield _turn_of(Turn(line, line.transition, is_brief=True), actors, _flights(line))

    # Steps.

    def steps(self) -> Iterator[Turn]:
        """Yield the steps of the trace as they are."""
        moments = _moments(self._trace.lines)
        for line, moment in zip(self._trace.lines, moments, strict=True):
            verb = line.transition.partition(" ")[0]
            if verb == INJECT:
                yield Turn(line, puts=(self.put_in(line),), moment=moment)
            else:
                yield Turn(line, line.transition, moment=moment, falls_due=verb == TIME)

    def turns(self, actors: frozenset[str], said: Mapping[int, tuple[InFlight, ...]]) -> Iterator[Turn]:
        """Yield the steps as they are taken with silent actors, given what those said."""
        for turn in self.steps():
            yield _turn_of(turn, actors, said.get(turn.line.number, ()))


def _turn_of(turn: Turn, actors: frozenset[str], said: tuple[InFlight, ...]) -> Turn:
    """Return a step as it is taken with silent actors: one that hears something only takes it."""
    line = turn.line
    if line.node not in actors or turn.transition is None:
        return turn
    taken = line.transition if line.message is not None else None
    return replace(turn, transition=taken, puts=said, falls_due=False)


def _flights(line: Line) -> tuple[InFlight, ...]:
    return tuple(InFlight(endpoint_of(each.channel), each.message) for each in line.said)


def _decoded(line: Line, wire: bytes) -> Message:
    """Return the message in a line's bytes; of an echo's only the first are written."""
    if len(wire) >= _HEADER and wire[1] in _ECHOES:
        wire = wire.ljust(int.from_bytes(wire[2:4]), b"\0")
    try:
        return decode(wire, line.version)
    except OpenFlowError as error:
        raise PenstockError(f"Line {line.number} of the trace has no OpenFlow message: {error}") from None


def _moments(lines: tuple[Line, ...]) -> list[int | None]:
    """Return how far the clock goes before each line, but not as far as what falls due after it.

    With processes the time of a line is that of the wall clock, which may be ahead of the model's.
    """
    found: list[int | None] = []
    bound: int | None = None
    for line in reversed(lines):
        verb, _, rest = line.transition.partition(" ")
        moment = rest.rpartition(":")[2]
        if verb == TIME and moment.isdecimal() and len(moment) < 16:
            found.append(int(moment))
            bound = int(moment)
        elif line.at is None or bound is None or line.at < bound:
            found.append(line.at)
        else:
            found.append(bound - 1)
        if (found[-1] or 0) > MOST_MS:
            raise PenstockError(f"Line {line.number} of the trace is of a time that no run reaches.")
    return found[::-1]


def _compare_said(turn: Turn) -> None:
    """Refuse a step whose bytes are not those of the messages that it tells of."""
    line = turn.line
    if not turn.puts or not line.said or turn.is_brief:
        return
    texts = set(map(str, turn.puts))
    if not set(line.sends) <= texts <= {*line.sends, *line.lost}:
        raise PenstockError(f"its bytes say {'; '.join(sorted(texts))}")


class Player:
    """Takes turns on a world, and tells of the first that does not go as recorded."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.failure = ""
        """Why the last turn could not be taken, if so."""
        self._ledgers: dict[str, Ledger] = {}
        self._due: list[Record] = []
        """What happened because its time had come, and no line has told of yet."""
        world.observe(self._observe)

    def _observe(self, record: Record) -> None:
        if record.transition.verb == TIME and (record.sends or record.events):
            self._due.append(record)

    def forget(self) -> None:
        """Forget what fell due, since the world went back to an earlier moment."""
        self._due.clear()

    def take(self, turn: Turn) -> Record | None:
        """Take a turn; return what it did, if it could be taken and did anything by itself."""
        self.failure = ""
        world = self.world
        record: Record | None = None
        try:
            if turn.moment is not None and turn.moment > world.clock:
                world.elapse(turn.moment - world.clock)
            if turn.falls_due:
                record = self._fell_due(turn.line.node)
            elif turn.transition is not None:
                record = world.take(turn.transition)
                self._hand_over(record)
            _compare_said(turn)
            for channel, message in turn.puts:
                # What an actor said is in the trace with the packet's name, what came on a socket is not.
                known = message if turn.line.said else self._named(channel, message)
                put = world.inject(channel, known)
                record = put if record is None else record
        except (PenstockError, ComponentRaised, ValueError) as error:  # a stranger's port may be no number
            self.failure = str(error).rstrip(".")[:300]
        return record

    def _fell_due(self, node: str) -> Record:
        for late in (0, SLACK_MS):
            if late and not self._due:
                self.world.elapse(late)
            for place, record in enumerate(self._due):
                if record.node == node:
                    return self._due.pop(place)
        raise PenstockError(f"nothing falls due at {node}")

    # Packets are called again what they were called when a controller gives them back.

    def _hand_over(self, record: Record) -> None:
        if isinstance(record.message, PacketIn) and record.message.tag:
            ledger = self._ledgers.setdefault(record.node, Ledger())
            ledger.hand_over(record.transition.node, record.message)

    def _named(self, channel: Endpoint, message: Any) -> Any:
        ledger = self._ledgers.get(channel.node)
        return message if ledger is None else ledger.take_back(str(channel.port), message)
