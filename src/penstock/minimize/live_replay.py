"""Replays with real processes: as close to the recorded order as waiting can bring them.

Nobody can tell a process when to answer.  So before each input the replay waits until the internal events
that preceded it have been seen again (functionally equivalent ones, see `equivalence`), and gives up on
those that have not come `epsilon_ms` after their time; all else passes at once.  Inputs keep the distance in
time that they had (STS §4.0.2, §5.0.4).  What came without a pause in the record comes without one again,
after as many steps of the network.

- Keep-alives are never waited for; data packets only if `data` is set, log lines only if `logs` is.
- An event is not waited for if what stirred it in the record was left out or did not come, nor if it was
  waited for in vain in earlier replays.  So the absent ones are inferred from the causes in the trace and
  learnt, instead of by a look ahead (PEEK), which would take a checkpoint of a process.
- `fixed_time` starts every process at the same moment of a faked clock, by libfaketime.
- Each try has fresh processes.  A try that shows the violation settles the question; without one, all
  tries are made.
"""

from __future__ import annotations

import asyncio
import shutil
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Self

from penstock.controllers.tcp import ports
from penstock.errors import PenstockError
from penstock.fuzz.building import Setting, build_setting
from penstock.fuzz.inputs import Input, Wait
from penstock.fuzz.live import LiveStage
from penstock.fuzz.options import Command
from penstock.fuzz.recorder import Recorder
from penstock.minimize.equivalence import masked, masked_log
from penstock.minimize.judging import Judge
from penstock.minimize.reproducing import Attempt, Divergence
from penstock.minimize.script import LOG, LOOK, Cue, Event, Script
from penstock.minimize.units import rewritten
from penstock.trace import TraceWriter
from penstock.world.transition import DELIVER, INJECT, TIME, Record

EPSILON_MS: Final = 100
_BREATH_S: Final = 0.002
_AT_ONCE_MS: Final = 2
"""Inputs that are no further apart than this came without a pause."""
_KEEP_ALIVES: Final = ("EchoRequest", "EchoReply")
_HOPELESS: Final = 2
"""After so many replays without it an event is no longer waited for."""
_SETTLING_MS: Final = 2000
"""How long the network has at the end to come to rest; one with a loop never does."""
_FIXED_MOMENT: Final = "@2024-01-01 00:00:00"


@dataclass(frozen=True, slots=True)
class Waiting:
    """What a live replay waits for, and how long."""

    epsilon_ms: int = EPSILON_MS
    data: bool = False
    """Whether it waits for data packets too."""
    logs: bool = False
    """Whether it waits for log lines, as signs of what a controller does inside."""
    fixed_time: bool = False


class LiveReproducer:
    """Replays inputs of a run in which real processes took part."""

    is_exact: Final = False

    def __init__(
        self,
        script: Script,
        *,
        setting: Setting | None = None,
        wide: bool = False,
        waiting: Waiting = Waiting(),  # noqa: B008 - a value
    ) -> None:
        self.script = script
        self.setting = build_setting(script.scenario) if setting is None else setting
        self.wide = wide
        self.waiting = waiting
        self.missed: Counter[int] = Counter()
        """How often the event on a line of the trace was waited for in vain."""

    def with_script(self, script: Script) -> Self:
        """Return a reproducer for another script of the same network, or of another one."""
        setting = self.setting if script.scenario == self.script.scenario else None
        return type(self)(script, setting=setting, wide=self.wide, waiting=self.waiting)

    def rewritten(self, inputs: Sequence[Cue]) -> Script | None:  # noqa: ARG002 - the protocol's
        """Return nothing: the order of what processes do cannot be prescribed."""
        return None

    def run(self, inputs: Sequence[Cue], *, tries: int = 1) -> Attempt:
        """Replay some of the script's inputs, up to so many times, until the violation comes."""
        began = time.perf_counter()
        tried = 0
        while True:
            tried += 1
            with TemporaryDirectory() as folder:
                attempt = self.record(inputs, Path(folder) / "trace.jsonl")
            if attempt.reproduced or tried >= tries:
                return replace(attempt, tries=tried, seconds=time.perf_counter() - began)

    def record(self, inputs: Sequence[Cue], path: Path) -> Attempt:
        """Replay some of the script's inputs once, and write what happens as a trace."""
        setting = replace(self.setting, commands=self._commands())
        scenario = self.script.scenario
        writer = TraceWriter(
            path, scenario.table(), scenario.folder, engine="fuzz", seed=setting.options.seed
        )
        began = time.perf_counter()
        with closing(ListeningRecorder(writer, setting.version)) as recorder:
            play = _LivePlay(self, setting, inputs, recorder)
            asyncio.run(play.play())
        self.missed.update(play.seen.missed)
        return play.attempt(time.perf_counter() - began)

    def _commands(self) -> dict[str, Command]:
        """Return how the processes are started: on free ports where they can be told, at a fixed time."""
        found = {}
        for name, command in self.setting.commands.items():
            if any("{port}" in word for word in command.cmd):
                command = replace(command, port=ports.free_port())
            if self.waiting.fixed_time:
                tool = shutil.which("faketime")
                if tool is None:
                    raise PenstockError("A fixed time needs faketime: install Debian's package of that name.")
                command = replace(command, cmd=(tool, "-f", _FIXED_MOMENT, *command.cmd))
            found[name] = command
        return found


class ReplayLiveStage(LiveStage):
    """A live stage that leaves it to the replay when to go on."""

    async def _pause(self, what: Input) -> None:
        """Do nothing: the replay waits."""


class ListeningRecorder(Recorder):
    """A recorder that also tells somebody what controllers log."""

    hears: Callable[[str, str], None] | None = None

    def log(self, source: str, text: str, now: int) -> None:
        """Write what a controller logged, and tell it."""
        super().log(source, text, now)
        if self.hears is not None:
            self.hears(f"{LOG} {source}", masked_log(text))


@dataclass(slots=True)
class _Seen:
    """What has happened in a replay, and what was waited for in vain."""

    waiting: Waiting
    known: Counter[tuple[str, str]] = field(default_factory=Counter)
    missed: list[int] = field(default_factory=list)

    def observe(self, record: Record) -> None:
        """Take note of a step."""
        if record.transition.verb != TIME:
            said = record.message
            if record.transition.verb == INJECT and record.sends:
                said = record.sends[0].message
            self.note(str(record.transition), "" if said is None else str(said))

    def note(self, transition: str, message: str) -> None:
        """Take note of something that happened."""
        self.known[masked(transition), masked(message)] += 1

    def counts(self, event: Event) -> bool:
        """Tell whether an event is one to wait for."""
        verb, _, where = event.transition.partition(" ")
        if verb in (LOOK, TIME) or event.message.startswith(_KEEP_ALIVES):
            return False
        if verb == LOG:
            return self.waiting.logs
        is_data = verb == DELIVER and where.rpartition(":")[2].isdecimal()
        return self.waiting.data or not is_data


def _sight(event: Event) -> tuple[str, str]:
    """Return what an event looks like when it happens."""
    if event.transition.startswith(INJECT) and event.sends:
        return event.transition, event.sends[0].partition(" ")[2]
    return event.pair


class _LivePlay:
    """One replay with real processes."""

    def __init__(
        self, reproducer: LiveReproducer, setting: Setting, inputs: Sequence[Cue], recorder: ListeningRecorder
    ) -> None:
        self._script = script = reproducer.script
        self._waiting = reproducer.waiting
        self._setting = setting
        kept, idle = rewritten(script.inputs, inputs, setting.homes)
        self._kept = {cue.line: cue for cue in kept}
        self._skipped = list(idle)
        self._given = 0
        self._hopeless = {line for line, times in reproducer.missed.items() if times >= _HOPELESS}
        self._gone: set[int] = set()
        """The lines of the record that are left out, or did not come."""
        self._divergence: Divergence | None = None
        self._followed = self._absent = 0
        self.stage = ReplayLiveStage(setting, recorder)
        self.judge = Judge(self.stage, script.violation, wide=reproducer.wide)
        self.seen = _Seen(self._waiting)
        self.stage.observers.append(self.seen.observe)
        recorder.hears = self.seen.note

    async def play(self) -> None:
        """Play the script, each input after what preceded it."""
        script = self._script
        try:
            await self.stage.open()
            self.judge.begin()
            self.seen.known.clear()
            for index, cue in enumerate(script.inputs):
                kept = self._kept.get(cue.line)
                self._infer(cue, (*script.doings.get(cue.line, ()), *script.expected[index + 1]), kept)
                if kept is None:
                    continue
                following = script.inputs[index + 1] if index + 1 < len(script.inputs) else None
                await self._give(kept, script.expected[index + 1], _distance(cue, following))
                if self.judge.found:
                    return
            await self.judge.conclude(self.stage.wait, _SETTLING_MS)
        finally:
            await self.stage.close()

    def _infer(self, cue: Cue, events: Sequence[Event], kept: Cue | None) -> None:
        """Tell which events after an input cannot come, because of what is left out."""
        if kept is None:
            self._gone.add(cue.line)
        for event in events:
            if not self._gone.isdisjoint(event.stirred_by):
                self._gone.add(event.line)

    async def _give(self, cue: Cue, events: Sequence[Event], distance: int) -> None:
        """Give an input, and wait for what followed it in the record."""
        try:
            await self.stage.perform(cue.what)
        except PenstockError as error:
            self._skipped.append(cue.line)
            self._differ(Divergence(cue.line, str(cue), f"no way to do it ({str(error).rstrip('.')})"))
            return
        self._given += 1
        if distance <= _AT_ONCE_MS and not isinstance(cue.what, Wait):
            self.stage.run(sum(event.transition.startswith(DELIVER) for event in events))
        else:
            await self._await(events, distance if not isinstance(cue.what, Wait) else 0)
        self.judge.after(cue.what)

    async def _await(self, events: Sequence[Event], distance: int) -> None:
        """Wait until expected events have happened, no less than the distance to the next input."""
        began = self.stage.now()
        wanted = [event for event in events if self.seen.counts(event) and event.line not in self._hopeless]
        for event in wanted:
            if event.line in self._gone or not self._gone.isdisjoint(event.stirred_by):
                self._gone.add(event.line)
                continue
            limit = began + event.after + self._waiting.epsilon_ms
            if await self._happens(_sight(event), limit):
                self._followed += 1
            else:
                self._absent += 1
                self._gone.add(event.line)
                self.seen.missed.append(event.line)
                self._differ(Divergence(event.line, f"{event.transition} {event.message}".strip()))
        left = began + distance - self.stage.now()
        if left > 0:
            await self.stage.wait(left)

    async def _happens(self, sight: tuple[str, str], limit: int) -> bool:
        """Wait until something has happened once more than it was counted, or until a moment."""
        known = self.seen.known
        while not known[sight]:
            if self.stage.now() >= limit:
                return False
            await self.stage.wait(int(_BREATH_S * 1000))
        known[sight] -= 1
        return True

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
            absent=self._absent,
            needed=self._given if judge.found else None,
            seconds=seconds,
            hits=int(judge.found),
        )


def _distance(cue: Cue, following: Cue | None) -> int:
    """Return how long after an input the next one came."""
    return following.at - cue.at if following is not None else EPSILON_MS
