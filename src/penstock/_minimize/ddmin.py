"""Minimising: from a long recorded run to the few inputs that its violation takes.

1. All inputs must lead to the violation again; otherwise there is nothing to go by.  If they do so too when
   everything arrives before the next input, no recorded order is followed from here on: it would only tie
   what is left to the inputs that are left out.
2. Units of inputs are left out by delta debugging (`delta`) until none can be.
3. Then single inputs, also those that belong in pairs.
4. What is left is made simpler (`shrinking`): the order of internal events, times, packets, hosts, topology.
5. Once more single inputs, since in a simpler run one more may be idle.  The result is 1-minimal: with
   any one of its inputs left out, the violation does not come.

Replays with real processes are short of patience while inputs are left out (see `_replay.live`), so what they
say of the last few is a good guess.  So a result is *confirmed*: it stands if a careful replay shows the
violation, in one of a few tries; else everything is done again with care.  If that is broken off, it is what
goes on the next time.  Exact replays need no confirmation, nor do those that were careful all along.

A 1-minimal sequence need not be a *shortest* one.  Replays in process being exact, that can be settled: all
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

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import ceil, log
from pathlib import Path
from typing import Final

from penstock._fuzz.inputs import Check
from penstock._minimize.delta import (
    CachedOracle,
    Candidate,
    Unit,
    cues_of,
    ddmin,
    hosts_of,
    one_by_one,
    simplify_candidate,
    singles,
    units_of,
)
from penstock._minimize.progress import Progress, Step, UnkeptError, Watcher, kept_under
from penstock._replay.guided import Announce, Attempt, Reproducer
from penstock._replay.live import LiveReproducer
from penstock._replay.recording import RecordedInput, Recording
from penstock._replay.replaying import Origin
from penstock.errors import PenstockError

_ROUNDS: Final = 3
"""How often what is left is made simpler and then shorter again."""
_SAMPLES: Final = 4
"""How many replays it takes to guess how likely a violation is."""


@dataclass(frozen=True, slots=True)
class Minimal:
    """A shortest sequence found, and what it took to find it."""

    script: Recording
    """What the inputs are played by: what is expected between them."""
    inputs: tuple[RecordedInput, ...]
    message: str
    """What the violation says in it."""
    original: int
    """How many inputs there were at first."""
    replays: int
    seconds: float
    """How long the replays took."""
    steps: tuple[Step, ...]
    resumed: int = 0
    """How many of the answers were there from a run before this one."""
    proof: str = ""
    """What is proved about the length, if a search was asked for."""
    tries: int = 1
    """How often each sequence was tried before it counted as one that does not reproduce."""
    chance: float = 1.0
    """How likely a replay of all inputs shows the violation, as far as that was found out."""

    @property
    def missing(self) -> float:
        """How likely a sequence that shows the violation as often as all inputs do was given up."""
        return chance_of_missing(self.chance, self.tries)

    @property
    def size(self) -> int:
        """How many inputs there are."""
        return len(self.inputs)

    @property
    def internal(self) -> int:
        """How many internal events have to happen in a certain order."""
        if self.script.settles:
            return 0
        return sum(map(len, self.script.expected[self.script.engine == "fuzz" :]))


class NotReproducedError(PenstockError):
    """All inputs together do not lead to the violation again."""

    def __init__(self, attempt: Attempt) -> None:
        where = f" The first difference is at {attempt.divergence}." if attempt.divergence else ""
        often = f" in {attempt.tries} tries" if attempt.tries > 1 else ""
        super().__init__(f"Replaying all inputs does not reproduce the violation{often}.{where}")
        self.attempt = attempt

    def __reduce__(self) -> tuple[type[NotReproducedError], tuple[Attempt]]:
        """Let the error pass from one process to another: it is made of its attempt."""
        return type(self), (self.attempt,)


def tries_needed(chance: float, confidence: float) -> int:
    """Return how many replays see a violation of a given chance at least once, with a confidence."""
    if chance >= 1:
        return 1
    return max(1, ceil(log(1 - confidence) / log(1 - chance)))


def chance_of_missing(chance: float, tries: int) -> float:
    """Return how likely a violation of a given chance is not seen in so many replays (STS §5.0.4)."""
    return float((1 - chance) ** tries)


def conditions(script: Recording, tries: int, terms: str = "") -> str:
    """Return what answers are kept under: all that they depend on."""
    return f"{script.digest()} {tries} {terms}".rstrip()


def minimise(
    script: Recording,
    reproducer: Reproducer,
    *,
    progress: Watcher | None = None,
    announce: Announce | None = None,
    folder: Path | None = None,
    tries: int = 1,
    simplify: bool = True,
    confidence: float = 0.95,
    terms: str = "",
) -> Minimal:
    """Return a 1-minimal sequence of a script's inputs that still leads to its violation.

    `progress` is told of each replay, `announce` before it.  With a folder, answers are kept there, and a
    minimisation that was killed goes on with those it has.  Where replays are not exact, each sequence is
    tried up to `tries` times, but no oftener than it takes to see, with a `confidence`, what all inputs show
    by chance.
    `terms` is what else the answers depend on: those that were kept under others are not used.
    """
    if script.violation is None:
        raise PenstockError("The trace has no persistent violation: there is nothing to minimise.")
    kept = Progress(conditions(script, tries, terms), folder, progress, announce)
    try:
        return _minimise(script, reproducer, kept, tries, confidence, simplify=simplify)
    except UnkeptError as error:
        raise PenstockError(str(error)) from None


def _minimise(
    script: Recording,
    reproducer: Reproducer,
    kept: Progress,
    tries: int,
    confidence: float,
    *,
    simplify: bool,
) -> Minimal:
    trials = CachedOracle(reproducer, kept, tries)
    first = trials.attempt(script, script.inputs)
    if kept.resumed and not reproducer.is_exact:
        # What a replay teaches about time is in no file, and all inputs teach the most.  Besides, what did
        # not come then may come now.
        again = reproducer.run(script.inputs, tries=tries)
        first = first if first.reproduced else again
    if not first.reproduced:
        raise NotReproducedError(first)
    chance = 1.0 if reproducer.is_exact or tries == 1 else _chance(script, trials, confidence)
    found = _fewest(_calmest(script, trials) if simplify else Candidate(script, script.inputs), trials)
    for _ in range(_ROUNDS if simplify else 0):
        before = found.inputs
        found = simplify_candidate(found, trials, hosts_of(script))
        kept.phase = "single inputs"
        found = _one_by_one(found, trials)
        if found.inputs == before:
            break
    found = _tidy(found, trials)
    last = trials.attempt(found.script, found.inputs)
    return Minimal(
        found.script,
        found.inputs,
        last.message or first.message,
        len(script.inputs),
        kept.replays,
        kept.seconds,
        tuple(kept.steps),
        kept.resumed,
        tries=trials.tries,
        chance=chance,
    )


def _chance(script: Recording, trials: CachedOracle, confidence: float) -> float:
    """Find out how often all inputs lead to the violation, and try as often as that makes necessary."""
    most, trials.tries = trials.tries, 1
    attempts = []
    for number in range(1, _SAMPLES + 1):
        trials.progress.phase = f"how often all inputs show it, run {number} of {_SAMPLES}"
        attempts.append(trials.attempt(script, script.inputs, again=number))
    # Laplace's rule: as if it had been seen once and not seen once before.
    chance = (sum(attempt.reproduced for attempt in attempts) + 1) / (_SAMPLES + 2)
    trials.tries = min(most, tries_needed(chance, confidence))
    return chance


def _calmest(script: Recording, trials: CachedOracle) -> Candidate:
    """Return all inputs with no order of internal events to follow, if none is needed."""
    calm = Candidate(replace(script, settles=True), script.inputs)
    is_worth_asking = trials.is_exact and script.engine == "fuzz"
    return calm if is_worth_asking and trials.passes(calm) else Candidate(script, script.inputs)


def _fewest(all_of_them: Candidate, trials: CachedOracle) -> Candidate:
    """Leave units out, then single inputs."""
    script = all_of_them.script

    def leads_there(units: tuple[Unit, ...]) -> bool:
        return trials.passes(Candidate(script, cues_of(units)))

    trials.progress.phase = "units"
    if leads_there(()):
        return Candidate(script, ())
    units = ddmin(units_of(all_of_them.inputs), leads_there)
    trials.progress.phase = "single inputs"
    return Candidate(script, cues_of(one_by_one(singles(units), leads_there)))


def _tidy(found: Candidate, trials: CachedOracle) -> Candidate:
    """Return a candidate whose script has its inputs and no others, if it then still does."""
    tidy = Candidate(found.script.only(found.inputs), found.inputs)
    return tidy if trials.passes(tidy) else found


def _one_by_one(found: Candidate, trials: CachedOracle) -> Candidate:
    kept = one_by_one(found.inputs, lambda some: trials.passes(Candidate(found.script, some)))
    return Candidate(found.script, kept)


# Confirming.


_LEAST_TRIES: Final = 3


def confirming_tries(minimal: Minimal) -> int:
    """Return how often a minimal sequence with real processes is played until the violation is seen."""
    return max(minimal.tries, _LEAST_TRIES)


def is_confirmed(minimal: Minimal, reproducer: Reproducer) -> bool:
    """Tell whether a result that was found with less patience stands with all of it."""
    if not isinstance(reproducer, LiveReproducer) or reproducer.waiting.careful:
        return True
    patient = reproducer.with_script(minimal.script).with_waiting(replace(reproducer.waiting, careful=True))
    return patient.run(minimal.inputs, tries=confirming_tries(minimal)).reproduced


def find_confirmed_minimum(
    origin: Origin,
    search: Callable[[Origin], Minimal],
    folder: Path,
    announce: Announce = lambda _: None,
) -> tuple[Minimal, Origin]:
    """Return what a search for few inputs finds, if need be with care, and the origin as it was searched.

    `folder` is where the search keeps its answers.
    """
    careful = replace(origin, waiting=replace(origin.waiting, careful=True), again=True)
    if not _is_begun(careful, folder):
        minimal = search(origin)
        announce("confirming the minimal sequence")
        if is_confirmed(minimal, origin.reproducer(minimal.script)):
            return minimal, origin
        announce("again from the start, with longer time-outs")
    return search(careful), careful


def _is_begun(origin: Origin, folder: Path) -> bool:
    """Tell whether the answers in a folder are those of a search from this origin."""
    kept = kept_under(folder)
    return kept.endswith(f" {origin.terms}") and kept.startswith(f"{origin.script().digest()} ")


# A shortest sequence.


MOST_REPLAYS: Final = 20_000


def refuse_inexact(reproducer: Reproducer) -> None:
    """Raise an error where replays are not exact, since they prove nothing."""
    if not reproducer.is_exact:
        raise PenstockError("Replays of real processes prove nothing: leave out --shortest.")


def shortest(
    minimal: Minimal, reproducer: Reproducer, *, progress: Progress | None = None, most: int = MOST_REPLAYS
) -> Minimal:
    """Return a shortest sequence, and what is proved about it; `reproducer` has the whole script."""
    refuse_inexact(reproducer)
    books = progress if progress is not None else Progress(reproducer.script.digest())
    books.phase = "shorter sequences"
    try:
        return _prove_shortest(minimal, reproducer, books, most)
    except UnkeptError as error:
        raise PenstockError(str(error)) from None


def _prove_shortest(minimal: Minimal, reproducer: Reproducer, books: Progress, most: int) -> Minimal:
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
