"""What a trace says was broken, each with its story: what test reports and code scanners want to know.

A search ends with one verdict.  A fuzzing run may find the same again and again; what comes before the
colon of a message says what is wrong, so of those alike the first is taken and the others are counted.
Only violations that lasted count, as on the command line.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from penstock._engine.conclusion import Conclusion, read_conclusion, read_coverage
from penstock._explain.explaining import finding_cause
from penstock._minimize.writing import FOLDER
from penstock._report.gathering import SUMMARY, read_summary
from penstock._report.run_story import Choice, tell_run
from penstock._story.explanation import Explanation
from penstock._story.story import ending
from penstock._trace.causal_slice import what_led_to
from penstock._trace.trace import (
    AnyTrace,
    FindingLine,
    FuzzTrace,
    InputLine,
    Line,
    LogLine,
    Trace,
    read_trace,
    trace_file,
)

_MOST_LED_TO: Final = 100
"""Of how many violations it is told what led to them."""


@dataclass(frozen=True, slots=True)
class Violated:
    """A property that a trace breaks."""

    property: str
    message: str
    steps: Trace
    """As much of the trace as it takes to understand it."""
    line: int
    """The number of the line that tells it, or of the last step."""
    again: int = 0
    """How often the same was found once more."""

    def _explanation(self) -> Explanation | None:
        """Return why an invariant of a fuzzing run is violated."""
        findings = self.steps.findings if isinstance(self.steps, FuzzTrace) else ()
        return finding_cause(self.steps, findings[0]) if findings else None

    def cause(self) -> tuple[str, ...]:
        """Return the cause, in sentences."""
        if self.steps.verdict is not None:
            return self.steps.verdict.cause
        why = self._explanation()
        return () if why is None else tuple(why.lines(self.property))

    def code(self) -> tuple[str, ...]:
        """Return the places in the program's code that are behind it."""
        if self.steps.verdict is not None:
            return self.steps.verdict.code
        why = self._explanation()
        return () if why is None else tuple(code.text for code in why.code)

    def story(self) -> list[str]:
        """Return what happened, in words."""
        told = list(tell_run(self.steps, Choice(whole=True)))
        if self.steps.verdict is not None:
            told += ending(self.property, self.message, self.steps.verdict.cause)
        if self.again:
            told.append(f"The same was found {self.again:,} time{'s' if self.again > 1 else ''} more.")
        return told


@dataclass(frozen=True, slots=True)
class Source:
    """A trace and where it is."""

    file: Path
    trace: AnyTrace

    @property
    def name(self) -> str:
        """What the scenario is called."""
        return str(self.trace.scenario.get("name", self.file.stem))

    @property
    def shown(self) -> str:
        """The trace's path as others are told it."""
        return from_here(self.file)

    def conclusion(self) -> Conclusion | None:
        """Return what the run came to, as its header or the summary beside it says, if one does."""
        coverage, summary = read_coverage(self.trace.details), None
        if isinstance(self.trace, FuzzTrace) and self.file.parent.name != FOLDER:
            summary = read_summary(self.file.parent / SUMMARY, [])
        return read_conclusion(coverage, summary)


def from_here(path: Path) -> str:
    """Return a path as seen from here, or else just the name: nobody is told of folders of a machine."""
    try:
        return path.resolve().relative_to(Path.cwd()).as_posix()
    except (OSError, ValueError):
        return path.name or "trace"


def source_of(path: Path) -> Source:
    """Return the trace that a path names, or that of a run's folder."""
    file = trace_file(path)
    return Source(file, read_trace(file))


def violations_of(trace: Trace) -> list[Violated]:
    """Return what a trace breaks, each once."""
    found = []
    if trace.verdict is not None:
        last = trace.lines[-1].number if trace.lines else 0
        found.append(Violated(trace.verdict.property, trace.verdict.message, trace, last))
    return [*found, *_lasting(trace)] if isinstance(trace, FuzzTrace) else found


def _lasting(trace: FuzzTrace) -> Iterator[Violated]:
    """Yield the violations of a fuzzing run that lasted, each once."""
    alike: dict[tuple[str, str], list[FindingLine]] = {}
    for finding in trace.findings:
        if finding.verdict == "violated" and finding.persistent:
            alike.setdefault(_what(finding), []).append(finding)
    often = {_what(line): line.times for line in trace.findings if line.verdict == "repeated"}
    for number, (what, (first, *more)) in enumerate(alike.items()):
        again = max(len(more), often.get(what, 1) - 1)
        # What led to each is looked for in the whole trace, which a stranger's may have any number of.
        steps = leading_to(trace, first) if number < _MOST_LED_TO else _alone(trace, first)
        yield Violated(first.invariant, first.message, steps, first.number, again)


def _alone(trace: FuzzTrace, finding: FindingLine) -> FuzzTrace:
    """Return a trace with no more than a finding."""
    return replace(trace, lines=(), inputs=(), logs=(), findings=(finding,), verdict=None)


def _what(finding: FindingLine) -> tuple[str, str]:
    """Return what is wrong, as opposed to how that came about this time."""
    return finding.invariant, finding.message.partition(":")[0]


def leading_to(trace: FuzzTrace, finding: FindingLine) -> FuzzTrace:
    """Return a trace with no more than what led to a finding, and the finding."""
    numbers = what_led_to(trace, finding)

    def among(line: Line | InputLine | LogLine) -> bool:
        return line.number in numbers

    return replace(
        trace,
        lines=tuple(filter(among, trace.lines)),
        inputs=tuple(filter(among, trace.inputs)),
        logs=tuple(filter(among, trace.logs)),
        findings=(finding,),
        verdict=None,
    )
