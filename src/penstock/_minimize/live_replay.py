"""Replays with real processes: as close to the recorded order as waiting can bring them.

Nobody can tell a process when to answer.  So before each input the replay waits until the internal events
that preceded it have been seen again (functionally equivalent ones, see `equivalence`), and gives up on
those that do not come; all else passes at once (STS §4.0.2, §5.0.7).  What it waits for, how long, and what
one replay teaches the next, `waiting` tells.  What came without a pause in the record comes without one
again, after as many steps of the network.

- Keep-alives are never waited for; data packets only if `data` is set, log lines only if `logs` is.
- An event is not waited for if what stirred it in the record was left out or did not come.  So the absent
  ones are inferred from the causes in the trace and learnt; `live_peek` looks ahead for them instead.
- Where inputs are left out, what came of the others had more time in the record than it has now.  So the
  controllers are given it before the next input, unless the record shows an answer that came after that.
- A replay without the violation in which something expected stayed away is made once more: on a busy machine
  that may have been chance.
- A replay ends as soon as the violation is there.  In the end only what may turn out to be that violation is
  waited for.  All inputs together are given the recorded patience to see whether it lasts, fewer of them a
  fifth of it; so whoever minimises plays the result once more with `careful`.
- Each try has fresh processes.  A try that shows the violation settles the question; without one, all
  tries are made.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Self

from penstock._controllers.tcp import ports
from penstock._controllers.tcp.faketime import FakeClock
from penstock._fuzz.building import FuzzContext, build_setting
from penstock._minimize.live_play import LivePlay, ReplayLiveStage, SilentLog, WrittenLog, begun
from penstock._minimize.progress import Announce
from penstock._minimize.recording import RecordedInput, Recording, about
from penstock._minimize.reproducing import Attempt
from penstock._minimize.timings import USUAL, LearnedTimings, TimeScale, Waiting, lines_of
from penstock._scenario.fuzz_options import Command, FuzzOptions
from penstock._trace.trace import TraceWriter

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
            attempt = self._believed(inputs)
            if not attempt.reproduced and self._is_first(inputs):
                attempt, _ = self.played(inputs, SilentLog(self.setting.version), short=False)
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

    def _believed(self, inputs: Sequence[RecordedInput]) -> Attempt:
        """Replay some inputs; without the violation, and if something expected stayed away, once more."""
        attempt, missed = self.played(inputs, SilentLog(self.setting.version))
        if missed and not attempt.reproduced:
            attempt, again = self.played(inputs, SilentLog(self.setting.version))
            missed &= again
        self.lessons.miss(sorted(missed), lines_of(inputs))
        return attempt

    def record(self, inputs: Sequence[RecordedInput], path: Path, *, home: Path | None = None) -> Attempt:
        """Replay some of the script's inputs once, and write what happens as a trace."""
        scenario = self.script.scenario
        seed, details = self.setting.options.seed, about(self.script.violation, wide=self.wide)
        writer = TraceWriter(
            path,
            scenario.table(),
            scenario.folder,
            self.setting.scene,
            home=home,
            engine="fuzz",
            seed=seed,
            **details,
        )
        with closing(WrittenLog(writer, self.setting.version)) as recorder:
            return self.played(inputs, recorder, patient=True)[0]

    def _is_first(self, inputs: Sequence[RecordedInput]) -> bool:
        """Tell whether a replay says what time means to this violation, and nobody knows that yet."""
        return self.is_whole(inputs) and self.lessons.pace is TimeScale.UNTRIED and not self.waiting.careful

    def is_whole(self, inputs: Sequence[RecordedInput]) -> bool:
        """Tell whether these are all inputs of the run."""
        return len(inputs) == len(self.script.inputs) and not self._part

    def _is_short(self) -> bool:
        return not self.waiting.careful and self.lessons.pace is not TimeScale.RECORDED

    def played(
        self,
        inputs: Sequence[RecordedInput],
        recorder: SilentLog | WrittenLog,
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
