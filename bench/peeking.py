"""Minimising with a look ahead at each input (PEEK) and without: what is found, and what it takes.

    python -m bench.peeking [--only RUN] [--json | --markdown PAGE]

Three cases of `bench.sts_cases` on virtual time, and one run with a real process, that of
`bench.parallel_minimize` with silence cut short.  Each is minimised from the same trace in both ways, without
the steps that make inputs simpler.  `scouts` is how often inputs were played to look ahead: in process there
is one look for each replay, and checkpoints to come back to.

Where a controller cannot be forked, the paper's PEEK replays all inputs from the beginning for each of them,
which takes n times as long for n inputs (§5.0.6).

It fails, with 1, where a look ahead leads to more inputs than there are without.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from bench import parallel_minimize, sts_cases
from bench.nice_search import Rows, options_of, publish
from penstock._minimize.ddmin import minimise
from penstock._replay.live import LivePeekingReproducer
from penstock._replay.live_play import Waiting
from penstock._replay.recording import load_script
from penstock._replay.replaying import reproducer_of
from penstock.errors import PenstockError

NAME: Final = "peeking"
LIVE: Final = "leak, a real process"


@dataclass(frozen=True, slots=True)
class Row:
    """A minimisation as it was measured."""

    run: str
    peek: bool
    inputs: int
    size: int
    replays: int
    scouts: int
    seconds: float


def _fuzzed(case: str) -> Callable[[Path], Path]:
    return lambda folder: sts_cases.fuzzed(sts_cases.scenario_of(case), folder).folder


RUNS: Final[dict[str, Callable[[Path], Path]]] = {
    "in_flight_black_hole": _fuzzed("in_flight_black_hole"),
    "migration_black_hole": _fuzzed("migration_black_hole"),
    "timer_interleaving": _fuzzed("timer_interleaving"),
    LIVE: parallel_minimize.recorded,
}


def measure(run: str, trace: Path, *, peek: bool) -> Row:
    """Minimise a run, with a look ahead or without."""
    script = load_script(trace)
    wide = run not in sts_cases.CASES or sts_cases.CASES[run].is_wide
    reproducer = reproducer_of(script, wide=wide, waiting=Waiting(peek=peek))
    began = time.perf_counter()
    found = minimise(script, reproducer, simplify=False)
    seconds = time.perf_counter() - began
    looks = found.replays if peek else 0
    scouts = reproducer.scouts if isinstance(reproducer, LivePeekingReproducer) else looks
    return Row(run, peek, found.original, found.size, found.replays, scouts, round(seconds, 2))


def measured(run: str) -> Iterator[Row]:
    """Yield how a run is minimised in both ways."""
    with TemporaryDirectory() as folder:
        trace = RUNS[run](Path(folder))
        for peek in (False, True):
            row = measure(run, trace, peek=peek)
            how = "with" if peek else "without"
            print(f"{run} {how} a look ahead: {row.size} inputs, {row.seconds} s", file=sys.stderr)
            yield row


def faults(rows: Sequence[Row]) -> Iterator[str]:
    """Say in sentences what is not as it must be."""
    for plain, peeking in zip(rows[::2], rows[1::2], strict=True):
        if peeking.size > plain.size:
            yield f"{plain.run}: {peeking.size} inputs are left with a look ahead, {plain.size} without."


def table(rows: Sequence[Row]) -> Rows:
    """Return the figures as people read them."""
    shown = [each.name for each in fields(Row)]
    return [shown, *([str(getattr(row, name)) for name in shown] for row in rows)]


def main(arguments: list[str] | None = None) -> int:
    """Run the command."""
    parser = options_of(NAME, __doc__.splitlines()[0])
    parser.add_argument("--only", choices=RUNS, metavar="RUN", help=f"one run: {', '.join(RUNS)}")
    options = parser.parse_args(arguments)
    try:
        rows = [row for run in RUNS if options.only in (None, run) for row in measured(run)]
    except PenstockError as error:
        print(error, file=sys.stderr)
        return 2
    figures = {"rows": [asdict(row) for row in rows]}
    return publish(options, NAME, figures, {"With a look ahead and without:": table(rows)}, faults(rows))


if __name__ == "__main__":
    sys.exit(main())
