"""Explaining a violation: its cause, and which events it takes.

Which events a violation takes: what happens if one of them is left out, or comes later.

Each question is answered by a run of its own, from the same start: the run's transitions are taken again in
their order, but for the change; one that is not possible any more is passed over.  Then everything that is
under way arrives, controllers and switches do what they still have to do, and the properties judge.

1.  An *input* is what a host, the fabric or a timer began.  It is needed if the property holds without it.
    If no single input but the packet in question is, a small set of inputs that is enough is looked for.
    Inputs that are not needed, and all that they brought about, did not matter if the violation is the same
    without all of them together.
2.  Two steps of one component are a *race* if the second could have come first: it was not brought about by
    the first (happened-before, Lamport 1978), and is not behind it on the same channel.  The race is turned
    round by having the first step, and what it brought about, come after the second.  The first race whose
    turning makes the violation go away is told.

How much of this is tried is bounded, in steps and in seconds; what was not tried is not told, nor what a run
shows that does not come to rest.

The runs of an explanation differ in little, and most of their time would be spent on handlers that do what
they have done before.  A component does the same whenever it is given the same in the same state, which the
search that found the violation has relied on and looked at (`_explore.reexecution`); here it is relied on
too.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from penstock._controllers import watched
from penstock._engine.building import Built
from penstock._engine.fresh_program import WatchedWorld
from penstock._explain.cause import FAILURES, cause_of, headlines, rules_cause
from penstock._explain.past import Past, packet_names
from penstock._properties.registry import PROPERTIES
from penstock._story.explanation import Explanation, Needed
from penstock._trace.retelling import record_of
from penstock._trace.trace import Causality, FindingLine, Line, Trace
from penstock._world.component import Component, Port, Step
from penstock._world.network import Network
from penstock._world.transition import ACT, DELIVER, Record
from penstock.errors import PenstockError

MOST_STEPS: Final = 12_000
"""How many steps all these runs may take together."""
MOST_STEPS_TO_REST: Final = 400
"""How many steps one of them may take to come to rest: a flood that goes round never does."""
UNSETTLED: Final = ""
"""What is said of a run that did not come to rest: whether the property is broken in it is not known."""
_JOIN: Final = "join "


@dataclass(slots=True)
class Counterfactuals:
    """What was found out about the events of a run."""

    moved: Needed | None = None
    left_out: list[Needed] = field(default_factory=list)
    enough: list[Needed] = field(default_factory=list)
    needless: tuple[int, ...] = ()
    untried: bool = False


class OutOfBudget(Exception):
    """No more runs can be afforded."""


class _Run(NamedTuple):
    """A run that differs: how the property is broken in it, if that is so or known, and the steps taken."""

    broken: str | None
    taken: list[int]


class _Runs:
    """Runs of a scenario that differ from one in which a property is broken."""

    def __init__(self, built: Built, records: Sequence[Record], name: str, until: float) -> None:
        self._built, self._name = replace(built, network=remembering(built.network)), name
        self.records = records
        self._left = MOST_STEPS
        self._until = until

    def run(self, places: Iterable[int]) -> _Run:
        """Take the transitions of some steps, in this order."""
        world = WatchedWorld(self._built)
        taken: list[int] = []
        for place in places:
            if self._name in world.watch.broken:
                break
            transition = self.records[place].transition
            if transition in world.world.enabled():
                self._pay()
                world.take(transition)
                taken.append(place)
        if self._name not in world.watch.broken:
            before = len(world.records)
            rested = world.rest(MOST_STEPS_TO_REST, self._name)
            self._pay(len(world.records) - before)
            return _Run(world.watch.broken.get(self._name, None if rested else UNSETTLED), taken)
        return _Run(world.watch.broken[self._name], taken)

    def without(self, places: Collection[int]) -> str | None:
        """Return how the property is broken without some steps, None if it holds, or `UNSETTLED`."""
        return self.run(place for place in range(len(self.records)) if place not in places).broken

    def _pay(self, steps: int = 1) -> None:
        self._left -= steps
        if self._left < 0 or time.monotonic() > self._until:
            raise OutOfBudget


def try_others(
    built: Built, records: Sequence[Record], name: str, subject: Sequence[str], until: float
) -> Counterfactuals:
    """Find out which events of a run the violation of a property takes, until some moment.

    `subject` are the packets that the violation is about: without them there is nothing to be wrong.
    """
    runs = _Runs(built, records, name, until)
    found = Counterfactuals()
    try:
        if as_told := runs.without(()):
            order = _Order(records)
            _leave_out(runs, order, found, as_told, subject)
            _turn_round(runs, order, found)
    except (OutOfBudget, PenstockError, KeyboardInterrupt):
        # A change may bring a program where it cannot be followed; who has no patience has the story.
        found.untried = True
    return found


class _Order:
    """What brought about what in a run; sets of steps are numbers with a bit for each."""

    def __init__(self, records: Sequence[Record]) -> None:
        self.headlines = headlines(records)
        self._records = records
        causality = Causality()
        self._brought: list[int] = []
        last: dict[str, int] = {}
        for place, record in enumerate(records):
            mine = last.get(record.node)
            causes = {cause for cause in causality.causes(place, record) if cause != mine}
            if record.transition.verb == ACT and mine is not None:
                # What a component does by itself may depend on all that it has seen.
                causes.add(mine)
            bits = 0
            for cause in causes:
                bits |= self._brought[cause] | 1 << cause
            self._brought.append(bits)
            last[record.node] = place

    def brought(self, earlier: int, later: int) -> bool:
        """Tell whether a step was brought about by another."""
        return bool(self._brought[later] >> earlier & 1)

    def with_followers(self, place: int) -> set[int]:
        """Return a step with all that it brought about."""
        return {place} | {
            later for later in range(place + 1, len(self._records)) if self.brought(place, later)
        }

    def are_in_line(self, first: int, second: int) -> bool:
        """Tell whether two steps deliver from the same channel, so that neither can overtake the other."""
        one, other = self._records[first].transition, self._records[second].transition
        return one.verb == DELIVER and one == other


def _is_input(record: Record) -> bool:
    return record.transition.verb == ACT and not str(record.transition.what).startswith(_JOIN)


def _sends_any(record: Record, names: Sequence[str]) -> bool:
    return any(getattr(flight.message, "tag", "") in names for flight in record.sends)


# Leaving out.


def _leave_out(
    runs: _Runs, order: _Order, found: Counterfactuals, as_told: str, subject: Sequence[str]
) -> None:
    inputs = [place for place, record in enumerate(runs.records) if _is_input(record)]
    about = [place for place in inputs if _sends_any(runs.records[place], subject)]
    for place in inputs:
        broken = runs.without({place})
        if broken == UNSETTLED:
            found.untried = True
            continue
        if broken is None or (broken != as_told and place not in about):
            found.left_out.append(
                Needed(
                    place + 1,
                    order.headlines[place],
                    is_subject=place in about,
                    otherwise=broken is not None,
                )
            )
        if broken == as_told:
            _fold(runs, order, found, place, as_told)
    if all(event.is_subject or event.otherwise for event in found.left_out):
        _find_enough(runs, order, found, inputs, set(about))


def _fold(runs: _Runs, order: _Order, found: Counterfactuals, place: int, as_told: str) -> None:
    """Count a step and what it brought about as needless, if the violation is the same without all that."""
    folded = {number - 1 for number in found.needless} | order.with_followers(place)
    if runs.without(folded) == as_told:
        found.needless = tuple(number + 1 for number in sorted(folded))


def _find_enough(
    runs: _Runs, order: _Order, found: Counterfactuals, inputs: Sequence[int], about: set[int]
) -> None:
    """Look for a few inputs that are enough: one after the other is left out for good if it can be."""
    out: set[int] = set()
    for place in inputs:
        if place not in about and runs.without(out | {place}):
            out.add(place)
    found.enough = [Needed(place + 1, order.headlines[place]) for place in inputs if place not in out]


# Other orders.


def _turn_round(runs: _Runs, order: _Order, found: Counterfactuals) -> None:
    for first, second in _races(runs.records, order):
        run = runs.run(_turned(runs.records, order, first, second))
        if run.broken is None and _came_later(run.taken, first, second):
            heads = order.headlines
            found.moved = Needed(first + 1, heads[first], second + 1, heads[second])
            return


def _came_later(taken: Sequence[int], first: int, second: int) -> bool:
    """Tell whether both steps were taken, in the other order."""
    return first in taken and second in taken and taken.index(second) < taken.index(first)


def _races(records: Sequence[Record], order: _Order) -> Iterator[tuple[int, int]]:
    """Yield the pairs of steps of one component of which the second could have come first."""
    for first, record in enumerate(records):
        for second in range(first + 1, len(records)):
            same = records[second].node == record.node
            if same and not order.brought(first, second) and not order.are_in_line(first, second):
                yield first, second


def _turned(records: Sequence[Record], order: _Order, first: int, second: int) -> Iterator[int]:
    """Yield a run's steps with one, what it brought about and what is in line behind it, after another."""
    later: list[int] = []
    for place in range(len(records)):
        waits = any(order.brought(before, place) or order.are_in_line(before, place) for before in later)
        if first <= place < second and (place == first or waits):
            later.append(place)
            continue
        yield place
        if place == second:
            yield from later


# A network whose programs under test make each step once, however often it is asked for.


def remembering(network: Network) -> Network:
    """Return a network like another, in which the steps of programs under test are remembered."""
    found = copy(network)
    found.components = tuple(
        _Remembering(made) if next(watched.programs([made]), None) is not None else made
        for made in network.components
    )
    return found


class _Remembering:
    """A component that is asked for each step once."""

    def __init__(self, inner: Component) -> None:
        self.inner = inner
        self._made: dict[Hashable, Step] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def act(self, state: Hashable, action: str) -> Step:
        """Let the component perform an action."""
        return self._once((state, action), lambda: self.inner.act(state, action))

    def receive(self, state: Hashable, port: Port, message: Hashable) -> Step:
        """Let the component take a message."""
        return self._once((state, port, message), lambda: self.inner.receive(state, port, message))

    def _once(self, key: Hashable, make: Callable[[], Step]) -> Step:
        step = self._made.get(key)
        if step is None:
            step = self._made[key] = make()
        return step


_STEP: Final = re.compile(r"\bstep (\d+)")


MOST_SECONDS: Final = 3.0
"""How long it may take to try out what a violation takes."""


def explain(
    built: Built, records: Sequence[Record], name: str, message: str, *, seconds: float = MOST_SECONDS
) -> Explanation:
    """Return why a run, whose steps were taken with code noted, ends in a violation."""
    until = time.monotonic() + seconds
    past = Past(enumerate(records, 1), built.joining)
    watcher = next((each for each in built.properties if each.name == name), None)
    cause = cause_of(past, message, arrival=watcher is not None and watcher.blames_arrival)
    others = try_others(built, records, name, packet_names(message), until)
    found = replace(
        cause,
        moved=others.moved,
        left_out=tuple(others.left_out),
        enough=tuple(others.enough),
        untried=others.untried,
    )
    told = {int(number) for line in found.lines(name) for number in _STEP.findall(line)}
    return replace(found, needless=tuple(number for number in others.needless if number not in told))


def explain_joining(built: Built, message: str) -> Explanation:
    """Return why something broke while the switches connected."""
    return cause_of(Past(enumerate(built.joining, 1)), message)


_LONGEST_MESSAGE: Final = 20_000
_MOST_RULES: Final = 50
"""How much of a finding is looked at, whoever wrote it."""


def finding_cause(trace: Trace, finding: FindingLine) -> Explanation:
    """Return why an invariant is violated: by the rules that packets meet, or by what the sentence names."""
    message = finding.message[:_LONGEST_MESSAGE]
    lines = [line for line in trace.lines if line.number < finding.number]
    if finding.invariant.startswith("Controller"):
        lines = lines[: _mishap(lines, message)]
    past = Past((line.number, record_of(line)) for line in lines)
    if finding.rules:
        return rules_cause(past, (_switch_and_rule(text) for text in finding.rules[:_MOST_RULES]))
    known = PROPERTIES.get(finding.invariant)
    return cause_of(past, message, arrival=known is not None and known.blames_arrival)


def finding_cause_lines(trace: Trace, finding: FindingLine) -> tuple[str, ...]:
    """Return the cause of a finding, in sentences."""
    return tuple(finding_cause(trace, finding).lines(finding.invariant))


def _switch_and_rule(text: str) -> tuple[str, str]:
    switch, _, rule = text.partition(" ")
    return switch, rule


def _mishap(lines: list[Line], message: str) -> int:
    """Return how many lines there are up to the last in which a handler failed as a sentence says."""
    for number in range(len(lines), 0, -1):
        for event in record_of(lines[number - 1]).events:
            if event.kind in FAILURES and str(event.detail[1]) in message:
                return number
    return len(lines)
