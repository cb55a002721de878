"""One replay with real processes, from the first input to the last, and what it waits for in between.

What came without a pause in the record comes without one again, after as many steps of the network.  Else the
next input comes when what was expected has happened or is given up, and the recorded distance is past or cut
short; `live` says why.  A replay with real processes spends its time waiting, so the question is always what
may be left out.

- An event that was a *reaction* came soon after something else happened.  Once its moment is past and the
  controllers have done all they were given to do, it will not come, and nobody waits any longer.  One that
  came out of silence is a timer's work; for that the replay waits until its moment and `epsilon_ms` more.
- An event that did not come in the replay of some inputs is not waited for when fewer of them are played, nor
  at all after it stayed away from `HOPELESS` replays.
- Stretches of time in which nothing happened are cut short, if all inputs together lead to the violation
  without them.  Whether they do is tried first; where they do not, the recorded distances are kept.

None of this can make a violation appear that is not there.  It can make a replay miss one, as everything can
that depends on time; `careful` has every distance kept and every event waited for.

Log lines can be *barriers*.  A line that a controller prints says where it is.  If it prints one before an
input that came earlier in the record, it has been faster this time than then; it is halted, and goes on when
that input has been given (STS §5.0.7).  Lines are compared without their parameters.  A controller that
prints what nobody expects, or expects no more, goes on; and none stands still for longer than a limit, since
what it waits for may have been left out.  A process is halted when its line is read, so what it does in
between is done.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise
from typing import Final, Protocol

from penstock._controllers.tcp.faketime import FakeClock
from penstock._fuzz.inputs import Check, Input, Wait
from penstock._fuzz.invariants import Lasting
from penstock._fuzz.live_harness import LiveHarness
from penstock._fuzz.recorder import Recorder
from penstock._replay import EPSILON_MS
from penstock._replay.guided import Attempt, Divergence, Judge
from penstock._replay.in_process import SilentRecorder
from penstock._replay.recording import (
    LOG,
    LOOK,
    Event,
    RecordedInput,
    Recording,
    masked,
    masked_log,
    rewritten,
)
from penstock._world.transition import DELIVER, INJECT, TIME, Record
from penstock.errors import PenstockError

# What is waited for, and how long.


HOPELESS: Final = 2
"""After so many replays without it an event is no longer waited for."""
_SILENCE_MS: Final = 50
"""What comes so long after anything else is no reaction to it."""
_KEEP_ALIVES: Final = ("EchoRequest", "EchoReply")


@dataclass(frozen=True, slots=True)
class Waiting:
    """What a live replay waits for, and how long."""

    epsilon_ms: int = EPSILON_MS
    data: bool = False
    """Whether it waits for data packets too."""
    logs: bool = False
    """Whether it waits for log lines, as signs of what a controller does inside."""
    barriers: bool = False
    """Whether a controller stands still at a log line until what came before that has been done."""
    careful: bool = False
    """Whether all distances in time are kept, and violations given all the time they were given."""
    faketime: bool = False
    """Whether the processes' clocks are set to a fixed moment, and kept in step with the record."""
    peek: bool = False
    """Whether it is looked ahead what comes of each input, before a part of them is replayed."""

    def counts(self, event: Event) -> bool:
        """Tell whether an event is one to wait for."""
        verb, _, where = event.transition.partition(" ")
        if verb in (LOOK, TIME) or event.message.startswith(_KEEP_ALIVES):
            return False
        if verb == LOG:
            return self.logs
        is_data = verb == DELIVER and where.rpartition(":")[2].isdecimal()
        return self.data or not is_data


USUAL: Final = Waiting()


class TimeScale(Enum):
    """Whether stretches of time in which nothing happened are cut short."""

    UNTRIED = "untried"
    SHORT = "short"
    """All inputs lead to the violation without them."""
    RECORDED = "recorded"


@dataclass(slots=True)
class LearnedTimings:
    """What replays of one trace have taught; a plain value, so that workers can tell each other."""

    pace: TimeScale = TimeScale.UNTRIED
    missed: dict[int, tuple[frozenset[int], ...]] = field(default_factory=dict)
    """By the line of an event, the inputs with which it was waited for in vain, by their lines."""

    def is_hopeless(self, line: int, played: frozenset[int]) -> bool:
        """Tell whether an event need not be waited for when some inputs are played."""
        known = self.missed.get(line, ())
        return len(known) >= HOPELESS or any(played <= each for each in known)

    def miss(self, lines: Iterable[int], played: frozenset[int]) -> None:
        """Take note of events that did not come when some inputs were played."""
        for line in lines:
            known = self.missed.get(line, ())
            if played not in known and len(known) < HOPELESS:
                self.missed[line] = (*known, played)

    def learn(self, other: LearnedTimings) -> None:
        """Take over what another one knows."""
        if self.pace is TimeScale.UNTRIED:
            self.pace = other.pace
        for line, known in other.missed.items():
            for played in known:
                self.miss([line], played)


@dataclass(slots=True)
class Seen:
    """What has happened in a replay and was not waited for yet."""

    known: Counter[tuple[str, str]] = field(default_factory=Counter)

    def observe(self, record: Record) -> None:
        """Take note of a step."""
        if record.transition.verb != TIME:
            self.known[sight_of(record)] += 1

    def note(self, transition: str, message: str) -> None:
        """Take note of something that happened."""
        self.known[masked(transition), masked(message)] += 1

    def take(self, event: Event) -> bool:
        """Count an event as waited for, if it has happened."""
        sight = _sight(event)
        if not self.known[sight]:
            return False
        self.known[sight] -= 1
        return True


def sight_of(record: Record) -> tuple[str, str]:
    """Return what a step looks like."""
    said = record.message
    if record.transition.verb == INJECT and record.sends:
        said = record.sends[0].message
    return masked(str(record.transition)), masked("" if said is None else str(said))


def _sight(event: Event) -> tuple[str, str]:
    """Return what an event looks like when it happens."""
    if event.transition.startswith(INJECT) and event.sends:
        return event.transition, event.sends[0].partition(" ")[2]
    return event.pair


def timers(events: Sequence[Event]) -> frozenset[int]:
    """Return the lines of the events after an input that came out of silence."""
    moments = (0, *(event.after for event in events))
    return frozenset(
        event.line
        for event, (before, now) in zip(events, pairwise(moments), strict=True)
        if now - before > _SILENCE_MS
    )


def lines_of(cues: Iterable[RecordedInput]) -> frozenset[int]:
    """Return which inputs these are, by their lines."""
    return frozenset(cue.line for cue in cues)


# Log lines as barriers.


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


# One replay.


_BREATH_MS: Final = 2
_OVERTIME_MS: Final = 2000
"""How long, in all, a replay waits for overdue reactions while controllers are still at work."""
_GLANCE_MS: Final = 20
_AT_ONCE_MS: Final = 2
"""Inputs that are no further apart than this came without a pause."""
_SETTLING_MS: Final = 2000
"""How long the network has at the end to come to rest; one with a loop never does."""
_MARGIN_MS: Final = 20
"""How much longer is waited for something to have lasted, since clocks are read in whole milliseconds."""


class ReplayLiveStage(LiveHarness):
    """A live stage that leaves it to the replay when to go on."""

    async def _pause(self, what: Input) -> None:
        """Do nothing: the replay waits."""


class WrittenLog(Recorder):
    """A recorder that also tells somebody what controllers log."""

    hears: Callable[[str, str], None] | None = None

    def log(self, source: str, text: str, now: int) -> None:
        """Write what a controller logged, and tell it."""
        super().log(source, text, now)
        if self.hears is not None:
            self.hears(source, text)


class SilentLog(WrittenLog, SilentRecorder):
    """A recorder that writes nothing, and tells somebody what controllers log."""


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
            self._differ(Divergence(cue.line, str(cue), f"an error ({str(error).rstrip('.')})"))
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
        await self.judge.see_whether_it_lasts(left, self.stage.wait, self._may_come)

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
