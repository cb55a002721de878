"""The player: takes the steps of a trace again, one by one, and tells of the first that goes another way.

A trace says what happened and not what was in the tables, what a message was and not its text.  Whoever
wants to know takes the run again: replays compare it, reports look at the states between the steps, captures
at the messages, root-causing at the switches.  They all do so by a `TracePlayer`, on a `Playable`: the
network of the trace, where it begins, and one `Turn` for each step.

Without the user's consent nothing that the trace names is run.  It has what controllers and other actors said
byte by byte (see `scene`); what comes out, as with OFRewind, is a network in which every actor is silent, and
turns that put in what they said.  With consent, controllers that run in process say again what they said: a
search is taken again in its own network, a proof in the lifted one.  Those that were processes are never
started; their words are in the trace.

A header may be too short for a large network, and a stranger's trace may lack the bytes.  With consent the
actors are then run once, step by step as recorded, and what they say is put into the trace (`said_again`).
One that does something else this time is told of in one sentence, since its messages are then not those of
the trace.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, assert_never

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
from penstock._replay.inert import inert_network
from penstock._trace.consent import Consent, runnable, what_runs
from penstock._trace.scene import Scene, said_in
from penstock._trace.trace import (
    AnyTrace,
    FuzzTrace,
    InputLine,
    Line,
    ProofTrace,
    SearchTrace,
    first_lasting,
    joining_lines,
    read_trace,
    trace_file,
)
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
from penstock.openflow.messages import OpenFlowMessage, PacketIn
from penstock.openflow.wire import decode

MOST_MS: Final = 10**9
"""No run lasts longer than this, eleven days; a stranger's trace may say so."""
SLACK_MS: Final = 500
"""How much later than recorded something may fall due, since a process's trace tells times only about."""
_KEPT_EVERY: Final = 500
"""After how many steps a moment is kept to come back to."""
MOST_SHOWN: Final = 200
"""How much is shown of a step that went another way."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One step of a trace, to be taken again."""

    line: Line
    transition: str | None = None
    """What is taken, unless it was the doing of an actor that is silent."""
    puts: tuple[InFlight, ...] = ()
    """What is put on channels from outside after that: what an actor said."""
    moment: int | None = None
    """How far the clock goes before it."""
    is_brief: bool = False
    """Whether its line has only the bytes of what was said, and no words for that."""
    falls_due: bool = False
    """Whether it is something that happens by itself when the clock gets there."""


@dataclass(frozen=True, slots=True)
class Playable:
    """A trace ready to be played: the network, where that begins, and the turns."""

    trace: AnyTrace
    network: Network
    start: GlobalState
    turns: tuple[Turn, ...]
    silent: frozenset[str] = frozenset()
    """Who is silent in it, since what they said is put in."""

    @property
    def switches(self) -> tuple[str, ...]:
        """The names of the switches."""
        return tuple(made.name for made in self.network.components if isinstance(made, Switch))

    @property
    def stations(self) -> Mapping[str, Station]:
        """The hosts as those know them who send packets."""
        return _stations(self.network)

    @property
    def end(self) -> int:
        """The line at which a look is most telling: the first lasting violation, or else the last."""
        finding = first_lasting(self.trace)
        if finding is not None:
            return finding.number
        return self.turns[-1].line.number if self.turns else 0


def playable(trace: AnyTrace, base: Path, consent: Consent | None = None) -> Playable:
    """Return a trace to be played; `base` is the folder that it is in.

    Without consent every actor is silent and nothing is run; with it, controllers in process run.
    """
    if consent is None:
        return silent_playable(trace)
    match trace:
        case ProofTrace():
            from penstock._verify.replaying import lifted_again

            model = lifted_again(trace, base, consent).model
            return playable_in(trace, model.network, model.start)
        case SearchTrace():
            built = build(runnable(trace, base, consent))
            return playable_in(trace, built.network, built.start)
        case FuzzTrace():
            network = build_setting(runnable(trace, base, consent)).network
            return playable_in(trace, network, network.initial())
        case _:
            assert_never(trace)


def playable_in(trace: AnyTrace, network: Network, start: GlobalState) -> Playable:
    """Return a trace to be played in a network in which nobody is silent."""
    return Playable(trace, network, start, tuple(_Reading(trace, network).steps()))


def silent_playable(trace: AnyTrace) -> Playable:
    """Return a trace to be played with every actor silent; nothing is run."""
    try:
        inert = inert_network(trace)
        reading = _Reading(trace, inert.network)
        said = {} if inert.actors <= inert.processes else reading.said(inert.actors)
        start = _join_switches(inert.network, reading.joining(inert.actors))
    except PenstockError as error:
        text, run = str(error).rstrip("."), what_runs(trace.scenario)
        raise PenstockError(f"{text}: --run runs {run} for it.") from None
    turns = tuple(reading.turns(inert.actors, said))
    return Playable(trace, inert.network, start, turns, inert.actors)


def load_switches(path: Path, consent: Consent | None = None) -> Playable:
    """Read a trace, or that of a run's folder, to be played to its switches alone.

    With consent, what the trace lacks of its actors' words is found out by running them.
    """
    file = trace_file(path)
    trace = read_trace(file)
    if isinstance(trace, ProofTrace):
        raise PenstockError(f"{path} is of a proof, whose messages are sets of packets: use penstock show.")
    return silent_playable(trace if consent is None else said_again(trace, file.parent, consent))


def said_again(trace: SearchTrace | FuzzTrace, base: Path, consent: Consent) -> SearchTrace | FuzzTrace:
    """Return a trace with all that its actors said, after they were run again for it."""
    scenario = runnable(trace, base, consent)
    scene: Scene | None
    if isinstance(trace, FuzzTrace):
        setting = build_setting(scenario)
        network, start, scene = setting.network, setting.network.initial(), setting.scene
    else:
        built = build(scenario)
        network, start, scene = built.network, built.start, built.scene
    assert scene is not None, "a scenario's network was drawn"
    lines = []
    for played in TracePlayer(playable_in(trace, network, start)).steps():
        line, record = played.line, played.record
        if played.failure or record is None or line.differs_from(record):
            why = played.failure or f"now it is {str(record)[:MOST_SHOWN]}"
            raise PenstockError(
                f"The controller diverges at line {line.number}, so what it sent is not known: {why}."
            )
        own = line.node in scene.actors and line.wire is None
        lines.append(replace(line, said=said_in(record, scene.version)) if own else line)
    joining = tuple(joining_lines(scene))
    return replace(trace, lines=tuple(lines), joining=joining, network=scene.as_json())


def _join_switches(network: Network, turns: Iterator[Turn]) -> GlobalState:
    """Return a network as it is once its switches have joined as they did."""
    world = World(network)
    taker = _Taker(world)
    for turn in turns:
        _, failure = taker.take(turn)
        if failure:
            raise PenstockError(f"The switches join in another way than recorded ({failure}).")
    return world.snapshot()


def _stations(network: Network) -> dict[str, Station]:
    return {
        made.name: Station(made.name, made.mac, made.ip, made.port)
        for made in network.components
        if isinstance(made, Host)
    }


class _Reading:
    """A trace whose messages are being found out."""

    def __init__(self, trace: AnyTrace, network: Network) -> None:
        self._trace = trace
        self._stations = _stations(network)
        self._inputs = {line.number: line.text for line in trace.items if isinstance(line, InputLine)}

    # What came from outside.

    def put_in(self, line: Line) -> InFlight:
        """Return what a step put on a channel from outside."""
        channel = endpoint_of(line.transition.partition(" ")[2])
        return InFlight(channel, self._message(line))

    def _message(self, line: Line) -> Message:
        given = [input_of(self._inputs[cause]) for cause in line.causes if cause in self._inputs]
        what = given[0] if given else None
        if line.octets is not None:
            return _decode(line, line.octets)
        if line.wire is not None:
            return Frame(line.wire, what.tag if isinstance(what, InjectFrame) else "")
        match what:
            case SendPacket():
                return order_of(what, self._stations)
            case LimitTables(_, entries):
                return TableLimit(entries)
            case ForgetEntry(_, number):
                return EntryForgotten(number)
            case IgnoreFlowMods(_, count):
                return FlowModsIgnored(count)
        raise PenstockError(
            f"Line {line.number} of the trace injects a message without its bytes or its input: "
            "it cannot be played."
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


def _decode(line: Line, octets: bytes) -> Message:
    """Return the message in a line's bytes."""
    try:
        return decode(octets, line.version)
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
            raise PenstockError(f"Line {line.number} of the trace has a time out of range.")
    return found[::-1]


def _compare_said(turn: Turn) -> None:
    """Refuse a step whose bytes are not those of the messages that it tells of."""
    line = turn.line
    if not turn.puts or not line.said or turn.is_brief:
        return
    texts = set(map(str, turn.puts))
    if not set(line.sends) <= texts <= {*line.sends, *line.lost}:
        raise PenstockError(f"its bytes say {'; '.join(sorted(texts))}")


class _Taker:
    """Takes turns in a world."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._ledgers: dict[str, Ledger] = {}
        self._due: list[Record] = []
        """What happened because its time had come, and no line has told of yet."""
        self.seen: list[Record] = []
        """What happened in the last turn."""
        world.observe(self._observe)

    def _observe(self, record: Record) -> None:
        self.seen.append(record)
        if record.transition.verb == TIME and (record.sends or record.events):
            self._due.append(record)

    def forget(self) -> None:
        """Forget what fell due, since the world went back to an earlier moment."""
        self._due.clear()

    def take(self, turn: Turn) -> tuple[Record | None, str]:
        """Take a turn; return what it did, if it did anything by itself, and why it could not be taken."""
        self.seen.clear()
        record: Record | None = None
        try:
            if turn.moment is not None and turn.moment > self._world.clock:
                self._world.elapse(turn.moment - self._world.clock)
            if turn.falls_due:
                record = self._fell_due(turn.line.node)
            elif turn.transition is not None:
                record = self._world.take(turn.transition)
                self._hand_over(record)
            _compare_said(turn)
            for channel, message in turn.puts:
                # What an actor said is in the trace with the packet's name, what came on a socket is not.
                known = message if turn.line.said else self._with_recorded_ids(channel, message)
                put = self._world.inject(channel, known)
                record = put if record is None else record
        except (PenstockError, ComponentRaised, ValueError) as error:  # a stranger's port may be no number
            return record, str(error).rstrip(".") or type(error).__name__
        return record, ""

    def _fell_due(self, node: str) -> Record:
        for late in (0, SLACK_MS):
            if late and not self._due:
                self._world.elapse(late)
            for place, record in enumerate(self._due):
                if record.node == node:
                    return self._due.pop(place)
        raise PenstockError(f"no timeout is due at {node}")

    # Packets are called again what they were called when a controller gives them back.

    def _hand_over(self, record: Record) -> None:
        if isinstance(record.message, PacketIn) and record.message.tag:
            ledger = self._ledgers.setdefault(record.node, Ledger())
            ledger.hand_over(record.transition.node, record.message)

    def _with_recorded_ids(self, channel: Endpoint, message: Message) -> Message:
        ledger = self._ledgers.get(channel.node)
        if ledger is None or not isinstance(message, OpenFlowMessage):
            return message
        return ledger.take_back(str(channel.port), message)


@dataclass(frozen=True, slots=True)
class Played:
    """A step of a trace that was taken again."""

    turn: Turn
    record: Record | None
    """What it did, if it could be taken and did anything by itself."""
    sends: tuple[InFlight, ...]
    """What was really sent in it."""
    failure: str = ""
    """Why it could not be taken, if so."""
    differs: bool = False
    """Whether it did something else than was recorded."""

    @property
    def line(self) -> Line:
        """What the trace tells of it."""
        return self.turn.line

    @property
    def difference(self) -> str:
        """How it did not go as recorded; empty if it did."""
        return self.failure or (f"it is now {str(self.record)[:MOST_SHOWN]}" if self.differs else "")


@dataclass(frozen=True, slots=True)
class Difference:
    """The first line that did not go as recorded."""

    line: int
    how: str


class TracePlayer:
    """A run at one moment of it, to be gone through forward and back.

    Going back goes to a moment that was kept, and forward from there.
    """

    def __init__(self, playable: Playable) -> None:
        self.playable = playable
        self.world = World(playable.network)
        self.world.restore(playable.start)
        self._taker = _Taker(self.world)
        self._taken = 0
        self._kept: dict[int, GlobalState] = {0: playable.start}
        self.difference: Difference | None = None

    @property
    def line(self) -> int:
        """The number of the last line that was taken; 0 at the beginning."""
        return self.playable.turns[self._taken - 1].line.number if self._taken else 0

    @property
    def is_at_end(self) -> bool:
        """Tell whether there is nothing left to take."""
        return self._taken == len(self.playable.turns)

    def steps(self) -> Iterator[Played]:
        """Yield the steps that are left, one by one; `world` is then as it was right after each."""
        while not self.is_at_end:
            yield self.forward()

    def forward(self) -> Played:
        """Take the next line; return what it did."""
        if self.is_at_end:
            raise PenstockError(f"Line {self.line} is the last step of the trace: go back, or quit.")
        turn = self.playable.turns[self._taken]
        record, failure = self._taker.take(turn)
        self._taken += 1
        if self._taken % _KEPT_EVERY == 0:
            self._kept.setdefault(self._taken, self.world.snapshot())
        differs = not failure and self._differs(turn.line, record)
        played = Played(turn, record, self._sends(turn, record), failure, differs)
        if played.difference and self.difference is None:
            self.difference = Difference(turn.line.number, played.difference)
        return played

    def _differs(self, line: Line, record: Record | None) -> bool:
        # What a process says is lost where nobody listens, and the trace tells that of the same step; one who
        # is silent does nothing that the trace could be held against.
        if record is None or record.transition.verb == INJECT or line.node in self.playable.silent:
            return False
        return line.differs_from(record)

    def _sends(self, turn: Turn, record: Record | None) -> tuple[InFlight, ...]:
        if turn.falls_due:
            # It happened when its moment came, which may have been before its line.
            return () if record is None else record.sends
        seen = (each for each in self._taker.seen if each.transition.verb != TIME)
        return tuple(flight for each in seen for flight in each.sends)

    def go_to(self, line: int) -> None:
        """Go to the moment right after a line."""
        turns = self.playable.turns
        if line < self.line:
            place = max(n for n in self._kept if not n or turns[n - 1].line.number <= line)
            self.world.restore(self._kept[place])
            self._taker.forget()
            self._taken = place
        while not self.is_at_end and turns[self._taken].line.number <= line:
            self.forward()

    def go_back(self, steps: int) -> None:
        """Go back some steps, at most to the beginning."""
        place = self._taken - steps
        self.go_to(self.playable.turns[place - 1].line.number if place > 0 else 0)
