"""PEEK: looking ahead from a checkpoint to see which expected events will come (STS Fig. 4.2).

STS cannot know whether an expected event is late or absent, so it looks ahead first: it takes a checkpoint,
lets the network go on after each input, and keeps of the expected events those that came.  In process a
checkpoint is a copy of a few references, since all states are values.

On virtual time it is also needless.  An event that is expected and cannot happen now is known to be absent
without any wait, and `following` passes over it.  On the runs of `bench.peeking` peeking leads to the same
sequences in the same number of replays, and takes 2.2 to 2.7 times as long.  So it is done only if asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from penstock._minimize.atomic_events import rewritten
from penstock._minimize.equivalence import masked
from penstock._minimize.guided_replay import GuidedReplay, Texts
from penstock._minimize.recording import LOOK, Event, RecordedInput, Recording
from penstock._minimize.reproducing import Attempt
from penstock._minimize.virtual_replay import ReplayStage, SilentRecorder, VirtualReproducer, drive
from penstock._world.transition import Record
from penstock.errors import PenstockError


class _Watched:
    """What happened on a stage since it was last asked."""

    def __init__(self) -> None:
        self._seen: Counter[tuple[str, str]] = Counter()

    def observe(self, record: Record) -> None:
        """Take note of a step."""
        said = "" if record.message is None else masked(str(record.message))
        self._seen[masked(str(record.transition)), said] += 1

    def matched(self, events: Sequence[Event]) -> tuple[Event, ...]:
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
        inferred = VirtualReproducer(self.inferred(kept), setting=self.setting, wide=self.wide)
        found = inferred.run(kept, tries=tries)
        return replace(found, skipped=tuple(sorted({*found.skipped, *idle})))

    def inferred(self, inputs: Sequence[RecordedInput]) -> Recording:
        """Return a script of some inputs that expects only what came when it was looked for."""
        script = self.script.only(inputs)
        stage = ReplayStage(self.setting, SilentRecorder(self.setting.version))
        watched = _Watched()
        stage.observers.append(watched.observe)
        stage.offer_all()
        stage.run()
        opening = watched.matched(script.expected[0])
        following = GuidedReplay(script, stage, Texts(), exact=True)
        following.pass_over(opening)
        expected = [opening]
        for cue, events in zip(script.inputs, script.expected[1:], strict=True):
            before = stage.checkpoint()
            came = self._ahead(stage, watched, cue, events)
            stage.return_to(before)
            self._as_recorded(stage, following, cue, script.doings.get(cue.line, ()), came)
            watched.matched(())
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
        return watched.matched(events)

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
