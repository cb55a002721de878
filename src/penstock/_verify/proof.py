"""Proving what a scenario demands, for any number of packets; or finding a run that breaks it.

1. The scenario is put together, its switches join, and the network is lifted (`lifting`).
2. Properties that are invariants are decided with the reductions of the chosen mode (`verification`), the
   others on all states (`temporal`).
3. Packet classes are refined by what that search has met (`packet_classes`), and it is repeated, until there
   are no new ones.
4. A run that breaks a property is taken again in a `World`, and written down as a trace like any other.

A result is *proved* only if nothing was left out that could matter; otherwise it is *bounded*, with the
reason.
"""

from __future__ import annotations

import re
import time
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any

from penstock._controllers import origins, watched
from penstock._controllers.probing import Probeable
from penstock._controllers.surface import MoreState
from penstock._engine import fresh_program
from penstock._engine.building import Built, begun, build
from penstock._engine.conclusion import KEY as COVERAGE
from penstock._engine.conclusion import Finding, came_to, covered_name
from penstock._engine.next_steps import Ran, Suggestion, next_steps
from penstock._explain.cause import cause_of
from penstock._explain.past import Past
from penstock._explore.reexecution import made_again
from penstock._explore.search import Bounds, Progress, Stop, Violation, peak_rss_mb
from penstock._properties.base import Property, never_exercised
from penstock._properties.controllers import NoAmbiguousRules, switches_of
from penstock._properties.registry import canonical
from penstock._properties.watch import Watch
from penstock._scenario.options import VerifyOptions, options_of
from penstock._scenario.scenario import DEFAULT_PROPERTIES, Scenario
from penstock._trace.scene import Scene
from penstock._trace.trace import ProofSetup, TraceFolder, verdict_of
from penstock._verdict.verdict import (
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
from penstock._verify.abstract_controller import SYNCHRONISE, AbstractController
from penstock._verify.abstract_host import RECEIVE, SEND
from penstock._verify.abstract_switch import SwitchQueues
from penstock._verify.commutativity import all_programs
from penstock._verify.distinctions import Distinctions
from penstock._verify.formulas import EventFormula, Reading, property_of, read
from penstock._verify.invariants import NoLoops
from penstock._verify.lifting import Lifting, Model, Traffic, lift
from penstock._verify.ltl.checking import Verdict as TemporalVerdict
from penstock._verify.monitors import Monitor
from penstock._verify.named_properties import known_of, named_property, weaker_form
from penstock._verify.observations import MISHAPS
from penstock._verify.overlapping import LEFT_OPEN, may_clash, rules_in
from penstock._verify.packet_classes import PacketClasses
from penstock._verify.scope import beyond
from penstock._verify.temporal import breaks, decided
from penstock._verify.verification import Verification, assumptions_of, verify
from penstock._verify.vocabulary import LYING, RECEIVED, Vocabulary
from penstock._world.hosts import Host
from penstock._world.network import Network
from penstock._world.switch import SwitchState
from penstock._world.transition import Record, Transition
from penstock._world.world import World, states_of
from penstock.errors import PenstockError

_GLANCE = 60
_FARTHER = 10
"""How many states the first search visits, and how many times more each one after it.

A program that keeps all it sees has no end of states, and what it decides by that shows in the first of them.
"""

_MOST_WAITERS = 16
"""How many tasks that wait for time to pass tell that there is no end to them, as a proof lets none pass."""

_LEAST = 0.001
"""How many seconds a search has at least; it then finds that time is up."""


@dataclass(frozen=True, slots=True)
class Refutation(Finding):
    """A run that breaks a property; its last `loop` steps repeat for ever."""

    loop: int = 0


@dataclass(slots=True)
class Proof:
    """What was proved, or why not.

    `bounds` say why a result is bounded, `reasons` why each reduction was allowed, `methods` how each
    property was decided.
    """

    scenario: Scenario
    options: VerifyOptions
    result: str = "proved"
    """The verdict's word."""
    bounds: list[str] = field(default_factory=list)
    findings: list[Refutation] = field(default_factory=list)
    assumptions: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    methods: dict[str, str] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    classes: dict[str, int] = field(default_factory=dict)
    traffic: Traffic = field(default_factory=dict)
    rounds: int = 0
    states: int = 0
    transitions: int = 0
    seconds: float = 0.0
    peak_rss_mb: int = 0
    covered: Path | None = None
    """Where it is written what was covered, if nothing was found; a report can be made of it."""
    unwritten: str = ""
    """Why nothing, or not all of it, is written down, in a sentence."""
    asked: tuple[str, ...] = ()
    """What was to be proved, by name."""
    untested: tuple[str, ...] = ()
    """The properties that never had anything to judge."""
    beyond: list[Refutation] = field(default_factory=list)
    """Runs that break a property with more packets than the scenario has."""
    unconfirmed: list[Refutation] = field(default_factory=list)
    scene: Scene | None = None
    """The network as it was drawn, for those who look at traces."""
    """Runs that broke a property, and did not when they were repeated."""

    @property
    def verdict(self) -> Verdict:
        """What the proof came to."""
        reasons = [bound if isinstance(bound, Bound) else Bound(bound) for bound in self.bounds]
        tested = {name: int(name not in self.untested) for name in self.methods}
        violated = bool(self.findings)
        return judge(Result.PROVED, violated=violated, reasons=reasons, exercised=tested)

    @property
    def next_steps(self) -> tuple[Suggestion, ...]:
        """What to try next, the most promising first."""
        unexercised = () if self.result == "violated" else self.untested
        ran = Ran("verify", self.scenario, states=self.states, unexercised=unexercised)
        return next_steps(ran, self.bounds if self.result == "bounded" else ())


@dataclass(frozen=True)
class Claims:
    """What is to be proved of one lifted network."""

    vocabulary: Vocabulary
    named: tuple[Property, ...]
    formulas: tuple[Reading, ...]

    @cached_property
    def invariants(self) -> tuple[Property, ...]:
        """Those that are decided by reachability with reductions."""
        found = list(self.named)
        for reading in self.formulas:
            made = property_of(reading, self.vocabulary) if reading.is_invariant else None
            if made is not None and _holds_at_first(made):
                found.append(made)
            elif reading.events and not reading.components:
                monitor = Monitor(reading, self.vocabulary)
                found += [monitor] if monitor.applies else []
        return tuple(found)

    @cached_property
    def temporal(self) -> tuple[Reading, ...]:
        """The others."""
        names = {each.name for each in self.invariants}
        return tuple(each for each in self.formulas if each.text not in names)


def _holds_at_first(made: Property) -> bool:
    return not isinstance(made, EventFormula) or made.holds_in_silence


class Proving:
    """A scenario on its way to a proof."""

    def __init__(self, scenario: Scenario, options: VerifyOptions) -> None:
        self.scenario = scenario
        self.options = options
        known, unknown = known_of(scenario.properties)
        given = options.properties or known
        self.left_out = () if options.properties else unknown
        if not given:
            raise PenstockError(
                "There is nothing to prove: give --property with a formula, or properties in [verify]."
            )
        self._given = tuple(dict.fromkeys(map(canonical, given)))
        self._named = {text: named_property(text) for text in self._given}
        self.asked = tuple(text if made is None else made.name for text, made in self._named.items())
        self.nearly = list(filter(None, map(weaker_form, self._given)))
        """What is to be said of what is to be proved."""
        self._built: Built | None = None

    @property
    def built(self) -> Built:
        """The scenario put together, with its switches joined."""
        if self._built is None:
            watched = tuple(text for text in self._given if text.startswith("Controller"))
            search = {**self.scenario.search, "start": "joined"}
            # Faults play no part, and would never come to an end where packets never do.
            scenario = replace(self.scenario, properties=watched, search=search, faults={})
            self._built = build(scenario, asked=True)
        return self._built

    def take_up(self, more: MoreState) -> None:
        """Begin anew, with more of the program in its state."""
        watched.again(self.built.network.components, more)
        self._built = begun(self.built, "joined")

    @cached_property
    def hosts(self) -> tuple[Host, ...]:
        """The hosts of the network."""
        return tuple(made for made in self.built.network.components if isinstance(made, Host))

    def lifted(self, traffic: Traffic) -> Model:
        """Return the network lifted, with what hosts may send."""
        formulas = [text for text, made in self._named.items() if made is None]
        how = Lifting(
            sending=any(re.search(rf"\b({SEND}|{LYING})\b", text) for text in formulas),
            receiving=any(re.search(rf"\b({RECEIVE}|{RECEIVED})\b", text) for text in formulas),
            history=any(isinstance(made, NoLoops) for made in self._named.values()),
            timeouts=self.options.timeouts,
            kuai=self.options.mode == "kuai",
        )
        return lift(self.built.network, self.built.start, traffic, how)

    def claims(self, model: Model) -> Claims:
        """Return what is to be proved of a lifted network."""
        vocabulary = Vocabulary(model.network, model.start, self.hosts)
        named = {made.name: made for made in self._named.values() if made is not None}
        formulas = tuple(read(text, vocabulary) for text, made in self._named.items() if made is None)
        return Claims(vocabulary, tuple(named.values()), formulas)


def prove(
    scenario: Scenario,
    options: VerifyOptions | None = None,
    *,
    output: Path | None = None,
    progress: Progress | None = None,
) -> Proof:
    """Prove what a scenario demands, or find runs that break it."""
    started = time.monotonic()
    options = options or options_of(scenario.verify)
    traces = TraceFolder(output)
    proving = Proving(scenario, options)
    for times in count(1):
        proof = Proof(scenario, options)
        try:
            watched.begin(proving.built.network.components, times)
            _decide(proving, proof, started, progress)
            break
        except MoreState as more:
            proving.take_up(more)
        finally:
            watched.leave(proving.built.network.components)
    proof.seconds, proof.peak_rss_mb = time.monotonic() - started, peak_rss_mb()
    if (scene := proving.built.scene) is not None:
        # A proof begins where the search of it does, or before the switches have joined.
        proof.scene = replace(scene, joining=())
    _conclude(proof, proving.built.network)
    proof.findings = _kept(proof, proof.findings, traces)
    proof.beyond = _kept(proof, proof.beyond, traces)
    if not proof.findings:
        details: dict[str, Any] = {"engine": "verify", COVERAGE: proof_coverage(proof)}
        name = covered_name(scenario.name)
        proof.covered = traces.write(
            name, scenario.table(), scenario.folder, (), scene=proof.scene, **details
        )
    proof.unwritten = traces.unwritten
    return proof


def _kept(proof: Proof, findings: Sequence[Refutation], traces: TraceFolder) -> list[Refutation]:
    """Write runs down."""
    return [
        replace(finding, trace=_written(proof, finding, traces, f"{proof.scenario.name}-{number}.jsonl"))
        for number, finding in enumerate(findings, 1)
    ]


def _decide(proving: Proving, proof: Proof, started: float, progress: Progress | None) -> None:
    """Prove what is to be proved, or find runs that break it."""
    proof.asked = proving.asked
    skipped_by: list[Bound] = []
    if proving.left_out:
        skipped = f"skipped (verify does not decide them): {', '.join(proving.left_out)}"
        if proof.scenario.properties is DEFAULT_PROPERTIES:
            proof.remarks.append(f"{skipped.capitalize()}.")
        else:
            skipped_by = [Bound(f"{skipped}; name what it is to prove in [verify] properties", Why.UNJUDGED)]
    proof.remarks += (*proving.nearly, *_left_aside(proof.scenario))
    if proving.built.broken:
        _refuse_to_join(proof, proving.built)
    else:
        _Rounds(proving, proof, started, progress).run()
    proof.bounds += skipped_by


def _conclude(proof: Proof, network: Network) -> None:
    """Take out what did not come again or is not asked for, and have the result say what the verdict does."""
    cut_off = watched.cut_off(network.components)
    proof.unconfirmed = [finding for finding in proof.findings if cut_off or not finding.confirmed]
    proof.findings = [finding for finding in proof.findings if finding not in proof.unconfirmed]
    proof.bounds += [
        deprived(finding.property, cut_off[0].why) if cut_off else unconfirmed(finding.property)
        for finding in proof.unconfirmed
    ]
    proof.bounds += [each.bound() for each in cut_off if each.bound() not in proof.bounds]
    outside = {
        finding.property: bound
        for finding in proof.findings
        if (bound := beyond(proof.scenario, network, finding.property, finding.records)) is not None
    }
    if len(outside) == len(proof.findings):
        proof.beyond, proof.findings = proof.findings, []
        proof.bounds += outside.values()
    if not proof.findings:
        needs = {made.name: made.needs for made in map(named_property, proof.untested) if made is not None}
        proof.bounds += unjudged(dict.fromkeys(proof.untested, 0), needs) if proof.untested else []
    proof.result = str(proof.verdict.result)


def _left_aside(scenario: Scenario) -> list[str]:
    """Return what of a scenario plays no part in a proof, in sentences."""
    found = []
    if any(scenario.faults.get(name) for name in scenario.faults if name not in ("recovery", "targets")):
        found.append("The scenario's faults play no part: penstock check and penstock fuzz try them.")
    tables = {name: table for name, table in scenario.hosts.items() if isinstance(table, Mapping)}
    if moving := [name for name, table in tables.items() if "mobility" in table]:
        found.append(f"{', '.join(moving)} may move in the scenario, and stays where it is in a proof.")
    if kinds := [name for name in scenario.hosts if name not in tables or "kind" in tables[name]]:
        found.append(f"{', '.join(kinds)} may send any packets in a proof, whatever kind of host it is.")
    return found


def _taken_on_trust(options: VerifyOptions) -> list[str]:
    """Return what else is taken for granted with certain options."""
    found = []
    if options.fair:
        found.append("What can be done from some moment on is done again and again; packets too come again.")
    if options.mode in ("mocs", "ample", "kuai"):
        found.append(
            f"As in {options.mode!r} mode, requests may be handled at once whatever the program, which mode "
            "'penstock' would check."
        )
    return found


def _refuse_to_join(proof: Proof, built: Built) -> None:
    proof.result = "violated"
    proof.findings = [
        Refutation(name, message, built.joining, True) for name, message in built.broken.items()
    ]


def _written(proof: Proof, finding: Refutation, traces: TraceFolder, name: str) -> Path | None:
    scenario, options = proof.scenario, proof.options
    if not proof.traffic:
        table = {**scenario.table(), "search": {**scenario.table().get("search", {}), "start": "cold"}}
        return traces.write(
            name,
            table,
            scenario.folder,
            finding.records,
            verdict_of(finding.property, finding.message, finding.explanation),
            proof.scene,
            **{COVERAGE: proof_coverage(proof)},
        )
    traffic = {source: tuple(frame.data for frame in frames) for source, frames in proof.traffic.items()}
    setup = ProofSetup((finding.property,), options.mode, options.timeouts, traffic, finding.loop)
    details = {COVERAGE: proof_coverage(proof), **setup.header()}
    verdict = verdict_of(finding.property, finding.message, finding.explanation)
    # What the components of a lifted network send are sets of packets, which have no bytes.
    scene = None if proof.scene is None else replace(proof.scene, actors=frozenset())
    return traces.write(name, scenario.table(), scenario.folder, finding.records, verdict, scene, **details)


class _Rounds:
    """Searches repeated until no new packet classes come up."""

    def __init__(self, proving: Proving, proof: Proof, started: float, progress: Progress | None) -> None:
        self._proving = proving
        self._limits = proving.scenario.limits_of_proof()
        self._proof = proof
        self._started = started
        self._progress = progress
        self._plan = 0
        self._glance = _GLANCE
        """How many states a search visits before it is asked whether other packets are missing."""
        self._cut_short = False
        self._endless = False
        """Whether the program's states have no end that a longer search could reach."""
        discovery = proving.built.discovery
        assert discovery is not None
        controller = discovery.controller
        assert isinstance(controller, Probeable)
        self._classes = PacketClasses(discovery, controller)
        model = proving.lifted(self._classes.traffic)
        for reading in proving.claims(model).formulas:
            asked = Distinctions(reading.formula, proving.hosts, reading.text)
            self._classes.tell_apart(asked.conditions)
            for comparison in asked.beyond:
                self._classes.reservations[
                    f"{comparison} may tell any two packets apart, of which only a few were tried."
                ] = None
        for state in proving.built.start.states:
            if isinstance(state, SwitchState):
                for table in state.tables.values():
                    for entry in table:
                        self._classes.tell_apart_by(entry.match)

    def run(self) -> None:
        """Search until all classes are known, something is broken, or a bound is reached."""
        proof, classes = self._proof, self._classes
        while True:
            proof.rounds += 1
            proof.traffic = classes.traffic
            model = self._proving.lifted(proof.traffic)
            eager = self._search(model)
            if proof.findings or (proof.bounds and not self._cut_short):
                break
            proof.bounds.clear()
            programs = self._programs(model, eager)
            if programs is not None and classes.learn(model.experience, programs, until=self._until):
                continue
            if programs is None or not self._cut_short or classes.remarks or self._endless:
                break
            self._glance *= _FARTHER
        proof.classes = {name: len(frames) for name, frames in proof.traffic.items()}
        left_open = (
            *classes.remarks,
            *classes.reservations,
            *model.experience.left_open(),
            *self._clashes(model),
        )
        proof.bounds += [Bound(text, _kind_of(text)) for text in dict.fromkeys(left_open)]
        if not any(finding.confirmed for finding in proof.findings):
            # A run that breaks something is no less true for it, and the program runs no more after it: it
            # might end the process, and what was found with it.
            proof.bounds += [each.bound() for each in self._unseen(model)]
        joining = (event.kind for record in self._proving.built.joining for event in record.events)
        mishaps = model.experience.mishaps.union(joining)
        proof.remarks += [said for kind, said in MISHAPS.items() if kind in mishaps]
        proof.assumptions = (*assumptions_of(model), *_ASSUMED, *_taken_on_trust(self._proving.options))
        if proof.findings:
            proof.result, proof.reasons = "violated", ()
            proof.methods = {found.property: "a run that violates it was found" for found in proof.findings}
        elif proof.bounds:
            proof.result = "bounded"

    def _unseen(self, model: Model) -> list[Reservation]:
        """Return what may have been missed because a program's state was not all there is to it."""
        components = model.network.components
        controller = next(made for made in components if isinstance(made, AbstractController))
        remembered = list(controller.remembered.values())
        differing = made_again(remembered)
        watched.look(components)
        found = [*watched.reservations(components), *differing]
        if not found and not self._proof.findings:
            scenario, built = self._proof.scenario, self._proving.built
            found += fresh_program.reservations_about_walks(scenario, built, remembered)
        return found

    def _clashes(self, model: Model) -> Iterator[str]:
        """Yield that rules may clash in tables that were not met, where that is to be proved impossible."""
        if not any(isinstance(made, NoAmbiguousRules) for made in self._proving.claims(model).named):
            return
        rules, switches = set(model.experience.rules), [*switches_of(model.network)]
        for switch in switches:
            queues = model.start.states[model.network.places[switch.name]]
            assert isinstance(queues, SwitchQueues)
            rules |= set(rules_in(switch.name, queues.inner))
        if may_clash(rules, switches[0].options.version):
            yield LEFT_OPEN

    def _programs(self, model: Model, eager: frozenset[str]) -> Sequence[Hashable] | None:
        """Return the states that the program can be in, for classes to be found in them."""
        controller = next(made for made in model.network.components if isinstance(made, AbstractController))
        found: Sequence[Hashable] | None = sorted(model.experience.programs, key=repr)
        if SYNCHRONISE in eager:
            found = all_programs(controller, model.experience)
            if found is None:
                text = "The program has too many states for its packets to be told apart."
                self._proof.bounds.append(Bound(text, Why.PROGRAM_STATES))
                return None
        if any(_has_timers(controller, program) for program in found or ()):
            text = "The program has timers, and a proof does not let them go off."
            self._proof.bounds.append(Bound(text, Why.TIMERS))
        waiters = max((getattr(program, "waiters", 0) for program in found or ()), default=0)
        if self._cut_short and waiters > _MOST_WAITERS:
            text = f"The program begins ever more tasks that wait for time to pass ({waiters} at once)."
            self._proof.bounds.append(Bound(text, Why.TIMERS))
            self._endless = True
        return found

    def _search(self, model: Model) -> frozenset[str]:
        """Decide all properties on a model; return which kinds of steps were eager."""
        proof, options = self._proof, self._proving.options
        claims = self._proving.claims(model)
        proof.states = proof.transitions = 0
        self._cut_short = False
        eager: frozenset[str] = frozenset()
        if claims.invariants:
            found = verify(
                model,
                claims.invariants,
                options.mode,
                bounds=self._bounds(),
                progress=self._progress,
                plan=self._plan,
            )
            # What was not allowed with fewer packets is not tried again with more.
            eager, self._plan = found.eager, found.plan
            self._note_invariants(claims, model, found)
        for reading in claims.temporal:
            if proof.findings:
                break
            self._note_temporal(claims, model, reading)
        return eager

    @property
    def _until(self) -> float | None:
        """When time is up, on the monotonic clock."""
        seconds = self._limits.seconds
        return None if seconds is None else self._started + seconds

    def _stopped(self, reason: str) -> str:
        """Return where a search stopped, in a sentence; what time it had left says nothing to the user."""
        seconds = self._limits.seconds
        why = reason.why if isinstance(reason, Bound) else Why.FAULT
        amount = reason.amount if isinstance(reason, Bound) else None
        limit: str = reason
        if seconds is not None and why is Why.SECONDS:
            limit, amount = f"{seconds:g} seconds", seconds
            if self._proving.scenario.limits().seconds is None:
                limit += ", which a proof has by default: --seconds gives it another limit"
        return Bound(f"The search stopped at {limit}.", why, amount)

    def _bounds(self) -> Bounds:
        limits, until = self._limits, self._until
        seconds = None if until is None else max(until - time.monotonic(), _LEAST)
        states = self._glance if limits.states is None else min(self._glance, limits.states)
        return Bounds(states, None, seconds, limits.memory_mb)

    def _is_glance(self, reason: str) -> bool:
        """Tell whether a search stopped only for packets to be told apart before it goes on."""
        limit = self._limits.states
        return reason == f"{self._glance} states" and (limit is None or self._glance < limit)

    def _note_invariants(self, claims: Claims, model: Model, found: Verification) -> None:
        proof, outcome = self._proof, found.outcome
        proof.states += found.states
        proof.transitions += outcome.transitions
        proof.reasons = found.reasons
        for watcher in claims.invariants:
            proof.methods[watcher.name] = "every state that the reductions leave was visited"
        proof.remarks = [
            *(remark for remark in proof.remarks if "never exercised" not in remark),
            *never_exercised(claims.invariants, outcome.exercised),
        ]
        proof.untested = tuple(name for name, times in outcome.exercised.items() if not times)
        if found.verdict == "bounded":
            self._cut_short = self._is_glance(outcome.stopped_by)
            proof.bounds.append(self._stopped(outcome.stopped_by))
        proof.findings += [_retaken(claims, model, violation) for violation in outcome.violations]

    def _note_temporal(self, claims: Claims, model: Model, reading: Reading) -> None:
        proof = self._proof
        try:
            verdict = decided(
                model, reading, claims.vocabulary, fair=self._proving.options.fair, bounds=self._bounds()
            )
        except Stop as stop:
            self._cut_short |= self._is_glance(stop.bound)
            proof.bounds.append(self._stopped(stop.bound))
            return
        proof.states += verdict.nodes
        proof.transitions += verdict.transitions
        fair = ", under weak fairness" if self._proving.options.fair else ""
        proof.methods[reading.text] = (
            f"{verdict.method} with an automaton of {verdict.automaton_states} states{fair}, no reductions"
        )
        if verdict.result == "bounded":
            self._cut_short |= self._is_glance(verdict.stopped_by)
            proof.bounds.append(self._stopped(verdict.stopped_by))
        if verdict.counterexample is not None:
            proof.findings.append(_refuted(claims, model, reading, verdict))


def _kind_of(text: str) -> Why:
    """Return which bound a sentence is about that says what a proof left open."""
    if isinstance(text, Bound):
        return text.why
    return Why.UNFOLLOWED


def _retaken(claims: Claims, model: Model, violation: Violation) -> Refutation:
    """Take a run again, without the steps that have no part in what it shows."""
    name = violation.property
    records, message = _taken(claims, model, name, violation.path)
    if message is None:
        return Refutation(name, violation.message, records, False)
    # Eager steps may have gone on from where the property was broken, and others led nowhere.
    for place in range(len(records) - 1, -1, -1):
        path = [record.transition for at, record in enumerate(records) if at != place]
        fewer, again = _taken(claims, model, name, path)
        if again is not None:
            records, message = fewer, again
    with origins.recorded():
        records, _ = _taken(claims, model, name, [record.transition for record in records])
    why = cause_of(Past(enumerate(records, 1)), message)
    return Refutation(name, message, records, True, explanation=why)


def _taken(
    claims: Claims, model: Model, name: str, path: Sequence[Transition]
) -> tuple[tuple[Record, ...], str | None]:
    """Take a run up to where a property is broken; return how it is, or None if it is not."""
    world = World(model.network)
    world.restore(model.start)
    watch = Watch(model.network, claims.invariants)
    records: list[Record] = []
    watch.begin(states_of(world))
    for transition in path:
        if name in watch.broken or transition not in world.enabled():
            break
        records.append(world.take(transition))
        watch.observe(records[-1], states_of(world))
    return tuple(records), watch.broken.get(name)


def _refuted(claims: Claims, model: Model, reading: Reading, verdict: TemporalVerdict) -> Refutation:
    run = verdict.counterexample
    assert run is not None
    moves = (*run.stem, *run.loop)
    transitions = [move.label.transition for move in moves]
    records, broken = breaks(model, reading, claims.vocabulary, transitions, len(run.loop))
    message = {
        "prefix": "what has happened is enough to break it.",
        "rest": "then nothing more can happen, and it stays violated.",
        "loop": f"the last {len(run.loop)} steps can go on for ever, and it stays violated.",
    }[run.ending]
    return Refutation(reading.text, message, records, broken and not verdict.divergence, loop=len(run.loop))


def _has_timers(controller: AbstractController, program: Any) -> bool:
    return any(not action.startswith("join ") for action in controller.inner.actions(program))


_ASSUMED = (
    "Hosts send packets of all classes that something tells apart, each any number of times.",
    "Hosts use no addresses as their own but theirs, and write to those of hosts and switches, to groups, "
    "to those that the program or a property asks for, and to one address that nobody has.",
    "Packets have one VLAN tag at most; there are no fragments, no IPv6 extension headers, and nothing after "
    "an MPLS label.",
    "Messages between barriers are carried out in any order, and are not lost.",
    "Switches keep no packets for the controller: every packet_in has all of its packet and no buffer_id, "
    "which penstock check has otherwise with buffers in [switches].",
    "The controller does nothing by itself: its timers do not go off.",
    "The program does the same whenever it is given the same in the same state.",
)


def proof_coverage(proof: Proof) -> dict[str, Any]:
    """Return what a proof covered, as plain data."""
    untested = [remark for remark in proof.remarks if "never exercised" in remark]
    return {
        **came_to(proof.verdict),
        "states": proof.states,
        "transitions": proof.transitions,
        "strategies": [f"{count} classes of packets from {host}" for host, count in proof.classes.items()],
        "reductions": list(proof.reasons),
        "properties": [_decided(name, how, untested) for name, how in proof.methods.items()],
        "not_covered": [
            *proof.bounds,
            *(remark for remark in proof.remarks if remark not in untested),
            *(f"Taken for granted: {each}" for each in proof.assumptions),
        ],
        "next_steps": list(map(str, proof.next_steps)),
    }


def _decided(name: str, how: str, untested: Iterable[str]) -> dict[str, Any]:
    warning = next((each for each in untested if each.startswith(f"{name} was never put")), None)
    return {"name": name, "exercised": warning is None, "why": warning or how}
