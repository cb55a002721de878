"""The functions `check`, `verify`, `fuzz`, `replay` and `minimize` of the package `penstock`.

Keywords are the fields of scenarios, and take the place of what the file says.  Traces are
written where the commands write them, unless `output` names another folder.

Every field of `Scenario` is a keyword of each function.  The fields of the table that a function reads
(`[search]`, `[verify]`, `[fuzz]`) are keywords of that function too: `check("app.py", seconds=10)` says the
same as `seconds = 10` below `[search]`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

from penstock._base.files import RUNS, TRACES, staying
from penstock._base.typed import Table
from penstock._controllers.controller import Controller
from penstock._properties.base import Property
from penstock._report.run_story import Choice, tell_run
from penstock._results import Broken, Minimised, Result, Violation
from penstock._scenario.options import Method, Strategy
from penstock._scenario.scenario import Scenario, scenario_at, with_fields
from penstock._story.story import ending, tell
from penstock._trace.trace import AnyTrace, FuzzTrace, ProofTrace, Trace, read_trace, trace_file
from penstock._verdict.verdict import FIRST_THAT_LASTS, replayed
from penstock._world.component import Component
from penstock._world.hosts import HostMaker
from penstock._world.topology import Topology
from penstock.errors import PenstockError

if TYPE_CHECKING:
    from penstock._check.check import Report
    from penstock._engine.conclusion import Finding
    from penstock._fuzz.fuzzing import Fuzzing
    from penstock._fuzz.fuzzing import Report as Run
    from penstock._replay.guided import Attempt
    from penstock._replay.replaying import Replay
    from penstock._trace.consent import Consent
    from penstock._verify.proof import Proof, Refutation
    from penstock._worker.supervision import Tell

__all__ = [
    "Broken",
    "Minimised",
    "PenstockError",
    "Result",
    "Scenario",
    "Violation",
    "check",
    "fuzz",
    "minimize",
    "replay",
    "verify",
]

Given = Scenario | str | PathLike[str]
"""What can be examined: a scenario, or the name of its file, of an app's file or of an app's module."""


@staying()
def check(
    scenario: Given, /, *, output: str | PathLike[str] = TRACES, **given: Unpack[CheckFields]
) -> Result[Report]:
    """Search every ordering of a scenario's events."""
    from penstock._worker.engines import check as run

    chosen = _scenario(scenario, "check", given)
    chosen.require_properties()
    report = run(chosen, output=Path(output))
    outcome = report.outcome
    return Result(
        "check",
        report.scenario.name,
        outcome.result,
        tuple(
            _violation(finding, tell(finding.records, needless=finding.explanation.needless))
            for finding in report.findings
        ),
        report.verdict,
        outcome.seconds,
        tuple(outcome.remarks),
        report,
        report.next_steps,
    )


@staying()
def verify(
    scenario: Given, /, *, output: str | PathLike[str] = TRACES, **given: Unpack[VerifyFields]
) -> Result[Proof]:
    """Prove properties of a scenario for any number of packets, or find a run that breaks one.

    `properties` are formulas, or the names that a proof knows (see `_scenario.options`).
    """
    from penstock._worker.engines import prove

    proof = prove(_scenario(scenario, "verify", given), output=Path(output))
    return Result(
        "verify",
        proof.scenario.name,
        proof.result,
        tuple(_violation(finding, _told_with_loop(finding)) for finding in proof.findings),
        proof.verdict,
        proof.seconds,
        tuple(proof.remarks),
        proof,
        proof.next_steps,
    )


@staying()
def fuzz(
    scenario: Given,
    /,
    *,
    output: str | PathLike[str] = RUNS,
    to_end: bool = False,
    **given: Unpack[FuzzFields],
) -> Result[Run]:
    """Run a controller on a network in which things go wrong, up to the first persistent violation.

    With `to_end` the run goes on after that.  No run is conclusive.
    """
    from penstock._fuzz.fuzzing import fuzz as run
    from penstock._fuzz.fuzzing import has_processes
    from penstock._fuzz.invariants import invariants_of
    from penstock._fuzz.summary import lasting, next_steps_of, run_verdict, summary, write_summary
    from penstock._worker.commands import in_worker
    from penstock._worker.supervision import OutOfTime

    async def conduct(fuzzing: Fuzzing) -> None:
        def look(fuzzing: Fuzzing) -> None:
            if not to_end and fuzzing.outcome.has_lasting:
                fuzzing.outcome.stopped_by = FIRST_THAT_LASTS

        await fuzzing.run(look)

    chosen = _scenario(scenario, "fuzz", given)

    def job(tell: Tell) -> Result[Run]:
        begun = run(
            chosen,
            Path(output),
            invariants=invariants_of,
            conduct=conduct,
            conclude=write_summary,
            begun=tell,
        )
        report = _waited_for(begun)
        tell(OutOfTime())
        told = summary(report)
        story = _told_from(read_trace(report.trace)) if lasting(report) else ""
        return Result(
            "fuzz",
            chosen.name,
            told["result"],
            tuple(
                Violation(found.finding.invariant, found.finding.message, story, report.trace)
                for found in lasting(report)
            ),
            run_verdict(report),
            report.outcome.seconds,
            tuple(report.outcome.remarks),
            report,
            next_steps_of(report),
        )

    if has_processes(chosen):
        return job(lambda _: None)
    result: Result[Run] = in_worker(job, seconds=chosen.fuzzing().seconds)
    return replace(result, details=replace(result.details, scenario=chosen))


def _waited_for(running: Coroutine[Any, Any, Run]) -> Run:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(running)
    running.close()
    raise PenstockError(
        "fuzz runs an event loop of its own, and one is already running here: call it by asyncio.to_thread."
    )


@staying()
def replay(
    trace: str | PathLike[str], /, *, tries: int = 1, exact: bool = True, trust: bool = False
) -> Result[Replay] | Result[Attempt]:
    """Run a trace, or the folder of a run, again; the result holds its violation if that came again.

    An exact replay ends at the first step that differs from the trace.  Otherwise the inputs of the trace are
    given again and what follows is followed as far as possible, so that a controller which has changed
    since is judged by whether it still breaks the property.  With real processes, up to `tries` are made.

    This runs the code that the trace names.  If that is not what the trace was recorded with here, a
    `PenstockError` says so, unless you `trust` it.
    """
    from penstock._trace.consent import consent_to
    from penstock._worker.commands import in_worker

    file = trace_file(Path(trace)).absolute()
    consent = consent_to(file, trust=trust, how="trust=True")
    recorded = read_trace(file)
    # Of a proof there are no inputs to give: its packets may come any number of times.
    again = _replay_search if exact or isinstance(recorded, ProofTrace) else _given_again
    result: Result[Replay] | Result[Attempt] = in_worker(lambda _: again(file, recorded, consent, tries))
    return result


def _replay_search(file: Path, recorded: Trace, consent: Consent, tries: int) -> Result[Replay]:
    from penstock._replay.replaying import replay as run

    again = run(file, consent, tries=tries)
    remarks = () if again.diverged is None else (f"At step {again.diverged}, {again.difference}.",)
    word = (
        "reproduced" if again.reproduced else "diverged" if again.diverged is not None else "not reproduced"
    )
    found = (again.property, again.message) if again.reproduced else None
    unjudged = "" if again.judged else again.property
    verdict = replayed(violated=found is not None, exact=not remarks, unjudged=unjudged)
    return Result(
        "replay", file.name, word, _found_again(file, recorded, found), verdict, 0.0, remarks, again
    )


def _given_again(file: Path, recorded: AnyTrace, consent: Consent, tries: int) -> Result[Attempt]:
    from penstock._replay.recording import script_of
    from penstock._replay.replaying import is_judged, reproducer_of
    from penstock._trace.consent import runnable

    script = script_of(recorded, runnable(recorded, file.parent, consent))
    if script.violation is None:
        raise PenstockError(f"{file} has no violation to reproduce.")
    reproducer = reproducer_of(script, wide=isinstance(recorded, FuzzTrace) and recorded.is_wide)
    attempt = reproducer.run(script.inputs, tries=tries)
    remarks = () if attempt.divergence is None else (f"The first difference is at {attempt.divergence}.",)
    found = (script.violation.invariant, attempt.message) if attempt.reproduced else None
    return Result(
        "replay",
        file.name,
        "reproduced" if attempt.reproduced else "not reproduced",
        _found_again(file, recorded, found),
        replayed(
            violated=found is not None,
            exact=reproducer.is_exact,
            unjudged="" if is_judged(script, reproducer) else script.violation.invariant,
        ),
        attempt.seconds,
        remarks,
        attempt,
    )


@staying()
def minimize(
    trace: str | PathLike[str],
    /,
    *,
    output: str | PathLike[str] | None = None,
    tries: int = 1,
    invariant: str | None = None,
    wide: bool = False,
    trust: bool = False,
    seconds: float | None = None,
) -> Minimised:
    """Find the few inputs of a trace that lead to its violation, and write them down with a test.

    A `PenstockError` says that it took longer than `seconds`; the same call goes on where it was.

    As with `replay`, the code that the trace names has to be what it was recorded with here, or trusted.
    """
    from penstock._minimize.ddmin import Minimal, confirming_tries, find_confirmed_minimum, minimise
    from penstock._minimize.writing import folder_for, write_minimal
    from penstock._replay.replaying import Origin
    from penstock._trace.consent import consent_to
    from penstock._worker.commands import in_worker

    file = trace_file(Path(trace)).absolute()
    consent = consent_to(file, trust=trust, how="trust=True")
    given = Origin.of(file, invariant=invariant, wide=wide, consent=consent)
    script = given.script()
    folder = folder_for(file) if output is None else Path(output).absolute()

    def search(origin: Origin) -> Minimal:
        return minimise(script, origin.reproducer(script), folder=folder, tries=tries, terms=origin.terms)

    def job(_: object) -> Minimised:
        minimal, origin = find_confirmed_minimum(given, search, folder)
        reproducer = origin.reproducer(script)
        often = minimal.tries if reproducer.is_exact else confirming_tries(minimal)
        return Minimised(
            "" if script.violation is None else script.violation.invariant,
            minimal.message,
            tuple(map(str, minimal.inputs)),
            minimal.original,
            minimal.replays,
            minimal.seconds,
            write_minimal(folder, minimal, reproducer, tries=often),
        )

    minimised: Minimised = in_worker(job, seconds=seconds)
    return minimised


def _scenario(given: Given, command: str, fields: Mapping[str, Any]) -> Scenario:
    scenario = given if isinstance(given, Scenario) else scenario_at(Path(given))
    return with_fields(scenario, command, fields)


def _violation(finding: Finding, story: Iterable[str]) -> Violation:
    cause = finding.explanation.lines(finding.property)
    lines = (*story, *ending(finding.property, finding.message, cause))
    return Violation(finding.property, finding.message, "\n".join(lines), finding.trace, finding.confirmed)


def _found_again(file: Path, recorded: Trace, found: tuple[str, str] | None) -> tuple[Violation, ...]:
    """Return the violation of a trace that came again, with the trace's story."""
    return () if found is None else (Violation(*found, _told_from(recorded), file),)


def _told_with_loop(finding: Refutation) -> Iterable[str]:
    split = len(finding.records) - finding.loop
    yield from tell(finding.records[:split])
    if finding.loop:
        yield "  and then again and again:"
        yield from tell(finding.records[split:], first=split + 1)


def _told_from(trace: Trace) -> str:
    """Return the story of a trace, without hints on how to be told more."""
    lines = [line for line in tell_run(trace, Choice()) if not line.startswith("--whole")]
    if trace.verdict is not None:
        lines += ending(trace.verdict.property, trace.verdict.message, trace.verdict.cause)
    return "\n".join(lines).rstrip()


# The names that the functions of `api` take: those of a scenario, one to one.


class ScenarioFields(TypedDict, total=False):
    """The fields of a scenario."""

    controller: Table | Component | Controller
    topology: str | Table | Topology
    hosts: Mapping[str, Table | HostMaker]
    properties: Sequence[str | Table | Property]
    openflow: Literal["1.0", "1.3"] | None
    switches: Table
    faults: Table
    symbolic: Table
    search: Table
    fuzz: Table
    verify: Table
    controllers: Mapping[str, Table | Component | Controller]
    name: str
    folder: Path


class CheckFields(ScenarioFields, total=False):
    """The fields of a scenario and those of its `[search]`."""

    order: Literal["breadth-first", "depth-first"]
    start: Literal["joined", "cold"]
    states: int | None
    depth: int | None
    seconds: float | None
    memory_mb: int | None
    all_violations: bool
    compact: bool
    network: bool
    strategies: Sequence[str | Table | Strategy]
    reductions: Sequence[str]


class VerifyFields(ScenarioFields, total=False):
    """The fields of a scenario, those of its `[verify]`, and the bounds of its `[search]`."""

    mode: Method
    fair: bool
    timeouts: bool
    states: int | None
    seconds: float | None
    memory_mb: int | None
    network: bool


class FuzzFields(ScenarioFields, total=False):
    """The fields of a scenario and those of its `[fuzz]`."""

    seed: int
    events: int | None
    seconds: float | None
    interval_ms: int | None
    profile: str
    rates: Mapping[str, float]
    order: Literal["fifo", "random"]
    deliveries: int
    check_every: int
    persistent_ms: int
    settle_ms: int
    trace_mb: int
    invariants: Sequence[str | Table | Property]
    policy: str | None
    after_crash: Literal["continue", "restart", "stop"]
    listen: Mapping[str, str]
    inputs: Sequence[str]
    masks: Sequence[str]
    error_patterns: Sequence[str]
    ignored_errors: Sequence[str]
