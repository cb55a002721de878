"""Small controllers written for Penstock itself: a class with handlers, as in NICE's Figure 3.

    class Hub(Controller):
        def packet_in(self, switch, message):
            self.packet_out(switch, message, FLOOD)

The handlers may keep whatever they like in attributes of `self`.  Variables of modules and classes are
found out about and saved too (see `surface`); what else they depend on, `reservations` tells.  `install`,
`packet_out` and `send` say what the switches are to be told, and are carried out when the handler is
over.  Threads that a handler starts run after it, until they are done.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NamedTuple, cast

from penstock._base.users_code import is_user_file, kind_and_words, load_object, run_users, with_neighbours
from penstock._concolic.code.in_place import follow_modules, sources
from penstock._concolic.packets.inputs import Question
from penstock._concolic.run import TooManyDecisions, unnoticed
from penstock._concolic.space import Inputs
from penstock._controllers import calls, confined, origins, reservations, watchdog
from penstock._controllers.controller import FLOOD, Controller
from penstock._controllers.held import Holding, Naming, held, named
from penstock._controllers.osken.determinism import Surroundings
from penstock._controllers.osken.dice import Roll
from penstock._controllers.osken.hub import Hub, WouldWait, use
from penstock._controllers.osken.loading import namespaces_of
from penstock._controllers.probing import Before, Given, HandOver, Perform, Reaction, unheard
from penstock._controllers.snapshot import Heap, Snapshot
from penstock._controllers.surface import MoreState, Surface
from penstock._verdict.verdict import Reservation
from penstock._world.component import Event, Port, Send, Step
from penstock._world.signals import FABRIC, Carrier, Power
from penstock.errors import Interrupted, PenstockError
from penstock.openflow.messages import (
    VERSIONS,
    Error,
    FlowRemoved,
    OpenFlowMessage,
    PacketIn,
    PortStatus,
)
from penstock.openflow.stats import StatsReply

__all__ = ["FLOOD", "Controller", "NativeController", "NativeState", "TookTooLong", "load_native"]

_LINES: Final = 20
"""How many lines of output of a step are kept."""

_TURNS: Final = 10_000
"""How many turns the threads of a program may take in one step."""

_FIRINGS: Final = 100
"""How many timers of theirs go off before they are given up."""

_FIRST_LOOK: Final = 64
"""After how many steps it is looked whether the program changes what is not saved; then after more."""

_LOADING: Final = 60.0
"""How many seconds it may take to load a program."""

_HANDLERS: Final = (
    (PacketIn, Controller.packet_in.__name__),
    (PortStatus, Controller.port_status.__name__),
    (FlowRemoved, Controller.flow_removed.__name__),
    (StatsReply, Controller.stats.__name__),
    (Error, Controller.error.__name__),
)


_HANDLER_NAMES: Final = (
    *(name for _, name in _HANDLERS),
    Controller.switch_join.__name__,
    Controller.switch_leave.__name__,
    Controller.other.__name__,
)


def _declared(program: Controller) -> int:
    """Return the version that a program says it speaks."""
    version = VERSIONS.get(program.openflow)
    if version is None:
        raise PenstockError(
            f'invalid openflow = {program.openflow!r} of {type(program).__name__}: must be "1.0" or "1.3".'
        )
    return version


class NativeState(NamedTuple):
    """A program's state: who may join, all that it keeps, and the packets that it has not sent on."""

    waiting: tuple[str, ...]
    snapshot: Snapshot
    held: Holding = ()


class NativeController:
    """A native controller as a component of the world."""

    sees_numbers = True

    def __init__(
        self,
        program: Controller,
        switches: tuple[str, ...],
        name: str = "c0",
        *,
        seconds: float = 2.0,
        version: int | None = None,
        followed: bool = False,
        watched: bool = False,
        surroundings: Surroundings | None = None,
    ) -> None:
        self.name = name
        self.version = _declared(program) if version is None else version
        self.switches = switches
        self.seconds = seconds
        """How long a handler may compute before it is taken for endless."""
        self._program = program
        self._program._outbox = []
        self._left_out = frozenset(
            name for name in _HANDLER_NAMES if getattr(type(program), name) is getattr(Controller, name)
        )
        """The handlers that the program's class does not have."""
        self._surroundings = surroundings or Surroundings(Hub(), _LINES)
        self._hub = self._surroundings.hub
        self._hub.alone = True
        self._adopted: list[Any] = []
        # What is drawn while the program is made is never decided.
        self._rolled: dict[Roll, bool] = dict.fromkeys(self._surroundings.dice.rolls, False)
        self._left_waiting: dict[str, str] = {}
        """What threads of the program were left with."""
        self._opaque: dict[str, str] = {}
        self._steps = 0
        self._unsaved: dict[str, None] = {}
        """What was noticed and is not saved for all that."""
        self.interrupts = False
        self._naming = Naming()
        self._followed = followed
        self.steps: dict[Given, NativeState] = {}
        """What happened to the program, if it is followed, and the state that it was in then."""
        origins.belong_to_programs(self._modules())
        if followed:
            follow_modules(self._modules())
        self._begin()
        self._surface = self._new_surface() if watched else None

    def _begin(self) -> None:
        """Save the program as it is, as the state to begin from."""
        # The order of keys counts: a program that goes through a dictionary can depend on it.
        self._heap = Heap(
            [self._program, self._hub.agenda, *self._surroundings.roots(), *self._adopted],
            namespaces=namespaces_of(module for module in self._modules() if is_user_file(module)),
            own={module.__name__ for module in self._modules()},
            ordered=True,
            calm=[*self._surroundings.roots(), self._hub.agenda],
        )
        self._first = self._heap.take()

    # What else is state.

    def _new_surface(self) -> Surface:
        return Surface(self._modules(), self._heap.objects())

    def look(self) -> None:
        """Notice whether the program has changed what is not saved with its state."""
        if self._surface is None:
            return
        more, others = self._surface.changed()
        if more and self.interrupts:
            raise MoreState(more, [])
        self._unsaved.update((each.name, None) for each in (*more, *others))

    def adopt(self, more: MoreState) -> None:
        """Take that into the program's state; all states so far are void."""
        self._enter_first()
        adopted = [each.adopted() for each in more.found]
        for each in more.found:
            each.put_back()
        self._adopted += adopted
        self._begin()
        self._surface = self._new_surface()
        self.steps.clear()
        self._steps = 0

    def leave(self) -> None:
        """Put back what the program has changed."""
        self._enter_first()
        self._surroundings.leave()
        self._heap.forget()

    def _enter_first(self) -> None:
        """Bring the program into the state to begin from, whatever is in memory."""
        self._heap.forget()
        self._heap.enter(self._first)

    def reservations(self) -> tuple[Reservation, ...]:
        """Return what a search cannot see of the program, or has not tried."""
        return (
            *reservations.unsaved(self._unsaved),
            *reservations.unseen(self._opaque, self._opaque),
            *reservations.lifetimes(self.sources()),
            *reservations.outside({**self._surroundings.noticed, **self._left_waiting}),
            *reservations.chance(self._rolled),
            *reservations.clock(read=self._hub.agenda.clock_read),
        )

    def _modules(self) -> list[ModuleType]:
        """Return the modules that the program's class comes from, and those beside them that they use."""
        kinds = type(self._program).__mro__
        return with_neighbours([sys.modules[kind.__module__] for kind in kinds[: kinds.index(Controller)]])

    def sources(self) -> list[str]:
        """Return the source texts of the program."""
        return sources(self._modules())

    @property
    def acts_outside(self) -> bool:
        """Whether the program was seen to use files, sockets or processes."""
        return bool(self._surroundings.noticed)

    def namespaces(self) -> list[Mapping[str, Any]]:
        """Return the variables of the program and its modules, as they are now."""
        return [vars(each) for each in (*self._modules(), self._program)]

    def initial(self) -> NativeState:
        """Return the program as it was made, with every switch still to join."""
        return NativeState(self.switches, self._first)

    def actions(self, state: NativeState) -> tuple[str, ...]:
        """Return which switches may join now."""
        return tuple(f"join {switch}" for switch in state[0])

    def act(self, state: NativeState, action: str) -> Step:
        """Let a switch join."""
        switch = action.removeprefix("join ")
        waiting = tuple(name for name in state.waiting if name != switch)
        return self._run(state._replace(waiting=waiting), "switch_join", switch)

    def receive(self, state: NativeState, port: Port, message: Any) -> Step:
        """Have the program handle what a switch sent, or that a session came or went.

        What a switch sends before it has joined goes unheard.
        """
        if port == FABRIC:
            return self._signal(state, message)
        if port in state.waiting:
            return Step(state, (), unheard(self.name, str(port), message))
        return self._run(state, _handler_of(message), str(port), message)

    def _signal(self, state: NativeState, signal: Carrier | Power) -> Step:
        if isinstance(signal, Power):
            return Step(NativeState((), self._first))
        switch = str(signal.port)
        if signal.up:
            return Step(state._replace(waiting=(*state.waiting, switch)))
        waiting = tuple(name for name in state.waiting if name != switch)
        return self._run(state._replace(waiting=waiting), "switch_leave", switch)

    def hears(self, state: NativeState, switch: str) -> bool:
        """Tell whether the program would take in what a switch sends."""
        return switch not in state.waiting

    def probe(
        self,
        state: NativeState,
        switch: str,
        question: Question,
        inputs: Inputs,
        *,
        followed: bool = True,
    ) -> Reaction:
        """Run a handler on a message, whose contents may be followed, and forget what it did."""
        message = question.follow_native(inputs) if followed else question.message(inputs)
        self._heap.enter(state.snapshot)
        plain = question.message(inputs)
        try:
            return self._call(_handler_of(message), switch, message, state=state.snapshot, plain=plain)
        finally:
            self._heap.forget()

    def bare(self, state: NativeState) -> NativeState:
        """Return a state without the names of packets, which the program does not know."""
        return state._replace(held=())

    def rehearse(self, state: NativeState, *, steady: bool = False) -> Perform:
        """Bring the program into a state, and return what has things happen to it one after the other."""
        self._heap.enter(state.snapshot)
        self._heap.forget()
        earlier = Before()

        def perform(given: Given, question: Question | None, inputs: Inputs) -> None:
            handler, *arguments = cast("tuple[Any, ...]", given.what)
            plain = None
            if question is not None:
                arguments[-1], plain = question.follow_native(inputs), question.message(inputs)
            before, after = given.before.snapshot, earlier.digest
            earlier.add((handler, plain or arguments))
            seed = state.snapshot.digest if steady else before.digest
            self._call(handler, *arguments, state=before, seed=seed, plain=plain, after=after)

        return perform

    def arrival(self, state: NativeState, switch: str, message: OpenFlowMessage) -> Given:
        """Return it as something that happens that a switch's message comes in a state."""
        return Given(state, (_handler_of(message), switch, message), switch, message)

    def try_out(self, state: NativeState) -> HandOver:
        """Bring the program into a state, and return what hands it messages there, one after the other."""
        snapshot, before = state.snapshot, Before()
        self._heap.enter(snapshot)
        self._heap.forget()

        def hand_over(switch: str, message: OpenFlowMessage) -> Reaction:
            after = before.digest
            before.add((switch, message))
            handler, seed = _handler_of(message), snapshot.digest
            return self._call(handler, switch, message, state=snapshot, seed=seed, after=after)

        return hand_over

    def _run(self, state: NativeState, handler: str, *arguments: object) -> Step:
        """Run one handler on the program as it was before."""
        before = state.snapshot
        self._heap.enter(before)
        if handler in self._left_out and handler not in vars(self._program):
            return Step(state)
        try:
            sends, events = self._call(handler, *arguments, state=before, seed=before.digest)
            after = self._heap.take()
        except BaseException:
            self._heap.forget()
            raise
        if not after.opaque <= self._opaque.keys():
            self._opaque.update({kind: "" for kind in after.opaque if kind not in self._opaque})
            self._opaque.update(self._heap.places(after.opaque))
        self._steps += 1
        if self.interrupts and self._steps >= _FIRST_LOOK and self._steps & (self._steps - 1) == 0:
            self.look()
        if self._followed:
            message = arguments[-1] if isinstance(arguments[-1], OpenFlowMessage) else None
            bare = self.bare(state)
            given = Given(bare, (handler, *arguments), str(arguments[0]), message)
            self.steps[given] = bare._replace(snapshot=after)
        return self._named(state, after, sends, events, arguments)

    def _named(
        self,
        before: NativeState,
        snapshot: Snapshot,
        sends: tuple[Send, ...],
        events: tuple[Event, ...],
        arguments: tuple[object, ...],
    ) -> Step:
        """Return what a handler did, the packets that it sent on with their names."""
        given = held(str(arguments[0]), arguments[-1])
        if self.interrupts and not self._naming.holds:
            found = self._naming.named(self.name, given, sends, busy=False)
            if found is None:
                raise MoreState([], [])
            sent = found
        else:
            changed = snapshot != before.snapshot
            sent = named(self.name, before.held, given, sends, changed=changed, busy=False)
        return Step(NativeState(before.waiting, snapshot, sent.holding), sent.sends, events + sent.events)

    def _call(
        self,
        handler: str,
        *arguments: object,
        state: Snapshot,
        seed: bytes = b"",
        plain: object = None,
        after: bytes = b"",
    ) -> Reaction:
        """Run one handler on the program as it is, in a state or `after` more happened in the same memory.

        `plain` is what it is given without terms.
        """
        outbox = self._program._outbox = []
        events: tuple[Event, ...] = ()
        hub, surroundings = self._hub, self._surroundings
        use(hub)
        hub.crashes = []
        surroundings.dice.lay_out(())
        if origins.is_recording():
            self._program._code = []
            origins.begin()
            origins.watch_returns()
        try:
            calls.begin((self.name, state.digest + after, handler, plain or arguments), self.seconds)
            with surroundings.around(seed, quiet=False), watchdog.limit(self.seconds, _interrupt):
                with hub.in_context() as context:
                    context.run(getattr(self._program, handler), *arguments)
                if hub.agenda.ready or hub.agenda.timers:
                    self._run_threads()
            for crash in hub.crashes:
                raise crash
        except (TookTooLong, calls.NeverReturned) as late:
            events = (Event("hung", (self.name, f"{handler}: {late}")), *origins.raised_event(late))
        except WouldWait as waits:
            hung = Event("hung", (self.name, f"{handler}: {waits} for ever"))
            events = (hung, *origins.raised_event(waits))
        except (Interrupted, TooManyDecisions):
            raise
        except calls.ProcessEnded as error:
            crashed = confined.crashed(self.name, f"ProcessEnded: {error}", "")
            events = (crashed, *origins.raised_event(error))
        except BaseException as error:
            # What is written about a crash decides nothing.
            with unnoticed():
                # The story begins in the program; what called it is not its business.
                begin = error.__traceback__ and error.__traceback__.tb_next
                text = "".join(traceback.format_exception(type(error), error, begin))
                crashed = confined.crashed(self.name, kind_and_words(error), text, error)
                events = (crashed, *origins.raised_event(error))
        finally:
            calls.end()
        self._rolled.update((roll, False) for roll in surroundings.dice.rolls)
        self._program._outbox = []
        if origins.is_recording():
            events += origins.code_events(self._program.__dict__.pop("_code"))
        return Reaction(tuple(outbox), events)

    def _run_threads(self) -> None:
        """Let the threads run that a handler has started, with as much time as they need to be done."""
        hub = self._hub
        hub.run(_TURNS)
        if hub.agenda.timers or hub.stacks:
            self._left_waiting.setdefault("a thread that sleeps or waits", type(self._program).__name__)
        for _ in range(_FIRINGS):
            if not hub.agenda.timers:
                break
            hub.fire(hub.agenda.timers[0])
            hub.run(_TURNS)
        # What waits even now would wait for ever.
        hub.stacks.clear()
        hub.agenda.timers.clear()


def load_native(text: str, folder: Path) -> tuple[Any, Surroundings]:
    """Load what `file.py:Class` names and make it, in the surroundings that it is to run in."""
    surroundings = Surroundings(Hub(), _LINES)
    use(surroundings.hub)
    try:
        with surroundings.around(b"", loading=True, quiet=False), calls.counted(("load", text), _LOADING):
            calls.trace_here()
            made = load_object(text, folder, "controller")
            return run_users(f"The controller {text}", made), surroundings
    except calls.NotMade as error:
        raise PenstockError(f"The controller {text} cannot be loaded, because {calls.told(error)}.") from None


class TookTooLong(BaseException):
    """A handler was interrupted; no `Exception`, so that it does not catch it by accident."""


def _interrupt(what: str) -> None:
    raise TookTooLong(what)


def _handler_of(message: object) -> str:
    """Return the name of the handler for a message."""
    return next((handler for kind, handler in _HANDLERS if isinstance(message, kind)), "other")
