"""Crews: workers that replay inputs of a script side by side, on this machine or on a cluster.

A controller that has a fixed port cannot be replayed side by side; all others have ports of their own.

On this machine a worker (`_worker.py`) that is killed is replaced, and what it was at is begun anew.  It goes
when we go, however we go, and takes its controllers along.  On a Dask cluster each of Dask's workers has
one such process; there the trace and what its scenario names must have the same path on all machines, and
what a worker is in the middle of when we stop, it still ends.
"""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from multiprocessing import connection
from threading import Lock
from typing import Any, Final, Protocol

from penstock._fuzz.building import build_setting
from penstock._minimize.recording import Recording
from penstock._minimize.worker import CALL_OFF, Answer, Task, hire
from penstock._scenario.fuzz_options import HIGHEST_PORT
from penstock.errors import PenstockError

MOST_DEATHS: Final = 3
"""How many workers in a row may die of a replay."""
_GRACE_S: Final = 10.0
"""How long a worker may take to stop its controllers before it is killed."""
_CONNECTING_S: Final = 10


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
                f"Replays side by side need a port each, and {name} is not told its port: "
                f"write {{port}} into its cmd, or minimise without workers."
            )


# Processes of this machine.


@dataclass(slots=True)
class _Worker:
    """A process, and what it is at."""

    process: subprocess.Popen[bytes]
    line: connection.Connection
    number: int | None = None
    task: Task | None = None
    deaths: int = 0


class LocalCrew:
    """Worker processes on this machine."""

    def __init__(self, size: int) -> None:
        self._workers = [_Worker(*hire()) for _ in range(size)]

    @property
    def size(self) -> int:
        """How many workers there are."""
        return len(self._workers)

    @property
    def processes(self) -> tuple[int, ...]:
        """The workers' process numbers."""
        return tuple(worker.process.pid for worker in self._workers)

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

    def call_off(self, number: int) -> None:
        """Have the worker that is at a task break it off."""
        for worker in self._workers:
            if worker.number == number:
                worker.process.send_signal(CALL_OFF)

    def close(self) -> None:
        """Stop every worker and its controllers."""
        for worker in self._workers:
            # One that is at nothing has no controllers to stop.
            (worker.process.kill if worker.task is None else worker.process.terminate)()
        for worker in self._workers:
            try:
                worker.process.wait(_GRACE_S)
            except subprocess.TimeoutExpired:
                worker.process.kill()
                worker.process.wait()
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
        status = worker.process.wait()
        if worker.deaths >= MOST_DEATHS:
            raise PenstockError(
                f"{MOST_DEATHS} workers in a row have died of the same replay "
                f"(the last with status {status}): minimise without workers."
            )
        worker.process, worker.line = hire()
        self._send(worker)
        return None


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
        raise PenstockError(f"{address} is no scheduler's address: write it as tcp://127.0.0.1:8786.")
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
                raise PenstockError(f"The cluster could not do a replay: {future.exception()!r}.")
            yield number, future.result()

    def call_off(self, number: int) -> None:
        """Do nothing: what a worker of a cluster is in the middle of, it ends."""

    def close(self) -> None:
        """Call off what has not begun, and leave the cluster."""
        self._client.cancel(list(self._futures))
        self._client.close()
