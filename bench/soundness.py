"""Programs whose truth is known by construction, judged by `check` and by `verify`.

    python -m bench.soundness [--engine ENGINE] [--only TEXT] [--every N] [--seconds S] [--jobs N] [--json]

The programs are generated from the tables in `tests/soundness`.  Each either has a bug within its scenario or
has none, and each is judged in a process of its own:

- `wrong`: there is a bug, and the verdict is that nothing can go wrong;
- `false_alarms`: there is none, and the verdict is a violation;
- `late`: there was no verdict after so many seconds of CPU time;
- `bounded`: the verdict says what was left out, which is honest; `bounded_bugs` of these have a bug;
- `found` bugs, and programs `cleared` that have none.

The command fails if anything is wrong, a false alarm or late, or `check` leaves over 15 % of the bugs open.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import select
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from tests.soundness.corpus import corpus
from tests.soundness.judging import Judged, by_check, by_verify
from tests.soundness.programs import Program

ENGINES: Final = {"check": by_check, "verify": by_verify}
MOST_BOUNDED: Final = 0.15
"""How many of the programs with a bug `check` may leave open."""

PATIENCE: Final = 10
"""How many times as long by the clock a program may take, on a machine that has other things to do."""

_EACH: Final = 100
"""After how many programs it is told how far it is, where nobody watches."""

WORDS: Final = ("wrong", "false_alarms", "late", "bounded", "bounded_bugs", "found", "cleared")


class Row(NamedTuple):
    """What an engine made of a program."""

    engine: str
    program: str
    kind: str
    word: str
    told: str
    seconds: float


def verdict_on(truth: str, judged: Judged) -> str:
    """Return what a judgement is worth, given the truth."""
    if judged.word in ("bounded", "late"):
        return judged.word
    if truth == "bug":
        return "found" if judged.word == "found" else "wrong"
    if truth == "safe":
        return "cleared" if judged.word == "clear" else "false_alarms"
    # The bug is outside of the scope that the scenario and the defaults set; what is told of that counts.
    return "found" if judged.word == "found" else "cleared"


class _Running(NamedTuple):
    engine: str
    program: Program
    began: float
    pid: int
    pipe: int


def _begin(engine: str, program: Program, folder: Path, seconds: int) -> _Running:
    """Have a program judged by another process, which inherits all that was imported."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writing)
        return _Running(engine, program, time.monotonic(), pid, reading)
    os.close(reading)
    os.setpgid(0, 0)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    try:
        judged = _judged(ENGINES[engine], program, folder)
        os.write(writing, json.dumps(judged).encode())
    finally:
        os._exit(0)


def _judged(engine: Callable[[Program, Path], Judged], program: Program, folder: Path) -> Judged:
    warnings.simplefilter("ignore")
    # Numbers of processes come again, since programs are judged in workers of their own.
    own = Path(tempfile.mkdtemp(dir=folder))
    os.chdir(own)
    try:
        return engine(program, own)
    except Exception as error:
        return Judged("failed", (f"{type(error).__name__}: {error}",))


def _end(running: _Running) -> Row:
    """Take in what another process says, or that it says nothing."""
    ready = select.select([running.pipe], [], [], 0)[0]
    said = b"".join(iter(lambda: os.read(running.pipe, 65536), b"")) if ready else b""
    if not ready:
        os.killpg(running.pid, signal.SIGKILL)
    os.close(running.pipe)
    _, status, used = os.wait4(running.pid, 0)
    late = os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGKILL, signal.SIGXCPU)
    judged = Judged(*json.loads(said)) if said else Judged("late" if late else "failed")
    program, engine = running.program, running.engine
    word = "wrong" if judged.word == "failed" else verdict_on(getattr(program, engine), judged)
    return Row(
        engine,
        program.name,
        program.kind,
        word,
        "; ".join(judged.reasons)[:300],
        used.ru_utime + used.ru_stime,
    )


def judge_all(
    programs: Sequence[Program], engines: Sequence[str], *, seconds: int = 60, jobs: int = 2
) -> Iterator[Row]:
    """Yield what the engines make of programs, as it comes."""
    waiting = [(engine, program) for program in reversed(programs) for engine in reversed(engines)]
    running: list[_Running] = []
    with tempfile.TemporaryDirectory() as folder:
        while waiting or running:
            while waiting and len(running) < jobs:
                running.append(_begin(*waiting.pop(), Path(folder), seconds))
            select.select([each.pipe for each in running], [], [], 0.2)
            now = time.monotonic()
            for each in list(running):
                if now - each.began > PATIENCE * seconds or select.select([each.pipe], [], [], 0)[0]:
                    running.remove(each)
                    yield _end(each)


def summary(programs: Sequence[Program], rows: Sequence[Row], engine: str) -> dict[str, float]:
    """Return how often what came of the programs, by one engine."""
    truth = {program.name: getattr(program, engine) for program in programs}
    own = [row for row in rows if row.engine == engine]
    counts = Counter(row.word for row in own)
    bugs = sum(truth[row.program] == "bug" for row in own)
    open_ = sum(truth[row.program] == "bug" and row.word == "bounded" for row in own)
    figures = {word: open_ if word == "bounded_bugs" else counts[word] for word in WORDS}
    return {"programs": len(own), "bugs": bugs, **figures, "slowest_s": round(max(r.seconds for r in own), 1)}


def holds(figures: dict[str, float], engine: str) -> bool:
    """Tell whether an engine's figures are good enough."""
    few = engine != "check" or figures["bounded_bugs"] <= MOST_BOUNDED * max(figures["bugs"], 1)
    return few and not any(figures[word] for word in ("wrong", "false_alarms", "late"))


def main() -> None:
    """Judge the programs and print what came of it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--engine", choices=[*ENGINES], action="append", help="which engine; both by default")
    parser.add_argument("--only", default="", help="programs with this in their names or kinds")
    parser.add_argument("--every", type=int, default=1, help="take every Nth program")
    parser.add_argument("--seconds", type=int, default=60, help="when a verdict is late")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    engines = options.engine or [*ENGINES]
    programs = [each for each in corpus() if options.only in each.name or options.only in each.kind]
    programs = programs[:: options.every]
    if not programs:
        parser.error(f"no program has {options.only!r} in its name or kind")
    rows = []
    for row in judge_all(programs, engines, seconds=options.seconds, jobs=options.jobs):
        rows.append(row)
        if row.word in ("wrong", "false_alarms", "late"):
            print(f"{row.engine} {row.program}: {row.word} {row.told}", file=sys.stderr)
        if sys.stderr.isatty() or not len(rows) % _EACH:
            end = "\r" if sys.stderr.isatty() else "\n"
            told = f"{len(rows)} of {len(programs) * len(engines)}"
            print(told, end=end, file=sys.stderr, flush=True)
    figures = {engine: summary(programs, rows, engine) for engine in engines}
    if options.json:
        print(json.dumps({**figures, "bounded": [row._asdict() for row in rows if row.word == "bounded"]}))
    else:
        for engine, found in figures.items():
            print(f"{engine:8}", "  ".join(f"{word} {number}" for word, number in found.items()))
    sys.exit(not all(holds(found, engine) for engine, found in figures.items()))


if __name__ == "__main__":
    main()
