"""A shortest sequence, with a proof: every shorter one is tried.

A 1-minimal sequence need not be a shortest one.  Replays in process being exact, that can be settled: all
sequences with fewer inputs than the known one are tried, shorter ones first, so that the first that leads
to the violation is a shortest.  What that proves has three bounds, and the proof says them:

- the inputs are those of the trace, or of the known sequence, in the order of the trace, without those that
  only ask for a look at the invariants;
- in between, everything arrives, or the internal events happen in the recorded order: both are tried;
- the violation is the same one.

Sequences that differ only in where equal inputs stood are one where everything arrives in between, and are
tried once.  The number of sequences grows with the power of the length, hence a limit on replays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Final

from penstock._fuzz.inputs import Check
from penstock._minimize.cached_oracle import CachedOracle, Candidate
from penstock._minimize.ddmin import Minimal
from penstock._minimize.progress import Progress, UnkeptError
from penstock._minimize.recording import RecordedInput, Recording
from penstock._minimize.reproducing import Reproducer
from penstock.errors import PenstockError

MOST_REPLAYS: Final = 20_000


def refuse_inexact(reproducer: Reproducer) -> None:
    """Raise an error where replays are not exact, since they prove nothing."""
    if not reproducer.is_exact:
        raise PenstockError("With real processes nothing can be proved: leave --shortest out.")


def shortest(
    minimal: Minimal, reproducer: Reproducer, *, progress: Progress | None = None, most: int = MOST_REPLAYS
) -> Minimal:
    """Return a shortest sequence, and what is proved about it; `reproducer` has the whole script."""
    refuse_inexact(reproducer)
    books = progress if progress is not None else Progress(reproducer.script.digest())
    books.phase = "shorter sequences"
    try:
        return _proved(minimal, reproducer, books, most)
    except UnkeptError as error:
        raise PenstockError(str(error)) from None


def _proved(minimal: Minimal, reproducer: Reproducer, books: Progress, most: int) -> Minimal:
    script = reproducer.script
    trials = CachedOracle(reproducer, books)
    tried = 0
    for size in range(minimal.size):
        for candidate in _of_size(script, size):
            if tried >= most:
                return replace(
                    minimal,
                    replays=minimal.replays + tried,
                    seconds=minimal.seconds + books.seconds,
                    proof=_not_all(size, minimal.size, tried),
                )
            tried += 1
            if trials.passes(candidate):
                found = trials.attempt(candidate.script, candidate.inputs)
                own = candidate.script.only(candidate.inputs)
                kept = own if trials.passes(Candidate(own, candidate.inputs)) else candidate.script
                return replace(
                    minimal,
                    script=kept,
                    inputs=candidate.inputs,
                    message=found.message,
                    replays=minimal.replays + tried,
                    seconds=minimal.seconds + books.seconds,
                    proof=_proof(size, tried),
                )
    return replace(
        minimal,
        replays=minimal.replays + tried,
        seconds=minimal.seconds + books.seconds,
        proof=_proof(minimal.size, tried),
    )


def _of_size(script: Recording, size: int) -> Iterator[Candidate]:
    """Yield the sequences of so many inputs, by both ways of what happens in between."""
    useful = [cue for cue in script.inputs if not isinstance(cue.what, Check)]
    settling = replace(script, settles=True)
    seen: set[tuple[tuple[str, int], ...]] = set()
    for some in combinations(useful, size):
        looks = _look(some)
        if looks not in seen:
            seen.add(looks)
            yield Candidate(settling, some)
    for some in combinations(useful, size):
        yield Candidate(script, some)


def _look(some: Sequence[RecordedInput]) -> tuple[tuple[str, int], ...]:
    return tuple((str(cue), cue.lasts) for cue in some)


def _proof(size: int, tried: int) -> str:
    return (
        f"No sequence of fewer than {size} of the recorded inputs (other than checks), in their order, leads "
        f"to this violation, "
        f"neither if everything arrives in between nor in the recorded order of events: all were tried, "
        f"in {tried:,} replays."
    )


def _not_all(size: int, known: int, tried: int) -> str:
    return (
        f"Sequences of fewer than {size} inputs do not lead to this violation; those of {size} to "
        f"{known - 1} were too many to be tried ({tried:,} were)."
    )
