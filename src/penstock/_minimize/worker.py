"""Workers: processes that replay inputs of a script, apart from whoever asks them to.

A worker is told where the trace is and reads the script itself; besides that it is sent plain values only:
what differs from that script, and which inputs to play.  It makes its own controllers from the scenario, in
temporary folders and on ports of its own.

It is a process, since a controller that runs on virtual time has the clock of its whole process: threads that
wait for something there, such as those of a Dask worker, would wait for ever.  It hears tasks and answers on
one line, and goes when the other end of that is closed, however that came about.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from asyncio import CancelledError
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from multiprocessing import connection
from pathlib import Path
from threading import Thread
from typing import Any, Final, NoReturn

from penstock._minimize.live_play import break_off
from penstock._minimize.live_replay import LiveReproducer
from penstock._minimize.recording import RecordedInput, Recording, load_script, trace_file
from penstock._minimize.reproducers import reproducer_of
from penstock._minimize.reproducing import Attempt, Reproducer
from penstock._minimize.timings import USUAL, LearnedTimings, Waiting
from penstock._trace.consent import Consent
from penstock.errors import PenstockError

CALL_OFF: Final = signal.SIGUSR1
"""What a worker is sent when the replay it is at is no longer wanted."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a script comes from: a trace, which violation of it, and what counts as the same one."""

    trace: str
    invariant: str | None = None
    wide: bool = False
    waiting: Waiting = USUAL
    """How replays with real processes wait."""
    again: bool = False
    """Whether it is minimised once more, since what was found in haste did not stand."""
    consent: Consent | None = None
    """That the code which the trace names may run; without it, only if that is our own."""

    @staticmethod
    def of(
        trace: Path,
        *,
        invariant: str | None = None,
        wide: bool = False,
        waiting: Waiting = USUAL,
        consent: Consent | None = None,
    ) -> Origin:
        """Return the origin of the script of a trace, or of the folder of a run."""
        return Origin(str(trace_file(trace).absolute()), invariant, wide, waiting, consent=consent)

    @property
    def terms(self) -> str:
        """What answers depend on besides the script."""
        words = ("again" * self.again, "wide" * self.wide, str(self.waiting) * (self.waiting != USUAL))
        return " ".join(filter(None, words))

    def script(self) -> Recording:
        """Read the script."""
        return load_script(Path(self.trace), self.consent, invariant=self.invariant)

    def reproducer(self, script: Recording) -> Reproducer:
        """Return what replays the script."""
        return reproducer_of(script, wide=self.wide, waiting=self.waiting)


@dataclass(frozen=True, slots=True)
class Task:
    """Some inputs to play, by a script that differs from that of the trace in some fields."""

    origin: Origin
    digest: str
    """The digest of the script that the trace should have."""
    variant: str
    """The digest of the script with its changes."""
    changes: Mapping[str, Any]
    inputs: tuple[RecordedInput, ...]
    tries: int
    lessons: LearnedTimings | None = None
    """What other replays have taught."""


@dataclass(frozen=True, slots=True)
class Answer:
    """How a task went, or why it could not be done."""

    attempt: Attempt | None
    error: str = ""
    lessons: LearnedTimings | None = None
    """What it taught, besides."""
    called_off: bool = False

    def told(self) -> Attempt:
        """Return the attempt, or raise the error."""
        if self.attempt is None:
            raise PenstockError(self.error)
        return self.attempt


# What a worker does.

_VARIANTS: Final[dict[tuple[Origin, str], Reproducer]] = {}
"""What plays the scripts that were asked for lately."""
_MOST_VARIANTS: Final = 16


def play(task: Task, reproducer: Reproducer | None = None) -> Answer:
    """Do a task, with a reproducer that is at hand or one of our own; an error is an answer too."""
    try:
        reproducer = _reproducer(task) if reproducer is None else reproducer
        if not isinstance(reproducer, LiveReproducer):
            return Answer(reproducer.run(task.inputs, tries=task.tries))
        if task.lessons is not None:
            reproducer.lessons.learn(task.lessons)
        try:
            attempt = reproducer.run(task.inputs, tries=task.tries)
        except PenstockError:
            # Between choosing a port and listening on it, another worker may have taken it.
            attempt = reproducer.run(task.inputs, tries=task.tries)
        return Answer(attempt, lessons=reproducer.lessons)
    except PenstockError as error:
        return Answer(None, str(error))


def _reproducer(task: Task) -> Reproducer:
    known = _VARIANTS.get((task.origin, task.variant))
    if known is None:
        first = _first(task.origin, task.digest)
        known = first.with_script(replace(first.script, **task.changes)) if task.changes else first
        if len(_VARIANTS) >= _MOST_VARIANTS:
            _VARIANTS.clear()
        _VARIANTS[task.origin, task.variant] = known
    return known


@lru_cache(maxsize=2)
def _first(origin: Origin, digest: str) -> Reproducer:
    script = origin.script()
    if script.digest() != digest:
        raise PenstockError(f"A worker reads another script from {origin.trace}: leave the trace as it is.")
    return origin.reproducer(script)


def hire() -> tuple[subprocess.Popen[bytes], connection.Connection]:
    """Start a worker; return it and the line on which it takes tasks."""
    ours, theirs = connection.Pipe()
    # Not one of multiprocessing's: these cannot be started from a worker of Dask, and import our main module.
    process = subprocess.Popen(
        [sys.executable, "-m", __name__, str(theirs.fileno())],
        pass_fds=[theirs.fileno()],
        stdin=subprocess.DEVNULL,
        # Ctrl-C is for the one that hired it, who then closes the line.
        process_group=0,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    # With our copy of its end closed, the end of the process is the end of the line.
    theirs.close()
    return process, ours


def serve(descriptor: int) -> None:
    """Do tasks until there are no more."""
    signal.signal(signal.SIGTERM, _leave)
    signal.signal(CALL_OFF, _call_off)
    line = connection.Connection(descriptor)
    Thread(target=_leave_with_line, args=(descriptor,), daemon=True).start()
    with suppress(EOFError, OSError):
        while True:
            line.send(_unless_called_off(line.recv()))


def _unless_called_off(task: Task) -> Answer:
    try:
        return play(task)
    except CancelledError:
        return Answer(None, called_off=True)


def _call_off(*_: object) -> None:
    break_off()


def _leave(*_: object) -> NoReturn:
    # Raised in the middle of a replay, this closes the stage, which stops the controllers.
    raise SystemExit(0)


def _leave_with_line(descriptor: int) -> None:
    hangup = select.poll()
    hangup.register(descriptor, 0)
    hangup.poll()
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    # Tasks name classes by their module, which is not this one while it is run.
    from penstock._minimize import worker

    worker.serve(int(sys.argv[1]))
