"""An os-ken or Ryu program as a component of the world.

    controller = OsKenController(("ryu.app.simple_switch_13",), {"s1": 1, "s2": 2})

Each switch's session begins with the action `join s1`, as when a switch connects: the program makes
its datapath and says hello, and the switch's hello is taken as having come along.  What follows -
features, ports, the apps' own rules - are messages over the channels.  What a switch sends before
it has joined, and another hello, goes unheard.

Timers are actions too, `timer 10s simple_monitor_13._monitor`; only the earliest may go off.  Each
that does spends one of `timers`, so by default none does (None: no end to them); with `patient`, those
by which a handler waits, or puts something off once, are part of handling and spend nothing.  One that
changes nothing is left out.  A program that has read the clock may find that time has passed, `wait 1s`; that
spends one too.  `World.advance` lets timers go off whatever the budget.

What is drawn from `random` is decided by an action, `roll 2 of 6`, where `rolls` is set: the step is
then made when it is known how the dice fall.

A handler that raises is an event `crashed` (who, what, the traceback), and as in os-ken the program
goes on.  A program that does not come to rest is an event `hung`; from then on it does nothing.
What the program logs or prints are events `log`, a message that makes no sense on the wire is an
event `malformed`, a session that it ends by itself is an event `closed` (the switch may then join
again).

Tasks and threads switch only where they wait, first come first served: other orders within one step
are not tried.  Sockets and files that a program opens by itself, past os-ken's hub, are beyond
control, and so is the order in which a set gives out strings or objects; `reservations` tells of them.

`switches` maps their names to their datapath ids.  The ids are what the switches themselves say;
they are asked for here so that a mistake shows early.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import blake2b
from types import ModuleType
from typing import Any, Final, NamedTuple, cast

from penstock._base.users_code import kind_and_words
from penstock._concolic.code.in_place import sources
from penstock._concolic.packets.inputs import Question
from penstock._concolic.run import unnoticed
from penstock._concolic.space import Inputs
from penstock._controllers import calls, confined, origins, reservations
from penstock._controllers.held import Holding, Naming, Sent, held, named
from penstock._controllers.osken import stacks
from penstock._controllers.osken.determinism import scrubbed
from penstock._controllers.osken.dice import Roll
from penstock._controllers.osken.hub import MICROSECONDS, Overrun
from penstock._controllers.osken.program import (
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
    RebuiltOtherwise,
    Start,
)
from penstock._controllers.osken.sessions import held_xids
from penstock._controllers.probing import Before, Given, HandOver, Perform, Reaction, unheard
from penstock._controllers.snapshot import Snapshot
from penstock._controllers.surface import MoreState, Surface
from penstock._verdict.verdict import Reservation
from penstock._world.component import Event, Port, Send, Step
from penstock._world.signals import FABRIC, Carrier, Power
from penstock.errors import PenstockError
from penstock.openflow.error_codes import OpenFlowError
from penstock.openflow.messages import FeaturesReply, Hello, OpenFlowMessage, greeting
from penstock.openflow.wire import decode, encode

_JOIN: Final = "join "
_TIMER: Final = "timer "
_WAIT: Final = "wait "
_ROLL: Final = "roll "
_MILLISECOND: Final = 1000

_ENDINGS: Final = (Overrun, calls.NeverReturned, calls.ProcessEnded)
"""What ends a step, and the program with it."""

_WAITS: Final = {"1s": 1, "1h": 3600}
"""How much time may pass at once, in seconds."""

_MOST_ROLLS: Final = 4
"""How many rolls of one step are decided; the others fall as they fall."""

_FIRED: Final = 256
"""Of how many timers it is remembered what they did: who asks whether that matters will ask for it."""

_FIRST_LOOK: Final = 64
"""After how many steps it is looked whether the program changes what is not its own; then after more."""


class Rolling(NamedTuple):
    """A step that waits for the dice: what happens, how they have fallen so far, the next roll."""

    what: Input
    message: OpenFlowMessage | None
    decided: tuple[int, ...]
    roll: Roll


@dataclass(frozen=True, slots=True)
class OsKenState:
    """A program's state: who may join, the timers that may still go off, and all that is in memory.

    The rest follows from these, or is how the state came about.
    """

    waiting: tuple[str, ...]
    timers: int | None
    snapshot: Snapshot
    hung: bool = False
    rolling: Rolling | None = None
    """The step that the program is in the middle of."""
    ended: frozenset[str] = frozenset()
    """The switches whose sessions the program itself has ended."""
    held: Holding = ()
    """The packets that the program was handed and has not sent on."""
    joined: frozenset[str] = field(default=frozenset(), compare=False)
    due: tuple[str, ...] = field(default=(), compare=False)
    """The timers that go off next."""
    errands: frozenset[str] = field(default=frozenset(), compare=False)
    """Those of them that are part of handling something and spend nothing."""
    unfinished: str = field(default="", compare=False)
    """Where a handler waits for time to pass, if one does."""
    waiters: int = field(default=0, compare=False)
    """How many tasks, threads and timers wait for time to pass."""
    busy: bool = field(default=False, compare=False)
    """Whether that or something else that was put off waits for it."""
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

    With `watched`, it is noticed if the program changes what is not its own (see `surface`).
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
        watched: bool = False,
        patient: bool = False,
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
        self._greeting = encode(greeting(self.version), self.version)
        self.timers = timers
        """How often its timers may go off; None: no end to them."""
        self._patient = patient
        self.rolls = False
        """Whether a search decides what is drawn from `random`."""
        self._opaque: frozenset[str] = frozenset()
        self._opaque_places: dict[str, str] = {}
        self._clock_read = False
        self._chance: dict[Roll, bool] = dict.fromkeys(self._program.rolled_at_load, False)
        """The places where the program draws from `random`, and whether all outcomes were tried."""
        self._surface: Surface | None = self._program.surface() if watched else None
        self._steps = 0
        self._unsaved: dict[str, None] = {}
        """What was noticed and is not saved for all that."""
        self._repeats = True
        """Whether it did the same whenever the same happened to it again."""
        self.interrupts = False
        self._naming = Naming()
        self._fired: dict[tuple[bytes, str, int, Holding], Step] = {}
        self._followed = followed
        self.steps: dict[Given, OsKenState] = {}
        """What happened to the program, if it is followed, and the state that it was in then."""
        self._first = self._start()

    def _start(self) -> OsKenState:
        program = self._program
        circumstances = Circumstances(b"", frozenset())
        try:
            doings = program.perform(Start(), circumstances)
        except Overrun as error:
            raise PenstockError(f"{program.name} failed to start: {error}.") from None
        if doings.crashes:
            crash = doings.crashes[0]
            raise PenstockError(
                f"{program.name} failed to start: {type(crash).__name__}: {crash}."
            ) from crash
        blank = OsKenState(tuple(self.switches), self.timers, program.base)
        return self._state(blank, History(program.base), Start(), circumstances)

    def _state(
        self, before: OsKenState, history: History, what: Input, circumstances: Circumstances
    ) -> OsKenState:
        """Return the state that the program is in now, after something happened in another."""
        program = self._program
        agenda = program.hub.agenda
        began = before.began + program.rebase()
        snapshot = program.save()
        if not snapshot.opaque <= self._opaque:
            self._opaque_places.update(program.places(snapshot.opaque - self._opaque))
            self._opaque |= snapshot.opaque
        self._clock_read |= agenda.clock_read
        due = program.hub.next_timers() if agenda.timers else {}
        return OsKenState(
            before.waiting,
            before.timers,
            snapshot,
            ended=before.ended,
            held=before.held,
            joined=frozenset(program.sessions),
            due=tuple(due),
            errands=frozenset(
                name for name, timer in due.items() if self._patient and program.hub.is_errand(timer)
            ),
            unfinished=next(filter(None, map(program.hub.waiting_handler, agenda.timers)), ""),
            waiters=len(agenda.timers),
            busy=any(map(program.hub.is_errand, agenda.timers)),
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

    def reservations(self) -> tuple[Reservation, ...]:
        """Return what a search cannot see of the program, or has not tried."""
        return (
            *reservations.unsaved(self._unsaved),
            *reservations.repeated(same=self._repeats),
            *reservations.unseen(self._opaque, self._opaque_places),
            *reservations.lifetimes(self.sources()),
            *reservations.outside(self._program.noticed),
            *reservations.chance(self._chance),
            *reservations.clock(read=self._clock_read),
        )

    # What else is state.

    def look(self) -> None:
        """Notice whether the program has changed what is not saved with its state."""
        if self._surface is None:
            return
        more, others = self._surface.changed()
        modules = self._program.imported_since()
        if self.interrupts and (more or modules):
            raise MoreState(more, modules)
        self._unsaved.update((name, None) for name in (*(each.name for each in (*more, *others)), *modules))

    def adopt(self, more: MoreState) -> None:
        """Take that into the program's state; all states so far are void."""
        self._program.adopt(more.found, more.modules)
        self._surface = self._program.surface()
        self._fired.clear()
        self.steps.clear()
        self._steps = 0
        self._first = self._start()

    def leave(self) -> None:
        """Put back what the program has changed."""
        self._program.leave()

    def _count(self) -> None:
        self._steps += 1
        if self.interrupts and self._steps >= _FIRST_LOOK and self._steps & (self._steps - 1) == 0:
            self.look()

    # The component.

    def initial(self) -> OsKenState:
        """Return the program as it is once started, with every switch still to join."""
        return self._first

    def actions(self, state: OsKenState) -> tuple[str, ...]:
        """Return which switches may join, which timers may go off, and how dice may fall."""
        if state.hung:
            return ()
        if state.rolling is not None:
            outcomes = state.rolling.roll.outcomes
            return tuple(f"{_ROLL}{number} of {outcomes}" for number in range(1, outcomes + 1))
        joins = tuple(_JOIN + switch for switch in state.waiting)
        timers = tuple(
            _TIMER + timer
            for timer in state.due
            if self._may_fire(state, timer) and self._matters(state, timer)
        )
        if state.due or state.timers == 0 or state.timers is None or not state.clock_read:
            return joins + timers
        return joins + tuple(_WAIT + name for name in _WAITS)

    def _may_fire(self, state: OsKenState, timer: str) -> bool:
        return state.timers != 0 or timer in state.errands

    def _matters(self, state: OsKenState, timer: str) -> bool:
        """Tell whether anything is different after a timer has gone off, besides that it has."""
        step = self._fire(state, timer)
        return bool(step.sends or step.events) or step.state.snapshot != state.snapshot

    def _fire(self, state: OsKenState, timer: str) -> Step:
        """Have a timer go off, whatever is left of the budget."""
        key = (state.snapshot.digest, timer, state.began, state.held)
        step = self._fired.get(key)
        if step is None:
            if len(self._fired) >= _FIRED:
                self._fired.clear()
            step = self._fired[key] = self._run(state, Fire(timer))
        left = state.timers if timer in state.errands else _less(state.timers)
        return step._replace(state=replace(step.state, timers=left, waiting=state.waiting))

    def is_pending(self, state: OsKenState) -> bool:
        """Tell whether a timer is left to go off."""
        return bool(state.due) and not state.hung

    def at_leisure(self, state: OsKenState) -> OsKenState:
        """Return the state with no timers to go off but those that are part of handling something."""
        return replace(state, timers=0)

    def go_on(self, state: OsKenState) -> Step | None:
        """Have the next timer go off, whatever is left of the budget."""
        if not self.is_pending(state) or state.rolling is not None:
            return None
        step = self._fire(state, state.due[0])
        return step._replace(state=replace(step.state, timers=state.timers))

    def act(self, state: OsKenState, action: str) -> Step:
        """Let a switch join, or a timer go off."""
        idle = action.removeprefix(_TIMER) in state.due and state.timers != 0
        if not idle and action not in self.actions(state):
            raise PenstockError(f"{self.name} cannot {action!r} now: choose one of its actions.")
        if action.startswith(_JOIN):
            switch = action.removeprefix(_JOIN)
            waiting = tuple(name for name in state.waiting if name != switch)
            number = list(self.switches).index(switch) + 1
            return self._run(replace(state, waiting=waiting), Join(switch, number, self._greeting))
        if action.startswith(_ROLL):
            return self._decide(state, int(action.split()[1]) - 1)
        if action.startswith(_WAIT):
            until = state.passed + _WAITS[action.removeprefix(_WAIT)] * MICROSECONDS
            return self._run(replace(state, timers=_less(state.timers)), Pass(until))
        return self._fire(state, action.removeprefix(_TIMER))

    def receive(self, state: OsKenState, port: Port, message: Any) -> Step:
        """Have the program handle what a switch sent, or that a session came or went."""
        if state.rolling is not None:
            return self._after_rolling(state, lambda done: self.receive(done, port, message))
        if port == FABRIC:
            return self._signal(state, message)
        if port not in state.joined:
            return Step(state, (), () if port in state.ended else unheard(self.name, str(port), message))
        if state.hung or isinstance(message, Hello):
            return Step(state)
        if isinstance(message, FeaturesReply) and message.datapath_id != self.switches[str(port)]:
            told = f"{port} says that its datapath id is {message.datapath_id}"
            raise PenstockError(
                f"{told}, but {self.name} was given {self.switches[str(port)]}: give the same."
            )
        return self._run(state, Arrive(str(port), encode(message, self.version)), message)

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
        if state.rolling is not None:
            return self._after_rolling(state, lambda done: self.advance(done, now))
        until = now * _MILLISECOND - state.began
        if state.hung or until <= state.passed:
            return Step(state)
        if state.due_at is None and not state.clock_read:
            return Step(replace(state, began=now * _MILLISECOND))
        return self._run(state, Pass(until))

    # Steps.

    def _run(
        self,
        state: OsKenState,
        what: Input,
        message: OpenFlowMessage | None = None,
        decided: tuple[int, ...] = (),
        *,
        falls: bool = False,
    ) -> Step:
        """Have something happen to the program in a state; `falls` lets the dice fall as they will."""
        program, before = self._program, state.snapshot
        assert state.history is not None
        if not self._enter(state):
            # Nobody can tell what would happen: the run is given up, and the result is bounded.
            return Step(replace(state, hung=True))
        circumstances = Circumstances(_seed(before, what), held_xids(before), decided)
        try:
            doings = program.perform(what, circumstances)
        except _ENDINGS as error:
            program.forget()
            return Step(replace(state, hung=True), (), (self._ending(error), *origins.raised_event(error)))
        except BaseException:
            program.forget()
            raise
        if doings.rolls:
            roll = self._next_roll(doings.rolls, decided, falls=falls)
            if roll is not None:
                program.forget()
                return Step(replace(state, rolling=Rolling(what, message, decided, roll)))
        history = state.history if stacks.marks(before) else History(before)
        after = self._state(state, history, what, circumstances)
        for switch in doings.closed:
            waiting = self._waiting(after, switch, present=True)
            after = replace(after, waiting=waiting, ended=after.ended | {switch})
        if self._followed:
            switch = what.switch if isinstance(what, Arrive) else ""
            self.steps[Given(self.bare(state), (what, decided), switch, message)] = self.bare(after)
        sends, malformed = self._sends(doings)
        after, sent = self._named(state, after, sends, what, message)
        events = (*self._events(doings), *malformed, *sent.events)
        if doings.stuck:
            hung = Event("hung", (self.name, doings.stuck))
            after, events = replace(after, hung=True), (*events, hung, *origins.stuck_events(doings.asleep))
        self._count()
        return Step(after, sent.sends, events)

    def _enter(self, state: OsKenState) -> bool:
        """Bring the program into a state; tell whether that was possible, and note it if not.

        A state with suspended handlers is entered by repeating what led to it, which comes to the same only
        if all that decides was saved.
        """
        assert state.history is not None
        try:
            self._program.enter(state.snapshot, state.history)
        except RebuiltOtherwise:
            self.look()
            self._program.forget()
            self._repeats = False
            return False
        return True

    def _named(
        self,
        before: OsKenState,
        after: OsKenState,
        sends: list[Send],
        what: Input,
        message: OpenFlowMessage | None,
    ) -> tuple[OsKenState, Sent]:
        """Return the state after a step with what the program still holds, and what it sent with names."""
        given = held(what.switch, message) if isinstance(what, Arrive) else None
        if self.interrupts and not self._naming.holds:
            found = self._naming.named(self.name, given, sends, busy=after.busy)
            if found is None:
                self._program.forget()
                raise MoreState([], [])
            return after, found
        if given is None and not before.held:
            return after, Sent(tuple(sends), ())
        changed = after.snapshot != before.snapshot
        sent = named(self.name, before.held, given, sends, changed=changed, busy=after.busy)
        return replace(after, held=sent.holding), sent

    # Chance.

    def _next_roll(self, rolls: tuple[Roll, ...], decided: tuple[int, ...], *, falls: bool) -> Roll | None:
        """Return the roll that a search is to decide next; None if the dice may fall as they will."""
        place = len(decided)
        for roll in rolls:
            self._chance[roll] = self.rolls and roll.complete and len(rolls) <= _MOST_ROLLS
        if not self.rolls or falls or place >= min(len(rolls), _MOST_ROLLS):
            return None
        return rolls[place]

    def _decide(self, state: OsKenState, outcome: int) -> Step:
        """Decide how the dice fall next in the step that the program is in."""
        assert state.rolling is not None
        what, message, decided, _ = state.rolling
        return self._run(replace(state, rolling=None), what, message, (*decided, outcome))

    def _after_rolling(self, state: OsKenState, onward: Callable[[OsKenState], Step]) -> Step:
        """Let the dice fall as they will, then have something else happen."""
        assert state.rolling is not None
        what, message, decided, _ = state.rolling
        done = self._run(replace(state, rolling=None), what, message, decided, falls=True)
        after = onward(done.state)
        return after._replace(sends=done.sends + after.sends, events=done.events + after.events)

    # Questions.

    def sources(self) -> list[str]:
        """Return the source texts of the program."""
        return sources(self.modules())

    @property
    def acts_outside(self) -> bool:
        """Whether the program was seen to use files, sockets or processes."""
        return bool(self._program.noticed)

    def namespaces(self) -> list[Mapping[str, Any]]:
        """Return the variables of the program's modules and apps, as they are now."""
        return [vars(each) for each in (*self.modules(), *self._program.apps())]

    def modules(self) -> list[ModuleType]:
        """Return the modules that the program is made of."""
        return self._program.modules()

    def hears(self, state: OsKenState, switch: str) -> bool:
        """Tell whether the program would take in what a switch sends."""
        return not state.hung and switch in state.joined

    def bare(self, state: OsKenState) -> OsKenState:
        """Return a state without the names of packets, which the program does not know."""
        return replace(state, held=()) if state.held else state

    def probe(
        self,
        state: OsKenState,
        switch: str,
        question: Question,
        inputs: Inputs,
        *,
        followed: bool = True,
    ) -> Reaction:
        """Run the program on a message, whose contents may be followed, and forget what it did."""
        program = self._program
        if not self._enter(state):
            return Reaction((), ())
        what = Arrive(switch, encode(question.message(inputs), self.version))
        # Chance is the same whatever the contents, so that only they decide.
        circumstances = Circumstances(state.snapshot.digest, held_xids(state.snapshot))
        change = partial(question.follow_osken, inputs) if followed else None
        try:
            doings = program.perform(what, circumstances, change)
        except _ENDINGS as error:
            return Reaction((), (self._ending(error),))
        finally:
            program.forget()
        sends, malformed = self._sends(doings)
        return Reaction(tuple(sends), (*self._events(doings), *malformed))

    def rehearse(self, state: OsKenState, *, steady: bool = False) -> Perform:
        """Bring the program into a state, and return what has things happen to it one after the other."""
        program = self._program
        entered = self._enter(state)
        program.forget()
        earlier = Before()

        def perform(given: Given, question: Question | None, inputs: Inputs) -> None:
            what, decided = cast("tuple[Input, tuple[int, ...]]", given.what)
            if not entered or (isinstance(what, Arrive) and what.switch not in program.sessions):
                return
            before = given.before.snapshot
            change = None if question is None else partial(question.follow_osken, inputs)
            seed = state.snapshot.digest if steady else _seed(before, what)
            circumstances = Circumstances(seed, held_xids(before), decided, earlier.digest)
            earlier.add(what)
            with suppress(*_ENDINGS):
                program.perform(what, circumstances, change)
            program.rebase()
            # Where it crashed does not count as something that it keeps.
            program.hub.crashes = []

        return perform

    def arrival(self, state: OsKenState, switch: str, message: OpenFlowMessage) -> Given:
        """Return it as something that happens that a switch's message comes in a state."""
        return Given(state, (Arrive(switch, encode(message, self.version)), ()), switch, message)

    def try_out(self, state: OsKenState) -> HandOver:
        """Bring the program into a state, and return what hands it messages there, one after the other."""
        program = self._program
        entered = self._enter(state)
        program.forget()
        steady = Circumstances(state.snapshot.digest, held_xids(state.snapshot))
        before = Before()

        def hand_over(switch: str, message: OpenFlowMessage) -> Reaction:
            if not entered or switch not in program.sessions:
                return Reaction((), ())
            what = Arrive(switch, encode(message, self.version))
            circumstances = steady._replace(after=before.digest)
            before.add(what)
            try:
                doings = program.perform(what, circumstances)
            except _ENDINGS as error:
                return Reaction((), (self._ending(error),))
            finally:
                program.rebase()
            sends, malformed = self._sends(doings)
            stuck = [Event("hung", (self.name, doings.stuck))] if doings.stuck else []
            events = (*self._events(doings), *malformed, *stuck)
            program.hub.crashes = []
            return Reaction(tuple(sends), events)

        return hand_over

    def _sends(self, doings: Doings) -> tuple[list[Send], list[Event]]:
        sends: list[Send] = []
        malformed: list[Event] = []
        code: list[tuple[str, str]] = []
        for number, (switch, data) in enumerate(doings.sent):
            try:
                message = decode(data)
            except OpenFlowError as refused:
                malformed.append(Event("malformed", (self.name, switch, str(refused))))
                continue
            sends.append(Send(switch, message))
            if doings.code:
                code.append((switch, doings.code[number]))
        return sends, [*malformed, *self._code_events(doings, code)]

    def _code_events(self, doings: Doings, code: list[tuple[str, str]]) -> list[Event]:
        """Return which code did what, if that is noted."""
        if not origins.is_recording():
            return []
        asleep = [Event(origins.ASLEEP, (self.name, place.told)) for place in doings.asleep]
        raised = (event for error in doings.crashes for event in origins.raised_event(error))
        return [*origins.code_events(code), *raised, *asleep]

    def _ending(self, error: BaseException) -> Event:
        """Return the event of a step after which the program does nothing any more."""
        if isinstance(error, calls.ProcessEnded):
            return confined.crashed(self.name, f"ProcessEnded: {error}", "")
        return Event("hung", (self.name, str(error)))

    def _events(self, doings: Doings) -> list[Event]:
        events = [Event("log", (self.name, line)) for line in doings.lines]
        # What is written about a crash decides nothing.
        with unnoticed():
            for error in doings.crashes:
                said = scrubbed(kind_and_words(error))
                events.append(confined.crashed(self.name, said, _told(error), error))
        events += [Event("closed", (self.name, switch)) for switch in doings.closed]
        return events


def _less(budget: int | None) -> int | None:
    return None if budget is None else max(0, budget - 1)


def _seed(before: Snapshot, what: Input) -> bytes:
    """Return what chance depends on in a step: the state before it and what happens."""
    seed = blake2b(before.digest, digest_size=16)
    seed.update(type(what).__name__.encode())
    for part in what:
        seed.update(part if isinstance(part, bytes) else str(part).encode())
    return seed.digest()


def _told(error: BaseException) -> str:
    """Return the traceback of a failure, from where the program's own code begins."""
    frames = error.__traceback__
    while frames is not None and frames.tb_next is not None and _is_ours(frames.tb_frame.f_globals):
        frames = frames.tb_next
    return scrubbed("".join(traceback.format_exception(type(error), error, frames)))


def _is_ours(variables: Mapping[str, Any]) -> bool:
    return str(variables.get("__name__")).startswith(__name__.rpartition(".")[0])
