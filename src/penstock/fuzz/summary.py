"""What a fuzzing run comes to: one object for programs, some lines for people, a file in its folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from penstock.errors import PenstockError
from penstock.explore.search import peak_rss_mb
from penstock.fuzz.fuzzing import Found, Report
from penstock.fuzz.judging import HEALED, VIOLATED


def lasting(report: Report) -> list[Found]:
    """Return the violations that count: those that lasted, or can never be mended."""
    return [found for found in report.outcome.violations if found.finding.persistent]


def summary(report: Report) -> dict[str, Any]:
    """Return a run as plain data."""
    outcome = report.outcome
    return {
        "result": "violation" if lasting(report) else "bounded",
        "scenario": report.scenario.name,
        "seed": report.scenario.fuzzing().seed,
        "inputs": outcome.inputs,
        "internal": outcome.internal,
        "seconds": round(outcome.seconds, 3),
        "peak_rss_mb": peak_rss_mb(),
        "stopped_by": outcome.stopped_by,
        "by_kind": dict(sorted(outcome.by_verb.items())),
        "unanswered": outcome.unanswered,
        "remarks": outcome.remarks,
        "violations": [_violation(found, report) for found in lasting(report)],
        "passing": _passing(report),
        "folder": str(report.folder),
        "trace": str(report.trace),
    }


def _passing(report: Report) -> int:
    """Return how many violations went away before they counted."""
    verdicts = [found.finding for found in report.outcome.findings]
    return sum(1 for finding in verdicts if finding.verdict == HEALED and not finding.persistent)


def _violation(found: Found, report: Report) -> dict[str, Any]:
    return {
        "property": found.finding.invariant,
        "message": found.finding.message,
        "steps": found.inputs,
        "line": found.step,
        "at_ms": found.at,
        "trace": str(report.trace),
    }


def write_summary(report: Report) -> Path:
    """Write a run's summary into its folder, whole or not at all."""
    path = report.folder / "summary.json"
    unfinished = path.with_name(path.name + ".part")
    try:
        unfinished.write_text(json.dumps(summary(report), indent=2) + "\n", encoding="utf-8")
        unfinished.replace(path)
    except OSError as error:
        raise PenstockError(f"The summary cannot be written to {path}: {error.strerror}.") from None
    return path


def summary_lines(report: Report) -> Iterator[str]:
    """Yield a run as text."""
    outcome = report.outcome
    alike: dict[tuple[str, str], list[Found]] = {}
    for found in lasting(report):
        # What comes before the colon says what is wrong, what comes after it how that came about this time.
        what = found.finding.message.partition(":")[0]
        alike.setdefault((found.finding.invariant, what), []).append(found)
    for first, *more in alike.values():
        yield finding_line(first)
        if more:
            yield f"     The same was found {counted(len(more), 'time')} more."
    kinds = ", ".join(f"{times} {verb}" for verb, times in outcome.by_verb.most_common())
    rate = outcome.inputs / outcome.seconds if outcome.seconds else 0.0
    yield (
        f"{outcome.inputs:,} inputs ({kinds}), {outcome.internal:,} events that followed, "
        f"{outcome.seconds:.1f} s ({rate:,.0f} inputs/s); stopped by {outcome.stopped_by or 'an error'}."
    )
    if outcome.unanswered:
        yield f"{counted(outcome.unanswered, 'input')} not answered in time."
    if passing := _passing(report):
        yield f"{counted(passing, 'violation')} passed without lasting; the trace tells them."
    yield from outcome.remarks
    yield f"All of it is in {report.folder}: the trace, the scenario, the summary, the logs."
    yield (
        f"{counted(len(alike), 'lasting violation')} found."
        if lasting(report)
        else "No lasting violation was found, which proves nothing: another seed may find one."
    )


def counted(number: int, word: str) -> str:
    """Return a number of things in words."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def finding_line(found: Found) -> str:
    """Return a finding in one line."""
    finding, moment = found.finding, f"after {found.inputs} inputs, at {found.at / 1000:g} s"
    if finding.verdict != VIOLATED:
        return f"  ✓  {finding.invariant} holds again {moment}; it was: {finding.message}"
    for_now = "" if finding.persistent else " for the moment"
    return f"  ✗  {finding.invariant} is broken{for_now} {moment}: {finding.message}"
