"""Crews: workers that replay inputs of a script side by side, on this machine or on a cluster.

A worker is told where the trace is and reads the script itself; besides that it is sent plain values only:
what differs from that script, and which inputs to play.  It makes its own controllers from the scenario, in
temporary folders and on ports of its own, so a controller that has a fixed port cannot be replayed side by
side.

On this machine a worker is a fresh process.  One that is killed is replaced, and what it was at is begun
anew.  It goes when we go, however we go, and takes its controllers along.  On a Dask cluster the scheduler
sees to that; there the trace and what its scenario names must have the same path on all machines, and what a
worker is in the middle of when we stop, it still ends.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import import_module
from multiprocessing import connection, get_context, parent_process
from multiprocessing.context import SpawnProcess
from pathlib import Path
from threading import Lock, Thread
from typing import Any, Final, NoReturn, Protocol

from penstock.errors import PenstockError
from penstock.fuzz.building import build_setting
from penstock.minimize.reproducers import reproducer_of
from penstock.minimize.reproducing import Attempt, Reproducer
from penstock.minimize.script import Cue, Script, load_script, trace_file

MOST_DEATHS: Final = 3
"""How many workers in a row may die of a replay."""
_GRACE_S: Final = 10.0
"""How long a worker may take to stop its controllers before it is killed."""
_CONNECTING_S: Final = 10


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a script comes from: a trace, which violation of it, and what counts as the same one."""

    trace: str
    invariant: str | None = None
    wide: bool = False

    @staticmethod
    def of(trace: Path, *, invariant: str | None = None, wide: bool = False) -> Origin:
        """Return the origin of the script of a trace, or of the folder of a run."""
        return Origin(str(trace_file(trace).absolute()), invariant, wide)

    def script(self) -> Script:
        """Read the script."""
        return load_script(Path(self.trace), invariant=self.invariant)


@dataclass(frozen=True, slots=True)
class Task:
    """Some inputs to play, by a script that differs from that of the trace in some fields."""

    origin: Origin
    digest: str
    """The digest of the script that the trace should have."""
    variant: str
    """The digest of the script with its changes."""
    changes: Mapping[str, Any]
    inputs: tuple[Cue, ...]
    tries: int


@dataclass(frozen=True, slots=True)
class Answer:
    """How a task went, or why it could not be done."""

    attempt: Attempt | None
    error: str = ""

    def told(self) -> Attempt:
        """Return the attempt, or raise the error."""
        if self.attempt is None:
            raise PenstockError(self.error)
        return self.attempt


class Crew(Protocol):
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

    def close(self) -> None:
        """Stop everything."""
        ...


# What a worker does.

_ALONE: Final = Lock()
"""Controllers in process share what is global in their libraries, so a process plays one script at a time."""
_VARIANTS: Final[dict[tuple[Origin, str], Reproducer]] = {}
"""What plays the scripts that were asked for lately."""
_MOST_VARIANTS: Final = 16


def play(task: Task) -> Answer:
    """Do a task; an error of the user's is an answer too."""
    with _ALONE:
        try:
            reproducer = _reproducer(task)
            try:
                return Answer(reproducer.run(task.inputs, tries=task.tries))
            except PenstockError:
                if reproducer.is_exact:
                    raise
                # Between choosing a port and listening on it, another worker may have taken it.
                return Answer(reproducer.run(task.inputs, tries=task.tries))
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
    return reproducer_of(script, wide=origin.wide)


def refuse_fixed_ports(script: Script) -> None:
    """Refuse controllers that would all listen on the same port."""
    if script.engine == "check":
        return
    for name, command in build_setting(script.scenario).commands.items():
        if not any("{port}" in word for word in command.cmd):
            raise PenstockError(
                f"Replays side by side need a port each, and {name} is not told its port: "
                f"write {{port}} into its cmd, or minimise without workers."
            )


# Processes of this machine.


@dataclass(slots=True)
class _Worker:
    """A process, and what it is at."""

    process: SpawnProcess
    line: connection.Connection
    number: int | None = None
    task: Task | None = None
    deaths: int = 0


class LocalCrew:
    """Worker processes on this machine."""

    def __init__(self, size: int) -> None:
        self._workers = [_hired() for _ in range(size)]

    @property
    def size(self) -> int:
        """How many workers there are."""
        return len(self._workers)

    @property
    def processes(self) -> tuple[int, ...]:
        """The workers' process numbers."""
        return tuple(worker.process.pid or 0 for worker in self._workers)

    def begin(self, number: int, task: Task) -> None:
        """Give a task to a free worker."""
        worker = next(worker for worker in self._workers if worker.task is None)
        worker.number, worker.task, worker.deaths = number, task, 0
        self._send(worker)

    def has_news(self) -> bool:
        """Tell whether a task is done, without waiting."""
        return bool(connection.wait(self._lines(), 0))

    def news(self) -> Iterator[tuple[int, Answer]]:
        """Wait until a task is done, and yield all that are."""
        lines = self._lines()
        heard: list[tuple[int, Answer]] = []
        while lines and not heard:
            ready = connection.wait(lines)
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
            worker.process.terminate()
        for worker in self._workers:
            worker.process.join(_GRACE_S)
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()
            worker.line.close()

    def _lines(self) -> list[connection.Connection]:
        return [worker.line for worker in self._workers if worker.task is not None]

    def _send(self, worker: _Worker) -> None:
        # A worker that died meanwhile is noticed, and replaced, when its answer is read.
        with suppress(OSError):
            worker.line.send(worker.task)

    def _hear(self, worker: _Worker) -> Answer | None:
        """Return a worker's answer; one that died is replaced and has none."""
        try:
            answer = worker.line.recv()
            assert isinstance(answer, Answer), "a worker sends nothing else"
            return answer
        except (EOFError, OSError):
            worker.deaths += 1
        worker.line.close()
        worker.process.join()
        if worker.deaths >= MOST_DEATHS:
            raise PenstockError(
                f"{MOST_DEATHS} workers in a row have died of the same replay "
                f"(the last with status {worker.process.exitcode}): minimise without workers."
            )
        anew = _hired()
        worker.process, worker.line = anew.process, anew.line
        self._send(worker)
        return None


def _hired() -> _Worker:
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    # With our copy of its end closed, the end of the process is the end of the line.
    theirs.close()
    return _Worker(process, ours)


def _serve(line: connection.Connection) -> None:
    """Do tasks until there are no more."""
    signal.signal(signal.SIGTERM, _leave)
    # An interrupt from the terminal reaches every process; the one that hired us decides what follows.
    signal.signal(signal.SIGINT, _stay)
    Thread(target=_leave_with_parent, daemon=True).start()
    with suppress(EOFError, OSError):
        while True:
            line.send(play(line.recv()))


def _leave(*_: object) -> NoReturn:
    # Raised in the middle of a replay, this closes the stage, which stops the controllers.
    raise SystemExit(0)


def _stay(*_: object) -> None:
    """Go on."""


def _leave_with_parent() -> None:
    parent = parent_process()
    assert parent is not None, "a worker was started by somebody"
    connection.wait([parent.sentinel])
    os.kill(os.getpid(), signal.SIGTERM)


# A cluster.


class DaskCrew:
    """The workers of a Dask cluster."""

    def __init__(self, address: str) -> None:
        try:
            dask: Any = import_module("distributed")
        except ImportError:
            raise PenstockError("A cluster needs Dask: install penstock[cluster].") from None
        self._dask = dask
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
        self._futures[self._client.submit(play, task, pure=False)] = number

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
                raise PenstockError(f"The cluster could not do a replay: {future.exception()!r}.")
            yield number, future.result()

    def close(self) -> None:
        """Call off what has not begun, and leave the cluster."""
        self._client.cancel(list(self._futures))
        self._client.close()
