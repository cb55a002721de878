"""What checking, proving, fuzzing and replaying come to, as small values for programs.

A result is true if nothing was found and there was something to judge, so `assert check("app.py")` means
what it says; `assert_holds` says in the error what was found, as a story, and how to look at it.  Nothing
heavy is imported here: whoever only wants to recognise a result need not load an engine.
"""

from __future__ import annotations

import builtins
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from penstock._base.files import nearest
from penstock._verdict.verdict import Verdict

if TYPE_CHECKING:
    from penstock._engine.next_steps import Suggestion

R = TypeVar("R")

MOST_LINES: Final = 60
"""How many lines of a story an error shows; of a longer one it shows the beginning and the end."""
_LINES_OF_BEGINNING: Final = 12


class Broken(AssertionError):
    """Something does not hold; the text is the story, `violations` what was found."""

    def __init__(self, text: str, violations: tuple[Violation, ...] = ()) -> None:
        super().__init__(text)
        self.violations = violations


@dataclass(frozen=True, slots=True)
class Violation:
    """A property that was broken: how, the story of it, and where it is written down."""

    property: str
    message: str
    story: str
    trace: Path | None = None
    confirmed: bool = True
    """Whether the run did the same when it was taken again."""

    @builtins.property
    def report_command(self) -> str:
        """The command that shows the story in a browser; empty if it was not written down."""
        return "" if self.trace is None else f"penstock report {shlex.quote(nearest(self.trace))}"

    def __str__(self) -> str:
        lines = [*_shorten(self.story.splitlines())]
        if not self.confirmed:
            lines += [
                "",
                ("The replay did not reproduce it: the program keeps state that Penstock does not see."),
            ]
        if self.trace is not None:
            lines += ["", f"See it with: {self.report_command}"]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Result(Generic[R]):
    """What an engine came to; `details` is all that it has to tell."""

    engine: str
    scenario: str
    result: str
    """The engine's own word: exhausted, proved, bounded, violation, violated, reproduced, …"""
    violations: tuple[Violation, ...]
    verdict: Verdict
    """What it came to, and each reason why that is not conclusive."""
    seconds: float
    remarks: tuple[str, ...]
    details: R
    next_steps: tuple[Suggestion, ...] = ()
    """What to try next where this is not conclusive, the most promising first."""

    @property
    def ok(self) -> bool:
        """Whether nothing was found, although there was something to judge."""
        return not self.violations and self.verdict.judged

    @property
    def conclusive(self) -> bool:
        """Whether nothing was left out, so that no violation means that there is none."""
        return self.verdict.is_conclusive

    @property
    def left_out(self) -> tuple[str, ...]:
        """What was left out that could matter, a reason each."""
        return tuple(map(str, self.verdict.reasons))

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        broken = ", ".join(dict.fromkeys(found.property for found in self.violations))
        word = f"violation of {broken}" if self.violations else self.result
        head = f"penstock {self.engine} of {self.scenario}: {word}"
        return "\n\n".join([head, *map(str, self.violations)])

    def assert_holds(self, *, conclusive: bool = False) -> None:
        """Raise `Broken` with the story if anything was found, or if nothing was judged.

        With `conclusive`, something that was left out is as bad.
        """
        if self.violations:
            raise Broken(str(self), self.violations)
        if not self.verdict.judged:
            raise Broken(self._inconclusive("nothing was judged"))
        if conclusive and not self.conclusive:
            raise Broken(self._inconclusive("this is not conclusive"))

    def _inconclusive(self, what: str) -> str:
        steps = (f"{number}. {step}" for number, step in enumerate(self.next_steps, 1))
        further = ["Next steps, in this order:", *steps] if self.next_steps else []
        return "\n".join([f"{self}: {what}.", *self.left_out, *self.remarks, *further])


@dataclass(frozen=True, slots=True)
class Minimised:
    """The few inputs of a run that its violation takes."""

    property: str
    message: str
    inputs: tuple[str, ...]
    before: int
    """How many inputs the run had."""
    replays: int
    seconds: float
    folder: Path
    """Where the minimal run is written, with a test."""

    @builtins.property
    def trace(self) -> Path:
        """The minimal run."""
        return self.folder / "trace.jsonl"


def _shorten(lines: list[str]) -> list[str]:
    if len(lines) <= MOST_LINES:
        return lines
    left_out = len(lines) - MOST_LINES
    return [
        *lines[:_LINES_OF_BEGINNING],
        f"     … {left_out} lines are left out here; the trace has them.",
        *lines[_LINES_OF_BEGINNING + left_out :],
    ]
