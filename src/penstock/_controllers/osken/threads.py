"""The threads and locks of `threading`, as tasks of the hub.

A program that starts threads of the operating system would run outside of its steps.  While it runs
under Penstock a thread is a task like any other: it goes on until it waits, and what it raises is a
failure of the program.  Python's own conditions, events, semaphores and queues are built on locks
and work unchanged on these, which show who holds them.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Any, Final

from penstock._controllers.osken.hub import Holder, Hub, Task, caller, current

_FOREVER: Final = -1


class Lock:
    """What `threading.Lock()` returns."""

    def __init__(self) -> None:
        self.holder: Holder | None = None
        self.taken_in = ""
        """Which function of the program holds the lock."""
        self.waiters: tuple[Task, ...] = ()

    def acquire(self, blocking: bool = True, timeout: float = _FOREVER) -> bool:
        """Take the lock; where that would mean to wait for too long, tell so."""
        while self.holder is not None:
            if not blocking or not current().wait_at(self, timeout=None if timeout < 0 else timeout):
                return False
        self.holder, self.taken_in = current().holder(), caller()
        return True

    def release(self) -> None:
        """Give the lock back; anybody may."""
        if self.holder is None:
            raise RuntimeError("release unlocked lock")
        self.holder, self.taken_in = None, ""
        current().wake_first(self)

    def locked(self) -> bool:
        """Tell whether somebody holds the lock."""
        return self.holder is not None

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()

    acquire_lock, release_lock, locked_lock = acquire, release, locked

    def _at_fork_reinit(self) -> None:
        """Be free again in a child process."""
        self.holder, self.taken_in = None, ""


class RLock:
    """What `threading.RLock()` returns."""

    def __init__(self) -> None:
        self.holder: Holder | None = None
        self.taken_in = ""
        self.times = 0
        self.waiters: tuple[Task, ...] = ()

    def acquire(self, blocking: bool = True, timeout: float = _FOREVER) -> bool:
        """Take the lock, once more if the task has it already."""
        mine = current().holder()
        while self.holder is not None and self.holder is not mine:
            if not blocking or not current().wait_at(self, timeout=None if timeout < 0 else timeout):
                return False
        if self.holder is None:
            self.holder, self.taken_in = mine, caller()
        self.times += 1
        return True

    def release(self) -> None:
        """Give the lock back; only who holds it may."""
        if self.holder is not current().holder():
            raise RuntimeError("cannot release un-acquired lock")
        self.times -= 1
        if not self.times:
            self.holder, self.taken_in = None, ""
            current().wake_first(self)

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()

    def _at_fork_reinit(self) -> None:
        """Be free again in a child process."""
        self.holder, self.taken_in, self.times = None, "", 0

    # What `threading.Condition` asks of a lock.

    def _is_owned(self) -> bool:
        return self.holder is current().holder()

    def _recursion_count(self) -> int:
        return self.times if self._is_owned() else 0

    def _release_save(self) -> int:
        times, self.times = self.times, 1
        self.release()
        return times

    def _acquire_restore(self, times: int) -> None:
        self.acquire()
        self.times = times


class Thread:
    """What `threading.Thread` is."""

    def __init__(
        self,
        group: None = None,  # noqa: ARG002 - as in `threading`
        target: Any = None,
        name: str | None = None,
        args: Any = (),
        kwargs: Any = None,
        *,
        daemon: bool | None = None,
    ) -> None:
        self._target, self._args, self._kwargs = target, args, dict(kwargs or {})
        self.name = str(name or f"Thread ({getattr(target, '__name__', 'run')})")
        self.daemon = bool(daemon)
        self._task: Task | None = None

    @property
    def ident(self) -> int | None:
        """A number for the thread, once it is started."""
        return None if self._task is None else 1

    native_id = ident

    def start(self) -> None:
        """Have the thread run when its turn comes."""
        if self._task is not None:
            raise RuntimeError("threads can only be started once")
        self._task = current().spawn(self._run)
        self._task.thread = self

    def run(self) -> None:
        """Do the thread's work."""
        if self._target is not None:
            self._target(*self._args, **self._kwargs)

    def _run(self) -> None:
        """Do it on a stack of its own; to exit ends the thread alone."""
        with suppress(SystemExit):
            self.run()

    def is_alive(self) -> bool:
        """Tell whether the thread is started and not over."""
        return self._task is not None and not self._task.dead

    def join(self, timeout: float | None = None) -> None:
        """Wait until the thread is over, or for some time."""
        if self._task is None:
            raise RuntimeError("cannot join thread before it is started")
        if not current().busy:
            # Python itself joins threads when it ends.
            return
        while not self._task.dead and current().wait_at(self._task, timeout=timeout):
            pass

    def setDaemon(self, daemon: bool) -> None:  # noqa: N802
        """Say that nobody waits for the thread at the end."""
        self.daemon = daemon

    def isDaemon(self) -> bool:  # noqa: N802
        """Tell whether nobody waits for the thread at the end."""
        return self.daemon

    def setName(self, name: str) -> None:  # noqa: N802
        """Give the thread a name."""
        self.name = name

    def getName(self) -> str:  # noqa: N802
        """Return the thread's name."""
        return self.name


class Timer(Thread):
    """What `threading.Timer` is: a thread that begins later."""

    def __init__(self, interval: float, function: Any, args: Any = None, kwargs: Any = None) -> None:
        super().__init__(target=function, args=args or (), kwargs=kwargs)
        self.interval, self.function = interval, function
        self.args, self.kwargs = self._args, self._kwargs
        self.finished = threading.Event()

    def start(self) -> None:
        """Let the time run."""
        if self._task is not None:
            raise RuntimeError("threads can only be started once")
        self._task = current().spawn_after(self.interval, self._run)
        self._task.thread = self

    def run(self) -> None:
        """Do what was to be done, unless it was called off."""
        if not self.finished.is_set():
            self.function(*self.args, **self.kwargs)
        self.finished.set()

    def cancel(self) -> None:
        """Let nothing happen when the time is up."""
        self.finished.set()
        if self._task is not None:
            self._task.cancel()


def start_new_thread(function: Any, args: Any, kwargs: Any = None) -> int:
    """Do what `_thread.start_new_thread` does."""
    current().spawn(function, *args, **(kwargs or {}))
    return 1


def current_thread() -> Any:
    """Return the thread that the running task is, or the main one."""
    task = current().task
    thread = None if task is None else task.thread
    return threading.main_thread() if thread is None else thread


def waits_for_ever(hub: Hub, apps: int) -> str:
    """Return which handler waits for what nobody can give it any more, in words; "" if none does.

    The program, of so many apps, is at rest.  An app whose handler waits is given no other event, so
    only a timer or another app could help; and neither gives back a lock that a task has taken along.
    """
    for task, place, where, for_a_signal in hub.agenda.serving:
        holder: Holder | None = None if for_a_signal else getattr(place, "holder", None)
        if hub.agenda.timers:
            return ""
        if holder is not None and (holder.over or holder is task.holder):
            return f"{where} waits for ever for a lock that {place.taken_in} left locked"
        if apps <= 1:
            return f"{where} waits for ever for what nobody will give it"
    return ""
