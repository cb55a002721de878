"""Passing violations: what was wrong for a while, and for how long.

A violation *passes* if what is wrong is mended before it has lasted for `persistent_ms` in which the
controllers could do something about it.  One that is there when the run ends, and has not lasted for that
long, is among them too: nobody knows whether it would have passed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from penstock._fuzz.fuzzing import Outcome
from penstock._fuzz.judging import Finding

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
    yield f"{number:,} violation{'' if number == 1 else 's'} passed without lasting:"
    longest = sorted(found, key=lambda each: -each.lasted)[:_MOST_TOLD]
    yield from (f"  {each}" for each in longest)
    if more := number - sum(each.number for each in longest):
        yield f"  and {more:,} more, none of which took longer."
