"""Checking a scenario: search, replay what was found, write it down.

A counterexample is replayed in a `World` of its own before it is reported.  If the replay does not
do the same, the controller or a component has state that Penstock does not see, and the finding says
so instead of pretending.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Final

from penstock._controllers import origins, watched
from penstock._controllers.surface import MoreState
from penstock._engine import fresh_program
from penstock._engine.assumptions import assumptions_of_search
from penstock._engine.building import Built, begun, build, joined, plan
from penstock._engine.conclusion import KEY as COVERAGE
from penstock._engine.conclusion import Finding, covered_name, search_coverage
from penstock._engine.next_steps import Ran, Suggestion, next_steps
from penstock._explain.explaining import MOST_SECONDS, explain, explain_joining
from penstock._explore.breadth_first import breadth_first
from penstock._explore.compiled_network import CompiledNetwork
from penstock._explore.depth_first import depth_first
from penstock._explore.reductions import Circumstances, in_effect, reduced, remarks_on
from penstock._explore.reexecution import made_again
from penstock._explore.search import (
    Bounds,
    Outcome,
    Progress,
    Search,
    Successors,
    Violation,
    collision_odds,
    fingerprint,
)
from penstock._explore.strategies.base import Onward, Ordering
from penstock._explore.strategies.guide import Guide
from penstock._explore.strategies.plan import Plan
from penstock._explore.strategies.random_walks import RandomWalks
from penstock._properties.base import PropertyFault
from penstock._properties.watch import Watch
from penstock._scenario.options import Limits
from penstock._scenario.scenario import Scenario
from penstock._trace.trace import TraceFolder, verdict_of
from penstock._verdict import verdict as stopping
from penstock._verdict.verdict import (
    VIOLATED,
    Bound,
    Reservation,
    Result,
    Verdict,
    Why,
    deprived,
    judge,
    unconfirmed,
    unjudged,
)
from penstock._world.network import ComponentRaised
from penstock._world.switch.meters import UNMETERED
from penstock._world.switch.pipeline import CHOSEN, SPREAD
from penstock._world.transition import Record
from penstock._world.world import World, states_of
from penstock.errors import PenstockError


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
    next_steps: tuple[Suggestion, ...] = ()
    """What to try next, the most promising first."""
    verdict: Verdict = VIOLATED
    assumptions: tuple[str, ...] = ()
    """What the search took for granted, in sentences."""
    unwritten: str = ""
    """Why nothing, or not all of it, is written down, in a sentence."""
    unconfirmed: list[Finding] = field(default_factory=list)
    """Violations that did not come again when their runs were repeated."""

    @property
    def unexercised(self) -> list[str]:
        """The properties that never had anything to judge."""
        return [name for name, times in self.outcome.exercised.items() if not times]


Found = Callable[["Report"], None]
"""Is told what was found as soon as that is certain, before it is explained."""


def check(
    scenario: Scenario,
    *,
    output: Path | None = None,
    progress: Progress | None = None,
    found: Found | None = None,
    explained: bool = True,
) -> Report:
    """Search every ordering of a scenario's events, within its limits and by its strategies.

    What is found is replayed, and then explained unless that is not wanted.
    """
    return _searched(scenario, plan(scenario), output, progress, found, explained=explained)


def walk(
    scenario: Scenario,
    seed: int,
    *,
    walks: int | None = 100,
    longest: int = 1000,
    output: Path | None = None,
    progress: Progress | None = None,
    found: Found | None = None,
) -> Report:
    """Walk at random through a scenario; its strategies bound and narrow that, but do not order it."""
    others = (each for each in plan(scenario).strategies if not isinstance(each, Ordering))
    walking = Plan((*others, RandomWalks(seed, walks, longest)))
    how = {"seed": seed, "walks": walks or 0, "longest": longest}
    return _searched(scenario, walking, output, progress, found, walk=how, seed=seed)


def _searched(
    scenario: Scenario,
    plan: Plan,
    output: Path | None,
    progress: Progress | None,
    found: Found | None,
    *,
    explained: bool = True,
    walk: Mapping[str, int] | None = None,
    **details: int,
) -> Report:
    limits = scenario.limits()
    until = None if limits.seconds is None else time.monotonic() + limits.seconds
    if not plan.remembers:
        limits = replace(limits, compact=False)
    scenario = _bounded(scenario, plan)
    traces = TraceFolder(output)
    built = build(scenario)
    way = _Way(plan, limits, progress, found, walk, until=until, explained=explained)
    try:
        for times in count(1):
            try:
                return _searched_once(scenario, built, replace(way, times=times), traces, **details)
            except MoreState as more:
                watched.again(built.network.components, more)
                built = begun(built, limits.start)
        raise AssertionError
    finally:
        watched.leave(built.network.components)


def _searched_once(
    scenario: Scenario, built: Built, way: _Way, traces: TraceFolder, **details: int
) -> Report:
    if built.broken:
        return _broken_while_joining(scenario, built, traces)
    watched.begin(built.network.components, way.times)
    _begin_with_tables(built, cold=way.limits.start == "cold")
    while True:
        outcome, means, cells = _search_of(scenario, built, way, traces)
        # What a program keeps of packets may call for others, with which the search is repeated.
        if outcome.violations or not _may_go_on(outcome) or not _refined(built, way):
            break
    if not outcome.violations and _may_go_on(outcome):
        outcome, means, cells = _with_pings(scenario, built, way, traces, (outcome, means, cells))
    # Before violations are taken again: what the search left behind in libraries, which no program loads
    # anew, would be there for them too.
    _look_again(scenario, built, cells, outcome, way)
    return _report(scenario, built, outcome, traces, means, way, **details)


def _with_pings(
    scenario: Scenario,
    built: Built,
    way: _Way,
    traces: TraceFolder,
    before: tuple[Outcome, _Means, CompiledNetwork],
) -> tuple[Outcome, _Means, CompiledNetwork]:
    """Search for what is broken by pings of hosts that have sent each other nothing, after another search."""
    if built.discovery is None or way.walk is not None or not built.discovery.tables.begin_pings():
        return before
    again = _search_of(scenario, built, way, traces)
    if again[0].violations:
        return again
    outcome, more = before[0], again[0]
    for name, times in more.exercised.items():
        outcome.exercised[name] = max(times, outcome.exercised.get(name, 0))
    outcome.left_out = list(dict.fromkeys((*outcome.left_out, *more.left_out)))
    if outcome.result == "exhausted":
        outcome.result, outcome.stopped_by = more.result, more.stopped_by
    outcome.unfinished.update(more.unfinished)
    outcome.cut_short += more.cut_short
    outcome.undecided.update(more.undecided)
    return before


def _begin_with_tables(built: Built, *, cold: bool) -> None:
    """Have it found out which packets tables treat by themselves once all switches have joined."""
    if built.discovery is None:
        return
    try:
        start = joined(built.network, built.controller).start if cold else built.start
    except PenstockError:
        # Switches that never come to rest have no tables to go by.
        built.discovery.tables.leave_out()
        return
    states = dict(zip(built.network.names, start.states, strict=True))
    built.discovery.tables.begin(states, settled=not cold)


def _may_go_on(outcome: Outcome) -> bool:
    """Tell whether a search came to its end, or at least to a bound that has nothing to do with resources."""
    bound = outcome.stopped_by
    return outcome.result == "exhausted" or (isinstance(bound, Bound) and bound.why is Why.DEPTH)


def _refined(built: Built, way: _Way) -> bool:
    return built.discovery is not None and built.discovery.refine(until=way.until)


def _search_of(
    scenario: Scenario, built: Built, way: _Way, traces: TraceFolder
) -> tuple[Outcome, _Means, CompiledNetwork]:
    plan, limits = way.plan, way.limits
    cells = CompiledNetwork(built.network, (*built.properties, *plan.watchers()), built.start)
    guide = plan.guide(cells)
    circumstances = Circumstances(
        guide if plan.narrowing else None, fingerprint if limits.compact else None, limits.depth is not None
    )
    reductions = in_effect(limits.reductions) if plan.remembers else frozenset()
    successors = reduced(cells, reductions, circumstances)
    search = _search(cells, way, successors)
    sleep = "sleep" in reductions and not limits.compact
    onward = partial(depth_first if limits.order == "depth-first" else breadth_first, sleep=sleep)
    means = _Means(plan, reductions, way.walk)
    try:
        outcome, in_order = _explored(search, plan, guide, onward)
    except (PropertyFault, ComponentRaised):
        # What was found before is not lost with it.
        _report(scenario, built, search.finish(Bound("a fault")), traces, means, way)
        raise
    plan.conclude(outcome, guide)
    circumstances = replace(circumstances, in_order=in_order)
    outcome.remarks += remarks_on(cells, limits.reductions, circumstances, successors)
    outcome.left_out = [bound for kind, bound in _LEFT_OUT.items() if cells.has_noted(kind)]
    if limits.compact:
        odds = collision_odds(outcome.states)
        outcome.remarks.append(
            f"States were remembered by 64-bit fingerprints: one was missed with a probability of {odds:.1e}."
        )
    return outcome, means, cells


_LEFT_OUT: Final = {
    UNMETERED: Bound("packets went through meters, and none was made to exceed a rate", Why.METERS),
    CHOSEN: Bound(
        "packets met several rules of one priority, of which only the switch's own choice was tried",
        Why.CHOSEN,
    ),
    SPREAD: Bound(
        "groups had switches choose among buckets, and of some packets only their own choice was tried",
        Why.SPREAD,
    ),
}
"""The events that tell of something that a search did not try."""


def _look_again(
    scenario: Scenario, built: Built, cells: CompiledNetwork, outcome: Outcome, way: _Way
) -> None:
    """Note what may have been missed because a program's state was not all there is to it."""
    components = built.network.components
    remembered = cells.remembered()
    differing = made_again(remembered, way.seconds_left)
    watched.look(components)
    if differing or not outcome.violations:
        # What was found may be due to what other runs have left behind.
        outcome.reservations += [*watched.reservations(components), *differing]
    if not outcome.violations:
        outcome.reservations += fresh_program.reservations_about_walks(scenario, built, remembered)
        outcome.reservations += [_unfinished(each) for each in outcome.unfinished]
        outcome.reservations += [_CUT_SHORT] * bool(outcome.cut_short)
        outcome.reservations += [_untold(each) for each in outcome.undecided]


def _untold(what: str) -> Reservation:
    sentence = f"{what[0].upper()}{what[1:]}."
    return Reservation(sentence, "Name the packets that the controller takes over in may_vanish.", Why.UNTOLD)


_CUT_SHORT: Final = Reservation(
    "Timers were left to go off when nothing else could happen, and what has to hold at the end did not yet: "
    "that was not judged there, since they may put it right.",
    "Raise timers in [controller].",
    Why.TIMERS,
)


def _unfinished(where: str) -> Reservation:
    return Reservation(
        f"The program was still in {where} when nothing else could happen, and waited for time to pass: "
        "what has to hold at the end was not judged there.",
        "Raise timers in [controller], or leave it out.",
        Why.TIMERS,
    )


@dataclass(frozen=True, slots=True)
class _Way:
    """How a scenario is searched."""

    plan: Plan
    limits: Limits
    progress: Progress | None
    found: Found | None = None
    walk: Mapping[str, int] | None = None
    times: int = 1
    """Which search it is, if others found that more had to be saved of the program."""
    until: float | None = None
    """When all has to be done."""
    explained: bool = True
    """Whether what is found is to be explained."""

    @property
    def seconds_left(self) -> float:
        """How much time is left."""
        return float("inf") if self.until is None else max(0.0, self.until - time.monotonic())


@dataclass(frozen=True, slots=True)
class _Means:
    """By what means a search was made smaller."""

    plan: Plan
    reductions: frozenset[str] = frozenset()
    walk: Mapping[str, int] | None = None
    """Of random walks, their seed, how many and how long."""


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
    return replace(scenario, hosts=plan.bounding.bounded(scenario.hosts, build(scenario).network))


def _broken_while_joining(scenario: Scenario, built: Built, traces: TraceFolder) -> Report:
    """Report what broke before the search could even start."""
    outcome = Outcome(result="violation", transitions=len(built.joining), stopped_by=stopping.FIRST_VIOLATION)
    outcome.exercised = {watcher.name: int(watcher.name in built.broken) for watcher in built.properties}
    report = Report(scenario, outcome)
    for number, (name, message) in enumerate(built.broken.items(), 1):
        why = explain_joining(built, message)
        table = {**scenario.table(), "search": {**scenario.table().get("search", {}), "start": "cold"}}
        path = traces.write(
            f"{scenario.name}-{number}.jsonl",
            table,
            scenario.folder,
            built.joining,
            verdict_of(name, message, why),
            replace(scene, joining=()) if (scene := built.scene) is not None else None,
            **_coverage(report, built, _Means(Plan())),
        )
        report.findings.append(Finding(name, message, built.joining, True, path, why))
    report.unwritten = traces.unwritten
    if doubts := watched.cut_off(built.network.components):
        report.unconfirmed, report.findings = report.findings, []
        outcome.reservations += doubts
        _conclude(report, built)
        report.next_steps = _next_steps(report, built, _Means(Plan()))
    return report


def _search(cells: CompiledNetwork, way: _Way, successors: Successors) -> Search:
    limits = way.limits
    return Search(
        cells,
        Bounds(limits.states, limits.depth, limits.seconds, limits.memory_mb, way.until),
        key=fingerprint if limits.compact else None,
        first_only=not limits.all_violations,
        progress=way.progress,
        successors=successors,
    )


def _report(
    scenario: Scenario,
    built: Built,
    outcome: Outcome,
    traces: TraceFolder,
    means: _Means,
    way: _Way,
    **details: int,
) -> Report:
    if built.discovery is not None:
        outcome.remarks += built.discovery.sentences()
    report = Report(scenario, outcome, needs={made.name: made.needs for made in built.properties})
    report.assumptions = assumptions_of_search(built)
    outcome.reservations += watched.cut_off(built.network.components)
    for violation in outcome.violations:
        records, confirmed = retake(built, violation)
        if confirmed:
            outcome.reservations += fresh_program.reservations_about(scenario, built, records)
        else:
            outcome.reservations += watched.reservations(built.network.components)
        confirmed = confirmed and not outcome.reservations
        found = Finding(violation.property, violation.message, records, confirmed)
        (report.findings if confirmed else report.unconfirmed).append(found)
    _conclude(report, built)
    report.next_steps = _next_steps(report, built, means)
    header = {**details, **_coverage(report, built, means), "scene": built.scene}
    _write(report, traces, header)
    report.unwritten = traces.unwritten
    if way.found is not None and report.findings:
        way.found(report)
    if way.explained:
        _explain(report, built, min(MOST_SECONDS, max(way.seconds_left, _EXPLAINING_S)))
        _write(report, traces, header)
    if not report.findings:
        name = covered_name(scenario.name)
        report.covered = traces.write(name, scenario.table(), scenario.folder, (), **header)
    report.unwritten = traces.unwritten
    return report


_EXPLAINING_S: Final = 0.3
"""How many seconds are taken to explain what was found even if there is no time left."""


def _explain(report: Report, built: Built, left: float) -> None:
    """Explain all findings, which are written down by now: whoever has no patience loses nothing."""
    for number, found in enumerate(report.findings):
        began = time.monotonic()
        why = explain(built, found.records, found.property, found.message, seconds=left)
        left = max(0.0, left - (time.monotonic() - began))
        report.findings[number] = replace(found, explanation=why)


def _write(report: Report, traces: TraceFolder, header: Mapping[str, Any]) -> None:
    """Write the traces of all findings; where that fails, one that was written before is as good."""
    scenario = report.scenario
    for number, found in enumerate(report.findings):
        name = f"{scenario.name}-{number + 1}.jsonl"
        verdict = verdict_of(found.property, found.message, found.explanation)
        path = traces.write(name, scenario.table(), scenario.folder, found.records, verdict, **header)
        report.findings[number] = replace(found, trace=path or found.trace)


def _conclude(report: Report, built: Built) -> None:
    """Judge what a search came to, and have its outcome say the same."""
    outcome = report.outcome
    _count_joining(outcome, built)
    cut_off = watched.cut_off(built.network.components)
    reasons = [
        deprived(found.property, cut_off[0].why) if cut_off else unconfirmed(found.property)
        for found in report.unconfirmed
    ]
    if outcome.result == "bounded":
        reasons.append(_as_bound(outcome.stopped_by))
    if built.discovery is not None and not built.discovery.is_complete:
        reasons.append(Bound("packets that could not be found", Why.UNFOUND))
    reasons += [*outcome.left_out, *(each.bound() for each in dict.fromkeys(outcome.reservations))]
    reasons += unjudged(outcome.exercised, report.needs)
    report.verdict = judge(
        Result.EXHAUSTED, violated=bool(report.findings), reasons=reasons, exercised=outcome.exercised
    )
    if report.verdict.result is Result.BOUNDED:
        outcome.result, outcome.stopped_by = "bounded", report.verdict.reasons[0]


def _count_joining(outcome: Outcome, built: Built) -> None:
    """Count what was judged while switches joined, for properties that had nothing to judge from there on.

    A program that installs rules and hears no packet is put to the test by that alone.
    """
    for name, times in outcome.exercised.items():
        if not times and outcome.transitions:
            outcome.exercised[name] = built.upheld.get(name, 0)


def _as_bound(text: str) -> Bound:
    return text if isinstance(text, Bound) else Bound(text)


def _next_steps(report: Report, built: Built, means: _Means) -> tuple[Suggestion, ...]:
    """Return what to try next."""
    outcome = report.outcome
    if report.verdict.result is Result.VIOLATED:
        return ()
    ran = Ran(
        "check" if means.walk is None else "walk",
        report.scenario,
        states=outcome.states,
        depth=outcome.depth,
        walk=means.walk or {},
        lost=() if built.discovery is None else built.discovery.places_lost(),
        unexercised=report.unexercised,
    )
    return next_steps(ran, report.verdict.reasons)


def _coverage(report: Report, built: Built, means: _Means) -> dict[str, Any]:
    """Return what a search covered, for the header of a trace."""
    scenario, steps = report.scenario, report.next_steps
    found = search_coverage(
        report.outcome,
        built.properties,
        report.verdict,
        strategies=[each.name for each in means.plan.strategies],
        reductions=means.reductions,
        faults=built.network.fabric.faults,
        first_only=not scenario.limits().all_violations,
    )
    return {COVERAGE: {**found, "next_steps": list(map(str, steps))}}


def retake(built: Built, violation: Violation) -> tuple[tuple[Record, ...], bool]:
    """Take a violation's transitions again; return the run and whether it ends in the violation."""
    world = World(built.network)
    world.restore(built.start)
    watch = Watch(built.network, built.properties)
    records: list[Record] = []
    watch.begin(states_of(world))
    with origins.recorded():
        for transition in violation.path:
            if transition not in world.enabled():
                return tuple(records), False
            records.append(world.take(transition))
            watch.observe(records[-1], states_of(world))
    if world.is_at_rest():
        watch.at_rest(states_of(world))
    return tuple(records), watch.broken.get(violation.property) == violation.message
