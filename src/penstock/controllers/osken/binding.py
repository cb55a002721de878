"""An os-ken or Ryu program as a component of the world.

    controller = OsKenController(("ryu.app.simple_switch_13",), {"s1": 1, "s2": 2})

Each switch's session begins with the action `join s1`, as when a switch connects: the program makes
its datapath and says hello, and the switch's hello is taken as having come along.  What follows -
features, ports, the apps' own rules - are messages over the channels.  What a switch sends before
it has joined, and another hello, goes unheard.

Timers are actions too, `timer 10s simple_monitor_13._monitor`; only the earliest may go off.  Each
that does spends one of `timers`, so by default none does (None: no end to them).  `World.advance`
lets them go off whatever the budget.

A handler that raises is an event `crashed` (who, what, the traceback), and as in os-ken the program
goes on.  A program that does not come to rest is an event `hung`; from then on it does nothing.
What the program logs or prints are events `log`, a message that makes no sense on the wire is an
event `malformed`, a session that it ends by itself is an event `closed` (the switch may then join
again).

Tasks switch only where they wait, first come first served: other orders within one step are not
tried.  Threads, sockets and files that a program opens by itself, past os-ken's hub, are beyond
control, and so is the order in which a set gives out strings or objects.

`switches` maps their names to their datapath ids.  The ids are what the switches themselves say;
they are asked for here so that a mistake shows early.
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import blake2b
from types import ModuleType
from typing import Any, Final

from penstock.controllers.osken import stacks
from penstock.controllers.osken.determinism import scrubbed
from penstock.controllers.osken.hub import Overrun
from penstock.controllers.osken.program import (
    Arrive,
    Circumstances,
    Doings,
    Fire,
    History,
    Input,
    Join,
    Leave,
    Pass,
    Program,
    Start,
)
from penstock.controllers.osken.sessions import held_xids
from penstock.controllers.reactions import Reaction
from penstock.controllers.snapshot import Snapshot
from penstock.errors import PenstockError
from penstock.openflow.messages import NO_BUFFER, FeaturesReply, Hello, OpenFlowMessage, PacketIn, PacketOut
from penstock.openflow.refusals import Refused
from penstock.openflow.wire import decode, encode
from penstock.symbolic.code.in_place import sources
from penstock.symbolic.packets.inputs import Question
from penstock.symbolic.run import unnoticed
from penstock.symbolic.space import Inputs
from penstock.world.component import Event, Port, Send, Step
from penstock.world.signals import FABRIC, Carrier, Power

_JOIN: Final = "join "
_TIMER: Final = "timer "
_MILLISECOND: Final = 1000


@dataclass(frozen=True, slots=True)
class OsKenState:
    """A program's state: who may join, the timers that may still go off, and all that is in memory.

    The rest follows from these, or is how the state came about.
    """

    waiting: tuple[str, ...]
    timers: int | None
    snapshot: Snapshot
    hung: bool = False
    joined: frozenset[str] = field(default=frozenset(), compare=False)
    due: tuple[str, ...] = field(default=(), compare=False)
    """The timers that go off next."""
    due_at: int | None = field(default=None, compare=False)
    """When they do, in microseconds of the world's time."""
    began: int = field(default=0, compare=False)
    """The world's time when the program's was 0, in microseconds."""
    passed: int = field(default=0, compare=False)
    """The program's time."""
    clock_read: bool = field(default=False, compare=False)
    history: History | None = field(default=None, compare=False, repr=False)


class OsKenController:
    """Unmodified os-ken or Ryu apps, run in process.

    `version` is the OpenFlow version to speak (by default the newest that the apps and the model
    have in common), `options` what the command line of os-ken would be given, `seconds` the
    computing time a step may take, `lines` how many lines of output are kept of each.

    With `ordered`, states differ in which order keys came into dictionaries, because a program that
    goes through one can tell.  Without it there are fewer states, and what such a program does in
    one of them may depend on how it was first reached.

    With `followed`, the apps' code is rewritten in memory so that questions can be posed: what would
    they do with a message of which only some of the contents matter.
    """

    sees_numbers = False

    def __init__(
        self,
        apps: tuple[str, ...],
        switches: Mapping[str, int],
        *,
        version: int | None = None,
        name: str = "c0",
        timers: int | None = 0,
        observe_links: bool = False,
        options: Mapping[str, Any] | None = None,
        seconds: float = 2.0,
        lines: int = 20,
        ordered: bool = True,
        followed: bool = False,
    ) -> None:
        if timers is not None and timers < 0:
            raise PenstockError(f"{timers} timers cannot go off: give a number from 0 up, or None.")
        self.name = name
        self.switches = dict(switches)
        names = (apps,) if isinstance(apps, str) else tuple(apps)
        given = {"observe_links": observe_links, **(options or {})}
        self._program = Program(
            names, version, given, seconds=seconds, lines=lines, ordered=ordered, followed=followed
        )
        self.version = self._program.version
        self._greeting = encode(Hello(frozenset({self.version})), self.version)
        self._timers = timers
        self._opaque: frozenset[str] = frozenset()
        self._first = self._start()

    def _start(self) -> OsKenState:
        program = self._program
        circumstances = Circumstances(b"", frozenset())
        try:
            doings = program.perform(Start(), circumstances)
        except Overrun as error:
            raise PenstockError(f"{program.name} does not come to rest when started: {error}.") from None
        if doings.crashes:
            crash = doings.crashes[0]
            text = f"({type(crash).__name__}: {crash}): mend it"
            raise PenstockError(f"{program.name} fails when started {text}.") from crash
        blank = OsKenState(tuple(self.switches), self._timers, program.base)
        return self._state(blank, History(program.base), Start(), circumstances)

    def _state(
        self, before: OsKenState, history: History, what: Input, circumstances: Circumstances
    ) -> OsKenState:
        """Return the state that the program is in now, after something happened in another."""
        program = self._program
        agenda = program.hub.agenda
        began = before.began + program.rebase()
        snapshot = program.save()
        self._opaque |= snapshot.opaque
        return OsKenState(
            before.waiting,
            before.timers,
            snapshot,
            joined=frozenset(program.sessions),
            due=tuple(program.hub.next_timers()) if agenda.timers else (),
            due_at=began + agenda.timers[0].when if agenda.timers else None,
            began=began,
            passed=agenda.now,
            clock_read=agenda.clock_read,
            history=History(snapshot, history, what, circumstances),
        )

    @property
    def blind_spots(self) -> tuple[str, ...]:
        """The types of objects, met so far, in which the program may keep what cannot be put back."""
        return tuple(sorted(self._opaque))

    # The component.

    def initial(self) -> OsKenState:
        """Return the program as it is once started, with every switch still to join."""
        return self._first

    def actions(self, state: OsKenState) -> tuple[str, ...]:
        """Return which switches may join, and which timers may go off."""
        if state.hung:
            return ()
        joins = tuple(_JOIN + switch for switch in state.waiting)
        return joins if state.timers == 0 else joins + tuple(_TIMER + timer for timer in state.due)

    def act(self, state: OsKenState, action: str) -> Step:
        """Let a switch join, or a timer go off."""
        if action not in self.actions(state):
            raise PenstockError(f"{self.name} cannot {action!r} now: choose one of its actions.")
        if action.startswith(_JOIN):
            switch = action.removeprefix(_JOIN)
            waiting = tuple(name for name in state.waiting if name != switch)
            number = list(self.switches).index(switch) + 1
            return self._run(replace(state, waiting=waiting), Join(switch, number, self._greeting))
        left = None if state.timers is None else state.timers - 1
        return self._run(replace(state, timers=left), Fire(action.removeprefix(_TIMER)))

    def receive(self, state: OsKenState, port: Port, message: Any) -> Step:
        """Have the program handle what a switch sent, or that a session came or went."""
        if port == FABRIC:
            return self._signal(state, message)
        if state.hung or port not in state.joined or isinstance(message, Hello):
            return Step(state)
        if isinstance(message, FeaturesReply) and message.datapath_id != self.switches[str(port)]:
            told = f"{port} says that its datapath id is {message.datapath_id}"
            raise PenstockError(
                f"{told}, but {self.name} was given {self.switches[str(port)]}: give the same."
            )
        packet = message if isinstance(message, PacketIn) else None
        return self._run(state, Arrive(str(port), encode(message, self.version)), packet)

    def _signal(self, state: OsKenState, signal: Carrier | Power) -> Step:
        if isinstance(signal, Power):
            return Step(self._restarted(state))
        if state.hung:
            return Step(state)
        switch = str(signal.port)
        before = replace(state, waiting=self._waiting(state, switch, present=signal.up))
        if signal.up or switch not in state.joined:
            return Step(before)
        return self._run(before, Leave(switch))

    def _restarted(self, state: OsKenState) -> OsKenState:
        """Return the program as it is once started, at the world's time as it is now."""
        first, now = self._first, state.began + state.passed
        due_at = None if first.due_at is None else first.due_at + now
        return replace(first, waiting=(), timers=state.timers, began=first.began + now, due_at=due_at)

    def _waiting(self, state: OsKenState, switch: str, *, present: bool) -> tuple[str, ...]:
        kept = {*state.waiting, switch} if present else {*state.waiting} - {switch}
        return tuple(name for name in self.switches if name in kept)

    # Time.

    def deadline(self, state: OsKenState) -> int | None:
        """Return when the next timer goes off."""
        return None if state.due_at is None or state.hung else -(-state.due_at // _MILLISECOND)

    def advance(self, state: OsKenState, now: int) -> Step:
        """Let time pass; timers go off at their moments, in order."""
        until = now * _MILLISECOND - state.began
        if state.hung or until <= state.passed:
            return Step(state)
        if state.due_at is None and not state.clock_read:
            return Step(replace(state, began=now * _MILLISECOND))
        return self._run(state, Pass(until))

    # Steps.

    def _run(self, state: OsKenState, what: Input, packet: PacketIn | None = None) -> Step:
        """Have something happen to the program in a state."""
        program, before = self._program, state.snapshot
        assert state.history is not None
        program.enter(before, state.history)
        circumstances = Circumstances(_seed(before, what), held_xids(before))
        try:
            doings = program.perform(what, circumstances)
        except Overrun as error:
            program.forget()
            return Step(replace(state, hung=True), (), (Event("hung", (self.name, str(error))),))
        except BaseException:
            program.forget()
            raise
        history = state.history if stacks.marks(before) else History(before)
        after = self._state(state, history, what, circumstances)
        for switch in doings.closed:
            after = replace(after, waiting=self._waiting(after, switch, present=True))
        sends, malformed = self._sends(doings, packet)
        return Step(after, tuple(sends), (*self._events(doings), *malformed))

    # Questions.

    def sources(self) -> list[str]:
        """Return the source texts of the program."""
        return sources(self.modules())

    def modules(self) -> list[ModuleType]:
        """Return the modules that the program is made of."""
        return self._program.modules()

    def hears(self, state: OsKenState, switch: str) -> bool:
        """Tell whether the program would take in what a switch sends."""
        return not state.hung and switch in state.joined

    def pose(self, state: OsKenState, switch: str, question: Question, inputs: Inputs) -> Reaction:
        """Run the program on a message whose contents are followed, and forget what it did."""
        program = self._program
        assert state.history is not None
        program.enter(state.snapshot, state.history)
        what = Arrive(switch, encode(question.message(inputs), self.version))
        # Chance is the same whatever the contents, so that only they decide.
        circumstances = Circumstances(state.snapshot.digest, held_xids(state.snapshot))
        try:
            doings = program.perform(what, circumstances, partial(question.follow_osken, inputs))
        except Overrun as error:
            return Reaction((), (Event("hung", (self.name, str(error))),))
        finally:
            program.forget()
        sends, malformed = self._sends(doings, None)
        return Reaction(tuple(sends), (*self._events(doings), *malformed))

    def _sends(self, doings: Doings, packet: PacketIn | None) -> tuple[list[Send], list[Event]]:
        sends: list[Send] = []
        malformed: list[Event] = []
        for switch, data in doings.sent:
            try:
                message = decode(data)
            except Refused as refused:
                malformed.append(Event("malformed", (self.name, switch, str(refused))))
                continue
            sends.append(Send(switch, _tagged(message, packet)))
        return sends, malformed

    def _events(self, doings: Doings) -> list[Event]:
        events = [Event("log", (self.name, line)) for line in doings.lines]
        # What is written about a crash decides nothing.
        with unnoticed():
            for error in doings.crashes:
                said = scrubbed(f"{type(error).__name__}: {error}")
                events.append(Event("crashed", (self.name, said, _told(error))))
        events += [Event("closed", (self.name, switch)) for switch in doings.closed]
        return events


def _seed(before: Snapshot, what: Input) -> bytes:
    """Return what chance depends on in a step: the state before it and what happens."""
    seed = blake2b(before.digest, digest_size=16)
    seed.update(type(what).__name__.encode())
    for part in what:
        seed.update(part if isinstance(part, bytes) else str(part).encode())
    return seed.digest()


def _tagged(message: OpenFlowMessage, packet: PacketIn | None) -> OpenFlowMessage:
    """Return a message with the model's name of the packet in it, where that is the one handed over."""
    if packet is None or not packet.tag or not isinstance(message, PacketOut):
        return message
    buffered = message.buffer_id != NO_BUFFER and message.buffer_id == packet.buffer_id
    return replace(message, tag=packet.tag) if buffered or message.data == packet.data else message


def _told(error: BaseException) -> str:
    """Return the traceback of a failure, from where the program's own code begins."""
    frames = error.__traceback__
    while frames is not None and frames.tb_next is not None and _is_ours(frames.tb_frame.f_globals):
        frames = frames.tb_next
    return scrubbed("".join(traceback.format_exception(type(error), error, frames)))


def _is_ours(variables: Mapping[str, Any]) -> bool:
    return str(variables.get("__name__")).startswith(__name__.rpartition(".")[0])
