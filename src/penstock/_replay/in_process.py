"""Replays in process, which are exact: of what a search found, and of fuzzing runs on virtual time.

Of a search or a random walk, what hosts and the fabric did are the inputs; deliveries, and what switches and
controllers do by themselves, follow (see `guided`).  After the last input everything arrives and every
controller and switch does what it still has to do.  Properties that judge a network at rest do so then.  A
host that could still say something need not: unlike a search, which asks whether *anything* can still happen,
a replay takes hosts that are left out to be silent for good.

A fuzzing run draws how many messages are delivered before the next input.  A replay does not draw: which
deliveries came between two inputs is what the trace tells.  Time belongs to the inputs: a `wait` that is left
out takes its time along, and what is expected in it is tried without any.  After the last input the violation
gets the time that it needs to be known to last, as the fuzzer would give it; then everything arrives, and the
invariants are asked for the last time.

PEEK looks ahead from a checkpoint to see which expected events will come (STS Fig. 4.2).  STS cannot know
whether an expected event is late or absent, so it takes a checkpoint, lets the network go on after each
input, and keeps of the expected events those that came.  In process a checkpoint is a copy of a few
references, since all states are values.  On virtual time it is also needless: an event that is expected and
cannot happen now is known to be absent without any wait.  On the runs of `bench.peeking` peeking leads to the
same sequences in the same number of replays, and takes 2.2 to 2.7 times as long.  So it is done only if asked
for.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple, Self, TypeVar

from penstock._controllers import origins
from penstock._engine.building import Built, build
from penstock._engine.fresh_program import MOST_STEPS_TO_REST, WatchedWorld
from penstock._explain.explaining import explain
from penstock._fuzz.building import FuzzContext, build_setting
from penstock._fuzz.delivery_scheduler import Waiting
from penstock._fuzz.harness import MOST_STEPS_TO_OPEN, Harness, VirtualHarness
from penstock._fuzz.inputs import Check, Input
from penstock._fuzz.recorder import Recorder
from penstock._replay.guided import Attempt, GuidedReplay, Judge, Texts
from penstock._replay.recording import (
    LOOK,
    Event,
    RecordedInput,
    Recording,
    Violation,
    masked,
    recording_of_search,
    rewritten,
    script_of,
)
from penstock._trace.trace import TraceWriter, lines_of, read_trace, recorded_for, verdict_of, write_trace
from penstock._world.component import Endpoint, Message
from penstock._world.network import GlobalState
from penstock._world.transition import ACT, DELIVER, Record, Transition
from penstock.errors import PenstockError

# What a search or a walk found.


class CheckReproducer:
    """Replays inputs of a run that a search or a walk found."""

    is_exact: Final = True

    def __init__(self, script: Recording, *, built: Built | None = None, wide: bool = False) -> None:
        self.script = script
        self.wide = wide
        self._built = build(script.scenario) if built is None else built
        self._texts = Texts()

    @property
    def judged(self) -> frozenset[str]:
        """The names of what it judges."""
        return frozenset(made.name for made in self._built.properties)

    def with_script(self, script: Recording) -> Self:
        """Return a reproducer for another script of the same scenario, or of another one."""
        built = self._built if script.scenario == self.script.scenario else None
        return type(self)(script, built=built, wide=self.wide)

    def run(self, inputs: Sequence[RecordedInput], *, tries: int = 1) -> Attempt:  # noqa: ARG002 - the protocol's
        """Replay some of the script's inputs; as that is exact, once is enough."""
        return self._play(inputs)[0]

    def record(self, inputs: Sequence[RecordedInput], path: Path, *, home: Path | None = None) -> Attempt:
        """Replay some of the script's inputs, and write what happens as a trace."""
        with origins.recorded():
            attempt, records = self._play(inputs)
        verdict = None
        if attempt.reproduced:
            why = explain(self._built, records, attempt.invariant, attempt.message)
            verdict = verdict_of(attempt.invariant, attempt.message, why)
        scenario = self.script.scenario
        write_trace(path, scenario.table(), scenario.folder, records, verdict, self._built.scene, home=home)
        return attempt

    def rewritten(self, inputs: Sequence[RecordedInput]) -> Recording | None:
        """Return a replay of some inputs as a script of its own, if it leads to the violation."""
        attempt, records = self._play(inputs)
        if not attempt.reproduced:
            return None
        violation = Violation(attempt.invariant, attempt.message)
        return recording_of_search(
            tuple(lines_of(records)), self.script.scenario, violation, self._built.network
        )

    def _play(self, inputs: Sequence[RecordedInput]) -> tuple[Attempt, list[Record]]:
        began = time.perf_counter()
        script = self.script
        ground = WatchedWorld(self._built)
        exact = tuple(inputs) == script.inputs and not script.settles
        following = GuidedReplay(script, ground, self._texts, exact=exact)
        kept = {cue.line for cue in inputs}
        skipped: list[int] = []
        given = 0

        def go_on(place: int) -> None:
            if script.settles:
                following.pass_over(script.expected[place])
                self._settle(ground)
                return
            for event in script.expected[place]:
                following.follow(event)
                if self._violation(ground):
                    return

        go_on(0)
        for place, cue in enumerate(script.inputs, 1):
            if self._violation(ground):
                break
            if cue.line in kept:
                following.let_through()
                try:
                    ground.take(str(cue.what))
                    given += 1
                except PenstockError as error:
                    skipped.append(cue.line)
                    following.differ(cue.line, str(cue), f"an error ({str(error)[:80].rstrip('.')})")
            following.pass_over(script.doings.get(cue.line, ()))
            go_on(place)
        if not self._violation(ground):
            ground.rest()
        broken = self._violation(ground)
        seconds = time.perf_counter() - began
        return following.attempt(broken, skipped, given if broken else None, seconds), ground.records

    def _settle(self, ground: WatchedWorld) -> None:
        """Let everything arrive that is under way; timers go off only at the end."""
        for _ in range(MOST_STEPS_TO_REST):
            if self._violation(ground):
                return
            turn = next((each for each in ground.pending() if not isinstance(each, str)), None)
            if turn is None:
                return
            ground.deliver(turn)

    def _violation(self, ground: WatchedWorld) -> tuple[str, str] | None:
        """Return the violation in question, if it is there: who says it, and what."""
        violation = self.script.violation
        if violation is None:
            return None
        message = ground.watch.broken.get(violation.invariant)
        if message is None or not violation.is_same(violation.invariant, message, wide=self.wide):
            return None
        return violation.invariant, message


# Fuzzing runs on virtual time.


T = TypeVar("T")


def drive(work: Coroutine[object, object, T]) -> T:
    """Run what is written to be awaited to its end, on virtual time."""
    return asyncio.run(work)


class Checkpoint(NamedTuple):
    """A moment of a replay: the network, and what waits to be delivered."""

    world: GlobalState
    courier: Waiting


class ReplayStage(VirtualHarness):
    """A virtual stage on which nothing happens that it is not told to."""

    async def perform(self, what: Input) -> None:
        """Do something to the network, and no more."""
        await Harness.perform(self, what)

    async def wait(self, milliseconds: int) -> None:
        """Do nothing: who plays the script lets time pass."""

    async def settle(self, milliseconds: int) -> None:
        """Let everything arrive, and time pass."""
        await super().wait(milliseconds)

    def reach(self, moment: int) -> None:
        """Let time pass, and only what falls due happen."""
        if moment > self.now():
            self.world.elapse(moment - self.now())
            self.courier.wake(self.now())

    def checkpoint(self) -> Checkpoint:
        """Return all that has to be known to come back to this moment."""
        return Checkpoint(self.world.snapshot(), self.courier.snapshot())

    def return_to(self, moment: Checkpoint) -> None:
        """Go back to a moment."""
        self.world.restore(moment.world)
        self.courier.restore(moment.courier)

    # The ground that a script is followed on.

    def queue(self, channel: Endpoint) -> tuple[Message, ...]:
        """Return what is under way on a channel."""
        if channel not in self.world.network.outlets:
            return ()
        return self.world.queue(channel)

    def pending(self) -> Iterator[Endpoint | str]:
        """Yield the channels that hold something, and what components may do."""
        for turn in self.courier.turns():
            if isinstance(turn, str):
                actions = self._willing[turn].actions(self.world.state(turn))
                if actions:
                    yield f"{turn} {actions[0]}"
            else:
                yield turn

    def deliver(self, channel: Endpoint) -> None:
        """Deliver the head of a channel that does not stand still."""
        if channel in self.courier.held:
            raise PenstockError(f"{channel} is held.")
        self.world.take(Transition(DELIVER, *channel))
        self.courier.take(channel)

    def act(self, action: str) -> None:
        """Have a component, or a wire, do something."""
        node, _, what = action.partition(" ")
        if node in self._willing:
            self.courier.take(node)
            self.world.take(Transition(ACT, node, what))
        else:
            self.world.take(action)


class SilentRecorder(Recorder):
    """A recorder that writes nothing, for replays of which only the verdict is wanted."""

    def __init__(self, version: int) -> None:
        # A writer would open a file; nothing here uses one.
        self.version = version
        self.step = self.inputs = self.internal = 0
        self.wire = None

    def begin(self, what: Input, now: int) -> int:  # noqa: ARG002 - the recorder's
        """Count an input."""
        self.inputs += 1
        return self.inputs

    def withdraw(self) -> None:
        """Count an input as not given."""
        self.inputs -= 1

    def end(self) -> None:
        """Do nothing."""

    def affects(self, channel: Endpoint) -> None:
        """Do nothing."""

    def observe(self, record: object, now: int) -> None:  # noqa: ARG002 - the recorder's
        """Count a step."""
        self.internal += 1

    def log(self, source: str, text: str, now: int) -> None:
        """Do nothing."""

    def finding(self, *_: object, **__: object) -> int:
        """Do nothing."""
        return 0

    def flush(self, least: int = 1) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


def writer_of(
    script: Recording, setting: FuzzContext, path: Path, home: Path | None, *, wide: bool
) -> TraceWriter:
    """Return what writes a replay of a fuzzing run as a trace, which says for which violation it is made."""
    about: dict[str, Any] = (
        {} if script.violation is None else recorded_for(script.violation.invariant, wide=wide)
    )
    table, folder = script.scenario.table(), script.scenario.folder
    return TraceWriter(path, table, folder, setting.scene, home=home, seed=setting.options.seed, **about)


class VirtualReproducer:
    """Replays inputs of a fuzzing run whose controllers run in process."""

    is_exact: Final = True

    def __init__(self, script: Recording, *, setting: FuzzContext | None = None, wide: bool = False) -> None:
        self.script = script
        self.setting = build_setting(script.scenario) if setting is None else setting
        self.wide = wide
        if self.setting.commands:
            names = ", ".join(self.setting.commands)
            raise PenstockError(f"{names} is a process, which cannot be replayed in virtual time.")
        self.texts = Texts()
        """The texts of messages, which all replays share."""

    def with_script(self, script: Recording) -> Self:
        """Return a reproducer for another script of the same network, or of another one."""
        setting = self.setting if script.scenario == self.script.scenario else None
        return type(self)(script, setting=setting, wide=self.wide)

    def run(self, inputs: Sequence[RecordedInput], *, tries: int = 1) -> Attempt:  # noqa: ARG002 - the protocol's
        """Replay some of the script's inputs; as that is exact, once is enough."""
        return self._perform(inputs, SilentRecorder(self.setting.version))

    def record(self, inputs: Sequence[RecordedInput], path: Path, *, home: Path | None = None) -> Attempt:
        """Replay some of the script's inputs, and write what happens as a trace."""
        writer = writer_of(self.script, self.setting, path, home, wide=self.wide)
        with closing(Recorder(writer, self.setting.version)) as recorder, origins.recorded(returns=False):
            return self._perform(inputs, recorder)

    def rewritten(self, inputs: Sequence[RecordedInput]) -> Recording | None:
        """Return a replay of some inputs as a script of its own, if it leads to the violation."""
        with TemporaryDirectory() as folder:
            path = Path(folder) / "trace.jsonl"
            attempt = self.record(inputs, path)
            if not attempt.reproduced:
                return None
            script = script_of(read_trace(path), self.script.scenario)
            return replace(script, violation=self.script.violation)

    def _perform(self, inputs: Sequence[RecordedInput], recorder: Recorder) -> Attempt:
        began = time.perf_counter()
        play = _Play(self, inputs, recorder)
        drive(play.play())
        return play.attempt(time.perf_counter() - began)


class _Play:
    """One replay."""

    def __init__(
        self, reproducer: VirtualReproducer, inputs: Sequence[RecordedInput], recorder: Recorder
    ) -> None:
        self._script = script = reproducer.script
        self._setting = reproducer.setting
        kept, idle = rewritten(script.inputs, inputs, reproducer.setting.homes)
        self._kept = {cue.line: cue for cue in kept}
        self._skipped = list(idle)
        self._given = 0
        self._needed: int | None = None
        self.stage = ReplayStage(reproducer.setting, recorder)
        self.judge = Judge(self.stage, script.violation, wide=reproducer.wide)
        exact = tuple(kept) == script.inputs and not script.settles
        self.following = GuidedReplay(script, self.stage, reproducer.texts, exact=exact)

    async def play(self) -> None:
        """Play the script from its beginning to the violation, or to its end."""
        script, following = self._script, self.following
        self.stage.offer_all()
        if script.settles:
            following.pass_over(script.expected[0])
            self.stage.run(MOST_STEPS_TO_OPEN)
        else:
            self._follow(script.expected[0], None)
        self.judge.begin()
        for index, cue in enumerate(script.inputs):
            kept = self._kept.get(cue.line)
            is_last = index == len(script.inputs) - 1
            done = kept is not None and await self._give(kept)
            following.pass_over(script.doings.get(cue.line, ()))
            await self._go_on(kept if done else None, script.expected[index + 1], is_last=is_last)
            if self.judge.found:
                return
        if script.violation is None:
            return
        await self.judge.conclude(self.stage.settle, self._setting.options.settle_ms)
        if self.judge.found:
            self._needed = self._given

    async def _give(self, cue: RecordedInput) -> bool:
        """Perform an input, if it is still possible."""
        following = self.following
        following.let_through()
        try:
            await self.stage.perform(cue.what)
        except PenstockError as error:
            self._skipped.append(cue.line)
            following.differ(cue.line, str(cue), f"an error ({str(error).rstrip('.')})")
            return False
        self._given += 1
        return True

    async def _go_on(self, cue: RecordedInput | None, events: Sequence[Event], *, is_last: bool) -> None:
        """Let happen what is expected after an input, or what was after one that is left out."""
        if cue is None:
            if self._script.settles:
                self.following.pass_over(events)
            else:
                self._follow(events, None)
            return
        began = self.stage.now()
        if self._script.settles:
            self.following.pass_over(events)
            await self.stage.settle(cue.lasts)
        else:
            self._follow(
                events,
                began,
                end=None if is_last else began + cue.lasts,
                rests=is_last or isinstance(cue.what, Check),
            )
            self.stage.reach(began + cue.lasts)
            if cue.lasts:
                self.following.let_through()
        if not self.judge.found:
            self.judge.after(cue.what)
        if self.judge.found and self._needed is None:
            self._needed = self._given

    def _follow(
        self, events: Sequence[Event], began: int | None, end: int | None = None, *, rests: bool = False
    ) -> None:
        """Follow expected events; with `began`, at their moments, but before an `end`."""
        for event in events:
            if began is not None:
                moment = began + event.after
                self.stage.reach(moment if end is None else min(moment, end))
                if event.transition == LOOK and (end is None or self.following.exact):
                    self.judge.look(at_rest=rests and self.judge.is_at_rest)
                    if self.judge.found:
                        return
            self.following.follow(event)

    def attempt(self, seconds: float) -> Attempt:
        """Return how the replay went."""
        judge = self.judge
        broken = (judge.invariant, judge.message) if judge.found else None
        return self.following.attempt(broken, sorted(self._skipped), self._needed, seconds)


# Looking ahead.


class _Watched:
    """What happened on a stage since it was last asked."""

    def __init__(self) -> None:
        self._seen: Counter[tuple[str, str]] = Counter()

    def observe(self, record: Record) -> None:
        """Take note of a step."""
        said = "" if record.message is None else masked(str(record.message))
        self._seen[masked(str(record.transition)), said] += 1

    def take_matched(self, events: Sequence[Event]) -> tuple[Event, ...]:
        """Return the expected events that happened, each as often as it did, and begin anew."""
        found = []
        for event in events:
            if event.transition == LOOK or self._seen[event.pair]:
                self._seen[event.pair] -= 1
                found.append(event)
        self._seen.clear()
        return tuple(found)


class PeekingReproducer(VirtualReproducer):
    """Replays inputs after a look ahead at each of them."""

    def run(self, inputs: Sequence[RecordedInput], *, tries: int = 1) -> Attempt:
        """Infer which internal events come, then replay with those alone."""
        if len(inputs) == len(self.script.inputs) or self.script.settles:
            return super().run(inputs, tries=tries)
        # What is left must not depend on inputs that nobody plays any more.
        kept, idle = rewritten(self.script.inputs, inputs, self.setting.homes)
        inferred = VirtualReproducer(self.infer(kept), setting=self.setting, wide=self.wide)
        found = inferred.run(kept, tries=tries)
        return replace(found, skipped=tuple(sorted({*found.skipped, *idle})))

    def infer(self, inputs: Sequence[RecordedInput]) -> Recording:
        """Return a script of some inputs that expects only what came when it was looked for."""
        script = self.script.only(inputs)
        stage = ReplayStage(self.setting, SilentRecorder(self.setting.version))
        watched = _Watched()
        stage.observers.append(watched.observe)
        stage.offer_all()
        stage.run()
        opening = watched.take_matched(script.expected[0])
        following = GuidedReplay(script, stage, Texts(), exact=True)
        following.pass_over(opening)
        expected = [opening]
        for cue, events in zip(script.inputs, script.expected[1:], strict=True):
            before = stage.checkpoint()
            came = self._ahead(stage, watched, cue, events)
            stage.return_to(before)
            self._as_recorded(stage, following, cue, script.doings.get(cue.line, ()), came)
            watched.take_matched(())
            expected.append(came)
        return replace(script, expected=tuple(expected))

    def _ahead(
        self, stage: ReplayStage, watched: _Watched, cue: RecordedInput, events: tuple[Event, ...]
    ) -> tuple[Event, ...]:
        """Give an input, let the network go on as long as in the record, and return what came of it."""

        async def go_on() -> None:
            await stage.perform(cue.what)
            await stage.settle(cue.lasts)

        try:
            drive(go_on())
        except PenstockError:
            return ()
        return watched.take_matched(events)

    def _as_recorded(
        self,
        stage: ReplayStage,
        following: GuidedReplay,
        cue: RecordedInput,
        doing: tuple[Event, ...],
        came: tuple[Event, ...],
    ) -> None:
        """Give an input again, and go no further than what came of it in the record."""
        began = stage.now()
        with suppress(PenstockError):
            drive(stage.perform(cue.what))
        following.pass_over(doing)
        for event in came:
            stage.reach(began + min(event.after, cue.lasts))
            following.follow(event)
        stage.reach(began + cue.lasts)
