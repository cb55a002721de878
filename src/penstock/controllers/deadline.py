"""Interrupts a handler that computes for too long.

A timer of the operating system counts this process's computing time.  Python hands out signals only
in the main thread; in others an endless handler is not noticed.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class TookTooLong(BaseException):
    """A handler was interrupted; no `Exception`, so that it does not catch it by accident."""


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Raise `TookTooLong` in code of this block that computes for longer than this."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(_signal: int, _frame: FrameType | None) -> None:
        raise TookTooLong(f"it computed for more than {seconds:g} s")

    before = signal.signal(signal.SIGVTALRM, ring)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
