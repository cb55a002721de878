"""One job of a campaign, done in a process of its own (see `crew`).

The engine runs its program in a worker, as ever; this process only waits for that.  What is found is
minimised, as far as there is time, which tells which bug it is (`_minimize.writing`).  A proof's run has no
inputs to leave out: there the steps of the run tell it.  Whatever goes wrong is the job's outcome.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from penstock import _api as api
from penstock._campaign.options import Engine
from penstock._fuzz.invariants import invariant_names
from penstock._minimize.workers import attend
from penstock._minimize.writing import bug_shown
from penstock._minimize.writing import read as read_minimised
from penstock._results import Result, Violation
from penstock._scenario.scenario import Scenario
from penstock._trace.consent import is_own
from penstock._trace.trace import read_header, read_trace
from penstock._verdict.verdict import Result as Word
from penstock._verdict.verdict import sentence
from penstock._worker.commands import Unfinished
from penstock._worker.crossing import packed_alone
from penstock._worker.supervision import may_come_from_outside
from penstock.errors import PenstockError, UserCodeRaised

T = TypeVar("T")

FAILED: Final = "failed"
"""What a job came to that could not be done: its program does not load, say."""
_LEAST_S: Final = 1.0
"""With less time left than that nothing is minimised."""
_LONGEST_ERROR: Final = 2000


@dataclass(frozen=True, slots=True)
class Task:
    """A scenario for an engine; what is found is written to a folder."""

    engine: Engine
    scenario: Scenario
    folder: Path
    seconds: float


@dataclass(frozen=True, slots=True)
class Retry:
    """The run of a bug that is to be taken again, with the program as it is now."""

    trace: Path


@dataclass(frozen=True, slots=True)
class Found:
    """A violation, and which bug it is."""

    property: str
    message: str
    trace: str
    bug: str
    sequence: tuple[str, ...] = ()
    """The few inputs, or the steps of a proof's run."""
    minimised: bool = True
    """Whether it is known which inputs it takes; otherwise it may be any bug that breaks the property."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a job."""

    result: str
    """The verdict's word, or `failed`."""
    reasons: tuple[str, ...] = ()
    """Why it is not conclusive, or why it failed."""
    found: tuple[Found, ...] = ()
    judged: int = 0
    """How many properties had something to judge."""
    properties: int = 0
    work: str = ""
    """How much was done, in words."""
    seconds: float = 0.0
    watched: tuple[str, ...] = ()
    """The properties and invariants that were asked for, by name."""


def perform(task: Task | Retry) -> Outcome:
    """Do a job; an error is an outcome too."""
    began = time.monotonic()
    try:
        return _examined(task) if isinstance(task, Task) else _retried(task)
    except Unfinished as lost:
        return Outcome(
            str(Word.BOUNDED), tuple(map(sentence, lost.reasons)), seconds=time.monotonic() - began
        )
    except (PenstockError, UserCodeRaised) as error:
        reason = str(error)
    except Exception as error:
        # A fault of Penstock's own; its traceback ends with what it was.
        lines = str(error).strip().splitlines() or [type(error).__name__]
        reason = f"Penstock itself failed: {lines[-1]}"
    return Outcome(FAILED, (reason[:_LONGEST_ERROR],), seconds=time.monotonic() - began)


def _examined(task: Task) -> Outcome:
    began = time.monotonic()
    result = _undisturbed(lambda: _run(task))
    until = time.monotonic() + task.seconds
    found = []
    for number, violation in enumerate(_distinct(task.engine, result.violations), 1):
        found.append(_identified(task, violation, number, until - time.monotonic()))
    judged, of = _coverage(task.engine, result)
    return Outcome(
        str(result.verdict.result),
        tuple(map(sentence, result.verdict.reasons)),
        tuple(found),
        judged,
        of,
        _work(task.engine, result.details),
        time.monotonic() - began,
        _watched(task, result),
    )


def _undisturbed(do: Callable[[], T]) -> T:
    """Do something, and once more if its worker was perhaps ended by another process.

    A worker that the system ends for want of memory, say, tells nothing of the program.
    """
    try:
        found = do()
        reasons = found.verdict.reasons if isinstance(found, Result) else ()
        if not any(map(may_come_from_outside, reasons)):
            return found
    except Unfinished as lost:
        if not any(map(may_come_from_outside, lost.reasons)):
            raise
    return do()


def _run(task: Task) -> Result[Any]:
    # What an attempt that was broken off has left is not taken for this one's.
    shutil.rmtree(task.folder, ignore_errors=True)
    match task.engine:
        case "check":
            return api.check(task.scenario, output=task.folder)
        case "verify":
            return api.verify(task.scenario, output=task.folder)
        case "fuzz":
            return api.fuzz(task.scenario, output=task.folder)


def _distinct(engine: Engine, violations: tuple[Violation, ...]) -> list[Violation]:
    """Return the violations to be looked at; those of a fuzzing run are in one trace, by what they break."""
    if engine != "fuzz":
        return list(violations)
    return list({violation.property: violation for violation in reversed(violations)}.values())[::-1]


def _identified(task: Task, violation: Violation, number: int, seconds: float) -> Found:
    """Return a violation with the bug that it shows."""
    name, message, trace = violation.property, violation.message, violation.trace
    if trace is not None and task.engine == "verify":
        steps = tuple(str(line.transition) for line in read_trace(trace).lines)
        return Found(name, message, str(trace), bug_shown(name, steps).name, steps)
    if trace is not None and seconds >= _LEAST_S:
        wanted = name if task.engine == "fuzz" else None
        try:
            into = task.folder / f"bug-{number}"
            made = _undisturbed(lambda: api.minimize(trace, output=into, invariant=wanted, seconds=seconds))
            minimal = read_minimised(made.folder)
        except (PenstockError, UserCodeRaised):
            # It stays what it is: a violation whose inputs nobody knows.
            pass
        else:
            return Found(name, minimal.message, str(made.trace), minimal.bug, minimal.sequence)
    # No minimal sequence, not even that of no inputs, has this name.
    return Found(name, message, str(trace or ""), f"{name}-unminimised", minimised=False)


def _coverage(engine: Engine, result: Result[Any]) -> tuple[int, int]:
    """Return how many properties had something to judge, and how many there are; 0 and 0 if unknown."""
    if engine == "check":
        exercised = result.details.outcome.exercised
        return sum(1 for times in exercised.values() if times), len(exercised)
    if engine == "verify":
        methods, untested = result.details.methods, result.details.untested
        return len(methods) - len(untested), len(methods)
    return 0, 0


def _watched(task: Task, result: Result[Any]) -> tuple[str, ...]:
    """Return what a job asked for, by name."""
    match task.engine:
        case "check":
            return tuple(result.details.outcome.exercised)
        case "verify":
            return tuple(dict.fromkeys((*result.details.asked, *result.details.methods)))
        case "fuzz":
            return tuple(invariant_names(task.scenario))


def _work(engine: Engine, details: Any) -> str:
    if engine == "fuzz":
        return f"{details.outcome.inputs:,} inputs"
    counted = details.outcome if engine == "check" else details
    return f"{counted.states:,} states"


def _retried(task: Retry) -> Outcome:
    """Take the run of a bug again; its trace must be our own, since it says what is run."""
    if not is_own(read_header(task.trace)):
        raise PenstockError(f"{task.trace.name} was not recorded here, so it is not run again.")
    result = _undisturbed(lambda: api.replay(task.trace, exact=False, trust=True))
    return Outcome(
        str(result.verdict.result), tuple(map(sentence, result.verdict.reasons)), seconds=result.seconds
    )


def serve(descriptor: int) -> None:
    """Do jobs until there are no more."""
    ours = [descriptor]

    def leave() -> None:
        # The worker's own forks have it closed already, and its number may be another file's.
        if ours:
            os.close(ours.pop())

    # The process that a program under test is in has no part in what is said here.
    os.register_at_fork(after_in_child=leave)
    attend(descriptor, lambda line: line.send_bytes(packed_alone(perform(line.recv()))))
