"""A fuzzing run told from its trace: what was done, what followed, what was logged, what was found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from penstock._explain.explaining import finding_cause_lines
from penstock._story.story import LONG, Story, fold_line, folds, numbered
from penstock._trace.causal_slice import what_led_to
from penstock._trace.retelling import record_of
from penstock._trace.trace import (
    FindingLine,
    FuzzTrace,
    InputLine,
    Line,
    LogLine,
    Trace,
    TraceLine,
    first_lasting,
)
from penstock.errors import PenstockError


@dataclass(frozen=True, slots=True)
class Choice:
    """Which part of a run is told: all, some lines by number, or what led to the first lasting violation."""

    whole: bool = False
    first: int | None = None
    last: int | None = None

    def __post_init__(self) -> None:
        if self.first is not None and self.last is not None and self.first > self.last:
            raise PenstockError(f"invalid range {self.first}–{self.last} of lines: give the lower first.")


def tell_run(trace: Trace, choice: Choice) -> Iterator[str]:
    """Yield the story of a run, or of the part of it that was chosen."""
    chosen, is_past = chosen_lines(trace, choice)
    finding = first_lasting(trace)
    causes = {} if finding is None else {finding.number: finding_cause_lines(trace, finding)}
    if not is_past:
        folded = _steps_to_fold(trace, choice)
        whole = not folded and choice.first is None and choice.last is None
        yield from _story_lines(chosen, causes, folded, whole=whole)
        return
    yield f"What led to the first persistent violation, {len(chosen):,} of {len(trace.items):,} lines:"
    yield ""
    yield from _story_lines(chosen, causes)
    yield ""
    yield "--whole shows all lines, --from and --to some of them."


def chosen_lines(trace: Trace, choice: Choice) -> tuple[list[TraceLine], bool]:
    """Return the lines of the chosen part of a run, and whether they are only what led to a violation."""
    finding = first_lasting(trace)
    asked = choice.whole or choice.first is not None or choice.last is not None
    if asked or finding is None or not isinstance(trace, FuzzTrace):
        return [line for line in trace.items if _is_between(line.number, choice)], False
    numbers = {*what_led_to(trace, finding), finding.number}
    return [line for line in trace.items if line.number in numbers], True


def _is_between(number: int, choice: Choice) -> bool:
    return (choice.first is None or number >= choice.first) and (choice.last is None or number <= choice.last)


def _steps_to_fold(trace: Trace, choice: Choice) -> frozenset[int]:
    """Return the steps of a long run that a search found did not matter, unless all or some are asked for."""
    asked = choice.whole or choice.first is not None or choice.last is not None
    if asked or trace.verdict is None or len(trace.lines) <= LONG:
        return frozenset()
    return frozenset(trace.verdict.needless)


def _story_lines(
    lines: Sequence[TraceLine],
    causes: Mapping[int, Sequence[str]],
    folded: frozenset[int] = frozenset(),
    *,
    whole: bool = False,
) -> Iterator[str]:
    # One story of all steps, so that nothing is said twice; what a trace tells by itself refers to all of it.
    story = Story()
    hidden = frozenset(place for place, line in enumerate(lines) if line.number in folded)
    for place, group in folds(range(len(lines)), hidden):
        if group:
            yield fold_line([lines[each].number for each in group])
            continue
        line = lines[place]
        match line:
            case Line():
                told = story.step(line.number, record_of(line))
                yield from numbered(line.number, line.told if whole and line.told else told)
            case InputLine():
                yield from numbered(line.number, (f"[{_seconds(line.at)}] Input: {line.text}",))
            case LogLine():
                yield from numbered(line.number, (f"{line.source} logs: {line.text}",))
            case FindingLine():
                yield finding_text(line)
                yield from (f"     {text}" for text in causes.get(line.number, ()))
            case _:
                assert_never(line)


def finding_text(line: FindingLine) -> str:
    """Return a finding of a trace in one line."""
    if line.verdict == "healed":
        lasted = "" if line.lasted is None else f" after {_seconds(line.lasted)}"
        return f"  ✓  {line.invariant} holds again at {_seconds(line.at)}{lasted}; it was: {line.message}"
    if line.verdict == "repeated":
        first = "" if line.since is None else f", first at {_seconds(line.since)}"
        often = f"{line.times:,} times{first}, last at {_seconds(line.at)}"
        return f"  ✗  {line.invariant} was violated {often}: {line.message}"
    for_now = "" if line.persistent else " (not yet persistent)"
    return f"  ✗  {line.invariant} is violated{for_now} at {_seconds(line.at)}: {line.message}"


def _seconds(at: int) -> str:
    return f"{at / 1000:g} s"
