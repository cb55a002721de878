"""Reproducers: what can try whether some inputs of a script still lead to its violation.

Whoever minimises knows no more of a run than this: it hands some of a script's cues to a `Reproducer`
and hears whether the violation came again.  In process that is exact and one try is enough.  With real
processes it is not, and a reproducer may be told to try several times; it stops as soon as it knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log
from pathlib import Path
from typing import Protocol, Self

from penstock._minimize.recording import RecordedInput, Recording


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first event in which a replay differed from what was recorded."""

    line: int
    expected: str
    found: str = ""

    def __str__(self) -> str:
        instead = f", and there was {self.found}" if self.found else ", and did not happen"
        return f"line {self.line}: {self.expected} was expected{instead}"


@dataclass(frozen=True, slots=True)
class Attempt:
    """How a replay of some inputs went."""

    reproduced: bool
    message: str = ""
    """What the violation said this time."""
    invariant: str = ""
    divergence: Divergence | None = None
    skipped: tuple[int, ...] = ()
    """The lines of the inputs that had become impossible."""
    followed: int = 0
    """How many internal events happened as expected."""
    absent: int = 0
    """How many were expected and did not happen."""
    unexpected: int = 0
    """How many happened that nobody expected."""
    needed: int | None = None
    """How many of the inputs had been given when the violation was there."""
    seconds: float = 0.0
    tries: int = 1
    hits: int = 0
    """In how many of the tries the violation came."""

    @property
    def is_exact(self) -> bool:
        """Whether all went as recorded."""
        return self.divergence is None and not self.skipped


class Reproducer(Protocol):
    """Something that replays inputs of its script."""

    script: Recording

    @property
    def is_exact(self) -> bool:
        """Whether the same inputs always lead to the same, so that one try says it all."""
        ...

    def run(self, inputs: Sequence[RecordedInput], *, tries: int = 1) -> Attempt:
        """Replay some of the script's inputs, in their order; try up to so many times."""
        ...

    def record(self, inputs: Sequence[RecordedInput], path: Path, *, home: Path | None = None) -> Attempt:
        """Replay some of the script's inputs once, and write what happens as a trace.

        Whoever moves the trace says where to: it tells where the scenario is from there.
        """
        ...

    def rewritten(self, inputs: Sequence[RecordedInput]) -> Recording | None:
        """Return a replay of some inputs as a script of its own, if it leads to the violation."""
        ...

    def with_script(self, script: Recording) -> Self:
        """Return a reproducer for another script, which shares with this one what is costly to make."""
        ...


def tries_needed(chance: float, confidence: float) -> int:
    """Return how many replays see a violation of a given chance at least once, with a confidence."""
    if chance >= 1:
        return 1
    return max(1, ceil(log(1 - confidence) / log(1 - chance)))


def chance_of_missing(chance: float, tries: int) -> float:
    """Return how likely a violation of a given chance is not seen in so many replays (STS §5.0.4)."""
    return float((1 - chance) ** tries)


def least_chance(hits: int, tries: int, confidence: float = 0.95) -> float:
    """Return what the chance of a violation that came so often is at least, with a confidence.

    This is the lower end of the one-sided Clopper-Pearson interval, found by halving.
    """
    if hits == 0:
        return 0.0
    low, high = 0.0, hits / tries
    for _ in range(60):
        middle = (low + high) / 2
        if _at_least(hits, tries, middle) < 1 - confidence:
            low = middle
        else:
            high = middle
    return low


def _at_least(hits: int, tries: int, chance: float) -> float:
    """Return how likely there are at least so many hits."""
    from math import comb

    return sum(comb(tries, k) * chance**k * (1 - chance) ** (tries - k) for k in range(hits, tries + 1))
