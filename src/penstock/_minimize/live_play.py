"""One replay with real processes, from the first input to the last, and what it waits for in between.

What came without a pause in the record comes without one again, after as many steps of the network.  Else the
next input comes when what was expected has happened or is given up, and the recorded distance is past or cut
short (see `waiting`).  `live_replay` says why.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from penstock._controllers.tcp.faketime import FakeClock
from penstock._fuzz.inputs import Check, Input, Wait
from penstock._fuzz.invariants import Lasting
from penstock._fuzz.live_harness import LiveHarness
from penstock._fuzz.recorder import Recorder
from penstock._minimize.atomic_events import rewritten
from penstock._minimize.barriers import Barriers
from penstock._minimize.equivalence import masked_log
from penstock._minimize.judging import Judge
from penstock._minimize.recording import LOG, Event, RecordedInput, Recording
from penstock._minimize.reproducing import Attempt, Divergence
from penstock._minimize.timings import EPSILON_MS, LearnedTimings, Seen, Waiting, lines_of, timers
from penstock._minimize.virtual_replay import SilentRecorder
from penstock._world.transition import DELIVER
from penstock.errors import PenstockError

_BREATH_MS: Final = 2
_OVERTIME_MS: Final = 2000
"""How long, in all, a replay waits for overdue reactions while controllers are still at work."""
_GLANCE_MS: Final = 20
_AT_ONCE_MS: Final = 2
"""Inputs that are no further apart than this came without a pause."""
_SETTLING_MS: Final = 2000
"""How long the network has at the end to come to rest; one with a loop never does."""
_FIRST_PAUSE_MS: Final = 20
_MARGIN_MS: Final = 20
"""How much longer is waited for something to have lasted, since clocks are read in whole milliseconds."""


class ReplayLiveStage(LiveHarness):
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


class LivePlay:
    """One replay with real processes."""

    def __init__(
        self,
        script: Recording,
        stage: ReplayLiveStage,
        inputs: Sequence[RecordedInput],
        *,
        waiting: Waiting,
        lessons: LearnedTimings,
        clock: FakeClock | None,
        wide: bool,
        short: bool,
    ) -> None:
        self.script = script
        self.waiting = waiting
        self._lessons = lessons
        self._clock = clock
        self._short = short
        self._wide = wide
        kept, idle = rewritten(script.inputs, inputs, stage.setting.homes)
        self._kept = {cue.line: cue for cue in kept}
        self._played = lines_of(inputs)
        self._skipped = list(idle)
        self._given = 0
        self.gone: set[int] = set()
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
        self.judge = Judge(stage, script.violation, wide=wide)
        self.seen = Seen()
        """What has happened and was not waited for."""
        self._barriers = Barriers(script, stage, self.waiting.epsilon_ms) if self.waiting.barriers else None
        stage.observers.append(self.seen.observe)

    def hear(self, source: str, text: str) -> None:
        """Take note of what a controller logged."""
        said = masked_log(text)
        self.seen.note(f"{LOG} {source}", said)
        if self._barriers is not None:
            self._barriers.hear(source, said)

    async def play(self) -> None:
        """Play the script, each input after what preceded it."""
        script = self.script
        try:
            await self.stage.open()
            self.judge.begin()
            self.seen.known.clear()
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
                await self.give(kept, script.expected[index + 1], _distance(cue, following))
                if self.judge.found:
                    return
            await self.conclude()
        finally:
            if self._barriers is not None:
                self._barriers.open()
            await self.stage.close()

    def _infer(self, cue: RecordedInput, events: Sequence[Event], kept: RecordedInput | None) -> None:
        """Tell which events after an input cannot come, because of what is left out."""
        if kept is None:
            self.gone.add(cue.line)
        for event in events:
            if not self.gone.isdisjoint(event.stirred_by):
                self.gone.add(event.line)

    # Inputs.

    def _pass_over(self, cue: RecordedInput) -> None:
        """Leave an input out."""
        if self._left_out_since is None:
            self._left_out_since = cue.at

    async def _catch_up(self, cue: RecordedInput, events: Sequence[Event]) -> None:
        """Let the controllers do what they had the time for during the inputs that are left out before one.

        Unless the record shows that they were not through with it by then.
        """
        since, self._left_out_since = self._left_out_since, None
        if since is None or not self._given or cue.at - since <= _AT_ONCE_MS:
            return
        is_late = any(
            self.waiting.counts(event)
            and event.line not in self.gone
            and any(cause < cue.line for cause in event.stirred_by)
            for event in events
        )
        if not is_late:
            free = min(cue.at - since, self.waiting.epsilon_ms)
            await self._calm(free + max(0, self._overtime), free)

    async def give(self, cue: RecordedInput, events: Sequence[Event], distance: int) -> None:
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
            await self.await_events(events, cue.what.milliseconds if cut_short else 0)
        elif distance <= _AT_ONCE_MS:
            self.stage.run(sum(event.transition.startswith(DELIVER) for event in events))
        else:
            await self.await_events(events, distance)
        self.judge.after(cue.what)
        if cut_short and isinstance(cue.what, Wait):
            await self._see_whether_it_lasts(cue.what.milliseconds)

    async def await_events(self, events: Sequence[Event], distance: int) -> None:
        """Wait until expected events have happened, and for the distance to the next input."""
        began = self.stage.now()
        late = timers(events)
        for event in events:
            if not self.waiting.counts(event) or self._lessons.is_hopeless(event.line, self._played):
                continue
            if event.line in self.gone or not self.gone.isdisjoint(event.stirred_by):
                self.gone.add(event.line)
                continue
            if await self._happens(event, began + event.after, patient=event.line in late):
                self._followed += 1
            else:
                self.gone.add(event.line)
                self.missed.append(event.line)
                self._differ(Divergence(event.line, f"{event.transition} {event.message}".strip()))
        await self.pass_time(began + distance - self.stage.now())

    async def pass_time(self, milliseconds: int) -> None:
        """Let time pass, or no more of it than the controllers need."""
        if milliseconds > 0:
            await (self.stage.calm if self._short else self.stage.wait)(milliseconds)

    async def _happens(self, event: Event, moment: int, *, patient: bool) -> bool:
        """Wait until an event has happened; give up when its moment is past and nothing leads to it."""
        limit = moment + self.waiting.epsilon_ms
        while not self.seen.take(event):
            now = self.stage.now()
            if now < moment or ((patient or self.waiting.careful) and now < limit):
                await self.stage.wait(_BREATH_MS)
            elif now >= limit and (patient or self._overtime <= 0):
                return False
            elif await self._calm(_GLANCE_MS, limit - now):
                return self.seen.take(event)
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

    async def conclude(self) -> None:
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
        violation = self.script.violation
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


def _distance(cue: RecordedInput, following: RecordedInput | None) -> int:
    """Return how long after an input the next one came."""
    return following.at - cue.at if following is not None else EPSILON_MS


_PLAYS: Final[list[asyncio.Task[None]]] = []
"""What is being played in this process, for `break_off`."""


async def begun(play: LivePlay) -> None:
    """Play, so that it can be broken off."""
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
