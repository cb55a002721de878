"""Workers: processes that replay inputs of a recording, side by side, here or on a cluster.

A worker is told where the trace is and reads the recording itself; besides that it is sent plain values only:
what differs from that recording, and which inputs to play.  It makes its own controllers from the scenario,
in temporary folders and on ports of its own.

It is a process, since a controller that runs on virtual time has the clock of its whole process: threads that
wait for something there, such as those of a Dask worker, would wait for ever.  It hears tasks and answers on
one line, and goes when the other end of that is closed, however that came about.

A controller that has a fixed port cannot be replayed side by side; all others have ports of their own.  On
this machine a worker that is killed is replaced, and what it was at is begun anew.  It goes when we go,
however we go, and takes its controllers along.  On a Dask cluster each of Dask's workers has one such
process; there the trace and what its scenario names must have the same path on all machines, and what a
worker is in the middle of when we stop, it still ends.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from asyncio import CancelledError
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import import_module
from multiprocessing import connection
from threading import Lock
from typing import Any, Final, Generic, NoReturn, Protocol, TypeVar

from penstock._fuzz.building import build_setting
from penstock._minimize import hired
from penstock._replay.guided import Attempt, Reproducer
from penstock._replay.live import LiveReproducer
from penstock._replay.live_play import LearnedTimings, break_off
from penstock._replay.recording import RecordedInput, Recording
from penstock._replay.replaying import Origin
from penstock._scenario.options import HIGHEST_PORT
from penstock.errors import PenstockError

CALL_OFF: Final = signal.SIGUSR1
"""What a worker is sent when the replay it is at is no longer wanted."""


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

    def unwrap(self) -> Attempt:
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
        raise PenstockError(f"{origin.trace} has changed since it was read: leave the trace as it is.")
    return origin.reproducer(script)


def hire(module: str = __name__) -> tuple[subprocess.Popen[bytes], connection.Connection]:
    """Start a worker, by a module that can serve; return it and the line on which it takes tasks."""
    ours, theirs = connection.Pipe()
    # Not one of multiprocessing's: these cannot be started from a worker of Dask, and import our main module.
    process = subprocess.Popen(
        [sys.executable, "-m", hired.__name__, module, str(theirs.fileno())],
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
    """Replay what is asked for until there is no more."""
    signal.signal(CALL_OFF, _call_off)
    attend(descriptor, lambda line: line.send(_unless_called_off(line.recv())))


def attend(descriptor: int, once: Callable[[connection.Connection], None]) -> None:
    """Take a task from a line and answer it, again and again, until the other end is closed (see `hired`)."""
    signal.signal(signal.SIGTERM, _leave)
    line = connection.Connection(descriptor)
    with suppress(EOFError, OSError):
        while True:
            once(line)


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


# Pools of workers.


MOST_DEATHS: Final = 3
"""How many workers in a row may die of a replay."""
_GRACE_S: Final = 10.0
"""How long a worker may take to stop its controllers before it is killed."""
_CONNECTING_S: Final = 10

T = TypeVar("T")
A = TypeVar("A")


class WorkerPool(Protocol):
    """Workers that do tasks; whoever gives them tasks numbers these."""

    @property
    def size(self) -> int:
        """How many tasks can be done at the same time."""
        ...

    def begin(self, number: int, task: Task) -> None:
        """Give a task to a free worker."""
        ...

    def has_news(self) -> bool:
        """Tell whether a task is done, without waiting."""
        ...

    def news(self) -> Iterator[tuple[int, Answer]]:
        """Wait until a task is done, and yield all that are."""
        ...

    def call_off(self, number: int) -> None:
        """Have a task broken off, if that can be done; there is an answer in any case."""
        ...

    def close(self) -> None:
        """Stop everything."""
        ...


def refuse_fixed_ports(script: Recording) -> None:
    """Refuse controllers that would all listen on the same port."""
    if script.engine == "check":
        return
    for name, command in build_setting(script.scenario).commands.items():
        if not any("{port}" in word for word in command.cmd):
            raise PenstockError(
                f"Parallel replays need a port each: "
                f"write {{port}} into the cmd of {name}, or minimise without workers."
            )


# Processes of this machine.


@dataclass(slots=True)
class Worker(Generic[T]):
    """A process, and what it is at."""

    process: subprocess.Popen[bytes]
    line: connection.Connection
    number: int | None = None
    task: T | None = None
    deaths: int = 0


class Crew(Generic[T, A]):
    """Worker processes on this machine, which do tasks of one kind and give answers of one kind."""

    def __init__(self, size: int, module: str, *, grace_s: float = _GRACE_S) -> None:
        self._module = module
        self._grace_s = grace_s
        self._workers: list[Worker[T]] = [Worker(*hire(module)) for _ in range(size)]

    @property
    def size(self) -> int:
        """How many workers there are."""
        return len(self._workers)

    @property
    def processes(self) -> tuple[int, ...]:
        """The workers' process numbers."""
        return tuple(worker.process.pid for worker in self._workers)

    def begin(self, number: int, task: T) -> None:
        """Give a task to a free worker."""
        worker = next(worker for worker in self._workers if worker.task is None)
        worker.number, worker.task, worker.deaths = number, task, 0
        self._send(worker)

    def has_news(self) -> bool:
        """Tell whether a task is done, without waiting."""
        return bool(connection.wait(self._lines(), 0))

    def news(self, patience_s: float | None = None) -> Iterator[tuple[int, A]]:
        """Wait until a task is done, but no longer than that, and yield all that are."""
        lines = self._lines()
        heard: list[tuple[int, A]] = []
        while lines and not heard:
            ready = connection.wait(lines, patience_s)
            if not ready:
                return
            for worker in self._workers:
                if worker.line in ready and worker.number is not None:
                    answer = self._hear(worker)
                    if answer is not None:
                        heard.append((worker.number, answer))
                        worker.number = worker.task = None
            lines = self._lines()
        yield from heard

    def close(self) -> None:
        """Stop every worker and its controllers."""
        for worker in self._workers:
            # One that is at nothing has no controllers to stop.
            (worker.process.kill if worker.task is None else worker.process.terminate)()
        until = time.monotonic() + self._grace_s
        for worker in self._workers:
            try:
                worker.process.wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                worker.process.kill()
                worker.process.wait()
            worker.line.close()

    def _lines(self) -> list[connection.Connection]:
        return [worker.line for worker in self._workers if worker.task is not None]

    def _send(self, worker: Worker[T]) -> None:
        # A worker that died meanwhile is noticed, and replaced, when its answer is read.
        with suppress(OSError):
            worker.line.send(worker.task)

    def _hear(self, worker: Worker[T]) -> A | None:
        """Return a worker's answer; one that died is replaced, and does the task that it was at."""
        try:
            return self._receive(worker.line)
        except (EOFError, OSError):
            worker.deaths += 1
        status = worker.process.wait()
        answer = self._give_up(status) if worker.deaths >= MOST_DEATHS else None
        self._replace(worker)
        if answer is None:
            self._send(worker)
        return answer

    def _replace(self, worker: Worker[T]) -> None:
        worker.line.close()
        worker.process, worker.line = hire(self._module)

    def _receive(self, line: connection.Connection) -> A:
        """Read an answer from a worker's line."""
        raise NotImplementedError

    def _give_up(self, status: int) -> A:
        """Return what a task comes to that several workers have died of, the last with a status."""
        raise NotImplementedError


class LocalCrew(Crew[Task, Answer]):
    """Worker processes on this machine that replay."""

    def __init__(self, size: int) -> None:
        super().__init__(size, __name__)

    def call_off(self, number: int) -> None:
        """Have the worker that is at a task break it off."""
        for worker in self._workers:
            if worker.number == number:
                worker.process.send_signal(CALL_OFF)

    def _receive(self, line: connection.Connection) -> Answer:
        answer = line.recv()
        assert isinstance(answer, Answer), "a worker sends nothing else"
        return answer

    def _give_up(self, status: int) -> Answer:
        raise PenstockError(
            f"{MOST_DEATHS} workers in a row have died of the same replay "
            f"(the last with status {status}): minimise without workers."
        )


# A cluster.


_APART: Final[list[LocalCrew]] = []
"""What does the tasks of this process, if that is a worker of a cluster."""
_ALONE: Final = Lock()


def play_apart(task: Task) -> Answer:
    """Do a task in a process of its own, which is kept for the next."""
    with _ALONE:
        if not _APART:
            _APART.append(LocalCrew(1))
        _APART[0].begin(0, task)
        ((_, answer),) = _APART[0].news()
        return answer


def _knock(address: str) -> None:
    """Refuse an address at which nobody answers; a client of Dask that gives up prints a traceback."""
    place = address.removeprefix("tcp://")
    if "://" in place:
        return  # another kind of connection, of which only Dask knows
    host, _, port = place.rpartition(":")
    if not host or not port.isdecimal() or int(port) > HIGHEST_PORT:
        raise PenstockError(f"invalid scheduler address {address}: write it as tcp://127.0.0.1:8786.")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _CONNECTING_S).close()
    except OSError as error:
        raise PenstockError(
            f"No Dask scheduler answers at {address} ({error.strerror or error}): "
            f"start one with `dask scheduler`."
        ) from None


class DaskCrew:
    """The workers of a Dask cluster."""

    def __init__(self, address: str) -> None:
        try:
            dask: Any = import_module("distributed")
        except ImportError:
            raise PenstockError("A cluster needs Dask: install penstock[cluster].") from None
        self._dask = dask
        _knock(address)
        try:
            self._client = dask.Client(address, timeout=_CONNECTING_S, set_as_default=False)
        except (OSError, ValueError) as error:
            raise PenstockError(
                f"No Dask scheduler answers at {address} ({error}): start one with `dask scheduler`."
            ) from None
        self._futures: dict[Any, int] = {}
        if not self._client.nthreads():
            self.close()
            raise PenstockError(f"The cluster at {address} has no workers: start some with `dask worker`.")

    @property
    def size(self) -> int:
        """How many worker processes there are now."""
        return max(1, len(self._client.nthreads()))

    def begin(self, number: int, task: Task) -> None:
        """Give a task to the cluster."""
        self._futures[self._client.submit(play_apart, task, pure=False)] = number

    def has_news(self) -> bool:
        """Tell whether a task is done, without waiting."""
        return any(future.done() for future in self._futures)

    def news(self) -> Iterator[tuple[int, Answer]]:
        """Wait until a task is done, and yield all that are."""
        with self._client.as_current():
            self._dask.wait(list(self._futures), return_when="FIRST_COMPLETED")
        for future in [future for future in self._futures if future.done()]:
            number = self._futures.pop(future)
            if future.status != "finished":
                raise PenstockError(f"A replay failed on the cluster: {future.exception()!r}.")
            yield number, future.result()

    def call_off(self, number: int) -> None:
        """Do nothing: what a worker of a cluster is in the middle of, it ends."""

    def close(self) -> None:
        """Call off what has not begun, and leave the cluster."""
        self._client.cancel(list(self._futures))
        self._client.close()
