"""Replays with real processes: as close to the recorded order as waiting can bring them.

Nobody can tell a process when to answer.  So before each input the replay waits until the internal events
that preceded it have been seen again (functionally equivalent ones, see `equivalence`), and gives up on
those that do not come; all else passes at once (STS §4.0.2, §5.0.7).  What it waits for, how long, and what
one replay teaches the next, `waiting` tells.  What came without a pause in the record comes without one
again, after as many steps of the network.

- Keep-alives are never waited for; data packets only if `data` is set, log lines only if `logs` is.
- An event is not waited for if what stirred it in the record was left out or did not come.  So the absent
  ones are inferred from the causes in the trace and learnt, instead of by a look ahead (PEEK), which would
  take a checkpoint of a process.
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

from penstock.controllers.tcp import ports
from penstock.controllers.tcp.faketime import FakeClock
from penstock.errors import PenstockError
from penstock.fuzz.building import Setting, build_setting
from penstock.fuzz.inputs import Check, Input, Wait
from penstock.fuzz.invariants import Lasting
from penstock.fuzz.live import LiveStage
from penstock.fuzz.options import Command, FuzzOptions
from penstock.fuzz.recorder import Recorder
from penstock.minimize.barriers import Barriers
from penstock.minimize.equivalence import masked_log
from penstock.minimize.judging import Judge
from penstock.minimize.reproducing import Attempt, Divergence
from penstock.minimize.script import LOG, Cue, Event, Script
from penstock.minimize.units import rewritten
from penstock.minimize.virtual_replay import SilentRecorder
from penstock.minimize.waiting import EPSILON_MS, USUAL, Lessons, Pace, Seen, Waiting, lines_of, timers
from penstock.trace import TraceWriter
from penstock.world.transition import DELIVER

_BREATH_MS: Final = 2
_OVERTIME_MS: Final = 2000
"""How long, in all, a replay waits for overdue reactions while controllers are still at work."""
_GLANCE_MS: Final = 20
_AT_ONCE_MS: Final = 2
"""Inputs that are no further apart than this came without a pause."""
_SETTLING_MS: Final = 2000
"""How long the network has at the end to come to rest; one with a loop never does."""
_LEAST_PATIENCE_MS: Final = 500
_SHORTER: Final = 5
"""By how much the patience is divided with which a part of the inputs is judged."""
_STEPS_PER_MS: Final = 4
"""How much a loop may do: less than in the run, since here nobody has to find it by its packets."""
_FIRST_PAUSE_MS: Final = 20
_MARGIN_MS: Final = 20
"""How much longer is waited for something to have lasted, since clocks are read in whole milliseconds."""


class LiveReproducer:
    """Replays inputs of a run in which real processes took part."""

    is_exact: Final = False

    def __init__(
        self,
        script: Script,
        *,
        setting: Setting | None = None,
        wide: bool = False,
        waiting: Waiting = USUAL,
        lessons: Lessons | None = None,
    ) -> None:
        self.script = script
        self.setting = build_setting(script.scenario) if setting is None else setting
        self.wide = wide
        self.waiting = waiting
        self.lessons = Lessons() if lessons is None else lessons

    def with_script(self, script: Script) -> Self:
        """Return a reproducer for another script of the same network, or of another one."""
        setting = self.setting if script.scenario == self.script.scenario else None
        return type(self)(script, setting=setting, wide=self.wide, waiting=self.waiting, lessons=self.lessons)

    def with_waiting(self, waiting: Waiting) -> Self:
        """Return a reproducer that waits otherwise, and knows what this one knows."""
        return type(self)(
            self.script, setting=self.setting, wide=self.wide, waiting=waiting, lessons=self.lessons
        )

    def rewritten(self, inputs: Sequence[Cue]) -> Script | None:  # noqa: ARG002 - the protocol's
        """Return nothing: the order of what processes do cannot be prescribed."""
        return None

    def run(self, inputs: Sequence[Cue], *, tries: int = 1) -> Attempt:
        """Replay some of the script's inputs, up to so many times, until the violation comes."""
        began = time.perf_counter()
        tried = 0
        while True:
            tried += 1
            attempt = self._believed(inputs)
            if not attempt.reproduced and self._is_first(inputs):
                attempt, _ = self._played(inputs, SilentLog(self.setting.version), short=False)
                if attempt.reproduced:
                    self.lessons.pace = Pace.RECORDED
            elif attempt.reproduced and self._is_first(inputs):
                self.lessons.pace = Pace.SHORT
            if attempt.reproduced or tried >= tries:
                return replace(attempt, tries=tried, seconds=time.perf_counter() - began)

    def _believed(self, inputs: Sequence[Cue]) -> Attempt:
        """Replay some inputs; without the violation, and if something expected stayed away, once more."""
        attempt, missed = self._played(inputs, SilentLog(self.setting.version), self._is_short())
        if missed and not attempt.reproduced:
            attempt, again = self._played(inputs, SilentLog(self.setting.version), self._is_short())
            missed &= again
        self.lessons.miss(sorted(missed), lines_of(inputs))
        return attempt

    def record(self, inputs: Sequence[Cue], path: Path) -> Attempt:
        """Replay some of the script's inputs once, and write what happens as a trace."""
        scenario = self.script.scenario
        writer = TraceWriter(
            path, scenario.table(), scenario.folder, engine="fuzz", seed=self.setting.options.seed
        )
        with closing(WrittenLog(writer, self.setting.version)) as recorder:
            return self._played(inputs, recorder, self._is_short(), patient=True)[0]

    def _is_first(self, inputs: Sequence[Cue]) -> bool:
        """Tell whether a replay says what time means to this violation, and nobody knows that yet."""
        return (
            len(inputs) == len(self.script.inputs)
            and self.lessons.pace is Pace.UNTRIED
            and not self.waiting.careful
        )

    def _is_short(self) -> bool:
        return not self.waiting.careful and self.lessons.pace is not Pace.RECORDED

    def _played(
        self,
        inputs: Sequence[Cue],
        recorder: SilentLog | WrittenLog,
        short: bool,
        *,
        patient: bool = False,
    ) -> tuple[Attempt, set[int]]:
        """Play inputs; return how that went, and the lines of the events that were waited for in vain."""
        began = time.perf_counter()
        patient = patient or self.waiting.careful or len(inputs) == len(self.script.inputs)
        with TemporaryDirectory() as folder:
            clock = FakeClock(Path(folder)) if self.waiting.faketime else None
            setting = replace(self.setting, commands=self._commands(clock))
            if not patient:
                setting = replace(setting, options=_less_patient(setting))
            stage = ReplayLiveStage(setting, recorder, steps_per_ms=_STEPS_PER_MS, logs=Path(folder))
            play = _LivePlay(self, stage, inputs, clock, short=short)
            recorder.hears = play.hear
            asyncio.run(_begun(play))
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


_PLAYS: Final[list[asyncio.Task[None]]] = []
"""What is being played in this process, for `break_off`."""


async def _begun(play: _LivePlay) -> None:
    task = asyncio.create_task(play.play())
    _PLAYS.append(task)
    try:
        await task
    finally:
        _PLAYS.remove(task)


def break_off() -> None:
    """Have the replay end that is being played, if one is; whoever asked for it hears `CancelledError`."""
    for task in _PLAYS:
        task.get_loop().call_soon_threadsafe(task.cancel)


def _less_patient(setting: Setting) -> FuzzOptions:
    options = setting.options
    patience = max(options.persistent_ms // _SHORTER, _LEAST_PATIENCE_MS)
    return replace(options, persistent_ms=min(patience, options.persistent_ms))


class ReplayLiveStage(LiveStage):
    """A live stage that leaves it to the replay when to go on."""

    async def _pause(self, what: Input) -> None:
        """Do nothing: the replay waits."""


class SilentLog(SilentRecorder):
    """A recorder that writes nothing, and tells somebody what controllers log."""

    hears: Callable[[str, str], None] | None = None

    def log(self, source: str, text: str, now: int) -> None:  # noqa: ARG002 - the recorder's
        """Tell what a controller logged."""
        if self.hears is not None:
            self.hears(source, text)


class WrittenLog(Recorder):
    """A recorder that also tells somebody what controllers log."""

    hears: Callable[[str, str], None] | None = None

    def log(self, source: str, text: str, now: int) -> None:
        """Write what a controller logged, and tell it."""
        super().log(source, text, now)
        if self.hears is not None:
            self.hears(source, text)


class _LivePlay:
    """One replay with real processes."""

    def __init__(
        self,
        reproducer: LiveReproducer,
        stage: ReplayLiveStage,
        inputs: Sequence[Cue],
        clock: FakeClock | None,
        *,
        short: bool,
    ) -> None:
        self._script = script = reproducer.script
        self._waiting = reproducer.waiting
        self._lessons = reproducer.lessons
        self._clock = clock
        self._short = short
        self._wide = reproducer.wide
        kept, idle = rewritten(script.inputs, inputs, stage.setting.homes)
        self._kept = {cue.line: cue for cue in kept}
        self._played = lines_of(inputs)
        self._skipped = list(idle)
        self._given = 0
        self._gone: set[int] = set()
        """The lines of the record that are left out, or did not come."""
        self._left_out_since: int | None = None
        """When, in the record, inputs came of which none was given since, by the first of them."""
        self._divergence: Divergence | None = None
        self._followed = 0
        self._overtime = _OVERTIME_MS
        """How long what is overdue may still be waited for because controllers are at work."""
        self.missed: list[int] = []
        """The lines of the events that were waited for in vain."""
        self.stage = stage
        self.judge = Judge(stage, script.violation, wide=reproducer.wide)
        self._seen = Seen()
        self._barriers = Barriers(script, stage, self._waiting.epsilon_ms) if self._waiting.barriers else None
        stage.observers.append(self._seen.observe)

    def hear(self, source: str, text: str) -> None:
        """Take note of what a controller logged."""
        said = masked_log(text)
        self._seen.note(f"{LOG} {source}", said)
        if self._barriers is not None:
            self._barriers.hear(source, said)

    async def play(self) -> None:
        """Play the script, each input after what preceded it."""
        script = self._script
        try:
            await self.stage.open()
            self.judge.begin()
            self._seen.known.clear()
            for index, cue in enumerate(script.inputs):
                kept = self._kept.get(cue.line)
                self._infer(cue, (*script.doings.get(cue.line, ()), *script.expected[index + 1]), kept)
                if self._barriers is not None:
                    self._barriers.reach(index)
                if kept is None:
                    self._pass_over(cue)
                    continue
                await self._catch_up(cue, script.expected[index + 1])
                following = script.inputs[index + 1] if index + 1 < len(script.inputs) else None
                await self._give(kept, script.expected[index + 1], _distance(cue, following))
                if self.judge.found:
                    return
            await self._conclude()
        finally:
            if self._barriers is not None:
                self._barriers.open()
            await self.stage.close()

    def _infer(self, cue: Cue, events: Sequence[Event], kept: Cue | None) -> None:
        """Tell which events after an input cannot come, because of what is left out."""
        if kept is None:
            self._gone.add(cue.line)
        for event in events:
            if not self._gone.isdisjoint(event.stirred_by):
                self._gone.add(event.line)

    # Inputs.

    def _pass_over(self, cue: Cue) -> None:
        """Leave an input out."""
        if self._left_out_since is None:
            self._left_out_since = cue.at

    async def _catch_up(self, cue: Cue, events: Sequence[Event]) -> None:
        """Let the controllers do what they had the time for during the inputs that are left out before one.

        Unless the record shows that they were not through with it by then.
        """
        since, self._left_out_since = self._left_out_since, None
        if since is None or not self._given or cue.at - since <= _AT_ONCE_MS:
            return
        is_late = any(
            self._waiting.counts(event)
            and event.line not in self._gone
            and any(cause < cue.line for cause in event.stirred_by)
            for event in events
        )
        if not is_late:
            free = min(cue.at - since, self._waiting.epsilon_ms)
            await self._calm(free + max(0, self._overtime), free)

    async def _give(self, cue: Cue, events: Sequence[Event], distance: int) -> None:
        """Give an input, and wait for what followed it in the record."""
        if self._clock is not None:
            self._clock.show(cue.at)
        cut_short = self._short and isinstance(cue.what, Wait)
        try:
            await self.stage.perform(Check() if cut_short else cue.what)
        except PenstockError as error:
            self._skipped.append(cue.line)
            self._differ(Divergence(cue.line, str(cue), f"no way to do it ({str(error).rstrip('.')})"))
            return
        self._given += 1
        if isinstance(cue.what, Wait):
            await self._await(events, cue.what.milliseconds if cut_short else 0)
        elif distance <= _AT_ONCE_MS:
            self.stage.run(sum(event.transition.startswith(DELIVER) for event in events))
        else:
            await self._await(events, distance)
        self.judge.after(cue.what)
        if cut_short and isinstance(cue.what, Wait):
            await self._see_whether_it_lasts(cue.what.milliseconds)

    async def _await(self, events: Sequence[Event], distance: int) -> None:
        """Wait until expected events have happened, and for the distance to the next input."""
        began = self.stage.now()
        late = timers(events)
        for event in events:
            if not self._waiting.counts(event) or self._lessons.is_hopeless(event.line, self._played):
                continue
            if event.line in self._gone or not self._gone.isdisjoint(event.stirred_by):
                self._gone.add(event.line)
                continue
            if await self._happens(event, began + event.after, patient=event.line in late):
                self._followed += 1
            else:
                self._gone.add(event.line)
                self.missed.append(event.line)
                self._differ(Divergence(event.line, f"{event.transition} {event.message}".strip()))
        left = began + distance - self.stage.now()
        if left > 0:
            await (self.stage.calm(left) if self._short else self.stage.wait(left))

    async def _happens(self, event: Event, moment: int, *, patient: bool) -> bool:
        """Wait until an event has happened; give up when its moment is past and nothing leads to it."""
        limit = moment + self._waiting.epsilon_ms
        while not self._seen.take(event):
            now = self.stage.now()
            if now < moment or ((patient or self._waiting.careful) and now < limit):
                await self.stage.wait(_BREATH_MS)
            elif now >= limit and (patient or self._overtime <= 0):
                return False
            elif await self._calm(_GLANCE_MS, limit - now):
                return self._seen.take(event)
        return True

    async def _calm(self, most: int, free: int) -> bool:
        """Wait until the controllers are through, for some time at most; what is not free is overtime.

        On a busy machine a controller may take long for what was quickly done in the record; it is then
        seen to be at work.
        """
        began = self.stage.now()
        is_calm = await self.stage.calm(most)
        self._overtime -= max(0, self.stage.now() - began - max(0, free))
        return is_calm

    # The end.

    async def _conclude(self) -> None:
        """Give the violation the time to be known to last, let all arrive, and judge that too."""
        if not self._short:
            await self.judge.conclude(self.stage.wait, _SETTLING_MS)
            return
        patience = self.stage.setting.options.persistent_ms + _MARGIN_MS
        self.judge.look()
        await self._see_whether_it_lasts(patience)
        if not self.judge.found:
            await self.stage.calm(_SETTLING_MS)
            self.judge.look(at_rest=self.judge.is_at_rest)
            await self._see_whether_it_lasts(patience)

    async def _see_whether_it_lasts(self, left: int) -> None:
        """Wait while something is wrong that may turn out to be the violation in question."""
        pause = _FIRST_PAUSE_MS
        while left > 0 and not self.judge.found and self._may_come():
            pause = min(pause, left)
            await self.stage.wait(pause)
            self.judge.look()
            left -= pause
            pause *= 2

    def _may_come(self) -> bool:
        """Tell whether a claim stands that would be the violation if it lasted."""
        violation = self._script.violation
        if violation is None:
            return False
        for invariant in self.judge.fuzzing.invariants:
            if not invariant.is_undecided:
                continue
            if not isinstance(invariant, Lasting):
                return True
            name = invariant.source.name
            if any(
                violation.is_same(name, claim, wide=self._wide)
                for claim in invariant.source.claims().values()
            ):
                return True
        return False

    def _differ(self, divergence: Divergence) -> None:
        if self._divergence is None:
            self._divergence = divergence

    def attempt(self, seconds: float) -> Attempt:
        """Return how the replay went."""
        judge = self.judge
        return Attempt(
            reproduced=judge.found,
            message=judge.message,
            invariant=judge.invariant,
            divergence=self._divergence,
            skipped=tuple(sorted(self._skipped)),
            followed=self._followed,
            absent=len(self.missed),
            needed=self._given if judge.found else None,
            seconds=seconds,
            hits=int(judge.found),
        )


def _distance(cue: Cue, following: Cue | None) -> int:
    """Return how long after an input the next one came."""
    return following.at - cue.at if following is not None else EPSILON_MS
