"""Interrupts a handler that computes for too long, or waits for something that does not come.

A timer of the operating system rings every so often while programs run.  Each time it is looked whether the
same call is still under way, how much this process has computed since, and how long it was kept waiting.
Time in which the process could have run, but others did, counts as neither: a busy machine makes no
handler hang.  What is found is raised in the middle of the handler; calls need nothing done for this but to
say when they begin and end.

Python hands out signals only in the main thread, and between two steps of Python code.  A call into C that
does not return is for the supervisor of the process (`penstock._worker`).
"""

from __future__ import annotations

import atexit
import signal

# Programs are given other clocks and files than we need: these are the real ones.
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from os import O_RDONLY, close, read
from os import open as os_open
from signal import setitimer
from signal import signal as set_handler
from threading import current_thread, main_thread
from time import monotonic, process_time
from types import FrameType
from typing import Final, NamedTuple

Alarm = Callable[[str], None]
"""Is told what is wrong, in words, in the middle of the handler, and raises what ends it."""

_PERIOD: Final = 0.1
_AGAIN: Final = 0.25
"""After how many seconds more it is told again, if it goes on."""
_IDLE: Final = 20
"""After how many looks at nothing the timer is turned off."""


class Spent(NamedTuple):
    """What a process has done with its time so far, in seconds."""

    computing: float
    waiting: float


def spent(process: int | str = "self") -> Spent:
    """Return how long a process has computed, and how long it has waited for something else than its turn."""
    try:
        file = os_open(f"/proc/{process}/schedstat", O_RDONLY)
    except OSError:
        # Nobody tells how long it was kept from running, so that only computing counts.
        return Spent(process_time(), 0.0)
    try:
        ran, kept_back, *_ = read(file, 100).split()
    except OSError:
        # It has ended since.
        return Spent(process_time(), 0.0)
    finally:
        close(file)
    computing = int(ran) / 1e9
    return Spent(computing, monotonic() - computing - int(kept_back) / 1e9)


class _Watch:
    """What is under way, and since when it has been seen."""

    def __init__(self) -> None:
        self.call = 0
        self.limit: float | None = None
        self.alarm: Alarm | None = None
        self.seen = 0
        self.since = Spent(0.0, 0.0)
        self.idle = 0
        self.before: signal._HANDLER = None
        self.is_on = False


_watch: Final = _Watch()
_at_most = inf


@contextmanager
def hurrying(seconds: float) -> Iterator[None]:
    """Have no call in this block take longer than this; what hangs then might have come to an end."""
    global _at_most
    before, _at_most = _at_most, seconds
    try:
        yield
    finally:
        _at_most = before


@contextmanager
def limit(seconds: float, alarm: Alarm) -> Iterator[None]:
    """Have `alarm` called in a program that computes, or waits, for longer than this in this block."""
    if not _watch.is_on and not _turn_on():
        yield
        return
    before = _watch.limit, _watch.alarm
    _watch.call += 1
    _watch.limit, _watch.alarm = min(seconds, _at_most), alarm
    try:
        yield
    finally:
        _watch.call += 1
        _watch.limit, _watch.alarm = before


def _turn_on() -> bool:
    """Have the timer ring from now on; only the main thread can."""
    if current_thread() is not main_thread():
        return False
    _watch.before = set_handler(signal.SIGALRM, _look)
    setitimer(signal.ITIMER_REAL, _PERIOD, _PERIOD)
    _watch.is_on, _watch.idle = True, 0
    return True


@atexit.register
def _turn_off() -> None:
    """Have it ring no more: when Python ends, nobody is left to hear it, and it would kill the process."""
    if not _watch.is_on:
        return
    setitimer(signal.ITIMER_REAL, 0)
    set_handler(signal.SIGALRM, _watch.before)
    _watch.is_on = False


def _look(_signal: int, _frame: FrameType | None) -> None:
    watch = _watch
    if watch.limit is None or watch.alarm is None:
        watch.idle += 1
        if watch.idle > _IDLE:
            _turn_off()
        return
    watch.idle = 0
    if watch.seen != watch.call:
        watch.seen, watch.since = watch.call, spent()
        return
    now = spent()
    if now.computing - watch.since.computing >= watch.limit:
        did = "computed"
    elif now.waiting - watch.since.waiting >= watch.limit:
        did = "waited"
    else:
        return
    more = max(0.0, watch.limit - _AGAIN)
    watch.since = Spent(now.computing - more, now.waiting - more)
    watch.alarm(f"it {did} for more than {watch.limit:g} s")
