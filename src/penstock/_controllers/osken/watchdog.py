"""Ends a step that does not end by itself.

A handler that loops for ever, or waits for something outside of the program, gives nobody else a turn.  It is
interrupted with `Overrun`; a program that catches even that is left where it is, for good.  The limit is in
seconds, so a step that comes near it may pass on one machine and not on another; one that never ends is
caught on all of them.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Final

import greenlet

from penstock._controllers import watchdog
from penstock._controllers.osken.hub import ABANDONED, Overrun, current

_PATIENCE: Final = 3
"""How often a program is told to clean up."""


def limit(seconds: float) -> AbstractContextManager[None]:
    """Raise `Overrun` in a program that runs in this block for longer than this."""
    told = 0

    def bark(what: str) -> None:
        nonlocal told
        hub = current()
        if not hub.busy:
            return
        told += 1
        overrun = Overrun(what)
        if told <= _PATIENCE or hub.task is None or hub.task.stack is None:
            raise overrun
        ABANDONED.append(hub.task.stack)
        greenlet.getcurrent().parent.throw(overrun)

    return watchdog.limit(seconds, bark)
