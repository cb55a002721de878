"""The run that a person steers: forward by any step, back, forth again, on by itself to a breakpoint.

Nothing here knows of a terminal.  A run is a list of moments, of which the first is the start; it stands at
one of them.  What lies after that one is kept, so that what was undone can be redone, and is given up only
when another step is taken.  States are immutable, so a moment costs little and going anywhere is quick.

A trace is such a run that somebody else took.  Where it cannot be taken again as it was written, it is
loaded up to there, and a remark says why.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any, Final

from penstock._cli.stepper.breakpoints import Breakpoint, PropertyBreak
from penstock._cli.stepper.choices import Choice, choices_of, in_order, is_misfortune
from penstock._engine.building import build
from penstock._minimize.recording import is_fuzzed, trace_file
from penstock._properties.watch import Watch
from penstock._report.picture import Happening, broken_note
from penstock._scenario.scenario import Scenario
from penstock._story.story import last_line, sentences
from penstock._trace.consent import Consent, consent_to, runnable
from penstock._trace.trace import Line, Verdict, read_trace, write_trace
from penstock._world.frame import retell_packets
from penstock._world.network import ComponentRaised, GlobalState
from penstock._world.transition import Record, Transition
from penstock._world.world import World, states_of
from penstock.errors import PenstockError

MOST_ON: Final = 1_000
"""How many steps a run goes on by itself before it stops anyway."""

_MISHAPS: Final = {"crashed": "ControllerCrash", "hung": "ControllerHang"}
"""What a controller may do that is a violation whether or not a property watches for it."""


@dataclass(frozen=True, slots=True)
class Moment:
    """The network after a step, what the step did, and what it broke."""

    state: GlobalState
    watched: tuple[list[Any], dict[str, str]]
    record: Record | None = None
    told: tuple[str, ...] = ()
    broken: tuple[tuple[str, str], ...] = ()
    """What broke in this step, with how."""
    at_rest: frozenset[str] = frozenset()
    """Which of these broke because the network had come to rest."""
    so_far: Mapping[str, str] = field(default_factory=dict)
    """What is broken by then, with how."""
    named: frozenset[str] = frozenset()
    """The packets that were told of by then, described in full."""


class Run:
    """A run of a scenario, steered by a person."""

    def __init__(self, scenario: Scenario) -> None:
        built = build(scenario)
        self.scenario = scenario
        self._scene = built.scene
        self.network = built.network
        self.world = World(built.network)
        self.world.restore(built.start)
        self.components = in_order(built.network)
        self.remarks: list[str] = []
        self.breakpoints: list[Breakpoint] = [PropertyBreak()]
        self._watch = Watch(built.network, built.properties)
        from_start = {**built.broken, **self._watch.begin(states_of(self.world))}
        first = Moment(self.world.snapshot(), self._watch.snapshot(), broken=tuple(from_start.items()))
        self.moments: list[Moment] = [replace(first, so_far=from_start)]
        self.at = 0

    # Looking.

    @property
    def now(self) -> Moment:
        """The moment at which the run stands."""
        return self.moments[self.at]

    @property
    def properties(self) -> dict[str, str]:
        """What each property demands, by name."""
        return {watcher.name: watcher.sentence for watcher in self._watch.properties}

    @property
    def broken(self) -> Mapping[str, str]:
        """What is broken by now, with how."""
        return self.now.so_far

    @property
    def records(self) -> list[Record]:
        """The steps so far."""
        return [moment.record for moment in self.moments[: self.at + 1] if moment.record is not None]

    def choices(self) -> list[Choice]:
        """Return what can happen now."""
        try:
            return choices_of(self.world)
        except ComponentRaised as raised:
            raise PenstockError(f"{raised}.") from raised

    def following(self) -> Transition | None:
        """Return the step that was taken next before it was undone, or that the trace has next."""
        record = self.moments[self.at + 1].record if self.at + 1 < len(self.moments) else None
        return record.transition if record is not None else None

    def first(self) -> Transition | None:
        """Return what would happen first if the run went on."""
        return next(iter(self.world.enabled()), None)

    def news(self, place: int) -> list[str]:
        """Return what broke at a moment, as a story says it."""
        return [last_line(name, how) for name, how in self.moments[place].broken]

    def happenings(self, last: int | None = None) -> list[tuple[int, Happening]]:
        """Return the run so far for a picture, or the last so many steps of it."""
        first = 0 if last is None else max(0, self.at + 1 - last)
        found: list[tuple[int, Happening]] = []
        for place, moment in enumerate(self.moments[first : self.at + 1], first):
            if moment.record is not None:
                found.append((place, moment.record))
            found += ((place, broken_note(name)) for name, _ in moment.broken)
        return found

    # Going.

    def take(self, transition: Transition | str) -> Moment:
        """Take a step; what lay ahead is kept if it began with this one."""
        text = str(transition)
        following = self.following()
        if following is not None and str(following) == text:
            return self.go_to(self.at + 1)
        moment = self._taken(transition)
        del self.moments[self.at + 1 :]
        self.moments.append(moment)
        self.at += 1
        return moment

    def undo(self, steps: int = 1) -> Moment:
        """Go back some steps."""
        if not 1 <= steps <= self.at:
            raise PenstockError(f"It is not possible to go back {steps} steps: {self.at} were taken.")
        return self.go_to(self.at - steps)

    def redo(self) -> Moment:
        """Take the step again that was undone last, or the next one of a trace."""
        if self.following() is None:
            raise PenstockError("There is no step to take again: nothing was undone.")
        return self.go_to(self.at + 1)

    def go_to(self, place: int) -> Moment:
        """Go to the moment after a step, by its number; 0 is the start."""
        if not 0 <= place < len(self.moments):
            raise PenstockError(f"There is no step {place}: the run has {len(self.moments) - 1}.")
        self.at = place
        self._enter(self.now)
        return self.now

    def _enter(self, moment: Moment) -> None:
        self.world.restore(moment.state)
        self._watch.restore(moment.watched)

    def _taken(self, transition: Transition | str) -> Moment:
        """Take a step; if it fails, nothing has happened."""
        try:
            record = self.world.take(transition)
            broken = self._watch.observe(record, states_of(self.world))
            at_rest = self._watch.at_rest(states_of(self.world)) if self.world.is_at_rest() else {}
        except (ComponentRaised, PenstockError) as error:
            self._enter(self.now)
            raise error if isinstance(error, PenstockError) else PenstockError(f"{error}.") from error
        already = {*self.broken, *broken}
        mishaps = {
            _MISHAPS[event.kind]: " ".join(map(str, event.detail[:2]))
            for event in record.events
            if event.kind in _MISHAPS and _MISHAPS[event.kind] not in already
        }
        news = {**broken, **mishaps, **at_rest}
        known = set(self.now.named)

        def named(found: re.Match[str]) -> str:
            """Describe a packet where it is told of first, and then call it by its name."""
            if found[0] in known:
                return found[1]
            known.add(found[0])
            return found[0]

        return Moment(
            self.world.snapshot(),
            self._watch.snapshot(),
            record,
            tuple(retell_packets(text, named) for text in next(sentences([record]))),
            tuple(news.items()),
            frozenset(at_rest),
            {**self.broken, **news} if news else self.broken,
            frozenset(known) if len(known) > len(self.now.named) else self.now.named,
        )

    # Going on by itself.

    def go_on(self, choose: Random | None = None) -> str:
        """Take one step: the first that can happen by itself, or one at random; return why to stop after it.

        What only happens if somebody wants it to, such as a failure, is left out.
        """
        own = [transition for transition in self.world.enabled() if not is_misfortune(transition)]
        if not own:
            return "nothing can happen by itself any more"
        moment = self.take(choose.choice(own) if choose is not None else own[0])
        assert moment.record is not None, "only the start has none"
        reasons = (each.reason(moment.record, dict(moment.broken)) for each in self.breakpoints)
        return next((reason for reason in reasons if reason), "")

    def run_on(self, choose: Random | None = None, most: int = MOST_ON) -> str:
        """Go on until there is a reason to stop, and return it."""
        for _ in range(most):
            if reason := self.go_on(choose):
                return reason
        return f"{most:,} steps were taken"

    def toggle(self, stop: Breakpoint) -> bool:
        """Add a breakpoint, or take it away if it is there; tell whether it is there now."""
        if stop in self.breakpoints:
            self.breakpoints.remove(stop)
            return False
        self.breakpoints.append(stop)
        return True

    # Traces.

    def save(self, path: Path) -> Path:
        """Write the run so far as a trace that can be shown, replayed and reported."""
        table, folder = self.scenario.table(), self.scenario.folder
        return write_trace(path, table, folder, self.records, self._verdict(), self._scene, engine="step")

    def _verdict(self) -> Verdict | None:
        """Return what the run breaks in a way that shows when it is taken again."""
        for name, how in self.now.watched[1].items():
            place = next(n for n, moment in enumerate(self.moments) if name in dict(moment.broken))
            if name not in self.moments[place].at_rest or place == self.at:
                return Verdict(name, how)
        return None

    def follow(self, lines: Sequence[Line]) -> None:
        """Take the steps of a trace, as far as they go as they were written."""
        for line in lines:
            try:
                record = self.take(line.transition).record
            except PenstockError as error:
                self.remarks.append(f"The trace goes another way from step {line.number} on: {error}")
                return
            if record is not None and line.differs_from(record):
                self.remarks.append(
                    f"The trace goes another way from step {line.number} on: it is now {record}."
                )
                return


def is_trace(path: Path) -> bool:
    """Tell whether a path is that of a trace, or of a run's folder, and not of a scenario or app."""
    return path.suffix == ".jsonl" or (path.is_dir() and (path / "trace.jsonl").exists())


def run_of_trace(path: Path, consent: Consent | None = None) -> Run:
    """Return the run of a trace of a search, a walk or an earlier run by hand, at its end.

    Without consent, the code that it names has to be what it was recorded with here.
    """
    file = trace_file(path)
    trace = read_trace(file)
    if is_fuzzed(trace) or "verify" in trace.details:
        kind, use = ("fuzzing run", "openflow --interactive") if is_fuzzed(trace) else ("proof", "show")
        raise PenstockError(f"{path} is of a {kind}, where nobody can choose the steps: use penstock {use}.")
    run = Run(runnable(trace, file.parent, consent_to(file) if consent is None else consent))
    run.follow(trace.lines)
    return run
