"""Replays on virtual time: exact, without waiting, from the recorded order alone.

A fuzzing run draws how many messages are delivered before the next input.  A replay does not draw: which
deliveries came between two inputs is what the trace tells, and the script is followed (see `following`).
Time belongs to the inputs: a `wait` that is left out takes its time along, and what is expected in it is
tried without any.

After the last input the violation gets the time that it needs to be known to last, as the fuzzer would
give it; then everything arrives, and the invariants are asked for the last time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple, Self, TypeVar

from penstock._controllers import origins
from penstock._fuzz.building import FuzzContext, build_setting
from penstock._fuzz.delivery_scheduler import Waiting
from penstock._fuzz.harness import Harness
from penstock._fuzz.inputs import Check, Input
from penstock._fuzz.recorder import Recorder
from penstock._fuzz.virtual_harness import MOST_STEPS_TO_OPEN, VirtualHarness
from penstock._minimize.atomic_events import rewritten
from penstock._minimize.guided_replay import GuidedReplay, Texts
from penstock._minimize.judging import Judge
from penstock._minimize.recording import LOOK, Event, RecordedInput, Recording, about, script_of
from penstock._minimize.reproducing import Attempt
from penstock._trace.trace import TraceWriter, read_trace
from penstock._world.component import Endpoint, Message
from penstock._world.network import GlobalState
from penstock._world.transition import ACT, DELIVER, Transition
from penstock.errors import PenstockError

T = TypeVar("T")


def drive(work: Coroutine[Any, Any, T]) -> T:
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
            raise PenstockError(f"{channel} stands still.")
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


class VirtualReproducer:
    """Replays inputs of a fuzzing run whose controllers run in process."""

    is_exact: Final = True

    def __init__(self, script: Recording, *, setting: FuzzContext | None = None, wide: bool = False) -> None:
        self.script = script
        self.setting = build_setting(script.scenario) if setting is None else setting
        self.wide = wide
        if self.setting.commands:
            names = ", ".join(self.setting.commands)
            raise PenstockError(f"{names} is a process, which cannot be replayed on virtual time.")
        self.texts = Texts()
        """The texts of messages, which all replays share."""

    def with_script(self, script: Recording) -> Self:
        """Return a reproducer for another script of the same network, or of another one."""
        setting = self.setting if script.scenario == self.script.scenario else None
        return type(self)(script, setting=setting, wide=self.wide)

    def run(self, inputs: Sequence[RecordedInput], *, tries: int = 1) -> Attempt:  # noqa: ARG002 - the protocol's
        """Replay some of the script's inputs; as that is exact, once is enough."""
        return self._played(inputs, SilentRecorder(self.setting.version))

    def record(self, inputs: Sequence[RecordedInput], path: Path, *, home: Path | None = None) -> Attempt:
        """Replay some of the script's inputs, and write what happens as a trace."""
        scenario, seed = self.script.scenario, self.setting.options.seed
        details = about(self.script.violation, wide=self.wide)
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
        recorder = Recorder(writer, self.setting.version)
        try:
            with origins.recorded(returns=False):
                return self._played(inputs, recorder)
        finally:
            recorder.close()

    def rewritten(self, inputs: Sequence[RecordedInput]) -> Recording | None:
        """Return a replay of some inputs as a script of its own, if it leads to the violation."""
        with TemporaryDirectory() as folder:
            path = Path(folder) / "trace.jsonl"
            attempt = self.record(inputs, path)
            if not attempt.reproduced:
                return None
            script = script_of(read_trace(path), self.script.scenario)
            return replace(script, violation=self.script.violation)

    def _played(self, inputs: Sequence[RecordedInput], recorder: Recorder) -> Attempt:
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
            following.differ(cue.line, str(cue), f"no way to do it ({str(error).rstrip('.')})")
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
        following, judge = self.following, self.judge
        return Attempt(
            reproduced=judge.found,
            message=judge.message,
            invariant=judge.invariant,
            divergence=following.divergence,
            skipped=tuple(sorted(self._skipped)),
            followed=following.followed,
            absent=following.absent,
            unexpected=following.unexpected,
            needed=self._needed,
            seconds=seconds,
            hits=int(judge.found),
        )
