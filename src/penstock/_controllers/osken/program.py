"""A running program: apps of os-ken or Ryu, what they hold, and what makes them do something.

A program does something only when it is given an `Input`: it starts, a switch joins or leaves, bytes
arrive, a timer goes off, time passes.  It then runs until all its tasks wait again.  What it does is
a function of its state and the input, and its state can be saved and entered again.

Entering a state writes memory back in place.  That does not move the stack of a suspended task, so
where a state needs a stack that has moved on since, the program is brought there again from the
last state before it in which no task was suspended, by repeating its inputs (`History`).
"""

from __future__ import annotations

import importlib
import logging
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from types import ModuleType
from typing import Any, ClassVar, Final, NamedTuple

from penstock._base.users_code import explained
from penstock._concolic.code.in_place import follow_program
from penstock._concolic.run import unnoticed
from penstock._concolic.visible import count_cache_hits
from penstock._controllers import calls, origins
from penstock._controllers.osken import determinism, framework, hub, sessions, stacks, watchdog
from penstock._controllers.osken.determinism import Surroundings
from penstock._controllers.osken.dice import Dice, Roll
from penstock._controllers.osken.loading import common_version, load, path
from penstock._controllers.osken.threads import waits_for_ever
from penstock._controllers.osken.waiting import count_tasks
from penstock._controllers.snapshot import Heap, Snapshot
from penstock._controllers.surface import Surface, Watched
from penstock.errors import PenstockError

_SWITCHES: Final = 10_000
"""How many turns the tasks of a program may take in one step."""

_STACKS: Final = 2_000
"""How many suspended stacks are kept, of all states together."""

_REBUILT: Final = 200
"""How many states are kept whose stacks were made again."""

_LOADING: Final = 60.0
"""How many seconds of computing a program may take to be loaded."""

_FIXED_KINDS: Final = frozenset({sessions.Line, determinism.Printed, Surroundings, Dice})

_FIXED_PACKAGES: Final = frozenset({"oslo_config", "routes", "webob", "greenlet", "socket", "ssl"})


# What can happen to a program.


class Start(NamedTuple):
    """The program starts."""


class Join(NamedTuple):
    """A switch opens its session, with these first bytes."""

    switch: str
    number: int
    data: bytes


class Leave(NamedTuple):
    """A switch's session is gone."""

    switch: str


class Arrive(NamedTuple):
    """Bytes arrive from a switch."""

    switch: str
    data: bytes


class Fire(NamedTuple):
    """One of the earliest timers goes off."""

    timer: str


class Pass(NamedTuple):
    """Time passes, until a moment in microseconds."""

    until: int


Input = Start | Join | Leave | Arrive | Fire | Pass


class Circumstances(NamedTuple):
    """What a step depends on besides memory: what chance is seeded with, which numbers are taken."""

    seed: bytes
    held: frozenset[int]
    decided: tuple[int, ...] = ()
    """How the dice fall first."""
    after: bytes = b""
    """A digest of what was handed over before in the same memory: it is another call after that."""


@dataclass(frozen=True, slots=True, eq=False)
class History:
    """How a state came about: from the state before it by an input, or it is one to begin from.

    A state to begin from has no suspended tasks, so it can be entered at any time.
    """

    state: Snapshot
    before: History | None = None
    input: Input | None = None
    circumstances: Circumstances | None = None


class Doings(NamedTuple):
    """What a program did in one step."""

    sent: list[tuple[str, bytes]]
    crashes: list[BaseException]
    lines: list[str]
    closed: list[str]
    """The switches whose sessions the program itself ended."""
    code: list[str]
    """Which code sent each message, if that is noted."""
    asleep: list[origins.Suspended]
    """Where handlers are that were suspended and have not come to their end, if that is noted."""
    stuck: str = ""
    """Which handler waits for ever, in words."""
    rolls: tuple[Roll, ...] = ()
    """What was drawn from the dice."""


class RebuiltOtherwise(Exception):
    """A program did something else when the same things happened to it again, so a state is out of reach."""


class Program:
    """Apps, loaded and ready to start."""

    in_charge: ClassVar[Program | None] = None
    """The program that os-ken's variables belong to at the moment."""

    def __init__(
        self,
        names: Sequence[str],
        version: int | None,
        options: Mapping[str, Any],
        *,
        seconds: float,
        lines: int,
        ordered: bool,
        followed: bool = False,
    ) -> None:
        self.name = " and ".join(names)
        self._seconds = seconds
        self._options = dict(options)
        self.hub = hub.Hub()
        self._surroundings = Surroundings(self.hub, lines)
        self._exchange = sessions.Exchange()
        self.sessions: dict[str, Any] = {}
        self._folders: list[str] = []
        self._imported: set[str] = set()
        """The program's own modules that its steps have imported."""
        self.rolled_at_load: list[Roll] = []
        """What was drawn from `random` while the program was loaded and made."""
        self._hand_made: set[str] = set()
        """The modules among Python's that the program has made."""
        self._rebuilt: dict[bytes, Snapshot] = {}
        _make_room()
        self._datapath_class = sessions.datapath_class()
        hub.use(self.hub)
        with (
            self._step(Circumstances(b"", frozenset()), loading=True),
            self._at_load(),
            watchdog.limit(_LOADING),
            calls.counted(("load", self.name), _LOADING),
        ):
            self._loaded = load(names)
            self._folders = self._loaded.folders
            count_cache_hits(self._loaded.modules.values())
            count_tasks(self._loaded.modules.values())
            determinism.bind_dates(self._loaded.modules.values())
            if followed:
                follow_program(self._loaded.all_modules())
            self.version = common_version(self._loaded, self.name, version)
            """The OpenFlow version that the program speaks."""
            self._manager = framework.new_manager()
            self._versions = framework.all_versions()
            self._take_charge()
            self._instantiate()
            self._versions = framework.spoken_versions()
        self._ordered = ordered
        self._adopted: list[Any] = []
        self._heap = self._new_heap()
        self.base = self._heap.take()
        """The program before it starts: everything is made, nothing has run."""

    def _new_heap(self) -> Heap:
        """Return what of memory is the program's state."""
        kinds = {type(value) for value in self._adopted}
        return Heap(
            [
                self.hub.agenda,
                *framework.roots(self._manager),
                self.sessions,
                *self._surroundings.roots(),
                *self._adopted,
            ],
            namespaces=self._loaded.namespaces(),
            fixed=lambda kind: kind not in kinds and _is_fixed(kind),
            special={**stacks.TREATMENTS, **sessions.TREATMENTS},
            own=self._loaded.modules,
            ordered=self._ordered,
            calm=self._surroundings.roots(),
        )

    # What else is state.

    def surface(self) -> Surface:
        """Return what the program could change besides its state, as it is before the program starts."""
        self._enter_base()
        others = (self._datapath_class, self._manager)
        return Surface(self._loaded.modules.values(), self._heap.objects(), others)

    def imported_since(self) -> list[str]:
        """Return the names of the program's modules that were imported by its steps."""
        return sorted(self._imported)

    def adopt(self, found: Sequence[Watched], modules: Sequence[str]) -> None:
        """Take up more into the program's state, as it was before the program started."""
        self._enter_base()
        adopted = [each.adopted() for each in found]
        for each in found:
            each.put_back()
        with self._step(Circumstances(b"", frozenset()), loading=True):
            for name in modules:
                sys.modules.pop(name, None)
            for name in modules:
                self._loaded.modules[name] = importlib.import_module(name)
        self._imported.clear()
        self._adopted += adopted
        self._rebuilt.clear()
        self._heap = self._new_heap()
        self.base = self._heap.take()

    def leave(self) -> None:
        """Put back what the program has changed in the rest of the process."""
        self._enter_base()
        self._surroundings.leave()
        self._heap.forget()
        for name in self._hand_made:
            sys.modules.pop(name, None)

    def _enter_base(self) -> None:
        if Program.in_charge is not self:
            self._take_charge()
            self._heap.forget()
        self._heap.enter(self.base)

    @property
    def noticed(self) -> Mapping[str, str]:
        """What the program has done outside of its memory, and where."""
        return self._surroundings.noticed

    def places(self, kinds: Collection[str]) -> dict[str, str]:
        """Return where the program first holds objects of certain types, as it is now."""
        return self._heap.places(kinds)

    def modules(self) -> list[ModuleType]:
        """Return the modules that the program is made of."""
        return self._loaded.all_modules()

    def apps(self) -> list[Any]:
        """Return the apps that the program is made of."""
        return list(self._manager.applications.values())

    @contextmanager
    def _at_load(self) -> Iterator[None]:
        """Say in a sentence what keeps the program from being made."""
        self.hub.busy = self.hub.starting = True
        try:
            yield
        except PenstockError:
            raise
        except hub.WouldWait as error:
            text = f"{error} while the apps are made; wait in a task instead"
            raise PenstockError(f"{self.name} failed to start: {text}.") from None
        except (hub.Overrun, calls.NeverReturned, calls.ProcessEnded) as error:
            raise PenstockError(f"{self.name} failed to start: {calls.told(error)}.") from None
        except Exception as error:
            text = f"{explained(error)}; fix it, or give it the options it needs"
            raise PenstockError(f"{self.name} failed to start: {text}.") from error
        finally:
            self.hub.busy = self.hub.starting = False

    def _instantiate(self) -> None:
        """Make the apps as os-ken's manager does."""
        manager = self._manager
        manager.applications_cls.update(self._loaded.apps)
        manager.contexts_cls.update(self._loaded.contexts)
        manager.instantiate_apps(**manager.create_contexts())
        for logger in self._loggers():
            if logger.level == logging.NOTSET:
                logger.setLevel(logging.INFO)

    def _loggers(self) -> Iterator[logging.Logger]:
        for app in self._manager.applications.values():
            logger = app.logger
            yield logger.logger if isinstance(logger, logging.LoggerAdapter) else logger
        for module in self._loaded.modules.values():
            yield from (value for value in vars(module).values() if isinstance(value, logging.Logger))

    def _take_charge(self) -> None:
        """Make this the one program that os-ken and Python's imports know of."""
        last = Program.in_charge
        if last is self:
            return
        if last is not None:
            _remove_modules(last._loaded.modules)
        Program.in_charge = self
        sys.modules.update(self._loaded.modules)
        hub.use(self.hub)
        framework.put_in_charge(self._manager, self._versions, self._options)

    @contextmanager
    def _step(self, circumstances: Circumstances, *, loading: bool = False) -> Iterator[None]:
        """Give the program its surroundings for one step."""
        self._exchange.begin(circumstances.held)
        self.hub.crashes = []
        self.hub.paused = []
        origins.begin()
        self.hub.situation = int.from_bytes(circumstances.seed[:8])
        self._surroundings.dice.lay_out(circumstances.decided)
        known = None if loading else len(sys.modules)
        with self._surroundings.around(circumstances.seed, loading=loading), path(self._folders):
            entered = list(sys.path)
            yield
            if not loading and sys.path != entered:
                self._surroundings.notice("sys.path", "the folders that modules are imported from")
        if loading:
            self.rolled_at_load += self._surroundings.dice.rolls
        if known is not None and len(sys.modules) > known:
            self._note_modules(list(sys.modules)[known:])

    def _note_modules(self, names: Sequence[str]) -> None:
        """Note the modules that a step has imported, or has made and put among the others."""
        self._imported.update(self._loaded.are_own(names))
        for name in names:
            if getattr(sys.modules[name], "__spec__", None) is None:
                self._surroundings.notice(f"sys.modules[{name!r}]", "a module that it made")
                self._hand_made.add(name)

    # Doing things.

    def perform(
        self, what: Input, circumstances: Circumstances, change: Callable[[Any], None] | None = None
    ) -> Doings:
        """Have something happen to the program, in the state it is in.

        With `change`, a message that arrives is changed by it on its way to the handlers.
        """
        self.hub.starting = isinstance(what, Start)
        calls.begin((self.name, circumstances, what), self._seconds)
        try:
            with self._step(circumstances), framework.parsed(change) if change else nullcontext():
                self._happen(what)
                self._settle()
                closed = self._closed()
        finally:
            calls.end()
        asleep = self._asleep() if origins.is_recording() else []
        return Doings(
            self._exchange.sent,
            self.hub.crashes,
            self._surroundings.lines,
            closed,
            self._exchange.code,
            asleep,
            waits_for_ever(self.hub, framework.number_of_apps(self._manager)),
            tuple(self._surroundings.dice.rolls),
        )

    def _asleep(self) -> list[origins.Suspended]:
        """Return where handlers are that this step has left suspended."""
        still = {id(stack): stack for stack in self.hub.paused if id(stack) in self.hub.stacks}
        found = []
        for stack in still.values():
            frames = list(stack.frames())
            if any(frame.f_code is framework.EVENT_LOOP for frame in frames):
                found.append(origins.suspended_code(frames))
        return [place for place in found if place is not None]

    def _happen(self, what: Input) -> None:
        match what:
            case Join(switch, number, data):
                self.hub.spawn(self._join, switch, number, data)
            case Leave(switch):
                self.hub.spawn(sessions.close_session, self.sessions.pop(switch))
            case Arrive(switch, data):
                self.hub.spawn(sessions.receive, self.sessions[switch], data)
            case Fire(timer):
                self.hub.fire(self.hub.next_timers()[timer])
            case Pass(until):
                self._pass(until)

    def _join(self, switch: str, number: int, data: bytes) -> None:
        line = sessions.Line(switch, self._exchange)
        datapath = sessions.open_session(self._datapath_class, line, number)
        self.sessions[switch] = datapath
        # The program cannot see this dictionary, so its order must not make states differ.
        for name in sorted(self.sessions):
            self.sessions[name] = self.sessions.pop(name)
        sessions.receive(datapath, data)

    def _pass(self, until: int) -> None:
        agenda = self.hub.agenda
        while agenda.timers and agenda.timers[0].when <= until:
            self.hub.fire(agenda.timers[0])
            self._settle()
        agenda.now = max(agenda.now, until)

    def _closed(self) -> list[str]:
        """Clear away the sessions that the program itself has ended."""
        from os_ken.controller.handler import DEAD_DISPATCHER

        closed = [switch for switch, datapath in self.sessions.items() if datapath.state == DEAD_DISPATCHER]
        for switch in closed:
            self.hub.spawn(sessions.close_session, self.sessions.pop(switch))
        self._settle()
        return closed

    def _settle(self) -> None:
        """Let the program come to rest."""
        if self.hub.agenda.ready:
            with watchdog.limit(self._seconds):
                self.hub.run(_SWITCHES)

    def rebase(self) -> int:
        """Begin to count time anew where the program cannot tell; return by how much."""
        agenda = self.hub.agenda
        if agenda.clock_read or not agenda.now:
            return 0
        passed, agenda.now = agenda.now, 0
        for timer in agenda.timers:
            timer.when -= passed
        return passed

    # States.

    def save(self) -> Snapshot:
        """Return the state the program is in."""
        return self._heap.take()

    def enter(self, state: Snapshot, history: History) -> None:
        """Bring the program into a state; raises `RebuiltOtherwise` if that is out of reach."""
        if Program.in_charge is not self:
            self._take_charge()
            self._heap.forget()
        current = self._heap.current
        if current is not None and current.digest == state.digest:
            return
        if not self._enter_at_once(state):
            # Whoever follows a step does not follow those that lead to its beginning.
            with unnoticed():
                self._rebuild(state, history)

    def _enter_at_once(self, state: Snapshot) -> bool:
        """Enter a state in place, if the stacks it needs are still there or were made again."""
        for known in (state, self._rebuilt.get(state.digest)):
            if known is not None and stacks.can_be_entered(known):
                self._heap.enter(known)
                return True
        return False

    def forget(self) -> None:
        """Note that a step was broken off, so that nobody knows which state the program is in."""
        self._heap.forget()

    def _rebuild(self, state: Snapshot, history: History) -> None:
        """Bring the program into a state by repeating what happened to it."""
        self._unwind_oldest()
        inputs: list[History] = []
        while not self._enter_at_once(history.state):
            assert history.before is not None
            inputs.append(history)
            history = history.before
        for past in reversed(inputs):
            assert past.input is not None and past.circumstances is not None
            if not self._can_happen(past.input):
                raise RebuiltOtherwise
            self.perform(past.input, past.circumstances)
            self.rebase()
        rebuilt = self._heap.take()
        if rebuilt.digest != state.digest:
            raise RebuiltOtherwise
        self._rebuilt.pop(state.digest, None)
        self._rebuilt[state.digest] = rebuilt
        if len(self._rebuilt) > _REBUILT:
            del self._rebuilt[next(iter(self._rebuilt))]

    def _can_happen(self, what: Input) -> bool:
        """Tell whether the program, as it is now, has what an input is about."""
        match what:
            case Leave(switch) | Arrive(switch, _):
                return switch in self.sessions
            case Fire(timer):
                return timer in self.hub.next_timers()
            case _:
                return True

    def _unwind_oldest(self) -> None:
        """Clear away stacks when there are too many; states that need them will be built again."""
        surplus = len(self.hub.stacks) - _STACKS
        if surplus < 0:
            return
        with self._step(Circumstances(b"", frozenset())):
            for stack in list(self.hub.stacks.values())[: surplus + _STACKS // 2]:
                with watchdog.limit(self._seconds):
                    self.hub.unwind(stack)
        self._heap.forget()


def _is_fixed(kind: type) -> bool:
    """Tell whether objects of a type are not looked into, because they are no part of any program."""
    return kind in _FIXED_KINDS or kind.__module__.partition(".")[0] in _FIXED_PACKAGES


def _remove_modules(modules: Mapping[str, ModuleType]) -> None:
    """Take a program's modules out of Python's list, so that another can have its own."""
    for name, module in modules.items():
        if sys.modules.get(name) is module or name == "ryu" or name.startswith("ryu."):
            sys.modules.pop(name, None)


def _make_room() -> None:
    """Take the last program's modules away before another's are loaded."""
    framework.install()
    if Program.in_charge is not None:
        _remove_modules(Program.in_charge._loaded.modules)
        Program.in_charge = None
