"""Ends a step that does not end by itself.

A handler that loops for ever gives nobody else a turn.  A timer of the operating system that
counts this process's computing time interrupts it with `Overrun`; a program that catches even that
is left where it is, for good.  The limit is in seconds, so a step that comes near it may pass on
one machine and not on another; one that never ends is caught on all of them.

Python hands out signals only in the main thread; in others endless loops are not noticed.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType
from typing import Final

import greenlet

from penstock.controllers.osken.hub import ABANDONED, Overrun, current

_AGAIN: Final = 0.25
"""How many seconds a program gets to clean up, each time."""

_PATIENCE: Final = 3
"""How often it is told to."""


_told = 0
_seconds = 0.0


def _bark(_signal: int, _frame: FrameType | None) -> None:
    global _told
    hub = current()
    if not hub.busy:
        return
    _told += 1
    overrun = Overrun(f"it computed for more than {_seconds:g} s")
    if _told <= _PATIENCE or hub.task is None or hub.task.stack is None:
        raise overrun
    ABANDONED.append(hub.task.stack)
    greenlet.getcurrent().parent.throw(overrun)


def _can_listen() -> bool:
    """Listen for the signal from now on; only the main thread can."""
    if current_thread() is not main_thread():
        return False
    if signal.getsignal(signal.SIGVTALRM) is not _bark:
        signal.signal(signal.SIGVTALRM, _bark)
    return True


@contextmanager
def limit(seconds: float) -> Iterator[None]:
    """Raise `Overrun` in a program that runs in this block for longer than this."""
    global _told, _seconds
    if not _can_listen():
        yield
        return
    _told, _seconds = 0, seconds
    signal.setitimer(_COMPUTING, seconds, _AGAIN)
    try:
        yield
    finally:
        signal.setitimer(_COMPUTING, 0)


_COMPUTING: Final = signal.ITIMER_VIRTUAL
"""The timer of the operating system that counts computing time."""
