"""PEEK for real processes: a look ahead at what comes of each input, and back by playing the prefix again.

A process cannot be brought back to a checkpoint unless its sockets, threads and files are copied with it.
What can be done is to begin anew and to play the inputs up to that point (STS §5.0.6).  That takes as long as
a replay, so it is done only where it matters.

A *scout* plays the inputs that are left and waits after each for all that was expected, `epsilon_ms` beyond
its moment where need be; it notes what came.  If nothing else came after the moment of the next input, the
network is as it would have been without the look, and the scout goes on.  Otherwise the look has changed
something, and another scout begins anew: it knows what comes of the inputs so far, and waits for that alone.
After `MOST_SCOUTS` of them, the last goes on whatever it has seen.

What comes of an input depends on the inputs before it, and the time that is given to it on the next one.  So
a look serves for all sequences that begin alike.  Then the inputs are replayed, and nobody waits for what did
not come.  A scout that meets the violation is as good as a replay.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from penstock._minimize.atomic_events import rewritten
from penstock._minimize.live_play import LivePlay, SilentLog
from penstock._minimize.live_replay import LiveReproducer
from penstock._minimize.recording import Event, RecordedInput, Recording
from penstock._minimize.reproducing import Attempt
from penstock._minimize.timings import sight_of
from penstock._world.transition import Record

MOST_SCOUTS: Final = 8

Looks = dict[tuple[int, ...], frozenset[int]]
"""By the lines of the inputs up to one, and of the next, the lines of the events that came of it."""


class _ChangedError(Exception):
    """A look ahead has brought something that would not have come so soon."""


class LivePeekingReproducer(LiveReproducer):
    """Replays inputs of a run with real processes after a look ahead at each of them."""

    def __init__(self, script: Recording, **how: Any) -> None:
        super().__init__(script, **how)
        self._looks: Looks = {}
        self.scouts = 0
        """How many scouts have been sent."""

    def run(self, inputs: Sequence[RecordedInput], *, tries: int = 1) -> Attempt:
        """Find out which internal events come, then replay with those alone."""
        if self.is_whole(inputs) or self.waiting.careful:
            return super().run(inputs, tries=tries)
        began = time.perf_counter()
        part, found = self.inferred(inputs)
        if found is None:
            found = self._player(part).run(part.inputs, tries=tries)
        kept = {cue.line for cue in part.inputs}
        idle = [cue.line for cue in inputs if cue.line not in kept]
        return replace(
            found,
            skipped=tuple(sorted({*found.skipped, *idle})),
            seconds=time.perf_counter() - began,
        )

    def inferred(self, inputs: Sequence[RecordedInput]) -> tuple[Recording, Attempt | None]:
        """Return a script of some inputs that expects only what came when it was looked for.

        If a scout met the violation, that is returned too.
        """
        # What is left must not depend on inputs that nobody plays any more.
        kept, _ = rewritten(self.script.inputs, inputs, self.setting.homes)
        part = self.script.only(kept)
        found = self._scouted(part)
        return replace(part, expected=self._expected(part)), found if found.reproduced else None

    def _player(self, part: Recording) -> LiveReproducer:
        """Return what plays a part of the run without looking ahead."""
        return LiveReproducer(
            part, setting=self.setting, wide=self.wide, waiting=self.waiting, lessons=self.lessons, part=True
        )

    def _scouted(self, part: Recording) -> Attempt:
        player = self._player(part)
        for number in range(1, MOST_SCOUTS + 1):
            self.scouts += 1
            kind = partial(_Scout, looks=self._looks, insistent=number == MOST_SCOUTS)
            try:
                return player.played(part.inputs, SilentLog(self.setting.version), kind=kind)[0]
            except _ChangedError:
                continue
        raise AssertionError("the last scout does not turn back")

    def _expected(self, part: Recording) -> tuple[tuple[Event, ...], ...]:
        """Return what is expected around the inputs of a script, without what was looked for in vain."""
        lines = [cue.line for cue in part.inputs]
        found = [part.expected[0]]
        for index, events in enumerate(part.expected[1:]):
            came = self._looks.get(_key(lines, index))
            found.append(
                tuple(
                    event
                    for event in events
                    if came is None or event.line in came or not self.waiting.counts(event)
                )
            )
        return tuple(found)


def _key(lines: Sequence[int], index: int) -> tuple[int, ...]:
    """Return what a look at the input with an index is known by."""
    return (*lines[: index + 1], -1, *lines[index + 1 : index + 2])


class _Scout(LivePlay):
    """A replay that waits longer than it has to after each input, and notes what comes."""

    def __init__(self, *args: Any, looks: Looks, insistent: bool, **how: Any) -> None:
        super().__init__(*args, **how)
        self._looks = looks
        self._insistent = insistent
        self._lines = [cue.line for cue in self.script.inputs]
        self._at = -1
        self._due = 0
        """When the next input is due."""
        self._late: Counter[tuple[str, str]] = Counter()
        """What has come after that."""
        self.stage.observers.append(self._observe)

    async def give(self, cue: RecordedInput, events: Sequence[Event], distance: int) -> None:
        """Give an input, and see what comes of it."""
        self._at = self._lines.index(cue.line)
        await super().give(cue, events, distance)

    async def await_events(self, events: Sequence[Event], distance: int) -> None:
        """Wait for what is known to come; where nothing is known yet, for everything, and note what came."""
        key = _key(self._lines, self._at)
        came = self._looks.get(key)
        if came is not None:
            await super().await_events([event for event in events if event.line in came], distance)
            return
        self._due = self.stage.now() + distance
        self._late.clear()
        await super().await_events(events, distance)
        self._looks[key] = frozenset({event.line for event in events}.difference(self.missed, self.gone))
        # What was expected and came has been taken from what was seen.
        if not self._insistent and any(map(self._counts, self._late & self.seen.known)):
            raise _ChangedError

    def _observe(self, record: Record) -> None:
        if self.stage.now() > self._due:
            self._late[sight_of(record)] += 1

    def _counts(self, sight: tuple[str, str]) -> bool:
        return self.waiting.counts(Event(*sight, 0))

    async def conclude(self) -> None:
        """Do nothing: what comes of the last input has been seen."""
