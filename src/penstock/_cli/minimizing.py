"""`penstock replay` and `penstock minimize`: run a trace again, and find the few inputs that matter."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, Final

from penstock._base.terminal import say, say_lines
from penstock._base.text import json_text, on_one_line
from penstock._cli.consenting import consent_to_replay
from penstock._cli.output import Live, print_replay, replay_as_json
from penstock._fuzz.summary import count_text
from penstock._minimize.ddmin import (
    Minimal,
    NotReproducedError,
    conditions,
    confirming_tries,
    find_confirmed_minimum,
    minimise,
    refuse_inexact,
)
from penstock._minimize.ddmin import shortest as proved_shortest
from penstock._minimize.parallel import minimise_in_parallel
from penstock._minimize.progress import Progress, Step
from penstock._minimize.workers import DaskCrew, LocalCrew, WorkerPool
from penstock._minimize.writing import (
    Minimised,
    bugs_of,
    folder_for,
    minimised_in,
    others_like,
    story_of,
    summary,
    write_minimal,
)
from penstock._replay import EPSILON_MS
from penstock._replay.live import LiveReproducer
from penstock._replay.live_play import Waiting
from penstock._replay.recording import Recording
from penstock._replay.replaying import Origin, Replay, replay
from penstock._trace.consent import Consent
from penstock._trace.trace import trace_file
from penstock._worker.commands import run_contained
from penstock.errors import PenstockError

FOUND: Final = 1
NOT_REPRODUCED: Final = 3


def waiting_of(
    *,
    careful: bool = False,
    epsilon: int = EPSILON_MS,
    wait_for: Sequence[str] = (),
    barriers: bool = False,
    faketime: bool = False,
    peek: bool = False,
) -> Waiting:
    """Return how live replays wait, from the options of a command."""
    return Waiting(epsilon, "data" in wait_for, "logs" in wait_for, barriers, careful, faketime, peek)


def run_replay(trace: Path, *, trust: bool = False, tries: int, as_json: bool, **live: Any) -> int:
    """Run a trace again, print how it went, and return the exit status."""
    consent = consent_to_replay(trace, trust=trust)
    return run_contained(lambda _: _replay(trace, consent, waiting_of(**live), tries=tries, as_json=as_json))


def _replay(trace: Path, consent: Consent, waiting: Waiting, *, tries: int, as_json: bool) -> int:
    result = replay(trace, consent, tries=tries, waiting=waiting)
    if as_json:
        say(_replay_as_json(result))
    elif result.inputs or result.lines:
        say_lines(_replay_lines(result))
    else:
        print_replay(result)
    if result.reproduced:
        return FOUND
    return NOT_REPRODUCED if result.diverged is not None or result.property else 0


def _replay_as_json(result: Replay) -> str:
    found = json.loads(replay_as_json(result))
    if result.inputs or result.lines:
        found |= {"steps": result.lines, "inputs": len(result.inputs), "tries": result.tries}
    return json_text(found)


def _replay_lines(result: Replay) -> Iterator[str]:
    """Yield how a replay of a fuzzing run went."""
    if result.diverged is not None:
        yield f"The replay differs from the trace at line {result.diverged}: {result.difference}."
    elif result.lines:
        yield f"All {result.lines:,} lines matched, after {len(result.inputs):,} inputs."
    if result.reproduced:
        often = f" (in try {result.tries})" if result.tries > 1 else ""
        yield f"  ✗  {result.property} is violated again{often}: {result.message}"
    elif result.property:
        otherwise = "was not violated this time" if result.judged else "is not judged any more"
        yield f"{result.property} {otherwise}."


_EVERY_S: Final = 5.0
"""How often, without a terminal, a line tells of replays of one phase."""


class _Shown(Live):
    """What a minimisation is doing: a line that changes on a terminal, else lines now and then."""

    def __init__(self, *, quiet: bool) -> None:
        super().__init__(quiet=quiet, doing="reading the trace …")
        self._is_plain = not quiet and self._status is None
        self._so_far, self._told_at = "", 0.0
        self._phases: set[str] = set()
        self.announce("reading the trace")

    def tell(self, step: Step, original: int) -> None:
        """Keep how far the minimisation is, to be told with what comes next."""
        replays = count_text(step.number, "replay")
        self._so_far = f" ({original:,} → {step.size:,} inputs after {replays} in {step.seconds:.1f} s)"

    def announce(self, text: str) -> None:
        """Say what is about to be done."""
        line = f"{text} …{self._so_far}"
        self.update(line)
        phase, now = re.sub(r"\d+", "", text.partition(":")[0]), time.monotonic()
        if self._is_plain and (phase not in self._phases or now - self._told_at >= _EVERY_S):
            self._phases.add(phase)
            self._told_at = now
            say(line, err=True)


def run_minimize(
    trace: Path,
    output: Path | None,
    *,
    tries: int,
    shortest: bool,
    wide: bool,
    invariant: str | None,
    workers: int,
    scheduler: str | None,
    as_json: bool,
    trust: bool = False,
    **live: Any,
) -> int:
    """Minimise a trace, write and print what is left, and return the exit status."""
    consent, waiting = consent_to_replay(trace, trust=trust), waiting_of(**live)

    def command(_: object) -> int:
        return _minimize(
            Origin.of(trace, invariant=invariant, wide=wide, waiting=waiting, consent=consent),
            trace,
            output,
            tries=tries,
            shortest=shortest,
            workers=workers,
            scheduler=scheduler,
            as_json=as_json,
        )

    return run_contained(command)


def _minimize(
    origin: Origin,
    trace: Path,
    output: Path | None,
    *,
    tries: int,
    shortest: bool,
    workers: int,
    scheduler: str | None,
    as_json: bool,
) -> int:
    try:
        with _Shown(quiet=as_json) as shown, _crew(workers, scheduler) as crew:
            script = origin.script()
            folder = output if output is not None else folder_for(trace_file(trace))
            if shortest:
                refuse_inexact(origin.reproducer(script))
            watch = partial(shown.tell, original=len(script.inputs))
            search = partial(_minimise, script=script, crew=crew, shown=shown, folder=folder, tries=tries)
            minimal, origin = find_confirmed_minimum(origin, search, folder, shown.announce)
            reproducer = origin.reproducer(script)
            if shortest:
                answers = Progress(conditions(script, tries, origin.terms), folder, watch, shown.announce)
                minimal = proved_shortest(minimal, reproducer, progress=answers)
            shown.announce("writing the minimal sequence")
            tries = minimal.tries if reproducer.is_exact else confirming_tries(minimal)
            where = write_minimal(folder, minimal, reproducer, tries=tries)
    except NotReproducedError as error:
        say(json_text({"result": "not reproduced", "message": str(error)}) if as_json else str(error))
        return NOT_REPRODUCED
    if as_json:
        alike = [str(run) for run in others_like(where)]
        say(json_text({**summary(minimal), "folder": str(where), "same_bug_in": alike}))
    else:
        say_lines(_minimal_lines(minimal, where))
    return FOUND


def _minimise(
    origin: Origin, *, script: Recording, crew: WorkerPool | None, shown: _Shown, folder: Path, tries: int
) -> Minimal:
    watch = partial(shown.tell, original=len(script.inputs))
    if crew is None:
        reproducer = origin.reproducer(script)
        if isinstance(reproducer, LiveReproducer):
            reproducer.announce = shown.announce
        return minimise(
            script,
            reproducer,
            progress=watch,
            announce=shown.announce,
            folder=folder,
            tries=tries,
            terms=origin.terms,
        )
    return minimise_in_parallel(
        origin, crew, progress=watch, announce=shown.announce, folder=folder, tries=tries
    )


def _crew(workers: int, scheduler: str | None) -> AbstractContextManager[WorkerPool | None]:
    """Return who helps, to be sent home afterwards; nobody, if there is one worker and no cluster."""
    if scheduler is not None:
        if workers > 1:
            raise PenstockError("--workers and --scheduler exclude each other: give one of them.")
        return closing(DaskCrew(scheduler))
    return closing(LocalCrew(workers)) if workers > 1 else nullcontext()


def _minimal_lines(minimal: Minimal, where: Path) -> Iterator[str]:
    """Yield a minimal sequence and what it took, as text."""
    yield from story_of(minimal)
    violation = minimal.script.violation
    assert violation is not None, "a minimal sequence has a violation"
    yield f"  ✗  {violation.invariant} is violated: {minimal.message}"
    yield ""
    resumed = f", {minimal.resumed:,} of them from before" if minimal.resumed else ""
    yield (
        f"Minimised {minimal.original:,} inputs to {minimal.size:,}, none of which can be left out, in "
        f"{minimal.replays:,} replays{resumed} and {minimal.seconds:.1f} s."
    )
    if minimal.tries > 1:
        yield (
            f"Each sequence was tried up to {minimal.tries} times; at a chance of {minimal.chance:.2f} "
            f"for a replay to show the violation, one was overlooked with a probability of "
            f"{minimal.missing:.3f}."
        )
    if minimal.proof:
        yield minimal.proof
    if alike := others_like(where):
        yield f"The same bug as in {', '.join(map(str, alike))}."
    yield f"Replay it with: penstock replay {where}"


def run_bugs(paths: Sequence[Path], *, as_json: bool) -> int:
    """Tell which bugs minimised runs show, and return the exit status."""
    bugs = bugs_of(minimised_in(*paths))
    if as_json:
        say(json_text({"bugs": [_bug_as_json(runs) for runs in bugs]}))
    else:
        say_lines(_bug_lines(bugs))
    return FOUND if bugs else 0


def _bug_as_json(runs: Sequence[Minimised]) -> dict[str, Any]:
    first = runs[0]
    return {
        "bug": first.bug,
        "property": first.broken,
        "message": first.message,
        "sequence": first.sequence,
        "controllers": json.loads(first.controllers),
        "runs": [str(run.run) for run in runs],
    }


def _bug_lines(bugs: Sequence[Sequence[Minimised]]) -> Iterator[str]:
    """Yield bugs and the runs that show each, as text."""
    if not bugs:
        yield "There are no minimised runs there: minimise some with penstock minimize."
        return
    number = sum(map(len, bugs))
    yield f"{number:,} minimised run{'s' * (number > 1)}, {len(bugs):,} bug{'s' * (len(bugs) > 1)}."
    for runs in bugs:
        first = runs[0]
        yield ""
        yield f"  ✗  {first.bug}: {on_one_line(first.message)}"
        yield from (f"{place:>5}. {on_one_line(text)}" for place, text in enumerate(first.sequence, 1))
        yield from (f"     {run.run} ({run.inputs:,} inputs → {len(run.sequence):,})" for run in runs)
