"""A trace as what has to be done to switches alone so that everything in it happens again.

A replay without controllers, as OFRewind makes it, needs the messages that they sent.  What a process sent
is in the trace, byte by byte.  Of a controller that runs in process the trace has only texts; there it is
run again once, step by step as recorded, and what it sends is kept.  A controller that does something
else this time is told of in one sentence, since its messages are then not those of the trace.

What comes out is a network in which every controller is silent, and one `Turn` for each step of the trace.
Hosts that send whatever makes a difference look at what a controller knows; for them, and only for them, a
silent controller is given the knowledge that it had.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from penstock.controllers.held import Ledger
from penstock.controllers.tcp.remote import ELSEWHERE, RemoteController
from penstock.errors import PenstockError
from penstock.fuzz.building import build_setting
from penstock.fuzz.inputs import (
    ForgetEntry,
    IgnoreFlowMods,
    InjectFrame,
    LimitTables,
    SendPacket,
    endpoint_of,
    input_of,
)
from penstock.fuzz.traffic import Station, order_of
from penstock.minimize.script import is_fuzzed, trace_file
from penstock.openflow.messages import PacketIn
from penstock.openflow.refusals import Refused
from penstock.openflow.wire import decode
from penstock.report.past import first_lasting
from penstock.scenario import scenario_of
from penstock.trace import Line, Trace, read_trace
from penstock.world.component import Aware, Endpoint, Message
from penstock.world.frame import Frame
from penstock.world.hosts import Host
from penstock.world.network import ComponentRaised, GlobalState, Network
from penstock.world.signals import EntryForgotten, FlowModsIgnored, TableLimit
from penstock.world.switch import Switch
from penstock.world.transition import INJECT, TIME, InFlight, Record
from penstock.world.world import World

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
    minds: tuple[tuple[str, Any], ...] = ()
    """What controllers know after it, where hosts go by that."""
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


def load_recording(path: Path) -> Recording:
    """Read a trace, or that of a run's folder, and find out all that its controllers sent."""
    file = trace_file(path)
    return recording_of(read_trace(file), file.parent)


def recording_of(trace: Trace, base: Path, *, speaking: bool = False) -> Recording:
    """Return a trace as a recording; `base` is the folder that the trace is in.

    With `speaking`, controllers that run in process stay in the network and say again what they said.
    """
    scenario = scenario_of(trace.scenario, base / trace.folder)
    if is_fuzzed(trace):
        setting = build_setting(scenario)
        network, start = setting.network, setting.network.initial()
        controllers = frozenset(setting.controllers)
        processes = frozenset(setting.commands)
    else:
        built = scenario.build()
        network, start = built.network, built.start
        controllers = _spoken_to(network)
        processes = frozenset()
    stations = {
        made.name: Station(made.name, made.mac, made.ip, made.port)
        for made in network.components
        if isinstance(made, Host)
    }
    reading = _Reading(trace, network, stations, controllers)
    if speaking:
        return Recording(trace, network, start, tuple(reading.steps()), frozenset(), stations)
    sent = {} if controllers <= processes else reading.run_again(start)
    quiet = _without(network, controllers)
    if not reading.is_watched:
        silent = zip(network.names, start.states, strict=True)
        states = tuple(ELSEWHERE if name in controllers else state for name, state in silent)
        start = start._replace(states=states)
    turns = tuple(reading.turns(sent))
    return Recording(trace, quiet, start, turns, controllers, stations)


def _spoken_to(network: Network) -> frozenset[str]:
    """Return the names of the controllers of a network that a search goes through."""
    kinds = (Host, Switch)
    return frozenset(made.name for made in network.components[:-1] if not isinstance(made, kinds))


def _without(network: Network, controllers: frozenset[str]) -> Network:
    """Return a network whose controllers say nothing."""
    others = network.components[:-1]
    made = [RemoteController(one.name) if one.name in controllers else one for one in others]
    return Network(made, network.fabric, network.channels[len(others) :])


class _Reading:
    """A trace whose messages are being found out."""

    def __init__(
        self, trace: Trace, network: Network, stations: Mapping[str, Station], controllers: frozenset[str]
    ) -> None:
        self._trace = trace
        self._network = network
        self._stations = stations
        self._controllers = controllers
        self.is_watched = any(isinstance(made, Aware) for made in network.components)
        """Whether somebody looks at what a controller knows."""
        self._minds: dict[int, tuple[tuple[str, Any], ...]] = {}
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
                return order_of(what, self._stations)
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

    # What controllers in process sent.

    def run_again(self, start: GlobalState) -> dict[int, tuple[InFlight, ...]]:
        """Take all steps again, controllers and all, and return what these sent, by line."""
        world = World(self._network)
        world.restore(start)
        player = Player(world)
        found: dict[int, tuple[InFlight, ...]] = {}
        for turn in self.steps():
            record = player.take(turn)
            line = turn.line
            if player.failure or record is None or line.differs_from(record):
                raise PenstockError(
                    f"The controller does not do the same again at line {line.number}, so what it sent "
                    f"is not known: {player.failure or f'now it is {str(record)[:200]}'}."
                )
            if line.node in self._controllers:
                found[line.number] = (*record.sends, *_lost_at_once(record))
                if self.is_watched:
                    self._minds[line.number] = ((line.node, world.state(line.node)),)
        return found

    def steps(self) -> Iterator[Turn]:
        """Yield the steps of the trace as they are."""
        moments = _moments(self._trace.lines)
        for line, moment in zip(self._trace.lines, moments, strict=True):
            verb = line.transition.partition(" ")[0]
            if verb == INJECT:
                yield Turn(line, puts=(self.put_in(line),), moment=moment)
            else:
                yield Turn(line, line.transition, moment=moment, falls_due=verb == TIME)

    def turns(self, sent: Mapping[int, tuple[InFlight, ...]]) -> Iterator[Turn]:
        """Yield the steps as they are taken without controllers, given what those sent."""
        for turn in self.steps():
            line = turn.line
            if line.node not in self._controllers or turn.transition is None:
                yield turn
            else:
                taken = line.transition if line.message is not None else None
                puts, minds = sent.get(line.number, ()), self._minds.get(line.number, ())
                yield replace(turn, transition=taken, puts=puts, minds=minds, falls_due=False)


def _lost_at_once(record: Record) -> tuple[InFlight, ...]:
    """Return what a step sent into the void, as opposed to what was lost on its way."""
    return tuple(flight for flight in record.lost if flight.channel.node == record.node)


def _decoded(line: Line, wire: bytes) -> Message:
    """Return the message in a line's bytes; of an echo's only the first are written."""
    if len(wire) >= _HEADER and wire[1] in _ECHOES:
        wire = wire.ljust(int.from_bytes(wire[2:4]), b"\0")
    try:
        return decode(wire, line.version)
    except Refused as error:
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
            for channel, message in turn.puts:
                put = world.inject(channel, self._named(channel, message))
                record = put if record is None else record
            self._know(turn.minds)
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

    def _know(self, minds: tuple[tuple[str, Any], ...]) -> None:
        """Have controllers know something."""
        if minds:
            now = self.world.snapshot()
            states = list(now.states)
            for name, state in minds:
                states[self.world.network.places[name]] = state
            self.world.restore(now._replace(states=tuple(states)))

    # Packets are called again what they were called when a controller gives them back.

    def _hand_over(self, record: Record) -> None:
        if isinstance(record.message, PacketIn) and record.message.tag:
            ledger = self._ledgers.setdefault(record.node, Ledger())
            ledger.hand_over(record.transition.node, record.message)

    def _named(self, channel: Endpoint, message: Any) -> Any:
        ledger = self._ledgers.get(channel.node)
        return message if ledger is None else ledger.take_back(str(channel.port), message)
