"""What a fuzzing run comes to: one object for programs, some lines for people, a file in its folder.

Passing violations: what was wrong for a while, and for how long.

A violation *passes* if what is wrong is mended before it has lasted for `persistent_ms` in which the
controllers could do something about it.  One that is there when the run ends, and has not lasted for that
long, is among them too: nobody knows whether it would have passed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from penstock._base.files import absolute, write_whole
from penstock._base.text import json_text
from penstock._engine.next_steps import Ran, Suggestion, advice, next_steps
from penstock._explain.explaining import finding_cause_lines
from penstock._explore.search import peak_rss_mb
from penstock._fuzz.fuzzing import Found, Outcome, Report
from penstock._fuzz.judging import REPEATED, VIOLATED, Finding
from penstock._trace.trace import FindingLine, read_trace
from penstock._verdict.verdict import Bound, Result, Verdict, judge

MOST_LISTED: Final = 1000
_MOST_TOLD: Final = 5


@dataclass(frozen=True, slots=True)
class Passing:
    """A violation that did not last."""

    invariant: str
    message: str
    at: int
    """When it came up, in milliseconds of the run's clock."""
    lasted: int
    is_over: bool = True
    """Whether it was mended before the run ended."""
    number: int = 1
    """How many alike came to an end together."""

    def as_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "property": self.invariant,
            "message": self.message,
            "at_ms": self.at,
            "lasted_ms": self.lasted,
            "is_over": self.is_over,
        }

    def __str__(self) -> str:
        until = "" if self.is_over else ", until the run ended"
        when = f"for {self.lasted / 1000:g} s from {self.at / 1000:g} s on{until}"
        return f"{self.invariant} {when}: {self.message}"


def passing(outcome: Outcome) -> list[Passing]:
    """Return the violations of a run that did not last, in the order in which they came up."""
    found = [_passing(found.finding, found.at) for found in outcome.findings if found.finding.has_passed]
    found += [_passing(each.finding, each.at, is_over=False) for each in outcome.undecided]
    return sorted(found, key=lambda each: each.at)


def _passing(finding: Finding, end: int, *, is_over: bool = True) -> Passing:
    since = end if finding.since is None else finding.since
    return Passing(finding.invariant, finding.message, since, max(0, end - since), is_over, finding.times)


def number_passed(outcome: Outcome, found: Sequence[Passing]) -> int:
    """Return how many violations passed, those too that are kept no more."""
    return outcome.passed_besides + sum(each.number for each in found)


def passing_lines(outcome: Outcome) -> Iterator[str]:
    """Yield how many violations passed, and those that took the longest."""
    found = passing(outcome)
    if not found:
        return
    number = number_passed(outcome, found)
    yield f"{number:,} transient violation{'' if number == 1 else 's'}:"
    longest = sorted(found, key=lambda each: -each.lasted)[:_MOST_TOLD]
    yield from (f"  {each}" for each in longest)
    if more := number - sum(each.number for each in longest):
        yield f"  and {more:,} more, none of which lasted longer."


_LARGEST_IN_TIME: Final = 3_000_000
_LARGEST_TRACE: Final = 30_000_000
"""Of a trace with more bytes the cause is not looked for: that would take longer than anybody waits."""


def lasting(report: Report) -> list[Found]:
    """Return the violations that count: those that lasted, or can never be mended."""
    return [found for found in report.outcome.violations if found.finding.persistent]


def summary(report: Report) -> dict[str, Any]:
    """Return a run as plain data."""
    outcome = report.outcome
    return {
        "result": "violation" if lasting(report) else "bounded",
        "verdict": run_verdict(report).as_json(),
        "scenario": report.scenario.name,
        "seed": report.scenario.fuzzing().seed,
        "inputs": outcome.inputs,
        "internal": outcome.internal,
        "seconds": round(outcome.seconds, 3),
        "peak_rss_mb": peak_rss_mb(),
        "stopped_by": outcome.stopped_by,
        "next_steps": [step.plain() for step in next_steps_of(report)],
        "by_kind": dict(sorted(outcome.by_verb.items())),
        "unanswered": outcome.unanswered,
        "remarks": outcome.remarks,
        "violations": _violations(report),
        "passing": _passing_lines(report),
        "passing_violations": [each.as_json() for each in passing(outcome)[:MOST_LISTED]],
        "unwritten": outcome.unwritten or None,
        "folder": str(report.folder),
        "trace": str(report.trace),
    }


def next_steps_of(report: Report) -> tuple[Suggestion, ...]:
    """Return what to try next after a run that found nothing that lasts."""
    if lasting(report):
        return ()
    bounds = [*report.outcome.reasons, report.outcome.stopped_by]
    return next_steps(Ran("fuzz", report.scenario, passing=_passing_lines(report)), bounds)


def run_verdict(report: Report) -> Verdict:
    """Return what a run came to: no run shows that there is nothing to be found."""
    outcome = report.outcome
    stopped = outcome.stopped_by
    reasons = [*outcome.reasons, stopped if isinstance(stopped, Bound) else Bound(stopped or "an error")]
    violated = bool(lasting(report))
    judged = {"the invariants": int(outcome.judged or violated)}
    return judge(Result.BOUNDED, violated=violated, reasons=reasons, exercised=judged)


def _passing_lines(report: Report) -> int:
    """Return how many violations went away before they counted."""
    return number_passed(report.outcome, passing(report.outcome))


def _repetition(found: Found, report: Report) -> Found | None:
    """Return what says how often a violation came, if it came again."""
    return next(
        (
            each
            for each in report.outcome.findings
            if each.finding.verdict == REPEATED and each.finding.kind == found.finding.kind
        ),
        None,
    )


def _violations(report: Report) -> list[dict[str, Any]]:
    """Return the violations that are kept; the first of a kind counts for those that are not."""
    found = [_violation(each, report) for each in lasting(report)]
    besides = report.outcome.repeated_besides.copy()
    for each, line in zip(lasting(report), found, strict=True):
        line["times"] += besides.pop(each.finding.kind, 0)
    return found


def _violation(found: Found, report: Report) -> dict[str, Any]:
    again = _repetition(found, report)
    return {
        "property": found.finding.invariant,
        "message": found.finding.message,
        "steps": found.inputs,
        "line": found.step,
        "at_ms": found.at,
        "times": 1 if again is None else again.finding.times,
        "trace": str(report.trace),
    }


def write_summary(report: Report) -> Path:
    """Write a run's summary into its folder, whole or not at all."""
    path = report.folder / "summary.json"
    write_whole(path, json_text(summary(report), indent=2) + "\n", "The summary")
    return path


def summary_lines(report: Report) -> Iterator[str]:
    """Yield a run as text."""
    outcome = report.outcome
    alike: dict[tuple[str, str], list[Found]] = {}
    for found in lasting(report):
        alike.setdefault(found.finding.kind, []).append(found)
    for kind, (first, *more) in alike.items():
        yield finding_line(first)
        yield from (f"     {text}" for text in _cause(report, first))
        if again := len(more) + outcome.repeated_besides[kind]:
            yield f"     The same was found {count_text(again, 'time')} more."
        if (repeated := _repetition(first, report)) is not None:
            yield f"     {repetition_line(repeated)}"
    kinds = ", ".join(f"{times} {verb}" for verb, times in outcome.by_verb.most_common()) or "none"
    rate = outcome.inputs / outcome.seconds if outcome.seconds else 0.0
    yield (
        f"{outcome.inputs:,} inputs ({kinds}), {outcome.internal:,} events that followed, "
        f"{outcome.seconds:.1f} s ({rate:,.0f} inputs/s); stopped by {outcome.stopped_by or 'an error'}."
    )
    if outcome.unanswered:
        yield f"{count_text(outcome.unanswered, 'input')} not answered in time."
    yield from passing_lines(outcome)
    yield from outcome.remarks
    if outcome.unwritten:
        yield f"What was written before that failed is in {report.folder}."
    else:
        yield f"All of it is in {report.folder}: the trace, the scenario, the summary, the logs."
    if alike:
        yield f"{count_text(len(alike), 'persistent violation')} found."
    elif outcome.reasons:
        yield "No persistent violation was found, but hardly anything was judged:"
        yield from (f"  {reason[0].upper()}{reason[1:]}." for reason in outcome.reasons)
    else:
        yield "No persistent violation was found, which proves nothing: another seed may find one."
    yield from advice(next_steps_of(report))


def _cause(report: Report, found: Found) -> tuple[str, ...]:
    """Return the cause of a finding in sentences, from the trace that is written."""
    file = absolute(report.trace)
    is_limited = report.scenario.fuzzing().seconds is not None
    if not file.is_file() or file.stat().st_size > (_LARGEST_IN_TIME if is_limited else _LARGEST_TRACE):
        return ()
    trace = read_trace(report.trace, warn=not report.outcome.unwritten)
    lines = (line for line in trace.items if isinstance(line, FindingLine) and line.number == found.step)
    return next((finding_cause_lines(trace, line) for line in lines), ())


def count_text(number: int, word: str) -> str:
    """Return a number of things in words."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def repetition_line(found: Found) -> str:
    """Return how often an error came, in one sentence."""
    first = found.finding.since or 0
    last = found.finding.last or first
    moments = f"first at {first / 1000:g} s, last at {last / 1000:g} s"
    return f"It came {count_text(found.finding.times, 'time')}, {moments}."


def finding_line(found: Found) -> str:
    """Return a finding in one line."""
    finding, moment = found.finding, f"after {found.inputs} inputs, at {found.at / 1000:g} s"
    if finding.verdict == REPEATED:
        return f"  ✗  {finding.invariant}, {repetition_line(found)} {finding.message}"
    if finding.verdict != VIOLATED:
        return f"  ✓  {finding.invariant} holds again {moment}; it was: {finding.message}"
    for_now = "" if finding.persistent else " (not yet persistent)"
    return f"  ✗  {finding.invariant} is violated{for_now} {moment}: {finding.message}"
