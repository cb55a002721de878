"""Green threads in virtual time: what `os_ken.lib.hub` is while a program runs under Penstock.

An os-ken program spawns tasks, sleeps, and waits for queues, events and semaphores.  Here all of
that happens in one thread: a task runs until it waits, then the next one that is ready runs, first
come first served, until none is.  Nothing ever waits for real.  A task that sleeps has a *timer*,
and whoever drives the program decides when the earliest timers fire; only then does time move.

The behaviour is that of os-ken's eventlet hub, which is also Ryu's: tasks switch only where they
wait, and killing one works.  os-ken's other hub, with a thread of the operating system for each
task, allows more interleavings; those are not tried.

What can be put back in place (which tasks wait where, which timers run, the time) is in the
`Agenda`.  The stack of a suspended task cannot: a `Stack` counts how often it was resumed, so that
one can tell whether it still is where it was.
"""

from __future__ import annotations

import dis
import functools
import sys
import threading
from bisect import insort
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import Context, ContextVar
from operator import attrgetter
from types import CodeType, FrameType
from typing import Any, Final, NamedTuple

import greenlet

from penstock._concolic.run import TooManyDecisions
from penstock._controllers import calls, origins
from penstock.errors import Interrupted

TaskExit = greenlet.GreenletExit

MICROSECONDS: Final = 1_000_000

NEW: Final = "new"
RUNNING: Final = "running"
DONE: Final = "done"


class Overrun(BaseException):
    """A step went on for too long; the text says how that showed."""


class WouldWait(Exception):
    """The program waits for something before it was started."""


NOT_FOR_PROGRAMS: Final = (TaskExit, Overrun, TooManyDecisions, Interrupted)
"""What goes through a program's handlers and tasks without being a failure of theirs."""


_BETWEEN: Final = frozenset({__name__, f"{__name__.rpartition('.')[0]}.determinism"})
"""The modules whose functions are on a suspended stack only because it is suspended."""


_MOST_TURNS: Final = 10_000
"""How many turns threads take while a program waits that is no task itself."""


class Stack:
    """The stack of a started task."""

    __slots__ = ("green", "resumes", "trail")

    def __init__(self, green: Any) -> None:
        self.green = green
        self.resumes = 0
        self.trail = 0
        """Tells apart stacks that were resumed in different situations since they began to loop."""

    def frames(self) -> Iterator[FrameType]:
        """Yield the frames of the program's own functions on a suspended stack, the innermost first."""
        frame = self.green.gr_frame
        while frame is not None:
            if frame.f_globals.get("__name__") not in _BETWEEN:
                yield frame
            frame = frame.f_back

    def repeats(self) -> bool:
        """Tell whether a function on a suspended stack is inside a loop of any kind."""
        return any(
            start <= frame.f_lasti <= end for frame in self.frames() for start, end in _repeats(frame.f_code)
        )

    def is_looping(self) -> bool:
        """Tell whether a function on a suspended stack is inside a `for` loop.

        How far that has come cannot be seen: the iterator is on a stack of Python's own.
        """
        return any(
            start <= frame.f_lasti < end for frame in self.frames() for start, end in _loops(frame.f_code)
        )


@functools.cache
def _loops(code: CodeType) -> tuple[tuple[int, int], ...]:
    """Return where the `for` loops of a function begin and end."""
    return tuple(
        (instruction.offset, int(instruction.argval))
        for instruction in dis.get_instructions(code)
        if instruction.opname.startswith("FOR_ITER")
    )


@functools.cache
def _repeats(code: CodeType) -> tuple[tuple[int, int], ...]:
    """Return where the loops of a function begin and end."""
    return tuple(
        (int(instruction.argval), instruction.offset)
        for instruction in dis.get_instructions(code)
        if "JUMP_BACKWARD" in instruction.opname
    )


class Holder:
    """Who holds a lock: the task itself would lead to everything that it works on.

    That of a task which hands events to an app is also what the app knows the task by (`hub.getcurrent`):
    there is another task for each event here, and one for all of them in os-ken.
    """

    __slots__ = ("over",)

    def __init__(self) -> None:
        self.over = False

    @property
    def dead(self) -> bool:
        """Whether its task is over."""
        return self.over

    def kill(self) -> None:
        """End the running task, if it is that one's."""
        current().kill(self)


class Waiting(NamedTuple):
    """A task that hands events to an app and waits without an end."""

    task: Task
    place: Any
    where: str
    """Which function of the program waits."""
    for_a_signal: bool
    """Whether it waits to be notified, and not for what another holds."""


class Task:
    """A green thread."""

    serves = False
    """Whether it hands events to an app, which gets no other meanwhile."""
    holder: Holder | None = None
    """What stands for it where it holds a lock: one thread hands all events to an app."""
    thread: Any = None
    """The thread of `threading` that it is."""
    background = False
    """Whether it was there from the start, or comes from one that was or that a timer brought about."""

    def __init__(self, call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.raise_error = bool(kwargs.pop("raise_error", False))
        self.call, self.args, self.kwargs = call, args, kwargs
        self.status = NEW
        self.stack: Stack | None = None
        self.waiters: tuple[Task, ...] = ()
        self.result: Any = None
        self.error: BaseException | None = None

    @property
    def dead(self) -> bool:
        """Whether the task is over."""
        return self.status is DONE

    def wait(self, _timeout: float | None = None) -> Any:
        """Wait until the task is over, and return what it returned."""
        while self.status is not DONE:
            current().wait_at(self)
        if self.error is not None:
            raise self.error
        return self.result

    def kill(self) -> None:
        """End the task where it stands."""
        current().kill(self)

    def cancel(self) -> None:
        """End the task unless it has begun."""
        if self.status is NEW:
            current().kill(self)

    def run(self) -> None:
        """Do the task's work; called on its own stack."""
        origins.watch_returns()
        calls.trace_here()
        try:
            self.result = self.call(*self.args, **self.kwargs)
        except TaskExit:
            pass
        except NOT_FOR_PROGRAMS:
            raise
        except BaseException as error:
            if self.raise_error:
                self.error = error
            else:
                current().crashed(error)
        finally:
            self.finish()

    def finish(self) -> None:
        """Note that the task is over, and wake who waits for that."""
        self.status = DONE
        self.stack = None
        if self.holder is not None and not self.serves:
            self.holder.over = True
        current().wake_all(self)


class Timer:
    """A moment at which a task goes on, or a timeout falls due."""

    __slots__ = ("label", "target", "when")

    def __init__(self, when: int, label: str, target: Task | Timeout) -> None:
        self.when = when
        self.label = label
        self.target = target


class Agenda:
    """What is to happen: the part of a hub that is a program's state.  Time is in microseconds."""

    __slots__ = ("clock_read", "context", "now", "ready", "serving", "timers")

    def __init__(self) -> None:
        self.now = 0
        self.clock_read = False
        """Whether the program has ever asked for the time; until then it cannot matter."""
        self.timers: list[Timer] = []
        """In the order in which they fall due."""
        self.ready: deque[tuple[Task, int, BaseException | None]] = deque()
        """The tasks to go on, how often each was resumed when it was put here, what to raise in it."""
        self.serving: tuple[Waiting, ...] = ()
        """The tasks that hand events to apps and wait without an end."""
        self.context: dict[ContextVar[Any], Any] = {}
        """The values of context variables, which all tasks share."""


class Hub:
    """Runs the tasks of one program."""

    alone: bool = False
    """Whether what runs without a task is a handler of a program, and no program that is being loaded."""

    def __init__(self) -> None:
        self.agenda = Agenda()
        self.task: Task | None = None
        self.crashes: list[BaseException] = []
        """What tasks, and whoever runs handlers in them, failed with since this was last emptied."""
        self.situation = 0
        """A number for the state and input of the step that is being made."""
        self.stacks: dict[int, Stack] = {}
        """The stacks of all suspended tasks, of any state, oldest first.

        A stack that nobody holds would be unwound by the garbage collector, at any moment.
        """
        self.busy = False
        """Whether the program's own code is running."""
        self.starting = False
        """Whether the program is being made or started."""
        self.paused: list[Stack] = []
        """The stacks that were suspended since this was last emptied."""
        self._home: Any = None
        self._context = Context()
        self._idle: list[Any] = []
        """Stacks on which a task has ended; to make another is much dearer than to use one again."""

    # Used by the program, through the functions of `os_ken.lib.hub`.

    def spawn(self, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Task:
        """Make a task that is ready to run."""
        task = self._new_task(call, args, kwargs)
        self.wake(task)
        return task

    def spawn_after(self, seconds: float, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Task:
        """Make a task that begins later."""
        task = self._new_task(call, args, kwargs)
        self.add_timer(seconds, _name_of(call), task)
        return task

    def _new_task(self, call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Task:
        task = Task(call, args, kwargs)
        if self.starting or (self.task is not None and self.task.background):
            task.background = True
        return task

    def sleep(self, seconds: float = 0) -> None:
        """Let the running task wait; without a task, as when a program is loaded, time just passes."""
        task = self.task
        if task is None:
            self.agenda.now += max(0, round(seconds * MICROSECONDS))
        elif seconds <= 0:
            self.wake(task)
            self.pause()
        else:
            timer = self.add_timer(seconds, caller(), task)
            try:
                self.pause()
            finally:
                self.remove_timer(timer)

    def current_task(self) -> Task | Holder | None:
        """Return what the program knows the running task by."""
        return self.task.holder if self.task is not None and self.task.serves else self.task

    def kill(self, task: Task | Holder | None) -> None:
        """End a task where it stands; it gets to clean up at once, then the others run, then who killed."""
        if task is not None and task is self.current_task():
            raise TaskExit
        if not isinstance(task, Task) or task.status is DONE:
            return
        agenda = self.agenda
        agenda.timers[:] = [timer for timer in agenda.timers if timer.target is not task]
        if task.status is NEW:
            task.finish()
            return
        assert task.stack is not None
        agenda.ready.appendleft((task, task.stack.resumes, TaskExit()))
        if self.task is not None:
            self.wake(self.task)
            self.pause()

    def holder(self) -> Holder:
        """Return what stands for the running task where it holds a lock."""
        task = self.task
        if task is None:
            return _OUTSIDE
        if task.holder is None:
            task.holder = Holder()
        return task.holder

    # Used by what tasks wait at.

    def wake(self, task: Task) -> None:
        """Have a task go on when its turn comes."""
        self.agenda.ready.append((task, task.stack.resumes if task.stack else 0, None))

    def pause(self) -> None:
        """Suspend the running task until somebody wakes it."""
        if self.task is None:
            raise WouldWait(f"{caller()} waits")
        self._home.switch()

    def _let_others_run(self, timeout: float | None) -> bool:
        """Let threads run while a program waits that is no task itself; tell whether one of them did."""
        agenda = self.agenda
        if not self.alone:
            raise WouldWait(f"{caller()} waits")
        until = None if timeout is None else agenda.now + round(timeout * MICROSECONDS)
        if not agenda.ready:
            timer = agenda.timers[0] if agenda.timers else None
            if timer is None or (until is not None and timer.when > until):
                if until is None:
                    raise WouldWait(f"{caller()} waits")
                agenda.now = until
                return False
            self.fire(timer)
        context = self._context
        self.run(_MOST_TURNS)
        self._context = context
        return True

    def wait_at(self, place: Any, side: str = "waiters", timeout: float | None = None) -> bool:
        """Suspend the running task as one of those who wait at a side of a place.

        Return whether somebody woke it before the time was up.
        """
        task = self.task
        if task is None:
            return self._let_others_run(timeout)
        setattr(place, side, (*getattr(place, side), task))
        limit = Timeout(timeout)
        if task.serves and timeout is None:
            self.agenda.serving += (Waiting(task, place, caller(), _is_for_a_signal()),)
        try:
            self.pause()
        except Timeout as due:
            if due is not limit:
                raise
            return False
        finally:
            limit.cancel()
            setattr(place, side, tuple(other for other in getattr(place, side) if other is not task))
            if task.serves:
                self.agenda.serving = tuple(each for each in self.agenda.serving if each.task is not task)
        return True

    def wake_first(self, place: Any, side: str = "waiters") -> None:
        """Wake the task that has waited longest at a side of a place."""
        waiting = getattr(place, side)
        if waiting:
            setattr(place, side, waiting[1:])
            self.wake(waiting[0])

    def wake_all(self, place: Any) -> None:
        """Wake all tasks that wait at a place."""
        waiting, place.waiters = place.waiters, ()
        for task in waiting:
            self.wake(task)

    def add_timer(self, seconds: float, name: str, target: Task | Timeout) -> Timer:
        """Set a timer, named for who waits and for how long."""
        when = self.agenda.now + max(1, round(seconds * MICROSECONDS))
        timer = Timer(when, f"{seconds:g}s {name}", target)
        insort(self.agenda.timers, timer, key=attrgetter("when"))
        return timer

    def remove_timer(self, timer: Timer) -> None:
        """Take a timer away, if it is still there."""
        if timer in self.agenda.timers:
            self.agenda.timers.remove(timer)

    def raise_in(self, task: Task, error: BaseException) -> None:
        """Have an exception raised in a suspended task when its turn comes."""
        if task.status is not DONE:
            self.agenda.ready.append((task, task.stack.resumes if task.stack else 0, error))

    def crashed(self, error: BaseException) -> None:
        """Note that a task or a handler failed."""
        self.crashes.append(error)

    # Used by whoever drives the program.

    def run(self, switches: int) -> None:
        """Let tasks run until none is ready; after so many turns it is an overrun."""
        with self.in_context():
            self._run_ready(switches)

    @contextmanager
    def in_context(self) -> Iterator[Context]:
        """Have the program's context variables in a context of their own, inside this block."""
        context = self._context = Context()
        for variable, value in self.agenda.context.items():
            context.run(variable.set, value)
        try:
            yield context
        finally:
            if len(context):
                self.agenda.context = dict(sorted(context.items(), key=lambda item: item[0].name))

    def _run_ready(self, switches: int) -> None:
        ready = self.agenda.ready
        turn = 0
        while ready:
            task, resumes, error = ready.popleft()
            if task.status is DONE or (task.stack.resumes if task.stack else 0) != resumes:
                continue
            turn += 1
            if turn > switches:
                raise Overrun(f"its tasks took more than {switches} turns")
            self._resume(task, error, turn)

    def fire(self, timer: Timer) -> None:
        """Let a timer go off: time is now at its moment."""
        self.remove_timer(timer)
        self.agenda.now = max(self.agenda.now, timer.when)
        if isinstance(timer.target, Task):
            if timer.target.status is NEW:
                # What it spawns in turn would go on and on.
                timer.target.background = True
            self.wake(timer.target)
        else:
            timer.target.fall_due()

    def next_timers(self) -> dict[str, Timer]:
        """Return the timers that fall due next, by unique names."""
        timers = self.agenda.timers
        found: dict[str, Timer] = {}
        for timer in timers:
            if timer.when > timers[0].when:
                break
            name, count = timer.label, 1
            while name in found:
                count += 1
                name = f"{timer.label} #{count}"
            found[name] = timer
        return found

    def is_errand(self, timer: Timer) -> bool:
        """Tell whether a timer is part of handling something, rather than of what goes on all the time."""
        task = timer.target if isinstance(timer.target, Task) else timer.target.task
        if task is None or task.background:
            return False
        return task.serves or task.stack is None or not task.stack.repeats()

    def waiting_handler(self, timer: Timer) -> str:
        """Return where a handler is that waits for a timer, or "" if none does."""
        task = timer.target if isinstance(timer.target, Task) else timer.target.task
        if task is None or not task.serves or task.background:
            return ""
        place = None if task.stack is None else origins.suspended_code(list(task.stack.frames()))
        return "a handler" if place is None else place.told

    def unwind(self, stack: Stack) -> None:
        """Clear away a suspended stack, whatever its task does about it; memory is to be written anew."""
        stack.resumes += 1
        try:
            self._switch(stack, None, TaskExit())
        except BaseException:
            self.crashes.clear()
        if id(stack) in self.stacks:
            del self.stacks[id(stack)]
            ABANDONED.append(stack)

    def _resume(self, task: Task, error: BaseException | None, turn: int) -> None:
        """Give a task its turn."""
        stack = task.stack
        if stack is None:
            if error is not None:
                task.finish()
                return
            stack = task.stack = Stack(self._idle.pop() if self._idle else greenlet.greenlet(self._work))
            task.status = RUNNING
        elif not stack.is_looping():
            stack.trail = 0
        stack.resumes += 1
        stack.trail = hash((stack.trail, self.situation, turn))
        self._switch(stack, task, error)

    def _switch(self, stack: Stack, task: Task | None, error: BaseException | None) -> None:
        """Let what is on a stack run until it waits or ends."""
        green = stack.green
        green.parent = self._home = greenlet.getcurrent()
        green.gr_context = self._context
        self.task, self.busy = task, True
        try:
            if error is None:
                green.switch(task)
            else:
                green.throw(error)
        finally:
            self.task, self.busy = None, False
            ended = green.dead or (self._idle and self._idle[-1] is green) or stack in ABANDONED
            if ended:
                self.stacks.pop(id(stack), None)
            else:
                self.stacks[id(stack)] = stack
                self.paused.append(stack)

    def _work(self, task: Task) -> None:
        """Do one task after another, on a stack of their own."""
        while True:
            task.run()
            self._idle.append(greenlet.getcurrent())
            task = self._home.switch()


ABANDONED: Final[list[Stack]] = []
"""Stacks that would not be unwound: they are kept, so that nobody tries again."""

_OUTSIDE: Final = Holder()

_current = Hub()


def current() -> Hub:
    """Return the hub of the program that runs in this process now."""
    return _current


def use(hub: Hub) -> None:
    """Make a hub the one that `os_ken.lib.hub` stands for."""
    global _current
    _current = hub


_PACKAGE: Final = __name__.rpartition(".")[0]


def caller() -> str:
    """Return the module and function of the program that called into here, if need be by way of a library."""
    outside = list(_outside(sys._getframe(1)))
    frame = next(filter(origins.is_own, outside), outside[0])
    return f"{_module_of(frame).rpartition('.')[2]}.{frame.f_code.co_name}"


def _is_for_a_signal() -> bool:
    """Tell whether Python's own conditions called into here: they wait at a lock of their own making."""
    return _module_of(next(_outside(sys._getframe(1)))) == threading.__name__


def _outside(frame: FrameType | None) -> Iterator[FrameType]:
    """Yield the frames that are not of this package, innermost first; in its absence the outermost."""
    while frame is not None:
        if not _module_of(frame).startswith(_PACKAGE) or frame.f_back is None:
            yield frame
        frame = frame.f_back


def _module_of(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__"))


def _name_of(call: Any) -> str:
    call = getattr(call, "func", call)
    module = str(getattr(call, "__module__", "")).rpartition(".")[2]
    return f"{module}.{getattr(call, '__name__', type(call).__name__)}"


class Timeout(BaseException):
    """Raised in the task that made it when its time is up, unless it is cancelled before."""

    def __init__(self, seconds: float | None = None, exception: Any = None) -> None:
        super().__init__()
        self.seconds = seconds
        self.exception = exception
        self.task = current().task
        self.timer: Timer | None = None
        self.start()

    @property
    def pending(self) -> bool:
        """Whether the time is running."""
        return self.timer is not None

    def start(self) -> Timeout:
        """Let the time run."""
        if self.seconds is not None and self.timer is None:
            self.timer = current().add_timer(self.seconds, caller(), self)
        return self

    def cancel(self) -> None:
        """Stop the time."""
        if self.timer is not None:
            current().remove_timer(self.timer)
            self.timer = None

    def fall_due(self) -> None:
        """Raise what is to be raised."""
        self.timer = None
        plain = self.exception is None or isinstance(self.exception, bool)
        if self.task is not None:
            current().raise_in(self.task, self if plain else self.exception)

    def __enter__(self) -> Timeout:
        return self.start()

    def __exit__(self, _kind: object, value: BaseException | None, _traceback: object) -> bool:
        self.cancel()
        return value is self and self.exception is False

    def __str__(self) -> str:
        return f"{self.seconds} seconds"
