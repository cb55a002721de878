"""The invariants of a fuzzing run: what must hold of the forwarding state, and for how long it may not.

While a network changes, rules are wrong for a moment; that is no bug.  So each *claim* that something is
wrong has a name that stays the same while it lasts.  It is told when it is first seen, as a passing
violation, again when it has lasted for `persistent_ms`, as a lasting one, and when it is gone.  Only time
in which the controllers could have done something counts: all of them up, all sessions open, no control
channel standing still, no table limited by the fuzzer.  As soon as something is wrong the fuzzer holds its
breath until that is decided.

| invariant | what it claims to be wrong |
| --- | --- |
| `NoForwardingLoops` | a class of packets comes back to where it was, as it was |
| `NoBlackHoles` | packets for another host are lost, though there is a way: `_world.switch.drops` |
| `AllPairsReachability` | nothing for another host arrives, though there is a way |
| `Isolation` | packets get where they must not, see its table `{from, to, match}` |
| `NoAmbiguousRules` | a packet meets two rules of one priority that do different things |
| `TablesAsOrdered` | a switch lacks a rule that it was ordered to have |
| `ControllerLiveness` | a controller ended by itself, or does not answer |

A host that no wires lead to is nobody's fault, so pairs of hosts are judged only while the wires that are
there connect them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

import networkx as nx

from penstock._base.text import hint
from penstock._base.typed import refuse_unknown
from penstock._base.users_code import explained, load_object
from penstock._forwarding.following import Follower
from penstock._forwarding.invariants import (
    AllPairsReachability,
    Isolation,
    Judged,
    NoForwardingLoops,
    NothingLost,
)
from penstock._forwarding.invariants import Finding as Fact
from penstock._forwarding.invariants import Invariant as ForwardingInvariant
from penstock._forwarding.model import ForwardingModel
from penstock._fuzz.building import FuzzContext
from penstock._fuzz.controller_errors import ControllerErrors
from penstock._fuzz.harness import Harness
from penstock._fuzz.installed_rules import AmbiguousRules, TablesAsOrdered
from penstock._fuzz.judging import HEALED, Finding, Invariant
from penstock._properties.registry import PROPERTIES, canonical, is_followed
from penstock._scenario.scenario import DEFAULT_PROPERTIES, Scenario
from penstock._world.hosts import Host
from penstock._world.signals import FABRIC
from penstock._world.switch.drops import given_drops
from penstock._world.transition import Record
from penstock._world.world import World
from penstock.errors import PenstockError

DEFAULT: Final = (
    "NoForwardingLoops",
    "NoBlackHoles",
    "NoAmbiguousRules",
    "TablesAsOrdered",
    "ControllerLiveness",
    "ControllerErrors",
)

MOST_HOSTS: Final = 100
"""With more hosts than this, pairs of them are too many to be judged after each input."""

_MOST_TOLD: Final = 3
"""How many claims of one kind are told one by one when they come together."""


class Claims(Protocol):
    """Something that can say what is wrong now."""

    name: str

    def observe(self, record: Record, /) -> None:
        """Take in what happened."""
        ...

    def claims(self) -> Mapping[str, str]:
        """Return what is wrong now: sentences, each under a name that stays while it lasts."""
        ...

    def rules(self, claim: str, /) -> tuple[str, ...]:
        """Return the rules behind a claim that stands, each after the name of its switch."""
        ...

    def remarks(self) -> tuple[str, ...]:
        """Return what could not be judged, in sentences."""
        ...


@dataclass(slots=True)
class _Open:
    """A claim that stands: what it says, when it came up, and what the clock of patience showed then."""

    message: str
    began: int
    since: int
    rules: tuple[str, ...] = ()
    lasting: bool = False


class Patience:
    """A clock that runs only while the controllers could do something about what is wrong."""

    def __init__(self, stage: Harness) -> None:
        self._stage = stage
        self._seen = 0
        self.passed = 0

    def reach(self, now: int) -> int:
        """Return how much time counts until now."""
        if self.runs:
            self.passed += now - self._seen
        self._seen = now
        return self.passed

    @property
    def runs(self) -> bool:
        """Whether the controllers could do something now."""
        possible = self._stage.possible()
        control = {end for wire in self._stage.setting.sessions for end in wire}
        return (
            not possible.controllers_down()
            and not possible.sessions_cut()
            and not possible.limited_switches()
            and control.isdisjoint(possible.held())
        )


class Lasting:
    """An invariant that tells passing violations from lasting ones."""

    def __init__(self, source: Claims, patience: Patience, threshold: int) -> None:
        self.source = source
        self._patience = patience
        self._threshold = threshold
        self._open: dict[str, _Open] = {}

    def observe(self, record: Record) -> None:
        """Take in what happened."""
        self.source.observe(record)

    @property
    def is_undecided(self) -> bool:
        """Whether a claim stands that may still pass, and it is for the controllers to act."""
        return any(not claim.lasting for claim in self._open.values()) and self._patience.runs

    def remarks(self) -> tuple[str, ...]:
        """Return what could not be judged, in sentences."""
        return self.source.remarks()

    def check(self, now: int, *, at_rest: bool = False) -> list[Finding]:  # noqa: ARG002 - the protocol's
        """Return what came up, has lasted or is gone since the last time."""
        passed, claims = self._patience.reach(now), self.source.claims()
        healed = [self._open.pop(key) for key in [*self._open] if key not in claims]
        new = [key for key in claims if key not in self._open]
        for key in new:
            self._open[key] = _Open("", now, passed, lasting=not self._threshold)
        for key, claim in self._open.items():
            # What is wrong may have come to be wrong in another way since; what counts is how it is now.
            claim.message, claim.rules = claims[key], self.source.rules(key)
        lasting = [
            claim
            for claim in self._open.values()
            if not claim.lasting and passed - claim.since >= self._threshold > 0
        ]
        for claim in lasting:
            claim.lasting = True
        return [
            *self._told([self._open[key] for key in new], persistent=not self._threshold),
            *self._told(lasting, persistent=True),
            *self._told([claim for claim in healed if not claim.lasting], verdict=HEALED),
            *self._told([claim for claim in healed if claim.lasting], verdict=HEALED, persistent=True),
        ]

    def _told(self, claims: list[_Open], **details: Any) -> list[Finding]:
        """Return findings, the first few one by one and the rest by their number."""
        is_over = details.get("verdict") == HEALED
        found = [
            Finding(
                self.source.name,
                claim.message,
                rules=claim.rules,
                since=claim.began if is_over else None,
                **details,
            )
            for claim in claims[:_MOST_TOLD]
        ]
        if more := len(claims) - len(found):
            # Of those that are told by their number, the one that came up first says how long they stood.
            since = min(claim.began for claim in claims[len(found) - 1 :]) if is_over else None
            message = f"{found[-1].message} (and {more} more)"
            found[-1] = replace(found[-1], message=message, since=since, times=more + 1)
        return found

    def undecided(self) -> Iterator[Finding]:
        """Yield what is wrong when the run is over, and has not lasted long enough to count."""
        for claim in self._open.values():
            if not claim.lasting:
                yield Finding(self.source.name, claim.message, rules=claim.rules, since=claim.began)


class Wires:
    """Which hosts the wires that are there connect, whatever the tables say."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._wiring: object = None
        self._part_of: dict[str, int] = {}

    def connect(self, a: str, b: str) -> bool:
        """Tell whether there is a way from one host to another."""
        state = self._world.state(FABRIC)
        if state.wiring != self._wiring:
            self._wiring = state.wiring
            self._part_of = self._parts(state)
        return self._part_of.get(a, -1) == self._part_of.get(b, -2)

    def _parts(self, state: Any) -> dict[str, int]:
        network = self._world.network
        graph = nx.Graph()
        for end in network.channels:
            peer = network.fabric.peer(state, end) if isinstance(end.port, int) else None
            if peer is not None:
                graph.add_edge(end.node, peer.node)
        return {name: number for number, part in enumerate(nx.connected_components(graph)) for name in part}


class Forwarding:
    """Claims about the forwarding state."""

    def __init__(
        self,
        follower: Follower,
        judge: ForwardingInvariant,
        name: str,
        keep: Callable[[Fact], bool],
        remarks: tuple[str, ...] = (),
    ) -> None:
        self.name = name
        self._follower, self._judge, self._keep = follower, judge, keep
        self._remarks = remarks
        self._facts: dict[str, Fact] = {}

    def remarks(self) -> tuple[str, ...]:
        """Return what is not judged: some hosts, or packets that the model does not follow."""
        return (*self._remarks, *self._follower.model.remarks)

    def observe(self, record: Record) -> None:
        """Do nothing: the model follows the world by itself."""

    def claims(self) -> Mapping[str, str]:
        """Return what is wrong with the tables as they are now."""
        self._facts = {fact.key: fact for fact in self._judge.check(self._follower.model) if self._keep(fact)}
        return {key: fact.message for key, fact in self._facts.items()}

    def rules(self, claim: str) -> tuple[str, ...]:
        """Return the rules that the packets meet which a claim is about."""
        outcome = self._facts[claim].outcome
        return () if outcome is None else tuple(f"{step.switch} {step.rule}" for step in outcome.path)


class ControllerLiveness:
    """Every controller goes on, and answers; what it did not is never mended again."""

    name = "ControllerLiveness"
    is_undecided = False

    def __init__(self, stage: Harness) -> None:
        self._stage = stage

    def remarks(self) -> tuple[str, ...]:
        """Return nothing: all controllers are judged."""
        return ()

    def observe(self, record: Record) -> None:
        """Do nothing: the stage hears of it first."""

    def check(self, _now: int, *, at_rest: bool = False) -> list[Finding]:  # noqa: ARG002 - the protocol's
        """Return what was heard, or not heard, of controllers since the last time."""
        found = [Finding(self.name, text, persistent=True) for text in self._stage.news_of_deaths()]
        found += [
            Finding(self.name, f"No response in time after: {text}.", persistent=True)
            for text in self._stage.news_of_silence()
        ]
        return found


class Making:
    """What makes the invariants that a scenario names."""

    def __init__(self, stage: Harness) -> None:
        self._stage = stage
        self._setting: FuzzContext = stage.setting
        self._patience = Patience(stage)
        self._wires = Wires(stage.world)
        self._known_follower: Follower | None = None
        self._remarks: tuple[str, ...] = ()

    def all(self) -> Sequence[Invariant]:
        """Return the invariants of the run; what its names leave to the properties is not among them."""
        given = given_invariants(self._setting.scenario)
        return [self._one(item) for item in given if not is_followed(item)]

    def _one(self, given: Any) -> Invariant:
        options = dict(given) if isinstance(given, Mapping) else {"name": given}
        name = options.pop("name", None)
        name = canonical(name) if isinstance(name, str) else name
        match name:
            case "ControllerLiveness":
                refuse_unknown(options, (), name)
                return ControllerLiveness(self._stage)
            case "ControllerErrors":
                refuse_unknown(options, (), name)
                return ControllerErrors(self._stage)
            case "TablesAsOrdered":
                refuse_unknown(options, (), name)
                return self._lasting(TablesAsOrdered(self._stage.world))
            case "NoAmbiguousRules":
                refuse_unknown(options, (), name)
                return self._lasting(AmbiguousRules(self._stage.world, self._follower))
            case "NoForwardingLoops":
                refuse_unknown(options, (), name)
                return self._forwarding(NoForwardingLoops(), name)
            case "NoBlackHoles":
                refuse_unknown(options, ("drops",), name)
                lost = NothingLost(self._pairs(), drops=given_drops(options, name))
                return self._forwarding(lost, name, self._is_connected)
            case "AllPairsReachability":
                refuse_unknown(options, (), name)
                return self._forwarding(AllPairsReachability(self._pairs()), name, self._is_connected)
            case "Isolation":
                refuse_unknown(options, ("rules",), name)
                return self._forwarding(_isolation(options.get("rules")), name)
            case str() if ":" in name:
                refuse_unknown(options, ("over",), "invariants")
                return self._forwarding(self._users_own(name), name)
            case _:
                known = (*DEFAULT, *_OTHERS)
                otherwise = f"use {', '.join(known)}, a property, or "
                otherwise += '{name = "file.py:function", over = "forwarding"}.'
                raise PenstockError(
                    f"unknown invariant {name!r}: {hint(name, (*known, *PROPERTIES), otherwise)}"
                )

    def _users_own(self, name: str) -> Judged:
        """Return what a function of the user's judges; whatever it raises is said in a sentence."""
        function = load_object(name, self._setting.scenario.folder, "invariant")
        if not callable(function):
            raise PenstockError(f"{name} is not a function: an invariant is one that takes a model.")

        def judge(model: ForwardingModel) -> list[str | Fact]:
            try:
                return [*function(model)]
            except PenstockError:
                raise
            except Exception as error:
                raise PenstockError(f"The invariant {name} raised {explained(error)}.") from error

        return Judged(judge, name)

    def _lasting(self, source: Claims) -> Lasting:
        return Lasting(source, self._patience, self._setting.options.persistent_ms)

    def _forwarding(
        self, judge: ForwardingInvariant, name: str, keep: Callable[[Fact], bool] = lambda _: True
    ) -> Lasting:
        return self._lasting(Forwarding(self._follower, judge, name, keep, self._remarks))

    @property
    def _follower(self) -> Follower:
        if self._known_follower is None:
            self._known_follower = Follower(self._stage.world)
        return self._known_follower

    def _pairs(self) -> tuple[tuple[str, str], ...]:
        hosts = [made.name for made in self._setting.network.components if isinstance(made, Host)]
        some = hosts[:MOST_HOSTS]
        if len(hosts) > MOST_HOSTS:
            self._remarks = (f"Of {len(hosts):,} hosts only the first {MOST_HOSTS} were judged in pairs.",)
        return tuple((a, b) for a in some for b in some if a != b)

    def _is_connected(self, fact: Fact) -> bool:
        found = _PAIR.match(fact.key)
        return found is None or self._wires.connect(*found.groups())


_PAIR: Final = re.compile(r"(\S+) (?:to|does not reach) (\S+)")
"""How the keys of facts about two hosts begin."""


def _isolation(rules: Any) -> Isolation:
    """Return the isolation that rules ask for."""
    if not isinstance(rules, list | tuple) or not all(isinstance(rule, Mapping) for rule in rules):
        raise PenstockError('Isolation needs its rules: write rules = [{from = "h1", to = "h2"}].')
    try:
        return Isolation.of(rules)
    except (TypeError, ValueError, LookupError) as error:
        raise PenstockError(f"The rules of Isolation cannot be: {str(error).rstrip('.')}.") from None


_OTHERS: Final = ("AllPairsReachability", "Isolation")


def given_invariants(scenario: Scenario) -> list[Any]:
    """Return what the invariants of a run are to be: those of `[fuzz]`, or the usual ones, each once."""
    given: list[Any] = list(scenario.fuzzing().invariants or DEFAULT)
    # A property has one name, whatever it is called here and there.
    return list({canonical(each) if isinstance(each, str) else id(each): each for each in given}.values())


def invariant_names(scenario: Scenario) -> list[str]:
    """Return what a run judges, by name: the invariants, and the properties that the scenario names."""
    given = given_invariants(scenario)
    properties = () if scenario.properties is DEFAULT_PROPERTIES else scenario.properties
    names = [
        str(each.get("name")) if isinstance(each, Mapping) else each if isinstance(each, str) else each.name
        for each in (*given, *properties)
    ]
    return list(dict.fromkeys([*map(canonical, names), "ControllerCrash", "ControllerHang"]))


def invariants_of(stage: Harness) -> Sequence[Invariant]:
    """Return the invariants that a run's scenario names, or the usual ones."""
    return Making(stage).all()
