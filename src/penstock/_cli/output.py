"""What the commands print."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from os import terminal_size
from shutil import get_terminal_size
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from penstock._base.files import UnwritableError
from penstock._base.terminal import complain, say, say_lines
from penstock._base.text import json_text, on_one_line
from penstock._check.check import Report
from penstock._engine.conclusion import Finding
from penstock._engine.next_steps import advice
from penstock._explore.search import Outcome
from penstock._report.run_story import Choice, tell_run
from penstock._story.story import ending, last_line, tell
from penstock._trace.trace import CUT_SHORT, Trace
from penstock._verdict.verdict import Result, Verdict, sentence

if TYPE_CHECKING:
    from rich.status import Status

    from penstock._replay.replaying import Replay
    from penstock._report.picture import Happening

_AROUND_PICTURES: Final = 6
"""How many lines of a screen are left to what stands above and below a picture."""


def conclude(verdict: Verdict, unwritten: str, write_ci: Callable[[], None]) -> int:
    """Write what CI wants after all was printed, tell what could not be written, return the exit status.

    That is the verdict's, whatever the disk takes.  Without its trace a violation would be missing from what
    CI reads, which is worse than no file.
    """
    try:
        if not (unwritten and verdict.result is Result.VIOLATED):
            write_ci()
    except UnwritableError as error:
        if not error.is_for_want_of_room:
            raise
        unwritten = unwritten or str(error)
    if unwritten:
        complain(unwritten)
    return verdict.status


class Live:
    """A line of progress on the terminal, while a search runs, or something else that takes its time."""

    def __init__(self, *, quiet: bool, doing: str = "starting …") -> None:
        self._status: Status | None = None
        # Elsewhere than on a terminal rich would draw nothing, and take its time to be imported.
        if not quiet and sys.stderr.isatty():
            from rich.console import Console

            self._status = Console(stderr=True).status(doing)

    def __enter__(self) -> Self:
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if self._status is not None:
            self._status.stop()

    def show(self, outcome: Outcome) -> None:
        """Show how far a search is."""
        self.update(progress_line(outcome))

    def update(self, text: str) -> None:
        """Show another line; nothing in it is taken for markup."""
        if self._status is not None:
            from rich.markup import escape

            self._status.update(escape(on_one_line(text)))


def progress_line(outcome: Outcome) -> str:
    """Return how far a search is, in one line."""
    found = f", {len(outcome.violations)} violations" if outcome.violations else ""
    judged = sum(1 for times in outcome.exercised.values() if times)
    return (
        f"{outcome.states:,} states, {outcome.transitions:,} transitions "
        f"({outcome.transitions_per_s:,.0f}/s), depth {outcome.depth}, {outcome.peak_rss_mb} MB, "
        f"{outcome.seconds:.0f} s, {judged} of {len(outcome.exercised)} properties exercised{found}"
    )


def print_report(report: Report) -> None:
    """Print what a check found, as stories; on a terminal, a run that fits on the screen is drawn too."""
    say_lines(report_lines(report, get_terminal_size() if sys.stdout.isatty() else None))


def report_lines(report: Report, screen: terminal_size | None = None) -> Iterator[str]:
    """Yield a report as text."""
    for number, finding in enumerate(report.findings, 1):
        yield from _finding_lines(number, finding, screen)
    outcome = report.outcome
    yield (
        f"{outcome.states:,} states, {outcome.transitions:,} transitions, depth {outcome.depth}, "
        f"{outcome.seconds:.2f} s, {outcome.peak_rss_mb} MB."
    )
    for name, times in outcome.exercised.items():
        yield (
            f"  {name}: judged in {f'{times:,} distinct situations' if times > 1 else 'one situation'}"
            if times
            else f"  {name}: never exercised; {_what_it_needs(report, name)}"
        )
    yield from titled_lines("Assumptions:", () if report.findings else report.assumptions)
    yield from outcome.remarks
    yield from verdict_lines(report.verdict, len(report.findings))
    yield from advice(report.next_steps)


def titled_lines(title: str, sentences: Sequence[str]) -> Iterator[str]:
    """Yield sentences below a title, if there are any."""
    if sentences:
        yield title
        yield from (f"  {sentence}" for sentence in sentences)


def verdict_lines(verdict: Verdict, violations: int) -> Iterator[str]:
    """Yield what an engine came to; where that is not conclusive, each reason by itself."""
    if verdict.result is Result.VIOLATED:
        yield f"{violations} violation{'s' if violations > 1 else ''} found."
        return
    if verdict.is_conclusive or len(verdict.reasons) < 2:
        yield verdict.told
        return
    reasons = map(sentence, verdict.reasons)
    yield "No violation found, but the search was not conclusive:"
    yield from (f"  {reason[0].upper()}{reason[1:]}." for reason in reasons)


def _what_it_needs(report: Report, name: str) -> str:
    """Return what has to happen for a property to be put to the test."""
    needs = report.needs.get(name)
    return f"it needs {needs}" if needs else "the scenario does not exercise it"


def _finding_lines(number: int, finding: Finding, screen: terminal_size | None) -> Iterator[str]:
    yield f"Violation {number}: {finding.property}"
    yield ""
    yield from tell(finding.records, needless=finding.explanation.needless)
    yield from ending_lines(finding, () if screen is None else _picture_lines(finding, screen))


def _picture_lines(finding: Finding, screen: terminal_size) -> list[str]:
    """Return the picture of a violation if it fits on a screen with a few lines around it, else nothing."""
    from penstock._report.picture import broken_note, picture

    happenings: list[tuple[int, Happening]] = [*enumerate(finding.records, 1)]
    happenings.append((0, broken_note(finding.property)))
    lines = picture(happenings, width=screen.columns, plain=not _can_draw())
    return lines if len(lines) + _AROUND_PICTURES <= screen.lines else []


def _can_draw() -> bool:
    """Tell whether more than ASCII can be printed."""
    return "utf" in (sys.stdout.encoding or "").lower()


def ending_lines(finding: Finding, drawn: Sequence[str] = ()) -> Iterator[str]:
    """Yield how the story of a violation ends, with a picture if there is one, and how to have it again."""
    yield from ending(finding.property, finding.message, finding.explanation.lines(finding.property))
    yield ""
    if drawn:
        yield from drawn
        yield ""
    if not finding.confirmed:
        yield "  The replay did not reproduce it: the program keeps state that Penstock does not see."
    if finding.trace is not None:
        yield f"  Replay it with: penstock replay {finding.trace}"
        yield ""


def report_as_json(report: Report) -> str:
    """Return a report as one JSON object."""
    outcome = report.outcome
    found: dict[str, Any] = {
        "result": outcome.result,
        "verdict": report.verdict.as_json(),
        "states": outcome.states,
        "transitions": outcome.transitions,
        "seconds": round(outcome.seconds, 3),
        "peak_rss_mb": outcome.peak_rss_mb,
        "depth": outcome.depth,
        "stopped_by": outcome.stopped_by,
        "exercised": outcome.exercised,
        "unexercised": report.unexercised,
        "remarks": outcome.remarks,
        "assumptions": list(report.assumptions),
        "next_steps": [step.plain() for step in report.next_steps],
        "unwritten": report.unwritten or None,
        "covered": None if report.covered is None else str(report.covered),
        "violations": [
            {
                "property": finding.property,
                "message": finding.message,
                "steps": len(finding.records),
                "confirmed": finding.confirmed,
                "trace": None if finding.trace is None else str(finding.trace),
                "explanation": finding.explanation.as_json(),
            }
            for finding in report.findings
        ],
    }
    return json_text(found)


def print_trace(
    trace: Trace,
    choice: Choice = Choice(),  # noqa: B008 - a value
    *,
    drawn: bool = False,
) -> None:
    """Print a trace, or the part of it that was chosen; `drawn`, also as a picture."""
    say_lines(tell_run(trace, choice))
    if trace.verdict is not None:
        say_lines(ending(trace.verdict.property, trace.verdict.message, trace.verdict.cause))
    if trace.cut_short:
        say(CUT_SHORT)
    if drawn:
        from penstock._report.picture import trace_picture

        say()
        say_lines(trace_picture(trace, choice, width=get_terminal_size().columns, plain=not _can_draw()))


def print_replay(result: Replay) -> None:
    """Print how a replay went."""
    say_lines(tell(result.records))
    say(replay_verdict(result))
    if result.reproduced:
        say_lines(f"     {text}" for text in result.cause)


def replay_verdict(result: Replay) -> str:
    """Return how a replay ended, in one sentence."""
    if result.diverged is not None:
        return f"The replay differs from the trace at step {result.diverged}: {result.difference}."
    if result.reproduced:
        return last_line(result.property, result.message)
    if result.property:
        otherwise = "was not violated this time" if result.judged else "is not judged any more"
        return f"All {len(result.records)} steps matched, but {result.property} {otherwise}."
    return f"All {len(result.records)} steps matched."


def replay_as_json(result: Replay) -> str:
    """Return how a replay went as one JSON object."""
    return json_text(
        {
            "steps": len(result.records),
            "reproduced": result.reproduced,
            "property": result.property or None,
            "message": result.message or None,
            "diverged_at": result.diverged,
            "difference": result.difference or None,
        }
    )
