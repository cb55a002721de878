"""Minimising a run with a real process: one worker against several, by the clock.

    python -m bench.parallel_minimize [--workers 2] [--rounds 1] [--short] [--json | --markdown PAGE]

The case is a controller with a leak (`leaking_app.py`), run as a process of its own by os-ken: at the fourth
recovery of a port it ends.  That comes whatever the load of the machine is, so all must find the same; what
its last lines were does not count (`wide`).

The inputs are given as written here, most of them noise, and `APART_MS` apart.  They are minimised by one
worker, by several of this machine, and by as many of a Dask cluster, always from the same trace and without
the steps that make inputs simpler; `seconds` is by the clock, with the start of the workers but not that of
the cluster.  With several `rounds`, one worker and several take turns, and the sums are compared.

Inputs keep their recorded distances, as they must where a bug depends on time, so replays mostly wait.  With
`--short`, silence is cut short; then a replay is mostly work, and workers need processors of their own.

`guessed` is how many replays were begun before they were asked for, `used` how many of these were asked for
then.  `path` is how many replays came one after the other, so `replays` / `path` is what the clock would show
if all replays took the same time and the machine had nothing else to do.  `cpu_seconds` is what the one who
minimises, the workers and their controllers used together; `own_seconds` what of that the one who minimises
used (of a cluster, only that is known); `load` is the machine's load average in the end.

It fails, with 1, where the results differ or the ratio is below `LEAST_RATIO` for two workers.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, fields
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from bench.nice_search import Rows, options_of, publish
from penstock._controllers.tcp import ports
from penstock._fuzz.fuzzing import Fuzzing, fuzz
from penstock._fuzz.inputs import input_of
from penstock._fuzz.invariants import invariants_of
from penstock._minimize.ddmin import Minimal, minimise
from penstock._minimize.parallel import Work, minimise_in_parallel
from penstock._minimize.workers import DaskCrew, LocalCrew, WorkerPool
from penstock._replay.live_play import Waiting
from penstock._replay.replaying import Origin
from penstock._scenario.scenario import Scenario
from penstock.errors import PenstockError

NAME: Final = "parallel_minimize"
LEAST_RATIO: Final = 1.6
"""How much faster two workers have to be."""
APP: Final = Path(__file__).with_name("leaking_app.py")
APART_MS: Final = 50
NOISE: Final = ("send h1 to h3 ping 1", "send h4 to h2 udp 2", "wait 50", "send h3 to h4 tcp 3")
LEAKS: Final = ("h1-s1", "h2-s2", "h3-s3", "h4-s4")
INPUTS: Final = tuple(
    text for link in LEAKS for text in (*NOISE, f"fail {link}", *NOISE[:2], f"recover {link}", NOISE[3])
)


@dataclass(frozen=True, slots=True)
class Row:
    """A minimisation as it was measured."""

    by: str
    workers: int
    inputs: int
    size: int
    replays: int
    guessed: int
    used: int
    path: int
    seconds: float
    cpu_seconds: float
    own_seconds: float
    load: float
    sequence: tuple[str, ...]


def scenario() -> Scenario:
    """Return a network under a controller that leaks."""
    words = [sys.executable, "-m", "penstock.launch", str(APP), "--port", "{port}"]
    return Scenario(
        name=NAME,
        topology="linear,4",
        controller={"cmd": words, "port": ports.free_port()},
        fuzz={"invariants": ["ControllerLiveness"]},
    )


def recorded(folder: Path) -> Path:
    """Give the inputs to the network, and return the folder of the run."""

    async def conduct(fuzzing: Fuzzing) -> None:
        for text in INPUTS:
            await fuzzing.perform(input_of(text))
            await fuzzing.stage.wait(APART_MS)

    return asyncio.run(fuzz(scenario(), folder, invariants=invariants_of, conduct=conduct)).folder


class Watch:
    """A watch that starts when it is made: it shows seconds by the clock, of work, and of our own work."""

    def __init__(self) -> None:
        self._began, self._times = time.perf_counter(), os.times()

    def read(self) -> tuple[float, float, float]:
        """Return what the watch shows."""
        now, then = os.times(), self._times
        own = now.user + now.system - then.user - then.system
        others = now.children_user + now.children_system - then.children_user - then.children_system
        return time.perf_counter() - self._began, own + others, own


def alone(origin: Origin) -> Row:
    """Minimise with one worker."""
    watch = Watch()
    script = origin.script()
    found = minimise(script, origin.reproducer(script), simplify=False)
    work = Work(found.replays, 0, 0, found.replays)
    return _row("one worker", 1, found, work, watch.read())


def together(origin: Origin, workers: int) -> Row:
    """Minimise with several workers of this machine."""
    watch = Watch()
    with closing(LocalCrew(workers)) as crew:
        found, work = _crewed(origin, crew)
    return _row("local workers", workers, found, work, watch.read())


def on_cluster(origin: Origin, workers: int) -> Row:
    """Minimise with a Dask cluster of this machine."""
    try:
        dask: Any = import_module("distributed")
    except ImportError:
        raise PenstockError("A cluster needs Dask: install penstock[cluster].") from None
    options = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": ":0"}
    with dask.LocalCluster(**options) as cluster:
        watch = Watch()
        with closing(DaskCrew(cluster.scheduler_address)) as crew:
            found, work = _crewed(origin, crew)
        shown = watch.read()
    return _row("Dask", workers, found, work, shown)


def _crewed(origin: Origin, crew: WorkerPool) -> tuple[Minimal, Work]:
    work: list[Work] = []
    found = minimise_in_parallel(origin, crew, simplify=False, report=work.append)
    return found, work[0]


def _row(by: str, workers: int, found: Minimal, work: Work, shown: tuple[float, float, float]) -> Row:
    sequence = tuple(map(str, found.inputs))
    seconds, cpu, own = shown
    return Row(
        by,
        workers,
        found.original,
        found.size,
        found.replays,
        work.guessed,
        work.used,
        work.path,
        round(seconds, 2),
        round(cpu, 2),
        round(own, 2),
        round(os.getloadavg()[0], 1),
        sequence,
    )


def ratio_of(rows: Sequence[Row]) -> float:
    """Return how much faster the local workers were than one, over all rounds."""
    one = sum(row.seconds for row in rows if row.by == "one worker")
    return one / sum(row.seconds for row in rows if row.by == "local workers")


def faults(rows: Sequence[Row]) -> Iterator[str]:
    """Say in sentences what is not as it must be."""
    first = rows[0]
    for row in rows[1:]:
        if row.sequence != first.sequence:
            yield f"{row.by} found {row.sequence}, and {first.by} found {first.sequence}."
    ratio = ratio_of(rows)
    if ratio < LEAST_RATIO:
        yield f"{rows[1].workers} workers are {ratio:.2f} times as fast as one, not {LEAST_RATIO} times."


def table(rows: Sequence[Row]) -> Rows:
    """Return the figures as people read them."""
    shown = [each.name for each in fields(Row) if each.name != "sequence"]
    return [shown, *([str(getattr(row, name)) for name in shown] for row in rows)]


def _told(row: Row) -> Row:
    """Say how far it is, since it takes minutes."""
    print(f"{row.by}: {row.seconds} s, load {row.load}", file=sys.stderr)
    return row


def main(arguments: list[str] | None = None) -> int:
    """Run the command."""
    parser = options_of(NAME, __doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=2, choices=range(2, 65), metavar="N")
    parser.add_argument("--rounds", type=int, default=1, choices=range(1, 21), metavar="N")
    parser.add_argument("--short", action="store_true", help="cut silence short")
    options = parser.parse_args(arguments)
    try:
        with TemporaryDirectory() as folder:
            waiting = Waiting(careful=not options.short)
            origin = Origin.of(recorded(Path(folder)), wide=True, waiting=waiting)
            rows = []
            for _ in range(options.rounds):
                rows += [_told(alone(origin)), _told(together(origin, options.workers))]
            rows.append(_told(on_cluster(origin, options.workers)))
    except PenstockError as error:
        print(error, file=sys.stderr)
        return 2
    ratio = ratio_of(rows)
    figures = {"rows": [asdict(row) for row in rows], "ratio": round(ratio, 2)}
    title = f"A run with a real process, minimised {ratio:.2f} times as fast:"
    return publish(options, NAME, figures, {title: table(rows)}, faults(rows))


if __name__ == "__main__":
    sys.exit(main())
