"""A fuzzing run told from its trace: what was done, what followed, what was logged, what was found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from penstock.errors import PenstockError
from penstock.report.past import first_lasting, what_led_to
from penstock.report.retelling import record_of
from penstock.report.story import numbered, sentences
from penstock.trace import FindingLine, InputLine, Line, LogLine, Trace

AnyLine = Line | InputLine | LogLine | FindingLine


@dataclass(frozen=True, slots=True)
class Choice:
    """Which part of a run is told: all, some lines by number, or what led to the first lasting violation."""

    whole: bool = False
    first: int | None = None
    last: int | None = None

    def __post_init__(self) -> None:
        if self.first is not None and self.last is not None and self.first > self.last:
            raise PenstockError(f"There are no lines from {self.first} to {self.last}: give the lower first.")


def tell_run(trace: Trace, choice: Choice) -> Iterator[str]:
    """Yield the story of a run, or of the part of it that was chosen."""
    chosen, is_past = chosen_lines(trace, choice)
    if not is_past:
        yield from _told(chosen)
        return
    lines = len(trace.lines) + len(trace.inputs) + len(trace.logs) + len(trace.findings)
    yield f"What led to the first violation that lasted, {len(chosen):,} of {lines:,} lines:"
    yield ""
    yield from _told(chosen)
    yield ""
    yield "--whole tells all lines, --from and --to some of them."


def chosen_lines(trace: Trace, choice: Choice) -> tuple[list[AnyLine], bool]:
    """Return the lines of the chosen part of a run, and whether they are only what led to a violation."""
    lines: list[AnyLine] = [*trace.lines, *trace.inputs, *trace.logs, *trace.findings]
    lines.sort(key=lambda line: line.number)
    finding = first_lasting(trace)
    if choice.whole or choice.first is not None or choice.last is not None or finding is None:
        return [line for line in lines if _is_between(line.number, choice)], False
    numbers = {*what_led_to(trace, finding), finding.number}
    return [line for line in lines if line.number in numbers], True


def _is_between(number: int, choice: Choice) -> bool:
    return (choice.first is None or number >= choice.first) and (choice.last is None or number <= choice.last)


def _told(lines: Sequence[AnyLine]) -> Iterator[str]:
    # One pass over all steps, so that a packet is described once.
    stories = sentences(record_of(line) for line in lines if isinstance(line, Line))
    for line in lines:
        match line:
            case Line():
                told = next(stories)
                yield from numbered(line.number, line.told or told)
            case InputLine():
                yield from numbered(line.number, (f"[{_seconds(line.at)}] Input: {line.text}",))
            case LogLine():
                yield from numbered(line.number, (f"{line.source} logs: {line.text}",))
            case FindingLine():
                yield finding_text(line)


def finding_text(line: FindingLine) -> str:
    """Return a finding of a trace in one line."""
    if line.verdict == "healed":
        return f"  ✓  {line.invariant} holds again at {_seconds(line.at)}; it was: {line.message}"
    for_now = "" if line.persistent else " for the moment"
    return f"  ✗  {line.invariant} is broken{for_now} at {_seconds(line.at)}: {line.message}"


def _seconds(at: int) -> str:
    return f"{at / 1000:g} s"
