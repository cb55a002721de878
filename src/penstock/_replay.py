"""Running a trace again, on the same scenario, and comparing it line by line.

A trace of a search is taken again transition by transition.  A trace of a fuzzing run on virtual time is
played again as a script (see `minimize`), written down again, and must come out the same to the letter.
One with real processes is played with the same waits, and may differ; what counts is the violation.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from penstock._base.json_reading import parse_object, read_lines
from penstock._engine.building import build
from penstock._properties.watch import Watch
from penstock._scenario.scenario import Scenario
from penstock._trace.consent import Consent, consent_to, runnable
from penstock._trace.trace import Trace, read_trace
from penstock._world.transition import Record
from penstock._world.world import World, states_of
from penstock.errors import PenstockError

if TYPE_CHECKING:
    from penstock._minimize.recording import Recording
    from penstock._minimize.reproducing import Attempt
    from penstock._minimize.timings import Waiting

_MOST_SHOWN = 200
"""How much is shown of a line that differs."""


@dataclass(frozen=True, slots=True)
class Replay:
    """How a trace went when it was run again."""

    records: tuple[Record, ...]
    property: str = ""
    message: str = ""
    reproduced: bool = False
    diverged: int | None = None
    difference: str = ""
    inputs: tuple[str, ...] = ()
    """What was done to the network, in a fuzzing run."""
    lines: int = 0
    """How many lines of a fuzzing run were compared."""
    tries: int = 1
    cause: tuple[str, ...] = ()
    """The cause, as the trace tells it."""


def replay(
    path: Path, consent: Consent | None = None, *, tries: int = 1, waiting: Waiting | None = None
) -> Replay:
    """Run a trace, or that of a run's folder, again; it ends at the first step that differs.

    Without consent, the code that it names has to be what it was recorded with here.
    Where real processes take part, it is run up to `tries` times until the violation comes; `waiting` says
    how they are waited for.
    """
    from penstock._minimize.recording import is_fuzzed, trace_file

    file = trace_file(path)
    consent = consent_to(file) if consent is None else consent
    trace = read_trace(file)
    if "verify" in trace.details:
        from penstock._verify.replaying import replay_proof

        return Replay(**replay_proof(trace, file.parent, consent))
    scenario = runnable(trace, file.parent, consent)
    return _fuzzed(trace, scenario, file, tries, waiting) if is_fuzzed(trace) else _searched(trace, scenario)


def _searched(trace: Trace, scenario: Scenario) -> Replay:
    from penstock._engine.watched_world import is_quiet

    built = build(scenario)
    world = World(built.network)
    world.restore(built.start)
    watch = Watch(built.network, built.properties)
    wanted = trace.verdict
    name, message = (wanted.property, wanted.message) if wanted is not None else ("", "")
    records: list[Record] = []
    watch.begin(states_of(world))
    for line in trace.lines:
        try:
            record = world.take(line.transition)
        except PenstockError as error:
            return Replay(
                tuple(records), name, message, diverged=line.number, difference=str(error).rstrip(".")
            )
        records.append(record)
        watch.observe(record, states_of(world))
        if line.differs_from(record):
            return Replay(
                tuple(records),
                name,
                message,
                diverged=line.number,
                difference=f"it was recorded as {_short(line.message, line.sends)} and is now {record}",
            )
    if is_quiet(world):
        watch.at_rest(states_of(world))
    reproduced = bool(name) and watch.broken.get(name) == message
    cause = () if wanted is None else wanted.cause
    return Replay(tuple(records), name, message, reproduced, cause=cause)


def _short(message: str | None, sends: tuple[str, ...]) -> str:
    return f"{message or 'an action'} -> {'; '.join(sends) or 'nothing'}"


def _fuzzed(trace: Trace, scenario: Scenario, path: Path, tries: int, waiting: Waiting | None) -> Replay:
    from penstock._minimize.recording import is_wide, script_of
    from penstock._minimize.reproducers import reproducer_of
    from penstock._minimize.timings import USUAL

    script = script_of(trace, scenario)
    reproducer = reproducer_of(script, wide=is_wide(trace), waiting=waiting or USUAL)
    if not reproducer.is_exact:
        return _described(script, reproducer.run(script.inputs, tries=tries))
    with TemporaryDirectory() as folder:
        again = Path(folder) / "trace.jsonl"
        attempt = reproducer.record(script.inputs, again)
        end = script.violation.line if script.violation is not None else None
        diverged, difference, compared = _difference(path, again, end)
    return _described(script, attempt, diverged, difference, compared)


def _described(
    script: Recording, attempt: Attempt, diverged: int | None = None, difference: str = "", lines: int = 0
) -> Replay:
    violation = script.violation
    if diverged is None and attempt.divergence is not None and not attempt.reproduced:
        diverged, difference = attempt.divergence.line, str(attempt.divergence)
    return Replay(
        (),
        violation.invariant if violation is not None else "",
        attempt.message or (violation.message if violation is not None else ""),
        attempt.reproduced,
        diverged,
        difference,
        tuple(map(str, script.inputs)),
        lines,
        attempt.tries,
    )


def _difference(recorded: Path, again: Path, end: int | None) -> tuple[int | None, str, int]:
    """Return the number of the first line that differs, how it does, and how many lines were compared."""
    ours, theirs = read_lines(recorded), read_lines(again)
    next(ours, None), next(theirs, None)
    compared = 0
    for one, other in zip_longest(ours, theirs, fillvalue=""):
        if one and (one == other or _is_alike(one, other)):
            compared += 1
            continue
        if one and not one.endswith("\n"):
            break  # the trace was cut short here
        number = parse_object(one or other).get("step", compared + 1)
        if end is not None and number > end:
            break
        return number, f"it was recorded as {_cut(one)} and is now {_cut(other)}", compared
    return None, "", compared


def _is_alike(one: str, other: str) -> bool:
    """Tell whether two lines differ in nothing but which lines of the program's code are behind them."""
    if '"code": [' not in one + other or not one.endswith("\n"):
        return False
    ours, theirs = parse_object(one), parse_object(other or "{}")
    ours.pop("code", None), theirs.pop("code", None)
    return bool(ours == theirs)


def _cut(line: str) -> str:
    text = line.strip() or "nothing"
    return text if len(text) <= _MOST_SHOWN else text[:_MOST_SHOWN] + "…"
