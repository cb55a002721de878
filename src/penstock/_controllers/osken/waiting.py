"""What tasks wait at: flags, queues and semaphores, as in `os_ken.lib.hub`."""

from __future__ import annotations

import queue
from collections import deque
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any, ClassVar

from penstock._concolic.code.in_place import sources
from penstock._controllers.osken.hub import Holder, Task, current

QueueEmpty = queue.Empty
QueueFull = queue.Full


class Event:
    """A flag that tasks wait for."""

    def __init__(self) -> None:
        self._cond = False
        self.waiters: tuple[Task, ...] = ()

    def is_set(self) -> bool:
        """Tell whether the flag is up."""
        return self._cond

    def set(self) -> None:
        """Raise the flag; all who wait go on."""
        self._cond = True
        current().wake_all(self)

    send = set

    def clear(self) -> None:
        """Lower the flag."""
        self._cond = False

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the flag, or until the time is up; return whether it is up."""
        while not self._cond and current().wait_at(self, timeout=timeout):
            pass
        return self._cond


class Queue:
    """A queue that tasks wait at, to take from it or, where it is full, to put into it.

    One may be *served*: whenever something is put in and nobody is at it, a task is spawned to
    empty it.  That is what an app's event loop comes to, without a task that waits for ever.

    What was taken out and not said to be done is counted only for programs that say so: else no two states
    would be the same.
    """

    counts: ClassVar[bool] = False

    def __init__(self, maxsize: int | None = 0) -> None:
        self.unfinished_tasks = 0
        self.joiners: tuple[Task, ...] = ()
        self.maxsize = maxsize or 0
        self._items: deque[Any] = deque()
        self.takers: tuple[Task, ...] = ()
        self.putters: tuple[Task, ...] = ()
        self._server: Callable[[], None] | None = None
        self._serving = False
        self._holder: Holder | None = None
        """What stands for whoever serves it, where he holds a lock."""

    def serve(self, server: Callable[[], None]) -> None:
        """Have the queue emptied by `server` from now on, each time in a task of its own."""
        self._server, self._holder = server, Holder()
        self._call_server()

    def _call_server(self) -> None:
        if self._items and not self._serving:
            self._serving = True
            task = current().spawn(self._run_server)
            task.serves, task.holder = True, self._holder

    def _run_server(self) -> None:
        assert self._server is not None
        try:
            self._server()
        finally:
            self._serving = False
        self._call_server()

    def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        """Put something in."""
        while self.full():
            if not block or not current().wait_at(self, "putters", timeout):
                raise QueueFull
        self._items.append(item)
        if self._server is None:
            self.unfinished_tasks += self.counts
            current().wake_first(self, "takers")
        else:
            self._call_server()

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        """Take out what was put in first."""
        while not self._items:
            if not block or not current().wait_at(self, "takers", timeout):
                raise QueueEmpty
        current().wake_first(self, "putters")
        return self._items.popleft()

    def task_done(self) -> None:
        """Say that what was taken out is done with."""
        if not self.unfinished_tasks:
            raise ValueError("task_done() called too many times")
        self.unfinished_tasks -= 1
        while not self.unfinished_tasks and self.joiners:
            current().wake_first(self, "joiners")

    def join(self) -> None:
        """Wait until all that was put in is done with."""
        while self.unfinished_tasks:
            current().wait_at(self, "joiners")

    @property
    def queue(self) -> deque[Any]:
        """What is in it."""
        return self._items

    def put_nowait(self, item: Any) -> None:
        """Put something in, if there is room."""
        self.put(item, block=False)

    def get_nowait(self) -> Any:
        """Take something out, if there is anything."""
        return self.get(block=False)

    def empty(self) -> bool:
        """Tell whether nothing is in it."""
        return not self._items

    def full(self) -> bool:
        """Tell whether nothing more fits."""
        return 0 < self.maxsize <= len(self._items)

    def qsize(self) -> int:
        """Return how much is in it."""
        return len(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __bool__(self) -> bool:
        return True


def count_tasks(modules: Iterable[ModuleType]) -> None:
    """Count what is taken out of queues and not done with, if any of these modules goes by that."""
    if any(name in text for text in sources(modules) for name in ("task_done", "unfinished_tasks")):
        Queue.counts = True


class Semaphore:
    """A number of permits; who wants one waits until there is one."""

    def __init__(self, value: int = 1) -> None:
        self.counter = value
        self.waiters: tuple[Task, ...] = ()

    def acquire(self, blocking: bool = True, timeout: float | None = None) -> bool:
        """Take a permit; where that would mean to wait for too long, tell so."""
        while self.counter <= 0:
            if not blocking or not current().wait_at(self, timeout=timeout):
                return False
        self.counter -= 1
        return True

    def release(self, n: int = 1) -> None:
        """Give permits back."""
        for _ in range(n):
            self.counter += 1
            current().wake_first(self)

    def locked(self) -> bool:
        """Tell whether there is no permit."""
        return self.counter <= 0

    @property
    def balance(self) -> int:
        """How many permits there are, or how many are waited for, as a negative number."""
        return self.counter - len(self.waiters)

    def bounded(self) -> bool:
        """Tell whether a permit could not be given back at once, which it always can."""
        return False

    def __enter__(self) -> Semaphore:
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


class BoundedSemaphore(Semaphore):
    """A semaphore that takes no more permits back than it had."""

    def __init__(self, value: int = 1) -> None:
        super().__init__(value)
        self.original_counter = value

    def release(self, n: int = 1) -> None:
        """Give permits back."""
        if self.counter + n > self.original_counter:
            raise ValueError("Semaphore released too many times")
        super().release(n)


def joinall(tasks: Iterable[Task]) -> None:
    """Wait until all tasks are over."""
    for task in tasks:
        task.wait()
