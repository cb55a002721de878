"""Minimising: from a long recorded run to the few inputs that its violation takes.

1. All inputs must lead to the violation again; otherwise there is nothing to go by.  If they do so too when
   everything arrives before the next input, no recorded order is followed from here on: it would only tie
   what is left to the inputs that are left out.
2. Units of inputs are left out by delta debugging (`delta`) until none can be.
3. Then single inputs, also those that belong in pairs.
4. What is left is made simpler (`shrinking`): the order of internal events, times, packets, hosts, topology.
5. Once more single inputs, since in a simpler run one more may be idle.  The result is 1-minimal: with
   any one of its inputs left out, the violation does not come.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from penstock._minimize.atomic_events import Unit, cues_of, singles, units_of
from penstock._minimize.cached_oracle import CachedOracle, Candidate
from penstock._minimize.delta import ddmin, one_by_one
from penstock._minimize.progress import Announce, Progress, Step, UnkeptError, Watcher
from penstock._minimize.recording import RecordedInput, Recording
from penstock._minimize.reproducing import Attempt, Reproducer, chance_of_missing, tries_needed
from penstock._minimize.shrinking import hosts_of, simplified
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
        super().__init__(f"The replay of all inputs does not lead to the violation again{often}.{where}")
        self.attempt = attempt

    def __reduce__(self) -> tuple[type[NotReproducedError], tuple[Attempt]]:
        """Let the error pass from one process to another: it is made of its attempt."""
        return type(self), (self.attempt,)


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
        raise PenstockError("The trace tells no violation that lasts, so there is nothing to minimise.")
    kept = Progress(conditions(script, tries, terms), folder, progress, announce)
    try:
        return _minimised(script, reproducer, kept, tries, confidence, simplify=simplify)
    except UnkeptError as error:
        raise PenstockError(str(error)) from None


def _minimised(
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
        found = simplified(found, trials, hosts_of(script))
        kept.phase = "single inputs"
        found = _one_by_one(found, trials)
        if found.inputs == before:
            break
    found = _tidied(found, trials)
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


def _tidied(found: Candidate, trials: CachedOracle) -> Candidate:
    """Return a candidate whose script has its inputs and no others, if it then still does."""
    tidy = Candidate(found.script.only(found.inputs), found.inputs)
    return tidy if trials.passes(tidy) else found


def _one_by_one(found: Candidate, trials: CachedOracle) -> Candidate:
    kept = one_by_one(found.inputs, lambda some: trials.passes(Candidate(found.script, some)))
    return Candidate(found.script, kept)
