"""What a fuzzing run comes to: one object for programs, some lines for people, a file in its folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from penstock.explore.search import peak_rss_mb
from penstock.fuzz.fuzzing import Found, Report

_SHOWN: Final = 12
"""How many passing violations are told."""


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
        "violations": [_violation(found, report) for found in lasting(report)],
        "passing": len(outcome.violations) - len(lasting(report)),
        "folder": str(report.folder),
        "trace": str(report.trace),
    }


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
    unfinished.write_text(json.dumps(summary(report), indent=2) + "\n", encoding="utf-8")
    unfinished.replace(path)
    return path


def summary_lines(report: Report) -> Iterator[str]:
    """Yield a run as text."""
    outcome = report.outcome
    for found in lasting(report):
        yield finding_line(found)
    passing = [found for found in outcome.violations if not found.finding.persistent]
    for found in passing[:_SHOWN] if not lasting(report) else ():
        yield finding_line(found)
    kinds = ", ".join(f"{times} {verb}" for verb, times in outcome.by_verb.most_common())
    rate = outcome.inputs / outcome.seconds if outcome.seconds else 0.0
    yield (
        f"{outcome.inputs:,} inputs ({kinds}), {outcome.internal:,} events that followed, "
        f"{outcome.seconds:.1f} s ({rate:,.0f} inputs/s); stopped by {outcome.stopped_by or 'an error'}."
    )
    if outcome.unanswered:
        yield f"{outcome.unanswered} inputs were not answered in time."
    if passing:
        yield f"{len(passing)} violations passed by themselves."
    yield f"All of it is in {report.folder}: the trace, the scenario, the summary, the logs."
    yield (
        f"{len(lasting(report))} lasting violations found."
        if lasting(report)
        else "No lasting violation was found, which proves nothing: another seed may find one."
    )


def finding_line(found: Found) -> str:
    """Return a finding in one line."""
    finding, moment = found.finding, f"after {found.inputs} inputs, at {found.at / 1000:g} s"
    if finding.verdict != "violated":
        return f"  ✓  {finding.invariant} holds again {moment}: {finding.message}"
    for_now = "" if finding.persistent else " for the moment"
    return f"  ✗  {finding.invariant} is broken{for_now} {moment}: {finding.message}"
