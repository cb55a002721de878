"""Replays with real processes: as close to the recorded order as waiting can bring them.

Nobody can tell a process when to answer.  So before each input the replay waits until the internal events
that preceded it have been seen again (functionally equivalent ones, see `recording`), and gives up on
those that do not come; all else passes at once (STS §4.0.2, §5.0.7).  What it waits for, how long, and what
one replay teaches the next, `live_play` tells.  What came without a pause in the record comes without one
again, after as many steps of the network.

- Keep-alives are never waited for; data packets only if `data` is set, log lines only if `logs` is.
- An event is not waited for if what stirred it in the record was left out or did not come.  So the absent
  ones are inferred from the causes in the trace and learnt; PEEK looks ahead for them instead.
- Where inputs are left out, what came of the others had more time in the record than it has now.  So the
  controllers are given it before the next input, unless the record shows an answer that came after that.
- A replay without the violation in which something expected stayed away is made once more: on a busy machine
  that may have been chance.
- A replay ends as soon as the violation is there.  In the end only what may turn out to be that violation is
  waited for.  All inputs together are given the recorded patience to see whether it lasts, fewer of them a
  fifth of it; so whoever minimises plays the result once more with `careful`.
- Each try has fresh processes.  A try that shows the violation settles the question; without one, all
  tries are made.

PEEK for real processes looks ahead at what comes of each input, and goes back by playing the prefix again.  A
process cannot be brought back to a checkpoint unless its sockets, threads and files are copied with it.  What
can be done is to begin anew and to play the inputs up to that point (STS §5.0.6).  That takes as long as a
replay, so it is done only where it matters.

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

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Self

from penstock._controllers.tcp import ports
from penstock._controllers.tcp.faketime import FakeClock
from penstock._fuzz.building import FuzzContext, build_setting
from penstock._replay.guided import Announce, Attempt
from penstock._replay.in_process import writer_of
from penstock._replay.live_play import (
    USUAL,
    LearnedTimings,
    LivePlay,
    ReplayLiveStage,
    SilentLog,
    TimeScale,
    Waiting,
    WrittenLog,
    begun,
    lines_of,
    sight_of,
)
from penstock._replay.recording import Event, RecordedInput, Recording, rewritten
from penstock._scenario.options import Command, FuzzOptions
from penstock._world.transition import Record

_LEAST_PATIENCE_MS: Final = 500
_SHORTER: Final = 5
"""By how much the patience is divided with which a part of the inputs is judged."""
_STEPS_PER_MS: Final = 4
"""How much a loop may do: less than in the run, since here nobody has to find it by its packets."""


class LiveReproducer:
    """Replays inputs of a run in which real processes took part."""

    is_exact: Final = False

    def __init__(
        self,
        script: Recording,
        *,
        setting: FuzzContext | None = None,
        wide: bool = False,
        waiting: Waiting = USUAL,
        lessons: LearnedTimings | None = None,
        part: bool = False,
        announce: Announce | None = None,
    ) -> None:
        self.script = script
        self.setting = build_setting(script.scenario) if setting is None else setting
        self.wide = wide
        self.waiting = waiting
        self.lessons = LearnedTimings() if lessons is None else lessons
        self.announce = announce
        """Who is told when processes are started and inputs played."""
        self._part = part
        """Whether the script is only a part of the one that is minimised."""

    def with_script(self, script: Recording) -> Self:
        """Return a reproducer for another script of the same network, or of another one."""
        setting = self.setting if script.scenario == self.script.scenario else None
        return self._like_this(script, setting, self.waiting)

    def with_waiting(self, waiting: Waiting) -> Self:
        """Return a reproducer that waits otherwise, and knows what this one knows."""
        return self._like_this(self.script, self.setting, waiting)

    def _like_this(self, script: Recording, setting: FuzzContext | None, waiting: Waiting) -> Self:
        return type(self)(
            script,
            setting=setting,
            wide=self.wide,
            waiting=waiting,
            lessons=self.lessons,
            announce=self.announce,
        )

    def rewritten(self, inputs: Sequence[RecordedInput]) -> Recording | None:  # noqa: ARG002 - the protocol's
        """Return nothing: the order of what processes do cannot be prescribed."""
        return None

    def run(self, inputs: Sequence[RecordedInput], *, tries: int = 1) -> Attempt:
        """Replay some of the script's inputs, up to so many times, until the violation comes."""
        began = time.perf_counter()
        tried = 0
        while True:
            tried += 1
            self._tell(len(inputs), tried, tries)
            attempt = self._play_with_doubt(inputs)
            if not attempt.reproduced and self._is_first(inputs):
                attempt, _ = self.play_noting_missing(inputs, SilentLog(self.setting.version), short=False)
                if attempt.reproduced:
                    self.lessons.pace = TimeScale.RECORDED
            elif attempt.reproduced and self._is_first(inputs):
                self.lessons.pace = TimeScale.SHORT
            if attempt.reproduced or tried >= tries:
                return replace(attempt, tries=tried, seconds=time.perf_counter() - began)

    def _tell(self, inputs: int, tried: int, tries: int) -> None:
        if self.announce is not None:
            names = ", ".join(self.setting.commands)
            often = f", try {tried} of {tries}" if tries > 1 else ""
            played = f"{inputs:,} input{'' if inputs == 1 else 's'}"
            self.announce(f"starting {names} and playing {played}{often}")

    def _play_with_doubt(self, inputs: Sequence[RecordedInput]) -> Attempt:
        """Replay some inputs; without the violation, and if something expected stayed away, once more."""
        attempt, missed = self.play_noting_missing(inputs, SilentLog(self.setting.version))
        if missed and not attempt.reproduced:
            attempt, again = self.play_noting_missing(inputs, SilentLog(self.setting.version))
            missed &= again
        self.lessons.miss(sorted(missed), lines_of(inputs))
        return attempt

    def record(self, inputs: Sequence[RecordedInput], path: Path, *, home: Path | None = None) -> Attempt:
        """Replay some of the script's inputs once, and write what happens as a trace."""
        writer = writer_of(self.script, self.setting, path, home, wide=self.wide)
        with closing(WrittenLog(writer, self.setting.version)) as recorder:
            return self.play_noting_missing(inputs, recorder, patient=True)[0]

    def _is_first(self, inputs: Sequence[RecordedInput]) -> bool:
        """Tell whether a replay says what time means to this violation, and nobody knows that yet."""
        return self.is_whole(inputs) and self.lessons.pace is TimeScale.UNTRIED and not self.waiting.careful

    def is_whole(self, inputs: Sequence[RecordedInput]) -> bool:
        """Tell whether these are all inputs of the run."""
        return len(inputs) == len(self.script.inputs) and not self._part

    def _is_short(self) -> bool:
        return not self.waiting.careful and self.lessons.pace is not TimeScale.RECORDED

    def play_noting_missing(
        self,
        inputs: Sequence[RecordedInput],
        recorder: WrittenLog,
        *,
        short: bool | None = None,
        patient: bool = False,
        kind: Callable[..., LivePlay] = LivePlay,
    ) -> tuple[Attempt, set[int]]:
        """Play inputs; return how that went, and the lines of the events that were waited for in vain.

        `short` says whether time is cut short, if not as has been learnt; `kind` makes the play.
        """
        began = time.perf_counter()
        patient = patient or self.waiting.careful or self.is_whole(inputs)
        with TemporaryDirectory() as folder:
            clock = FakeClock(Path(folder)) if self.waiting.faketime else None
            setting = replace(self.setting, commands=self._commands(clock))
            if not patient:
                setting = replace(setting, options=_less_patient(setting))
            stage = ReplayLiveStage(setting, recorder, steps_per_ms=_STEPS_PER_MS, logs=Path(folder))
            play = kind(
                self.script,
                stage,
                inputs,
                waiting=self.waiting,
                lessons=self.lessons,
                clock=clock,
                wide=self.wide,
                short=self._is_short() if short is None else short,
            )
            recorder.hears = play.hear
            asyncio.run(begun(play))
        return play.attempt(time.perf_counter() - began), set(play.missed)

    def _commands(self, clock: FakeClock | None) -> dict[str, Command]:
        """Return how the processes are started: on free ports where they can be told, by which clock."""
        found = {}
        for name, command in self.setting.commands.items():
            if any("{port}" in word for word in command.cmd):
                command = replace(command, port=ports.free_port())
            if clock is not None:
                command = replace(command, env=clock.environment(command.env))
            found[name] = command
        return found


def _less_patient(setting: FuzzContext) -> FuzzOptions:
    options = setting.options
    patience = max(options.persistent_ms // _SHORTER, _LEAST_PATIENCE_MS)
    return replace(options, persistent_ms=min(patience, options.persistent_ms))


# Looking ahead.


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
        part, found = self.infer(inputs)
        if found is None:
            found = self._player(part).run(part.inputs, tries=tries)
        kept = {cue.line for cue in part.inputs}
        idle = [cue.line for cue in inputs if cue.line not in kept]
        return replace(
            found,
            skipped=tuple(sorted({*found.skipped, *idle})),
            seconds=time.perf_counter() - began,
        )

    def infer(self, inputs: Sequence[RecordedInput]) -> tuple[Recording, Attempt | None]:
        """Return a script of some inputs that expects only what came when it was looked for.

        If a scout met the violation, that is returned too.
        """
        # What is left must not depend on inputs that nobody plays any more.
        kept, _ = rewritten(self.script.inputs, inputs, self.setting.homes)
        part = self.script.only(kept)
        found = self._scout(part)
        return replace(part, expected=self._without_missing(part)), found if found.reproduced else None

    def _player(self, part: Recording) -> LiveReproducer:
        """Return what plays a part of the run without looking ahead."""
        return LiveReproducer(
            part, setting=self.setting, wide=self.wide, waiting=self.waiting, lessons=self.lessons, part=True
        )

    def _scout(self, part: Recording) -> Attempt:
        player = self._player(part)
        for number in range(1, MOST_SCOUTS + 1):
            self.scouts += 1
            kind = partial(_Scout, looks=self._looks, insistent=number == MOST_SCOUTS)
            try:
                return player.play_noting_missing(part.inputs, SilentLog(self.setting.version), kind=kind)[0]
            except _ChangedError:
                continue
        raise AssertionError("the last scout does not turn back")

    def _without_missing(self, part: Recording) -> tuple[tuple[Event, ...], ...]:
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
