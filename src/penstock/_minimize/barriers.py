"""Log lines as barriers: a controller that is ahead of its record stands still until the rest has caught up.

A line that a controller prints says where it is.  If it prints one before an input that came earlier in the
record, it has been faster this time than then; it is halted, and goes on when that input has been given
(STS §5.0.7).  Lines are compared without their parameters.  A controller that prints what nobody expects,
or expects no more, goes on; and none stands still for longer than a limit, since what it waits for may have
been left out.

A process is halted when its line is read, so what it does in between is done.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from typing import Protocol

from penstock._minimize.recording import LOG, Recording


class Haltable(Protocol):
    """Where controllers can be made to stand still."""

    def halt(self, controller: str) -> None:
        """Have a controller stand still."""
        ...

    def go_on(self, controller: str) -> None:
        """Have a controller go on."""
        ...


class Barriers:
    """Which log lines came after which inputs, and who waits for one."""

    def __init__(self, script: Recording, stage: Haltable, limit_ms: int) -> None:
        self._stage = stage
        self._limit_s = limit_ms / 1000
        self._places: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        for place, events in enumerate(script.expected):
            for event in events:
                verb, _, source = event.transition.partition(" ")
                if verb == LOG:
                    self._places[source, event.message].append(place)
        self._given = 0
        """How many inputs of the script have been given, or passed over."""
        self._halted: dict[str, tuple[int, asyncio.TimerHandle]] = {}
        """Who stands still, and how many inputs have to be given before it goes on."""
        self.halts = 0
        """How often a controller was made to stand still."""

    def hear(self, source: str, said: str) -> None:
        """Take note of a log line, and halt who printed it too early."""
        places = self._places.get((source, said))
        if not places or source in self._halted:
            return
        passed = bisect_right(places, self._given)
        if passed:
            del places[passed - 1]
            return
        place = places.pop(0)
        self.halts += 1
        timer = asyncio.get_running_loop().call_later(self._limit_s, self._release, source)
        self._halted[source] = place, timer
        self._stage.halt(source)

    def reach(self, index: int) -> None:
        """Have go on who waited for the input before the one with this index."""
        self._given = index
        self._let_go(source for source, (place, _) in list(self._halted.items()) if place <= index)

    def open(self) -> None:
        """Have everybody go on."""
        self._let_go(list(self._halted))

    def _let_go(self, sources: Iterable[str]) -> None:
        for source in list(sources):
            self._halted[source][1].cancel()
            self._release(source)

    def _release(self, source: str) -> None:
        del self._halted[source]
        self._stage.go_on(source)
