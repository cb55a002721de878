"""The fuzzing loop: draw an input, perform it, let what follows happen, look at the invariants.

It is written once, for virtual and for real time.  `Fuzzing` is a run that can be stopped between any
two inputs and gone on with; `fuzz` is the whole of it, from a scenario to a folder:

    <output>/<scenario>-<seed>/trace.jsonl      every input and every step
                               scenario.json    the scenario, as plain data
"""

from __future__ import annotations

import asyncio
import gc
import shutil
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from heapq import nlargest
from itertools import count
from pathlib import Path
from typing import Any, Final

from penstock._base.files import UnwritableError, absolute, make_folder, new_folder, write_whole
from penstock._base.text import json_text
from penstock._controllers import confined, origins
from penstock._fuzz.building import FuzzContext, build_setting
from penstock._fuzz.controller_errors import SETTLING_MS, ControllerErrors
from penstock._fuzz.deliveries import Deliveries
from penstock._fuzz.generator import Generator, ScriptedInputs, Source
from penstock._fuzz.harness import Harness, VirtualHarness
from penstock._fuzz.inputs import Check, Fault, Input, Wait
from penstock._fuzz.judging import REPEATED, VIOLATED, Finding, Invariant, Mishaps, Patient, Properties
from penstock._fuzz.recorder import Recorder
from penstock._scenario.scenario import Scenario
from penstock._trace.trace import FEW_TEXTS_KEPT, MOST_TEXTS_KEPT, TraceWriter
from penstock._verdict.verdict import Bound, Why
from penstock.errors import OtherVersion, PenstockError
from penstock.openflow.messages import V10

_GARBAGE: Final = 200_000
"""How many new objects there are between two searches for circular garbage."""

SECONDS_TO_REST: Final = 0.5
"""How long a run with a time limit may still take after it for the network to come to rest."""

_FIRST_PAUSE_MS: Final = 20
"""How soon it is looked again whether something that is wrong has passed; later looks are further apart."""

_MOST_FINDINGS: Final = 4000
"""How many findings of a long run are kept, at least."""
_MOST_PASSED: Final = 1000
"""How many of those that passed; the longest."""
_MOST_ALIKE: Final = 100
"""How many of one kind that last; the first."""
_LATEST: Final = 100
"""How many of any kind; the latest."""

_RUN: Final = "The run"
"""What is written here, in a sentence that says that it cannot be."""

Progress = Callable[["Fuzzing"], None]
InvariantMaker = Callable[[Harness], Sequence[Invariant]]
Conductor = Callable[["Fuzzing"], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Found:
    """A finding with its place in the trace."""

    finding: Finding
    step: int
    at: int
    inputs: int
    """How many inputs there had been."""

    @property
    def lasted(self) -> int:
        """For how many milliseconds it had been wrong, if it is over."""
        return 0 if self.finding.since is None else max(0, self.at - self.finding.since)


@dataclass(slots=True)
class Outcome:
    """What a run did and found so far."""

    inputs: int = 0
    internal: int = 0
    seconds: float = 0.0
    findings: list[Found] = field(default_factory=list)
    """What was found; in a long run not all that passed, or came again, is kept."""
    passed_besides: int = 0
    """How many violations that passed are kept no more; the longest are."""
    repeated_besides: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How many lasting violations are kept no more, by what was violated and how."""
    undecided: list[Found] = field(default_factory=list)
    """What was wrong when the run ended, and had not lasted long enough to count."""
    by_verb: Counter[str] = field(default_factory=Counter)
    unanswered: int = 0
    """How many inputs were not answered in time."""
    remarks: list[str] = field(default_factory=list)
    """What could not be judged."""
    reasons: list[Bound] = field(default_factory=list)
    """Why hardly anything was judged, where no packet arrived."""
    judged: bool = True
    """Whether there was something to judge."""
    unwritten: str = ""
    """Why not all of the run is written down, in a sentence."""
    _most: int = _MOST_FINDINGS
    """How many findings are kept before some are forgotten."""
    stopped_by: str = ""
    """What ended the run, to follow "stopped by"; empty while it goes on."""

    @property
    def violations(self) -> list[Found]:
        """The findings that say that something was violated."""
        return [found for found in self.findings if found.finding.verdict == VIOLATED]

    @property
    def has_lasting(self) -> bool:
        """Whether a violation was found that lasts."""
        return any(found.finding.persistent and found.finding.verdict == VIOLATED for found in self.findings)

    def add(self, news: Sequence[Found]) -> None:
        """Take in what was found; all of it is in the trace, but only so much is kept in memory."""
        self.findings += news
        if len(self.findings) > self._most:
            self._forget()
            # What is kept of many kinds may be much.
            self._most = max(_MOST_FINDINGS, 2 * len(self.findings))

    def _forget(self) -> None:
        """Keep of what passed that which took longest, of what lasts the first of each kind."""
        passed = [found for found in self.findings[:-_LATEST] if found.finding.has_passed]
        longest = {id(found) for found in nlargest(_MOST_PASSED, passed, key=lambda found: found.lasted)}
        seen: Counter[tuple[str, str]] = Counter()
        kept: list[Found] = []
        for found in self.findings[:-_LATEST]:
            finding, is_kept = found.finding, True
            if finding.has_passed:
                is_kept = id(found) in longest
                self.passed_besides += 0 if is_kept else finding.times
            elif finding.verdict == VIOLATED and finding.persistent:
                seen[finding.kind] += 1
                is_kept = seen[finding.kind] <= _MOST_ALIKE
                self.repeated_besides[finding.kind] += not is_kept
            elif finding.verdict != REPEATED:
                # What was wrong for the moment is told again when it has passed or is known to last.
                is_kept = False
            if is_kept:
                kept.append(found)
        self.findings[:-_LATEST] = kept


class Fuzzing:
    """One fuzzing run, which may be stopped between inputs and gone on with."""

    def __init__(self, stage: Harness, generator: Source, invariants: Sequence[Invariant] = ()) -> None:
        self.stage = stage
        self.generator = generator
        self.options = stage.setting.options
        self.outcome = Outcome()
        self.mishaps = Mishaps(stage.setting.network)
        self.invariants: list[Invariant] = [self.mishaps, *invariants]
        self.deliveries = Deliveries(stage.setting)
        self.stopping = False
        """Set it to have the run stop before the next input."""
        self.opening_s = 0.0
        """How much of its time the run took to begin."""
        stage.observers += [*(invariant.observe for invariant in self.invariants), self.deliveries.observe]

    async def run(self, progress: Progress | None = None, *, until: int | None = None) -> Outcome:
        """Go on until the end of the run, or until so many inputs in all, or until somebody stops it."""
        outcome, begin = self.outcome, time.monotonic() - self.outcome.seconds
        outcome.stopped_by, self.stopping = "", False
        if self.options.seconds is not None:
            self.stage.until = begin + self.options.seconds - self.opening_s
        while not (ended := self._end()) and (until is None or outcome.inputs < until):
            what = self.generator.next(self.stage.possible())
            if not await _is_done(self.perform(what), self.stage.until):
                outcome.stopped_by = Bound("the time limit", Why.SECONDS, self.options.seconds)
            outcome.seconds = time.monotonic() - begin
            if progress is not None:
                progress(self)
        outcome.stopped_by = outcome.stopped_by or ended
        return outcome

    def _end(self) -> str:
        """Return why the run is over, or nothing."""
        if self.stopping:
            return Bound("the user", Why.INTERRUPTED)
        if self.outcome.stopped_by:
            return self.outcome.stopped_by
        if self.generator.is_over:
            return Bound("the end of its inputs", Why.INPUTS)
        if self.options.events is not None and self.outcome.inputs >= self.options.events:
            return Bound("the number of events", Why.EVENTS, self.options.events)
        seconds, spent = self.options.seconds, self.outcome.seconds + self.opening_s
        if seconds is not None and spent >= seconds - self.stage.resting_s:
            return Bound("the time limit", Why.SECONDS, seconds)
        return (
            "" if self._has_room() else Bound("the size of the trace", Why.TRACE_SIZE, self.options.trace_mb)
        )

    def _has_room(self) -> bool:
        """Tell whether the trace may grow further."""
        return self.stage.recorder.writer.size < self.options.trace_mb * 1_000_000

    async def perform(self, what: Input) -> None:
        """Perform one input, drawn or typed, and look at what came of it."""
        stage = self.stage
        await stage.perform(what)
        self.outcome.inputs += 1
        self.outcome.by_verb[what.verb] += 1
        if self.options.interval_ms:
            await stage.wait(self.options.interval_ms)
        if isinstance(what, Check) or self.outcome.inputs % self.options.check_every == 0:
            self.check(at_rest=isinstance(what, Check) and self._is_at_rest())
            if self._is_undecided():
                await self._see_whether_it_lasts()
        if self.mishaps.crashed or self.mishaps.hung:
            await self._after_mishap()
        self.outcome.internal = stage.recorder.internal
        stage.recorder.flush(stage.lines_at_once)

    def _is_undecided(self) -> bool:
        return any(invariant.is_undecided for invariant in self.invariants)

    async def _see_whether_it_lasts(self) -> None:
        """Do nothing more while something is wrong, until it has passed or is known to last."""
        pause, left = _FIRST_PAUSE_MS, self.options.persistent_ms
        while left > 0 and self._is_undecided() and self._has_room() and not self.stopping:
            pause = self.stage.waiting_ms(min(pause, left))
            if not pause:
                return
            await self.stage.perform(Wait(pause))
            self.outcome.inputs += 1
            self.outcome.by_verb["wait"] += 1
            self.check()
            left -= pause
            pause *= 2

    def _is_at_rest(self) -> bool:
        return self.stage.courier.is_idle and not self.stage.courier.held

    def check(self, *, at_rest: bool = False) -> list[Found]:
        """Look at all invariants now; what they found is recorded and returned."""
        now, news = self.stage.now(), []
        for invariant in self.invariants:
            for finding in invariant.check(now, at_rest=at_rest):
                step = self.stage.recorder.finding(finding, now)
                news.append(Found(finding, step, now, self.outcome.inputs))
        self.outcome.add(news)
        return news

    async def _after_mishap(self) -> None:
        """Go on after a handler raised or hangs, as the scenario says."""
        crashed, hung = self.mishaps.crashed, self.mishaps.hung
        self.mishaps.crashed, self.mishaps.hung = [], []
        if self.options.after_crash == "stop":
            self.outcome.stopped_by = Bound("a crash of the controller", Why.CRASH)
            return
        again = {*hung, *(crashed if self.options.after_crash == "restart" else ())}
        up = self.stage.possible().controllers_up()
        for controller in sorted(again.intersection(up)):
            await self.stage.perform(Fault("crash", controller))
            await self.stage.perform(Fault("restart", controller))

    async def finish(self) -> Outcome:
        """Let the network come to rest, look at the invariants for the last time, and write it down."""
        if self.stage.until is not None:
            self.stage.until = max(self.stage.until, time.monotonic()) + SECONDS_TO_REST
        # What has filled the trace would go on to do so.
        rested = self._has_room() and await self.stage.quiesce(self.options.settle_ms)
        self.check(at_rest=rested and self._is_at_rest())
        await self._hear_controllers_out()
        self._tell_repetitions()
        self._note_undecided()
        self._conclude_deliveries()
        self.outcome.internal = self.stage.recorder.internal
        self.outcome.unanswered = len(self.stage.unanswered)
        told = (remark for invariant in self.invariants for remark in invariant.remarks())
        self.outcome.remarks = list(dict.fromkeys(told))
        self.stage.recorder.flush()
        return self.outcome

    @property
    def _readers(self) -> list[ControllerErrors]:
        return [invariant for invariant in self.invariants if isinstance(invariant, ControllerErrors)]

    async def _hear_controllers_out(self) -> None:
        """Let a controller that is printing an error come to its end."""
        if any(reader.is_undecided for reader in self._readers):
            await self.stage.wait(SETTLING_MS)
            self.check()

    def _tell_repetitions(self) -> None:
        """Record how often errors came that were told once."""
        now = self.stage.now()
        for finding in (finding for reader in self._readers for finding in reader.repetitions()):
            step = self.stage.recorder.finding(finding, now)
            self.outcome.add([Found(finding, step, now, self.outcome.inputs)])

    def _conclude_deliveries(self) -> None:
        """Note why nothing arrived; a run that sends nothing was perhaps given no packets on purpose."""
        deliveries = self.deliveries
        self.outcome.reasons = deliveries.reasons(self.stage.now())
        if used_up := confined.used_up():
            why = f"the program has used up what there is for it: {used_up}"
            self.outcome.reasons = [Bound(why, Why.LIMITS), *self.outcome.reasons]
        on_purpose = bool(self.options.inputs) and not deliveries.something_was_sent
        self.outcome.judged = deliveries.arrived or on_purpose

    def _note_undecided(self) -> None:
        now, patient = self.stage.now(), (each for each in self.invariants if isinstance(each, Patient))
        self.outcome.undecided = [
            Found(finding, self.stage.recorder.step, now, self.outcome.inputs)
            for invariant in patient
            for finding in invariant.undecided()
        ]


@dataclass(frozen=True, slots=True)
class Report:
    """A run that is over, and where it was written."""

    scenario: Scenario
    outcome: Outcome
    folder: Path

    @property
    def trace(self) -> Path:
        """The file with all that happened."""
        return self.folder / "trace.jsonl"


async def fuzz(
    scenario: Scenario,
    output: Path,
    *,
    invariants: InvariantMaker | None = None,
    conduct: Conductor | None = None,
    conclude: Callable[[Report], object] | None = None,
    begun: Callable[[Path], object] | None = None,
) -> Report:
    """Fuzz a scenario from its beginning to its end; `conduct` has the run go on, and may do more.

    `begun` is told the run's folder as soon as there is one.

    `conclude` is called when all is over, also if the run was broken off.  A controller that is a process
    says in its greeting which version of OpenFlow it speaks; where nobody asked for another, that is used.
    """
    go = partial(
        _fuzz,
        output=output,
        invariants=invariants,
        conduct=conduct,
        conclude=conclude,
        begun=begun,
        since=time.monotonic(),
    )
    if scenario.openflow is not None or not has_processes(scenario):
        return await go(scenario)
    try:
        return await go(replace(scenario, openflow="1.3"), provisional=True)
    except OtherVersion as error:
        if V10 not in error.spoken:
            raise
    return await go(replace(scenario, openflow="1.0"))


def has_processes(scenario: Scenario) -> bool:
    """Tell whether a controller of a scenario is a command, that is, a process of its own."""
    tables = scenario.controllers.values() or (scenario.controller,)
    return any(isinstance(table, Mapping) and "cmd" in table for table in tables)


async def _fuzz(
    scenario: Scenario,
    output: Path,
    *,
    invariants: InvariantMaker | None,
    conduct: Conductor | None,
    conclude: Callable[[Report], object] | None,
    begun: Callable[[Path], object] | None,
    since: float,
    provisional: bool = False,
) -> Report:
    """Fuzz a scenario; a `provisional` run leaves nothing behind if the controller speaks another version.

    Its time counts from a moment `since`.
    """
    setting = build_setting(scenario)
    folder = run_folder(output, scenario)
    if begun is not None:
        begun(folder)
    stage = stage_of(setting, folder)
    watched = [Properties(stage.world, setting.properties)] if setting.properties else []
    made = invariants(stage) if invariants is not None else ()
    written = setting.options.inputs
    source = ScriptedInputs(written) if written else Generator(setting, setting.options.seed)
    fuzzing = Fuzzing(stage, source, (*watched, *made))
    thresholds = gc.get_threshold()
    # The values that runs are made of hardly ever refer to each other in circles.
    gc.set_threshold(_GARBAGE, *thresholds[1:])
    discarded = False
    try:
        with origins.recorded(returns=False):
            if await _is_open(fuzzing, since):
                for each in watched:
                    each.begin()
                async with _callers(stage):
                    with _noting(fuzzing.outcome, ends=True):
                        await (conduct(fuzzing) if conduct is not None else fuzzing.run())
                    with _noting(fuzzing.outcome):
                        await fuzzing.finish()
    except OtherVersion:
        discarded = provisional
        raise
    finally:
        gc.set_threshold(*thresholds)
        await stage.close()
        with _noting(fuzzing.outcome):
            stage.recorder.close()
        report = Report(scenario, fuzzing.outcome, folder)
        if discarded:
            shutil.rmtree(absolute(folder), ignore_errors=True)
        elif conclude is not None:
            with _noting(fuzzing.outcome):
                conclude(report)
    return report


async def _is_open(fuzzing: Fuzzing, since: float) -> bool:
    """Have the network begin; tell whether it has before the time was up."""
    stage, outcome, seconds = fuzzing.stage, fuzzing.outcome, fuzzing.options.seconds
    stage.until = None if seconds is None else since + seconds
    if not await _is_done(stage.open(), stage.until):
        outcome.stopped_by = Bound("the time limit", Why.SECONDS, seconds)
        why = "the controllers were not ready for all switches when the time was up"
        outcome.reasons = [Bound(why, Why.SECONDS, seconds)]
        outcome.judged = False
        return False
    # Whoever steers the run may leave it alone for a while.
    stage.until = None
    fuzzing.opening_s = time.monotonic() - since
    return True


async def _is_done(work: Coroutine[Any, Any, None], until: float | None) -> bool:
    """Do something; tell whether that was done at a moment by `time.monotonic`, when it is broken off."""
    limit = asyncio.timeout(None if until is None else max(0.0, until - time.monotonic()))
    try:
        async with limit:
            await work
    except TimeoutError:
        if limit.expired():
            return False
        raise
    return True


@contextmanager
def _noting(outcome: Outcome, *, ends: bool = False) -> Iterator[None]:
    """Note that the disk takes no more, which `ends` a run or not: what was found so far is not lost."""
    try:
        yield
    except UnwritableError as error:
        outcome.unwritten = outcome.unwritten or str(error)
        if ends:
            outcome.stopped_by = Bound("a trace that cannot be written")


def _callers(stage: Harness) -> AbstractAsyncContextManager[object]:
    """Return what lets others call on the switches, where the scenario has them listen."""
    if not stage.setting.options.listen:
        return nullcontext()
    from penstock._fuzz.listening import open_to_callers

    return open_to_callers(stage)


def run_folder(output: Path, scenario: Scenario) -> Path:
    """Return a new folder for a run, with the scenario in it; an old run of the same name is kept."""
    name = f"{scenario.name}-{scenario.fuzzing().seed}"
    make_folder(output, _RUN)
    names = (name if number == 1 else f"{name}.{number}" for number in count(1))
    folder = next(output / each for each in names if new_folder(output / each, _RUN))
    try:
        write_whole(folder / "scenario.json", json_text(scenario.table(), indent=2) + "\n", _RUN)
    except PenstockError:
        shutil.rmtree(absolute(folder), ignore_errors=True)
        raise
    return folder


def stage_of(setting: FuzzContext, folder: Path) -> Harness:
    """Return the stage that a setting needs, with its trace in a folder."""
    options = setting.options
    writer = TraceWriter(
        folder / "trace.jsonl",
        setting.scenario.table(),
        setting.scenario.folder,
        setting.scene,
        texts=FEW_TEXTS_KEPT if setting.commands else MOST_TEXTS_KEPT,
        seed=options.seed,
    )
    recorder = Recorder(writer, setting.version)
    if not setting.commands:
        return VirtualHarness(setting, recorder, order=options.order, seed=options.seed)
    from penstock._fuzz.live_harness import LiveHarness

    return LiveHarness(setting, recorder, order=options.order, seed=options.seed)


def with_options(scenario: Scenario, **changes: object) -> Scenario:
    """Return a scenario with other values in its table `[fuzz]`."""
    return replace(scenario, fuzz={**scenario.fuzz, **changes})
