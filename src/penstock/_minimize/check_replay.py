"""Replays of what a search or a random walk found: a world, its properties, and no time at all.

What hosts and the fabric did are the inputs; deliveries, and what switches and controllers do by
themselves, follow (see `following`).  After the last input everything arrives and every controller and
switch does what it still has to do.  Properties that judge a network at rest do so then.  A host that
could still say something need not: unlike a search, which asks whether *anything* can still happen, a
replay takes hosts that are left out to be silent for good.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Self

from penstock._controllers import origins
from penstock._engine.building import Built, build
from penstock._engine.watched_world import MOST_STEPS_TO_REST, WatchedWorld
from penstock._explain.explaining import explain
from penstock._minimize.guided_replay import GuidedReplay, Texts
from penstock._minimize.recording import RecordedInput, Recording, Violation, searched
from penstock._minimize.reproducing import Attempt
from penstock._trace.trace import lines_of, verdict_of, write_trace
from penstock._world.transition import Record
from penstock.errors import PenstockError


class CheckReproducer:
    """Replays inputs of a run that a search or a walk found."""

    is_exact: Final = True

    def __init__(self, script: Recording, *, built: Built | None = None, wide: bool = False) -> None:
        self.script = script
        self.wide = wide
        self._built = build(script.scenario) if built is None else built
        self._texts = Texts()

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
        return searched(tuple(lines_of(records)), self.script.scenario, violation, self._built.network)

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
                if self._broken(ground):
                    return

        go_on(0)
        for place, cue in enumerate(script.inputs, 1):
            if self._broken(ground):
                break
            if cue.line in kept:
                following.let_through()
                try:
                    ground.take(str(cue.what))
                    given += 1
                except PenstockError as error:
                    skipped.append(cue.line)
                    following.differ(cue.line, str(cue), f"no way to do it ({str(error)[:80].rstrip('.')})")
            following.pass_over(script.doings.get(cue.line, ()))
            go_on(place)
        if not self._broken(ground):
            ground.rest()
        broken = self._broken(ground)
        attempt = Attempt(
            reproduced=bool(broken),
            message=broken[1] if broken else "",
            invariant=broken[0] if broken else "",
            divergence=following.divergence,
            skipped=tuple(skipped),
            followed=following.followed,
            absent=following.absent,
            unexpected=following.unexpected,
            needed=given if broken else None,
            seconds=time.perf_counter() - began,
            hits=int(bool(broken)),
        )
        return attempt, ground.records

    def _settle(self, ground: WatchedWorld) -> None:
        """Let everything arrive that is under way; timers go off only at the end."""
        for _ in range(MOST_STEPS_TO_REST):
            if self._broken(ground):
                return
            turn = next((each for each in ground.pending() if not isinstance(each, str)), None)
            if turn is None:
                return
            ground.deliver(turn)

    def _broken(self, ground: WatchedWorld) -> tuple[str, str] | None:
        """Return the violation in question, if it is there: who says it, and what."""
        violation = self.script.violation
        if violation is None:
            return None
        message = ground.watch.broken.get(violation.invariant)
        if message is None or not violation.is_same(violation.invariant, message, wide=self.wide):
            return None
        return violation.invariant, message
