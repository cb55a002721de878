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
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from penstock.building import Built
from penstock.check import Finding
from penstock.controllers.reactions import Answering
from penstock.errors import PenstockError
from penstock.explore.search import Bounds, Progress, Stop, Violation, peak_rss_mb
from penstock.properties.base import Property, never_exercised
from penstock.properties.watch import Watch
from penstock.report.coverage import KEY as COVERAGE
from penstock.report.coverage import covered_file, proof_coverage
from penstock.scenario import Scenario
from penstock.trace import Verdict as TraceVerdict
from penstock.trace import write_trace
from penstock.verify.abstract_controller import SYNCHRONISE, AbstractController
from penstock.verify.abstract_host import RECEIVE, SEND
from penstock.verify.distinctions import Distinctions
from penstock.verify.experience import MISHAPS
from penstock.verify.formulas import EventFormula, Reading, property_of, read
from penstock.verify.invariants import NoLoops
from penstock.verify.lifting import Lifting, Model, Traffic, lift
from penstock.verify.ltl.checking import Verdict
from penstock.verify.monitors import Monitor
from penstock.verify.options import NEARLY, VerifyOptions, known_of, named_property, options_of
from penstock.verify.order import all_programs
from penstock.verify.packet_classes import PacketClasses
from penstock.verify.temporal import breaks, decided
from penstock.verify.verification import Verification, assumptions_of, verify
from penstock.verify.vocabulary import LYING, RECEIVED, Vocabulary
from penstock.world.hosts import Host
from penstock.world.switch import SwitchState
from penstock.world.transition import Record, Transition
from penstock.world.world import World, states_of

_LEAST = 0.001
"""How many seconds a search has at least; it then finds that time is up."""

Result = Literal["proved", "violated", "bounded"]


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
    result: Result = "proved"
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
        self._given = tuple(dict.fromkeys(given))
        self._named = {text: named_property(text) for text in self._given}
        self.nearly = [NEARLY[text] for text in self._given if text in NEARLY]
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
            self._built = scenario.build(asked=True)
        return self._built

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
    proving = Proving(scenario, options)
    proof = Proof(scenario, options)
    if proving.left_out:
        proof.remarks.append(f"Not judged, since a proof does not know them: {', '.join(proving.left_out)}.")
    proof.remarks += (*proving.nearly, *_left_aside(scenario))
    if proving.built.broken:
        _refuse_to_join(proof, proving.built)
    else:
        _Rounds(proving, proof, started, progress).run()
    proof.seconds, proof.peak_rss_mb = time.monotonic() - started, peak_rss_mb()
    if output is not None:
        proof.findings = [
            replace(finding, trace=_written(proof, finding, output / f"{scenario.name}-{number}.jsonl"))
            for number, finding in enumerate(proof.findings, 1)
        ]
        if not proof.findings:
            path = covered_file(output, scenario.name)
            details: dict[str, Any] = {"engine": "verify", COVERAGE: proof_coverage(proof)}
            proof.covered = write_trace(path, scenario.table(), scenario.folder, (), **details)
    return proof


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


def _written(proof: Proof, finding: Refutation, path: Path) -> Path:
    scenario, options = proof.scenario, proof.options
    if not proof.traffic:
        table = {**scenario.table(), "search": {**scenario.table().get("search", {}), "start": "cold"}}
        return write_trace(
            path,
            table,
            scenario.folder,
            finding.records,
            TraceVerdict(finding.property, finding.message),
            **{COVERAGE: proof_coverage(proof)},
        )
    details = {
        COVERAGE: proof_coverage(proof),
        "verify": {
            "properties": [finding.property],
            "mode": options.mode,
            "timeouts": options.timeouts,
            "traffic": {
                source: [frame.data.hex() for frame in frames] for source, frames in proof.traffic.items()
            },
            "loop": finding.loop,
        },
    }
    verdict = TraceVerdict(finding.property, finding.message)
    return write_trace(path, scenario.table(), scenario.folder, finding.records, verdict, **details)


class _Rounds:
    """Searches repeated until no new packet classes come up."""

    def __init__(self, proving: Proving, proof: Proof, started: float, progress: Progress | None) -> None:
        self._proving = proving
        self._proof = proof
        self._started = started
        self._progress = progress
        self._plan = 0
        discovery = proving.built.discovery
        assert discovery is not None
        controller = discovery.controller
        assert isinstance(controller, Answering)
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
            if proof.findings or proof.bounds:
                break
            programs = self._programs(model, eager)
            if programs is None or not classes.learn(model.experience, programs, until=self._until):
                break
        proof.classes = {name: len(frames) for name, frames in proof.traffic.items()}
        left_open = (*classes.remarks, *classes.reservations, *model.experience.left_open())
        proof.bounds += dict.fromkeys(left_open)
        joining = (event.kind for record in self._proving.built.joining for event in record.events)
        mishaps = model.experience.mishaps.union(joining)
        proof.remarks += [said for kind, said in MISHAPS.items() if kind in mishaps]
        proof.assumptions = (*assumptions_of(model), *_ASSUMED, *_taken_on_trust(self._proving.options))
        if proof.findings:
            proof.result, proof.reasons = "violated", ()
            proof.methods = {found.property: "a run that breaks it was found" for found in proof.findings}
        elif proof.bounds:
            proof.result = "bounded"

    def _programs(self, model: Model, eager: frozenset[str]) -> Sequence[Hashable] | None:
        """Return the states that the program can be in, for classes to be found in them."""
        controller = next(made for made in model.network.components if isinstance(made, AbstractController))
        found: Sequence[Hashable] | None = sorted(model.experience.programs, key=repr)
        if SYNCHRONISE in eager:
            found = all_programs(controller, model.experience)
            if found is None:
                self._proof.bounds.append("The program has too many states for its packets to be told apart.")
                return None
        if any(_has_timers(controller, program) for program in found or ()):
            self._proof.bounds.append("The program has timers, and a proof does not let them go off.")
        return found

    def _search(self, model: Model) -> frozenset[str]:
        """Decide all properties on a model; return which kinds of steps were eager."""
        proof, options = self._proof, self._proving.options
        claims = self._proving.claims(model)
        proof.states = proof.transitions = 0
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
        seconds = self._proving.scenario.limits().seconds
        return None if seconds is None else self._started + seconds

    def _stopped(self, reason: str) -> str:
        """Return where a search stopped, in a sentence; what time it had left says nothing to the user."""
        seconds = self._proving.scenario.limits().seconds
        limit = f"{seconds:g} seconds" if seconds is not None and reason.endswith(" seconds") else reason
        return f"The search stopped at {limit}."

    def _bounds(self) -> Bounds:
        limits, until = self._proving.scenario.limits(), self._until
        seconds = None if until is None else max(until - time.monotonic(), _LEAST)
        return Bounds(limits.states, None, seconds, limits.memory_mb)

    def _note_invariants(self, claims: Claims, model: Model, found: Verification) -> None:
        proof, outcome = self._proof, found.outcome
        proof.states += found.states
        proof.transitions += outcome.transitions
        proof.reasons = found.reasons
        for watcher in claims.invariants:
            proof.methods[watcher.name] = "every state that the reductions leave was visited"
        proof.remarks = [
            *(remark for remark in proof.remarks if "never put to the test" not in remark),
            *never_exercised(claims.invariants, outcome.exercised),
        ]
        if found.verdict == "bounded":
            proof.bounds.append(self._stopped(outcome.stopped_by))
        proof.findings += [_retaken(claims, model, violation) for violation in outcome.violations]

    def _note_temporal(self, claims: Claims, model: Model, reading: Reading) -> None:
        proof = self._proof
        try:
            verdict = decided(
                model, reading, claims.vocabulary, fair=self._proving.options.fair, bounds=self._bounds()
            )
        except Stop as stop:
            proof.bounds.append(self._stopped(str(stop)))
            return
        proof.states += verdict.nodes
        proof.transitions += verdict.transitions
        fair = ", under weak fairness" if self._proving.options.fair else ""
        proof.methods[reading.text] = (
            f"{verdict.method} with an automaton of {verdict.automaton_states} states{fair}, no reductions"
        )
        if verdict.result == "bounded":
            proof.bounds.append(self._stopped(verdict.stopped_by))
        if verdict.counterexample is not None:
            proof.findings.append(_refuted(claims, model, reading, verdict))


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
    return Refutation(name, message, records, True)


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


def _refuted(claims: Claims, model: Model, reading: Reading, verdict: Verdict) -> Refutation:
    run = verdict.counterexample
    assert run is not None
    moves = (*run.stem, *run.loop)
    transitions = [move.label.transition for move in moves]
    records, broken = breaks(model, reading, claims.vocabulary, transitions, len(run.loop))
    message = {
        "prefix": "what has happened is enough to break it.",
        "rest": "then nothing more can happen, and it stays broken.",
        "loop": f"the last {len(run.loop)} steps can go on for ever, and it stays broken.",
    }[run.ending]
    return Refutation(reading.text, message, records, broken and not verdict.divergence, None, len(run.loop))


def _has_timers(controller: AbstractController, program: Any) -> bool:
    return any(not action.startswith("join ") for action in controller.inner.actions(program))


_ASSUMED = (
    "Hosts send packets of all classes that something tells apart, each any number of times.",
    "Hosts use no addresses as their own but theirs, and write to those of hosts and switches, to groups, "
    "and to one address that nobody has.",
    "Packets have one VLAN tag at most; there are no fragments, no IPv6 extension headers, and nothing after "
    "an MPLS label.",
    "Messages between barriers are carried out in any order, and are not lost.",
    "The controller does nothing by itself: its timers do not go off.",
    "The program does the same whenever it is given the same in the same state.",
)
