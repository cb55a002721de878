"""Minimising a run with a real process: one worker against several, by the clock.

    python -m bench.parallel_minimize [--workers 2] [--json | --markdown PAGE]

The case is that of `sts_cases` in which a host moves and packets go to where it was, with its controller a
process of its own.  Its inputs are given as written here, most of them noise with pauses in between, so that
a replay takes seconds, as those of a long run do.  Both minimisations are of the same trace, without the
steps that make the inputs simpler; `seconds` is by the clock, workers being started included.  `guessed` is
how many replays were begun before they were asked for, `used` how many of these were asked for then.

It fails, with 1, where the results differ or the ratio is below `LEAST_RATIO` for two workers.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from bench.nice_search import Rows, options_of, publish
from bench.sts_cases import live_scenario
from penstock.controllers.tcp import ports
from penstock.errors import PenstockError
from penstock.fuzz.fuzzing import Fuzzing, fuzz
from penstock.fuzz.inputs import input_of
from penstock.fuzz.invariants import invariants_of
from penstock.minimize.crew import LocalCrew, Origin
from penstock.minimize.ddmin import Minimal, minimise
from penstock.minimize.parallel import Work, minimise_in_parallel
from penstock.minimize.reproducers import reproducer_of

NAME: Final = "parallel_minimize"
CASE: Final = "migration_black_hole"
LEAST_RATIO: Final = 1.6
"""How much faster two workers have to be."""
NOISE: Final = (
    *("send h1 to h3 ping 1", "wait 200", "fail s1-s3", "send h3 to h4 udp 2", "wait 200"),
    *("recover s1-s3", "send h4 to h3 tcp 3", "wait 200", "send h4 to h1 ping 4"),
)
INPUTS: Final = (*NOISE, "send h2 to h1 ping 1", *NOISE * 3, "move h2 to {s3}")


@dataclass(frozen=True, slots=True)
class Row:
    """A minimisation as it was measured."""

    workers: int
    inputs: int
    size: int
    replays: int
    guessed: int
    used: int
    seconds: float
    sequence: tuple[str, ...]


def recorded(folder: Path) -> Path:
    """Give the inputs to the network, and return the folder of the run."""

    async def conduct(fuzzing: Fuzzing) -> None:
        spare = {place.node: str(place) for place in fuzzing.stage.setting.places}
        for text in INPUTS:
            await fuzzing.perform(input_of(text.format(**spare)))

    scenario = live_scenario(CASE, ports.free_port())
    return asyncio.run(fuzz(scenario, folder, invariants=invariants_of, conduct=conduct)).folder


def measure(origin: Origin, workers: int) -> Row:
    """Minimise with so many workers; with one, as without any."""
    work: list[Work] = []
    began = time.perf_counter()
    if workers == 1:
        script = origin.script()
        found = minimise(script, reproducer_of(script), simplify=False)
    else:
        with closing(LocalCrew(workers)) as crew:
            found = minimise_in_parallel(origin, crew, simplify=False, report=work.append)
    return _row(workers, found, work, time.perf_counter() - began)


def _row(workers: int, found: Minimal, work: Sequence[Work], seconds: float) -> Row:
    guessed, used = (work[0].guessed, work[0].used) if work else (0, 0)
    sequence = tuple(map(str, found.inputs))
    return Row(workers, found.original, found.size, found.replays, guessed, used, round(seconds, 2), sequence)


def faults(rows: Sequence[Row], ratio: float) -> Iterator[str]:
    """Say in sentences what is not as it must be."""
    one, several = rows
    if one.sequence != several.sequence:
        yield f"{several.workers} workers find {several.sequence}, and one finds {one.sequence}."
    if ratio < LEAST_RATIO:
        yield f"{several.workers} workers are {ratio:.2f} times as fast as one, not {LEAST_RATIO} times."


def table(rows: Sequence[Row]) -> Rows:
    """Return the figures as people read them."""
    shown = ("workers", "inputs", "size", "replays", "guessed", "used", "seconds")
    return [shown, *([str(getattr(row, name)) for name in shown] for row in rows)]


def main(arguments: list[str] | None = None) -> int:
    """Run the command."""
    parser = options_of(NAME, __doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=2, choices=range(2, 65), metavar="N")
    options = parser.parse_args(arguments)
    try:
        with TemporaryDirectory() as folder:
            origin = Origin.of(recorded(Path(folder)))
            rows = [measure(origin, 1), measure(origin, options.workers)]
    except PenstockError as error:
        print(error, file=sys.stderr)
        return 2
    ratio = rows[0].seconds / rows[1].seconds
    figures = {"rows": [asdict(row) for row in rows], "ratio": round(ratio, 2)}
    title = f"A run with a real process, minimised {ratio:.2f} times as fast:"
    return publish(options, NAME, figures, {title: table(rows)}, faults(rows, ratio))


if __name__ == "__main__":
    sys.exit(main())
