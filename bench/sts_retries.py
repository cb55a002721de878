"""STS's Table 6.2: how often a subsequence is replayed, and how small the result gets, by chance.

    python -m bench.sts_retries [--chance 0.4] [--samples 100] [--rounds 2] [--json | --markdown PAGE]

The controller fails at the third recovery of a port, but only with the probability `--chance`, by dice that
no replay puts back.  A run in which it failed is minimised with up to one to ten replays of each subsequence,
several times over; the sizes are means.  A run that is not seen to fail at all keeps all its inputs.

Beside that, the shortest sequence is tried with as many replays again and again: a bug of probability p is
observed within r replays with probability 1 - (1 - p)^r (STS §5.0.4), so it is missed with (1 - p)^r.  How
often it was missed must not be something that happens once in a thousand times or less if that is true.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from math import comb
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import Any, Final, Self

from bench import sts_dice
from bench.nice_search import Rows, options_of, publish
from bench.sts_cases import fuzzed
from penstock._minimize.ddmin import NotReproducedError, chance_of_missing, minimise
from penstock._replay.guided import Attempt
from penstock._replay.in_process import VirtualReproducer
from penstock._replay.recording import RecordedInput, Recording, load_script
from penstock._scenario.scenario import Scenario
from penstock.errors import PenstockError

NAME: Final = "sts_retries"
PAPER: Final = {1: 65, 2: 20, 3: 15, 4: 12, 5: 9, 6: 9, 7: 9, 8: 6, 9: 6, 10: 6}
"""Table 6.2: the size of the result by the most replays of each subsequence."""
TOO_UNLIKELY: Final = 0.001
EVENTS: Final = 80


class Retrying:
    """A reproducer whose controller does not always do the same, so that it is worth trying again."""

    is_exact: Final = False

    def __init__(self, reproducer: VirtualReproducer) -> None:
        self._reproducer = reproducer
        self.script = reproducer.script

    def run(self, inputs: Sequence[RecordedInput], *, tries: int = 1) -> Attempt:
        """Replay until the violation comes, but no oftener than that."""
        seconds = 0.0
        for number in range(1, tries + 1):
            attempt = self._reproducer.run(inputs)
            seconds += attempt.seconds
            if attempt.reproduced or number == tries:
                return replace(attempt, tries=number, seconds=seconds)
        raise PenstockError(f"Nothing can be replayed {tries} times: give a number from 1 up.")

    def record(self, inputs: Sequence[RecordedInput], path: Path, *, home: Path | None = None) -> Attempt:
        """Replay once, and write what happens as a trace."""
        return self._reproducer.record(inputs, path, home=home)

    def rewritten(self, inputs: Sequence[RecordedInput]) -> Recording | None:
        """Return a replay as a script of its own, if it leads to the violation."""
        return self._reproducer.rewritten(inputs)

    def with_script(self, script: Recording) -> Self:
        """Return a reproducer for another script."""
        return type(self)(self._reproducer.with_script(script))


@dataclass(frozen=True, slots=True)
class Row:
    """What so many replays of each subsequence led to."""

    tries: int
    size: float
    replays: float
    seconds: float
    missed: float
    expected: float
    samples: int
    paper_size: int

    @property
    def likelihood(self) -> float:
        """How likely as many misses or more, or as many or fewer, are if the formula is true."""
        misses = round(self.missed * self.samples)
        return min(self._share(range(misses + 1)), self._share(range(misses, self.samples + 1)))

    def _share(self, numbers: range) -> float:
        chance = self.expected
        return sum(comb(self.samples, n) * chance**n * (1 - chance) ** (self.samples - n) for n in numbers)


def recorded(folder: Path) -> Recording:
    """Return a run in which the controller failed; no order of messages matters for that."""
    sts_dice.load(1.0, 0)
    scenario = Scenario(
        {"apps": ["sts_chance_app.py"]},
        "single,3",
        fuzz={
            "profile": "traffic",
            "rates": {"odd_packet": 0, "wait": 0, "check": 0, "link_failure": 0.6, "link_recovery": 1},
            "events": EVENTS,
            "invariants": ["ControllerCrash"],
        },
        name=NAME,
        folder=Path(__file__).parent,
    )
    return replace(load_script(fuzzed(scenario, folder).folder), settles=True)


def shortest(script: Recording) -> tuple[RecordedInput, ...]:
    """Return the fewest inputs of a run with which the controller can fail."""
    sts_dice.load(1.0, 0)
    return minimise(script, VirtualReproducer(script), simplify=False).inputs


def measure(
    script: Recording, fewest: Sequence[RecordedInput], tries: int, chance: float, samples: int, rounds: int
) -> Row:
    """Minimise a run some times, and count how often the shortest sequence is missed."""
    reproducer = Retrying(VirtualReproducer(script))
    sizes, replays, seconds = [], [], []
    for seed in range(rounds):
        sts_dice.load(chance, seed)
        try:
            minimal = minimise(script, reproducer, tries=tries, simplify=False, confidence=0.9999)
        except NotReproducedError as error:
            sizes.append(len(script.inputs))
            replays.append(error.attempt.tries)
            seconds.append(error.attempt.seconds)
            continue
        sizes.append(minimal.size)
        replays.append(minimal.replays)
        seconds.append(minimal.seconds)
    sts_dice.load(chance, tries)
    alone = reproducer.with_script(script.only(fewest))
    missed = sum(not alone.run(fewest, tries=tries).reproduced for _ in range(samples))
    return Row(
        tries,
        round(mean(sizes), 1),
        round(mean(replays), 1),
        round(mean(seconds), 2),
        round(missed / samples, 4),
        round(chance_of_missing(chance, tries), 4),
        samples,
        PAPER[tries],
    )


def faults(rows: Sequence[Row]) -> Iterator[str]:
    """Say in sentences what is not as it must be."""
    for row in rows:
        if row.likelihood < TOO_UNLIKELY:
            yield (
                f"With {row.tries} replays {row.missed:.1%} were missed where {row.expected:.1%} are "
                f"expected; the likelihood of that is {row.likelihood:.2g}."
            )
    first, last = rows[0], rows[-1]
    if last.size > first.size:
        yield (
            f"More replays made the result larger: {first.size} inputs with up to {first.tries} of each "
            f"subsequence, {last.size} with up to {last.tries}."
        )


HEADINGS: Final = ("replays of each", "size", "replays", "seconds", "missed", "expected", "paper: size")


def table(rows: Sequence[Row]) -> Rows:
    """Return the figures as people read them."""
    return [
        HEADINGS,
        *(
            [
                f"up to {row.tries}",
                f"{row.size:.1f}",
                f"{row.replays:.1f}",
                f"{row.seconds:.2f}",
                f"{row.missed:.1%}",
                f"{row.expected:.1%}",
                str(row.paper_size),
            ]
            for row in rows
        ),
    ]


def main(arguments: list[str] | None = None) -> int:
    """Run the command."""
    parser = options_of(NAME, __doc__.splitlines()[0])
    parser.add_argument("--chance", type=float, default=0.4, help="how likely the controller fails")
    parser.add_argument("--samples", type=int, default=100, help="how often the shortest sequence is tried")
    parser.add_argument("--rounds", type=int, default=2, help="how often the run is minimised")
    options = parser.parse_args(arguments)
    if not 0 < options.chance < 1 or options.samples < 1 or options.rounds < 1:
        parser.error("the chance is between 0 and 1, and there is at least one sample and one round")
    try:
        with TemporaryDirectory() as folder:
            script = recorded(Path(folder))
            fewest = shortest(script)
            rows = [
                measure(script, fewest, tries, options.chance, options.samples, options.rounds)
                for tries in PAPER
            ]
    except PenstockError as error:
        print(error, file=sys.stderr)
        return 2
    figures: dict[str, Any] = {
        "chance": options.chance,
        "inputs": len(script.inputs),
        "shortest": len(fewest),
        "rows": [asdict(row) for row in rows],
    }
    title = (
        f"A bug that shows with a probability of {options.chance:g}, {len(script.inputs)} inputs at first:"
    )
    return publish(options, NAME, figures, {title: table(rows)}, faults(rows))


if __name__ == "__main__":
    sys.exit(main())
