"""Running a trace again, on the same scenario, and comparing it line by line.

A trace of a search is taken again transition by transition.  A trace of a fuzzing run on virtual time is
played again as a recording, written down again, and must come out the same to the letter.  One with real
processes is played with the same waits, and may differ; what counts is the violation.

Which reproducer plays a recording is decided here: by its engine, and by where its controllers run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import assert_never

from penstock._base.reading import parse_object, read_lines
from penstock._engine.building import Built, build
from penstock._engine.fresh_program import is_quiet
from penstock._fuzz.building import build_setting
from penstock._fuzz.invariants import invariant_names
from penstock._properties.watch import Watch
from penstock._replay.guided import Attempt, Reproducer
from penstock._replay.in_process import CheckReproducer, PeekingReproducer, VirtualReproducer
from penstock._replay.live import LivePeekingReproducer, LiveReproducer
from penstock._replay.live_play import USUAL, Waiting
from penstock._replay.player import MOST_SHOWN, TracePlayer, playable_in
from penstock._replay.recording import Recording, load_script, script_of
from penstock._scenario.scenario import Scenario
from penstock._trace.consent import Consent, consent_to, runnable
from penstock._trace.trace import FuzzTrace, ProofTrace, SearchTrace, read_trace, trace_file
from penstock._world.transition import Record
from penstock._world.world import states_of


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a script comes from: a trace, which violation of it, and what counts as the same one."""

    trace: str
    invariant: str | None = None
    wide: bool = False
    waiting: Waiting = USUAL
    """How replays with real processes wait."""
    again: bool = False
    """Whether it is minimised once more, since what was found in haste did not stand."""
    consent: Consent | None = None
    """That the code which the trace names may run; without it, only if that is our own."""

    @staticmethod
    def of(
        trace: Path,
        *,
        invariant: str | None = None,
        wide: bool = False,
        waiting: Waiting = USUAL,
        consent: Consent | None = None,
    ) -> Origin:
        """Return the origin of the script of a trace, or of the folder of a run."""
        return Origin(str(trace_file(trace).absolute()), invariant, wide, waiting, consent=consent)

    @property
    def terms(self) -> str:
        """What answers depend on besides the script."""
        words = ("again" * self.again, "wide" * self.wide, str(self.waiting) * (self.waiting != USUAL))
        return " ".join(filter(None, words))

    def script(self) -> Recording:
        """Read the script."""
        return load_script(Path(self.trace), self.consent, invariant=self.invariant)

    def reproducer(self, script: Recording) -> Reproducer:
        """Return what replays the script."""
        return reproducer_of(script, wide=self.wide, waiting=self.waiting)


def reproducer_of(
    script: Recording, *, wide: bool = False, waiting: Waiting = USUAL
) -> VirtualReproducer | CheckReproducer | LiveReproducer:
    """Return what replays a script: by its engine, and by whether its controllers run in process.

    `waiting` says how processes are waited for, where there are any, and whether to look ahead.
    """
    if script.engine == "check":
        return CheckReproducer(script, wide=wide)
    setting = build_setting(script.scenario)
    if setting.commands:
        live = LivePeekingReproducer if waiting.peek else LiveReproducer
        return live(script, setting=setting, wide=wide, waiting=waiting)
    return (PeekingReproducer if waiting.peek else VirtualReproducer)(script, setting=setting, wide=wide)


def _judged_by(reproducer: Reproducer) -> frozenset[str]:
    """Return what a replay judges, by name; the user's own may have changed since the trace was recorded."""
    if isinstance(reproducer, CheckReproducer):
        return reproducer.judged
    assert isinstance(reproducer, VirtualReproducer | LiveReproducer)
    setting = reproducer.setting
    return frozenset(invariant_names(setting.scenario)).union(made.name for made in setting.properties)


def is_judged(script: Recording, reproducer: Reproducer) -> bool:
    """Tell whether what a recording breaks is judged by its replay."""
    return script.violation is None or script.violation.invariant in _judged_by(reproducer)


@dataclass(frozen=True, slots=True)
class Replay:
    """How a trace went when it was run again."""

    records: tuple[Record, ...]
    property: str = ""
    message: str = ""
    reproduced: bool = False
    diverged: int | None = None
    difference: str = ""
    inputs: tuple[str, ...] = ()
    """What was done to the network, in a fuzzing run."""
    lines: int = 0
    """How many lines of a fuzzing run were compared."""
    tries: int = 1
    cause: tuple[str, ...] = ()
    """The cause, as the trace tells it."""
    judged: bool = True
    """Whether anything judges what the trace breaks; if not, nothing is known of it."""


def replay(
    path: Path, consent: Consent | None = None, *, tries: int = 1, waiting: Waiting | None = None
) -> Replay:
    """Run a trace, or that of a run's folder, again; it ends at the first step that differs.

    Without consent, the code that it names has to be what it was recorded with here.
    Where real processes take part, it is run up to `tries` times until the violation comes; `waiting` says
    how they are waited for.
    """

    file = trace_file(path)
    consent = consent_to(file) if consent is None else consent
    trace = read_trace(file)
    match trace:
        case ProofTrace():
            return _replay_proof(trace, file.parent, consent)
        case FuzzTrace():
            return _replay_fuzzing(trace, runnable(trace, file.parent, consent), file, tries, waiting)
        case SearchTrace():
            return _replay_search(trace, build(runnable(trace, file.parent, consent)))
        case _:
            assert_never(trace)


def _replay_search(trace: SearchTrace, built: Built) -> Replay:
    """Take a run of a search again in its network."""
    player = TracePlayer(playable_in(trace, built.network, built.start))
    watch = Watch(built.network, built.properties)
    replayed = _replay_watching(player, watch)
    if replayed.diverged is not None:
        return replayed
    if is_quiet(player.world):
        watch.at_rest(states_of(player.world))
    verdict = trace.verdict
    if verdict is None:
        return replayed
    reproduced = watch.broken.get(verdict.property) == verdict.message
    judged = verdict.property in {made.name for made in built.properties}
    return replace(replayed, reproduced=reproduced, cause=verdict.cause, judged=judged)


def _replay_proof(trace: ProofTrace, base: Path, consent: Consent) -> Replay:
    """Take a run of a proof again in the lifted network."""
    from penstock._verify.replaying import lifted_again

    lifted = lifted_again(trace, base, consent)
    claims = lifted.claims()
    player = TracePlayer(playable_in(trace, lifted.model.network, lifted.model.start))
    watch = Watch(lifted.model.network, claims.invariants)
    replayed = _replay_watching(player, watch)
    if replayed.diverged is not None or trace.verdict is None:
        return replayed
    if claims.temporal:
        return replace(replayed, reproduced=lifted.breaks(claims, trace))
    reproduced = watch.broken.get(trace.verdict.property) == trace.verdict.message
    return replace(replayed, reproduced=reproduced)


def _replay_watching(player: TracePlayer, watch: Watch) -> Replay:
    """Take a run again with its properties watching, up to the first step that differs."""
    wanted = player.playable.trace.verdict
    said = (wanted.property, wanted.message) if wanted is not None else ("", "")
    records: list[Record] = []
    watch.begin(states_of(player.world))
    for played in player.steps():
        line, record = played.line, played.record
        if played.failure or record is None:
            return Replay(tuple(records), *said, diverged=line.number, difference=played.failure)
        records.append(record)
        watch.observe(record, states_of(player.world))
        if played.differs:
            difference = f"it was recorded as {_short(line.message, line.sends)} and is now {record}"
            return Replay(tuple(records), *said, diverged=line.number, difference=difference)
    return Replay(tuple(records), *said)


def _short(message: str | None, sends: tuple[str, ...]) -> str:
    return f"{message or 'an action'} -> {'; '.join(sends) or 'nothing'}"


def _replay_fuzzing(
    trace: FuzzTrace, scenario: Scenario, path: Path, tries: int, waiting: Waiting | None
) -> Replay:
    script = script_of(trace, scenario)
    reproducer = reproducer_of(script, wide=trace.is_wide, waiting=waiting or USUAL)
    if not reproducer.is_exact:
        attempt = reproducer.run(script.inputs, tries=tries)
        return replace(_as_replay(script, attempt), judged=is_judged(script, reproducer))
    with TemporaryDirectory() as folder:
        again = Path(folder) / "trace.jsonl"
        attempt = reproducer.record(script.inputs, again)
        end = script.violation.line if script.violation is not None else None
        diverged, difference, compared = _difference(path, again, end)
    described = _as_replay(script, attempt, diverged, difference, compared)
    return replace(described, judged=is_judged(script, reproducer))


def _as_replay(
    script: Recording, attempt: Attempt, diverged: int | None = None, difference: str = "", lines: int = 0
) -> Replay:
    violation = script.violation
    if diverged is None and attempt.divergence is not None and not attempt.reproduced:
        diverged, difference = attempt.divergence.line, str(attempt.divergence)
    return Replay(
        (),
        violation.invariant if violation is not None else "",
        attempt.message or (violation.message if violation is not None else ""),
        attempt.reproduced,
        diverged,
        difference,
        tuple(map(str, script.inputs)),
        lines,
        attempt.tries,
    )


def _difference(recorded: Path, again: Path, end: int | None) -> tuple[int | None, str, int]:
    """Return the number of the first line that differs, how it does, and how many lines were compared."""
    ours, theirs = read_lines(recorded), read_lines(again)
    next(ours, None), next(theirs, None)
    compared = 0
    for one, other in zip_longest(ours, theirs, fillvalue=""):
        if one and (one == other or _is_alike(one, other)):
            compared += 1
            continue
        if one and not one.endswith("\n"):
            break  # the trace was cut short here
        number = parse_object(one or other).get("step", compared + 1)
        if end is not None and number > end:
            break
        return number, f"it was recorded as {_cut(one)} and is now {_cut(other)}", compared
    return None, "", compared


def _is_alike(one: str, other: str) -> bool:
    """Tell whether two lines differ in nothing but which lines of the program's code are behind them."""
    if '"code": [' not in one + other or not one.endswith("\n"):
        return False
    ours, theirs = parse_object(one), parse_object(other or "{}")
    ours.pop("code", None), theirs.pop("code", None)
    return bool(ours == theirs)


def _cut(line: str) -> str:
    text = line.strip() or "nothing"
    return text if len(text) <= MOST_SHOWN else text[:MOST_SHOWN] + "…"
