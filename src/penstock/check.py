"""Checking a scenario: search, replay what was found, write it down.

A counterexample is replayed in a `World` of its own before it is reported.  If the replay does not
do the same, the controller or a component has state that Penstock does not see, and the finding says
so instead of pretending.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from penstock.building import Built
from penstock.errors import PenstockError
from penstock.explore.breadth_first import breadth_first
from penstock.explore.cells import Cells
from penstock.explore.depth_first import depth_first
from penstock.explore.reductions import Circumstances, in_effect, reduced, remarks_on
from penstock.explore.search import (
    Bounds,
    Outcome,
    Progress,
    Search,
    Successors,
    Violation,
    collision_odds,
    fingerprint,
)
from penstock.explore.strategies.base import Onward, Ordering
from penstock.explore.strategies.guide import Guide
from penstock.explore.strategies.plan import Plan
from penstock.explore.strategies.random_walks import RandomWalks
from penstock.properties.base import PropertyFault
from penstock.properties.watch import Watch
from penstock.report.coverage import KEY as COVERAGE
from penstock.report.coverage import covered_file, search_coverage
from penstock.scenario import Limits, Scenario
from penstock.trace import Verdict, write_trace
from penstock.world.network import ComponentRaised
from penstock.world.transition import Record
from penstock.world.world import World, states_of


@dataclass(frozen=True, slots=True)
class Finding:
    """A violation, replayed: the run that shows it, and where it was written."""

    property: str
    message: str
    records: tuple[Record, ...]
    confirmed: bool
    trace: Path | None = None


@dataclass(slots=True)
class Report:
    """What a check covered and found."""

    scenario: Scenario
    outcome: Outcome
    findings: list[Finding] = field(default_factory=list)
    needs: dict[str, str] = field(default_factory=dict)
    """What it would take to put each property to the test, where it says so."""
    covered: Path | None = None
    """Where it is written what was covered, if nothing was found; a report can be made of it."""

    @property
    def unexercised(self) -> list[str]:
        """The properties that never had anything to judge."""
        return [name for name, times in self.outcome.exercised.items() if not times]


def check(scenario: Scenario, *, output: Path | None = None, progress: Progress | None = None) -> Report:
    """Search every ordering of a scenario's events, within its limits and by its strategies."""
    return _searched(scenario, scenario.plan(), output, progress)


def walk(
    scenario: Scenario,
    seed: int,
    *,
    walks: int | None = 100,
    longest: int = 1000,
    output: Path | None = None,
    progress: Progress | None = None,
) -> Report:
    """Walk at random through a scenario; its strategies bound and narrow that, but do not order it."""
    others = (each for each in scenario.plan().strategies if not isinstance(each, Ordering))
    walking = Plan((*others, RandomWalks(seed, walks, longest)))
    return _searched(scenario, walking, output, progress, seed=seed)


def _searched(
    scenario: Scenario, plan: Plan, output: Path | None, progress: Progress | None, **details: int
) -> Report:
    limits = scenario.limits()
    if not plan.remembers:
        limits = replace(limits, compact=False)
    scenario = _bounded(scenario, plan)
    built = _prepared(scenario, output)
    if built.broken:
        return _broken_while_joining(scenario, built, output)
    cells = Cells(built.network, (*built.properties, *plan.watchers()), built.start)
    guide = plan.guide(cells)
    circumstances = Circumstances(
        guide if plan.narrowing else None, fingerprint if limits.compact else None, limits.depth is not None
    )
    reductions = in_effect(limits.reductions) if plan.remembers else frozenset()
    successors = reduced(cells, reductions, circumstances)
    search = _search(cells, limits, progress, successors)
    sleep = "sleep" in reductions and not limits.compact
    onward = partial(depth_first if limits.order == "depth-first" else breadth_first, sleep=sleep)
    try:
        outcome, in_order = _explored(search, plan, guide, onward)
    except (PropertyFault, ComponentRaised):
        # What was found before is not lost with it.
        _report(scenario, built, search.finish("a fault"), output, _Means(plan, reductions))
        raise
    plan.conclude(outcome, guide)
    circumstances = replace(circumstances, in_order=in_order)
    outcome.remarks += remarks_on(cells, limits.reductions, circumstances, successors)
    if limits.compact:
        odds = collision_odds(outcome.states)
        outcome.remarks.append(
            f"States were remembered by 64-bit fingerprints: one was missed with a probability of {odds:.1e}."
        )
    return _report(scenario, built, outcome, output, _Means(plan, reductions), **details)


@dataclass(frozen=True, slots=True)
class _Means:
    """By what means a search was made smaller."""

    plan: Plan
    reductions: frozenset[str] = frozenset()


def _explored(search: Search, plan: Plan, guide: Guide, onward: Onward) -> tuple[Outcome, bool]:
    """Have states visited; also tell whether that was, in the end, in the scenario's own order."""
    if plan.ordering is None:
        return onward(search), True
    went = False

    def noted(search: Search) -> Outcome:
        nonlocal went
        went = True
        return onward(search)

    return plan.ordering.explore(search, guide, noted), went


def _bounded(scenario: Scenario, plan: Plan) -> Scenario:
    """Return a scenario with what its strategies say of how much hosts send."""
    if plan.bounding is None:
        return scenario
    return replace(scenario, hosts=plan.bounding.bounded(scenario.hosts, scenario.build().network))


def _prepared(scenario: Scenario, output: Path | None) -> Built:
    """Put a scenario together, with a folder for what may be found in it."""
    if output is not None:
        try:
            output.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise PenstockError(f"Traces cannot be written to {output}: {error.strerror}.") from None
    return scenario.build()


def _broken_while_joining(scenario: Scenario, built: Built, output: Path | None) -> Report:
    """Report what broke before the search could even start."""
    outcome = Outcome(result="violation", transitions=len(built.joining), stopped_by="the first violation")
    outcome.exercised = {watcher.name: int(watcher.name in built.broken) for watcher in built.properties}
    report = Report(scenario, outcome)
    for number, (name, message) in enumerate(built.broken.items(), 1):
        path = None
        if output is not None:
            path = output / f"{scenario.name}-{number}.jsonl"
            table = {**scenario.table(), "search": {**scenario.table().get("search", {}), "start": "cold"}}
            write_trace(
                path,
                table,
                scenario.folder,
                built.joining,
                Verdict(name, message),
                **_coverage(scenario, built, outcome, _Means(Plan())),
            )
        report.findings.append(Finding(name, message, built.joining, True, path))
    return report


def _search(cells: Cells, limits: Limits, progress: Progress | None, successors: Successors) -> Search:
    return Search(
        cells,
        Bounds(limits.states, limits.depth, limits.seconds, limits.memory_mb),
        key=fingerprint if limits.compact else None,
        first_only=not limits.all_violations,
        progress=progress,
        successors=successors,
    )


def _report(
    scenario: Scenario, built: Built, outcome: Outcome, output: Path | None, means: _Means, **details: int
) -> Report:
    if built.discovery is not None:
        outcome.remarks += built.discovery.sentences()
        if outcome.result == "exhausted" and not built.discovery.is_complete:
            outcome.result, outcome.stopped_by = "bounded", "packets that could not be found"
    report = Report(scenario, outcome, needs={made.name: made.needs for made in built.properties})
    header = {**details, **_coverage(scenario, built, outcome, means)}
    for number, violation in enumerate(outcome.violations, 1):
        records, confirmed = retake(built, violation)
        path = None
        if output is not None:
            path = output / f"{scenario.name}-{number}.jsonl"
            verdict = Verdict(violation.property, violation.message)
            write_trace(path, scenario.table(), scenario.folder, records, verdict, **header)
        report.findings.append(Finding(violation.property, violation.message, records, confirmed, path))
    if output is not None and not report.findings:
        path = covered_file(output, scenario.name)
        report.covered = write_trace(path, scenario.table(), scenario.folder, (), **header)
    return report


def _coverage(scenario: Scenario, built: Built, outcome: Outcome, means: _Means) -> dict[str, Any]:
    """Return what a search covered, for the header of a trace."""
    found = search_coverage(
        outcome,
        built.properties,
        strategies=[each.name for each in means.plan.strategies],
        reductions=means.reductions,
        faults=built.network.fabric.faults,
        first_only=not scenario.limits().all_violations,
    )
    return {COVERAGE: found}


def retake(built: Built, violation: Violation) -> tuple[tuple[Record, ...], bool]:
    """Take a violation's transitions again; return the run and whether it ends in the violation."""
    world = World(built.network)
    world.restore(built.start)
    watch = Watch(built.network, built.properties)
    records: list[Record] = []
    watch.begin(states_of(world))
    for transition in violation.path:
        if transition not in world.enabled():
            return tuple(records), False
        records.append(world.take(transition))
        watch.observe(records[-1], states_of(world))
    if world.is_at_rest():
        watch.at_rest(states_of(world))
    return tuple(records), watch.broken.get(violation.property) == violation.message
