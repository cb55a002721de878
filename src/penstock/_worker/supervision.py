"""Watches a worker: hears what it tells, and decides what its end means.

- A call of a program that ends the process, or that nothing in it can interrupt, is made once more by
  another worker, to see that it is no accident and where the program was; then it counts as a crash or a
  hang of the program (`controllers/calls.py`), and another worker goes on from there.
- A worker that outstays its time, takes too much memory or dies by itself is `Lost`, with the reason.
- Ctrl-C has it stop and tell what it has; a second one, or a second gone by, ends it.
"""

from __future__ import annotations

import os
import resource
import selectors
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import current_thread, main_thread
from types import FrameType
from typing import Any, Final, TypeVar

from penstock._base.files import own_number
from penstock._controllers import calls, confined
from penstock._controllers.calls import Fatal, Page
from penstock._controllers.watchdog import Spent, spent
from penstock._verdict import verdict as stopping
from penstock._verdict.verdict import Bound, Why
from penstock._worker.containment import Contained, Terminal, start
from penstock._worker.crossing import Frames, Garbled, send
from penstock._world.network import ComponentRaised
from penstock.errors import Interrupted, PenstockError

T = TypeVar("T")

Tell = Callable[[object], None]
Job = Callable[[Tell], T]
"""What a worker does: it may tell things on the way, and returns a value."""

_LOOK_S: Final = 0.05
_GRACE_S: Final = 0.7
"""How long a worker may go on when its time is up or Ctrl-C was pressed."""
_BUSY: Final = 10
"""How many times longer it may take on a machine that has much else to do."""
_HANG_S: Final = 3.0
"""How long a call may go on when its time is up and it was interrupted; then nothing can."""
_ENDING_S: Final = 0.5
"""How long a worker that has said its last word may take to end."""
_MOST_DEATHS: Final = 24
_BAD_END: Final = "a call of the program came to a bad end"
_MOST_PRINTED: Final = 16_384
_SHARE_OF_MEMORY: Final = 0.9
_PAGE_MB: Final = os.sysconf("SC_PAGE_SIZE") / (1 << 20)


@dataclass(frozen=True, slots=True)
class Allowance:
    """What a worker may use; None means no more than the machine has."""

    seconds: float | None = None
    memory_mb: int | None = None


class Lost(Exception):
    """A worker ended without a result; `bound` says why."""

    def __init__(self, bound: Bound) -> None:
        super().__init__(str(bound))
        self.bound = bound


@dataclass(frozen=True, slots=True)
class Supervised:
    """What a worker returned, and what befell others that it follows."""

    value: Any
    accidents: tuple[Bound, ...] = ()
    """Ends of processes that did not come again."""


def may_come_from_outside(reason: Bound) -> bool:
    """Tell whether a result is bounded by what another process may have done to the worker."""
    return reason.why is Why.WORKER or reason.startswith(_BAD_END)


# What crosses.


@dataclass(frozen=True, slots=True)
class Hello:
    """The worker's process number."""

    process: int


@dataclass(frozen=True, slots=True)
class News:
    """Something that the worker tells on the way."""

    value: Any


@dataclass(frozen=True, slots=True)
class Done:
    """What the worker's job returned."""

    value: Any


@dataclass(frozen=True, slots=True)
class Failed:
    """An error that the worker's job raised."""

    message: str
    traceback: str
    is_input: bool


@dataclass(frozen=True, slots=True)
class Stopped:
    """Ctrl-C ended the worker's job, which has nothing more to tell."""


@dataclass(frozen=True, slots=True)
class OutOfTime:
    """What is limited in time is over: what a worker still does is to tell of it.

    It is told as news.
    """


class WorkerError(Exception):
    """A fault of Penstock's own, in a worker; the text is its traceback there."""


class RemoteError(PenstockError):
    """Bad input that was noticed in a worker."""

    def __init__(self, failed: Failed) -> None:
        super().__init__(failed.message)
        self.traceback = failed.traceback


@dataclass(frozen=True, slots=True)
class _Death:
    """An end of a worker in the middle of a call."""

    number: int
    hangs: bool
    what: str
    code: str
    asked: str = ""
    """What the worker had asked the network for, in vain."""
    used_up: str = ""
    """What it had used up of what there is for it."""


def supervise(
    job: Job[Any],
    *,
    hear: Tell = lambda _: None,
    show: Callable[[str], None] = lambda _: None,
    allowance: Allowance = Allowance(),
    terminal: Terminal = Terminal.NONE,
    again: Callable[[], None] = lambda: None,
    apart: bool = False,
) -> Supervised:
    """Have a worker do a job; `hear` is told what it tells, `show` what it prints.

    `again` is called before another worker begins anew; `apart` has workers without a network.

    Raises what the job raises as far as that is the user's, and `Lost`.
    """
    began = time.monotonic()
    until = None if allowance.seconds is None else began + allowance.seconds
    most_mb = allowance.memory_mb or int(_SHARE_OF_MEMORY * _available_mb())
    page = Page()
    fatal: dict[int, Fatal] = {}
    accidents: dict[int, Bound] = {}
    traced = 0
    asked = ""
    with interrupts() as pressed:
        for _ in range(_MOST_DEATHS):
            watching = _Watching(page, pressed, until, allowance, most_mb, hear, show)
            work = _work(job, page, dict(fatal), traced, asked)
            end = watching.follow(start(work, terminal, apart=apart))
            if isinstance(end, Done):
                return Supervised(end.value, tuple(accidents.values()))
            again()
            # What it did then, be it its end, it might not have done with a network.
            asked = asked or end.asked
            if end.used_up:
                why = (
                    f"the program ended its process when all was used up that there is for it: {end.used_up}"
                )
                raise Lost(Bound(why, Why.LIMITS))
            if end.number == traced:
                fatal[traced] = Fatal(end.hangs, end.what, end.code)
                accidents.pop(traced, None)
                traced = 0
            else:
                traced = end.number
                accidents[traced] = Bound(
                    f"{_BAD_END} ({end.what}), but not when the same was done again: "
                    "the program keeps state that Penstock does not see",
                    Why.UNSEEN_STATE,
                )
    raise Lost(Bound(f"the program ended its process in more than {len(fatal)} calls", Why.WORKER))


def _work(
    job: Job[Any], page: Page, fatal: Mapping[int, Fatal], traced: int, asked: str
) -> Callable[[int], None]:
    """Return what a worker does: the job, with everything told.

    `asked` is what workers before it had asked the network for.
    """

    def work(report: int) -> None:
        signal.signal(signal.SIGINT, _raise_interrupted)
        calls.watch(page, fatal, traced)
        if confined.is_apart():
            confined.withhold_network(asked)
        os.register_at_fork(before=calls.forking, after_in_child=partial(_be_mute, report))
        send(report, Hello(own_number()))
        try:
            end: Done | Failed = Done(job(lambda value: send(report, News(value))))
        except MemoryError:
            raise
        except Interrupted:
            send(report, Stopped())
            return
        except PenstockError as error:
            end = Failed(str(error), error.traceback, is_input=True)
        except ComponentRaised as error:
            end = Failed(str(error), "", is_input=True)
        except Exception as error:
            end = Failed(str(error), "".join(traceback.format_exception(error)), is_input=False)
        send(report, end)

    return work


def _be_mute(report: int) -> None:
    """Have a process that a program forks tell nothing: it is a copy of the worker in all but this."""
    if calls.forked():
        with suppress(OSError):
            os.close(report)


def _raise_interrupted(_signal: int, _frame: FrameType | None) -> None:
    raise Interrupted


class Pressed:
    """How often Ctrl-C was pressed, and when first."""

    def __init__(self) -> None:
        self.times = 0
        self.first = 0.0


@contextmanager
def interrupts() -> Iterator[Pressed]:
    """Count how often Ctrl-C is pressed, in place of being interrupted; only the main thread hears of it."""
    pressed = Pressed()
    if current_thread() is not main_thread():
        yield pressed
        return

    def press(_signal: int, _frame: FrameType | None) -> None:
        pressed.first = pressed.first or time.monotonic()
        pressed.times += 1

    before = signal.signal(signal.SIGINT, press)
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, before)


@dataclass(slots=True)
class _Watching:
    """One worker, followed to its end."""

    page: Page
    pressed: Pressed
    until: float | None
    allowance: Allowance
    most_mb: int
    hear: Tell
    show: Callable[[str], None]
    _frames: Frames = field(default_factory=Frames)
    _end: Done | Failed | None = None
    _sent: int = 0
    _seen: int = 0
    _since: Spent = field(default_factory=lambda: Spent(0.0, 0.0))
    _printed: int = 0
    _oom_kills: int = field(default_factory=lambda: _oom_kills())
    """How many processes the kernel had ended for want of memory when the worker began."""
    _late: dict[float, Spent] = field(default_factory=dict)
    """What the worker had done when it should have come to an end."""

    def follow(self, worker: Contained) -> Done | _Death:
        """Return what the worker returned, or in which call of the program it ended."""
        try:
            ended = self._followed(worker)
        finally:
            worker.end(patience=0.0 if self._end is None else _ENDING_S)
        if isinstance(self._end, Done):
            return self._end
        if isinstance(self._end, Failed):
            raise RemoteError(self._end) if self._end.is_input else WorkerError(self._end.traceback)
        return ended

    def _followed(self, worker: Contained) -> _Death:
        with selectors.DefaultSelector() as selector:
            for file in (worker.reports, worker.printed, worker.status):
                os.set_blocking(file, False)
                selector.register(file, selectors.EVENT_READ)
            while self._end is None:
                ready = {key.fd for key, _ in selector.select(_LOOK_S)}
                for file in (worker.reports, worker.printed):
                    if file in ready and not self._read(file, worker):
                        selector.unregister(file)
                if self._end is None and worker.status in ready:
                    return self._died(worker)
                death = self._look(worker)
                if death is not None:
                    return death
        return _Death(0, False, "", "")

    def _read(self, file: int, worker: Contained) -> bool:
        """Read what there is; tell whether more can come."""
        try:
            data = os.read(file, 1 << 20)
        except BlockingIOError:
            return True
        if file == worker.printed:
            self._print(data)
            return bool(data)
        try:
            messages = self._frames.add(data)
        except Garbled as garbled:
            raise Lost(
                Bound(f"the worker said something that makes no sense ({garbled})", Why.FAULT)
            ) from None
        for message in messages:
            self._take(message, worker)
        return bool(data)

    def _take(self, message: object, worker: Contained) -> None:
        match message:
            case Hello(process):
                worker.process = process
            case News(OutOfTime()):
                self.until = None
            case News(value):
                self.hear(value)
            case Stopped():
                raise Lost(Bound("Ctrl-C", Why.INTERRUPTED))
            case Done() | Failed():
                self._end = message
            case _:
                raise _senseless(type(message).__name__)

    def _print(self, data: bytes) -> None:
        left = _MOST_PRINTED - self._printed
        self._printed += len(data)
        if left > 0:
            self.show(data[:left].decode(errors="replace"))

    def _look(self, worker: Contained) -> _Death | None:
        """Look whether the worker is to be stopped; return in which call it hung."""
        self._pass_on_interrupts(worker)
        if self.until is not None and self._outstays(self.until, worker):
            raise Lost(stopping.seconds(self.allowance.seconds or 0.0))
        if not worker.process:
            return None
        self._weigh(worker)
        return self._hung(worker)

    def _outstays(self, moment: float, worker: Contained) -> bool:
        """Tell whether a worker goes on although it should have come to an end at a moment.

        Time in which others ran in its place does not count against it, up to a point.
        """
        late = time.monotonic() - moment
        if late < 0 or not worker.process:
            return late > _GRACE_S
        now = spent(worker.process)
        last = self._late.setdefault(moment, now)
        used = now.computing - last.computing + now.waiting - last.waiting
        return used > _GRACE_S or late > _BUSY * _GRACE_S

    def _pass_on_interrupts(self, worker: Contained) -> None:
        if not self.pressed.times:
            return
        if self.pressed.times > 1 or self._outstays(self.pressed.first, worker):
            raise Lost(Bound("Ctrl-C", Why.INTERRUPTED))
        if not self._sent:
            self._sent = 1
            worker.send(signal.SIGINT)

    def _weigh(self, worker: Contained) -> None:
        """Look how much memory the worker has."""
        try:
            pages = int(Path(f"/proc/{worker.process}/statm").read_text().split()[1])
        except (OSError, IndexError, ValueError):
            return
        if pages * _PAGE_MB > self.most_mb:
            raise Lost(stopping.memory(self.most_mb))

    def _hung(self, worker: Contained) -> _Death | None:
        page = self.page
        number = page.number if page.began else 0
        if not number:
            self._seen = 0
            return None
        if number != self._seen:
            self._seen, self._since = number, spent(worker.process)
            return None
        now = spent(worker.process)
        computed, waited = now.computing - self._since.computing, now.waiting - self._since.waiting
        if computed + waited < page.limit + _HANG_S:
            return None
        did = "computed" if computed > waited else "waited"
        what = f"it {did} for more than {page.limit:g} s, where nothing could interrupt it"
        return _Death(number, True, what, page.place, worker.asked_for())

    def _died(self, worker: Contained) -> _Death:
        """Return in which call a worker died."""
        # What it said last may still be on its way.
        while self._end is None and self._read(worker.reports, worker) and self._more(worker):
            pass
        if self._end is not None:
            return _Death(0, False, "", "")
        ended = worker.how_it_ended()
        what = "ended by another process" if ended is None else str(ended)
        if ended is not None:
            self._refuse_limits(ended.signal)
        page = self.page
        if page.began:
            lack = ("", "") if ended is None else (ended.asked, ended.used_up)
            return _Death(page.number, False, what, page.place, *lack)
        if self.pressed.times:
            raise Lost(Bound("Ctrl-C", Why.INTERRUPTED))
        raise Lost(Bound(f"the worker ended before its work was done: {what}{_where(worker)}", Why.WORKER))

    def _refuse_limits(self, number: int) -> None:
        """See to it that a worker which the kernel ended for a limit of ours tells nothing of its program."""
        if number == signal.SIGKILL and _oom_kills() > self._oom_kills:
            raise Lost(Bound("the memory that the machine has for it", Why.MEMORY))
        seconds, _ = resource.getrlimit(resource.RLIMIT_CPU)
        if number in (signal.SIGKILL, signal.SIGXCPU) and seconds != resource.RLIM_INFINITY:
            raise Lost(Bound(f"{seconds:,} seconds of computing (ulimit -t)", Why.SECONDS))

    def _more(self, worker: Contained) -> bool:
        with selectors.DefaultSelector() as selector:
            selector.register(worker.reports, selectors.EVENT_READ)
            return bool(selector.select(0))


def _senseless(what: str) -> Lost:
    return Lost(Bound(f"the worker said something that makes no sense ({what})", Why.WORKER))


def _available_mb() -> int:
    """Return how much memory the machine can give, and the control group that we are in."""
    least = 1 << 20
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            least = int(line.split()[1]) // 1024
    return min([least, *_left_in_groups()])


_GROUPS: Final = Path("/sys/fs/cgroup")


def _left_in_groups() -> Iterator[int]:
    """Yield how much memory is left in our control group, and in those around it."""
    with suppress(OSError, ValueError):
        own = Path("/proc/self/cgroup").read_text().strip().rpartition("::")[2]
        folder = _GROUPS / own.strip("/")
        while folder.is_relative_to(_GROUPS):
            with suppress(OSError, ValueError):
                most, used = ((folder / f"memory.{name}").read_text() for name in ("max", "current"))
                yield max(0, int(most) - int(used)) >> 20
            folder = folder.parent


def _oom_kills() -> int:
    """Return how many processes the kernel has ended for want of memory, also in control groups."""
    with suppress(OSError, ValueError):
        for line in Path("/proc/vmstat").read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0


def _where(worker: Contained) -> str:
    """Return where Python was when the worker died, if it told."""
    for line in worker.last_words().splitlines():
        if line.strip().startswith("File "):
            return f" ({line.strip().removeprefix('File ')})"
    return ""
