"""The run that a person steers: forward by any step, back, forth again, on by itself to a breakpoint.

Nothing here knows of a terminal.  A run is a list of moments, of which the first is the start; it stands at
one of them.  What lies after that one is kept, so that what was undone can be redone, and is given up only
when another step is taken.  States are immutable, so a moment costs little and going anywhere is quick.

A trace is such a run that somebody else took.  Where it cannot be taken again as it was written, it is
loaded up to there, and a remark says why.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any, Final

from penstock._engine.building import build
from penstock._properties.watch import Watch
from penstock._replay.player import TracePlayer, playable_in
from penstock._report.picture import Happening, broken_note
from penstock._report.states import IN_FLIGHT, Change, Describer, Lines, difference
from penstock._scenario.scenario import Scenario
from penstock._story.story import headline, last_line, sentences
from penstock._trace.consent import Consent, consent_to, runnable
from penstock._trace.trace import FuzzTrace, SearchTrace, Verdict, read_trace, trace_file, write_trace
from penstock._world.channels import CHANNEL_FAULTS
from penstock._world.component import Component, Endpoint
from penstock._world.frame import retell_packets
from penstock._world.hosts import Host
from penstock._world.network import ComponentRaised, GlobalState, Network
from penstock._world.signals import FABRIC
from penstock._world.switch import Switch
from penstock._world.transition import ACT, DELIVER, InFlight, Record, Transition
from penstock._world.world import World, states_of
from penstock.errors import PenstockError

# What can happen next, in words, and by whose hand.


KINDS: Final = ("host", "switch", "fabric", "controller")
"""The kinds of components, in the order in which people are shown them."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A transition that can be taken: whose step it is, and what it is in words."""

    transition: Transition
    node: str
    words: str

    def fits(self, words: Sequence[str]) -> bool:
        """Tell whether all these words, in small letters, are in what is shown or in the transition."""
        text = f"{self.node} {self.words} {self.transition}".lower()
        return all(word in text for word in words)


def is_misfortune(transition: Transition) -> bool:
    """Tell whether something only happens if somebody wants it to: a failure, a loss, a move."""
    return transition.verb in CHANNEL_FAULTS or transition[:2] == (ACT, FABRIC)


def kind_of(component: Component) -> str:
    """Return what kind of component it is."""
    if component.name == FABRIC:
        return "fabric"
    return (
        "host" if isinstance(component, Host) else "switch" if isinstance(component, Switch) else "controller"
    )


def in_order(network: Network) -> list[str]:
    """Return the components in the order in which people are shown them."""
    kinds = [KINDS.index(kind_of(component)) for component in network.components]
    return [name for _, name in sorted(zip(kinds, network.names, strict=True), key=lambda pair: pair[0])]


def choices_of(world: World) -> list[Choice]:
    """Return what can happen now, those of one component together."""
    places = {name: place for place, name in enumerate(in_order(world.network))}
    found = [_choice(world, transition) for transition in world.enabled()]
    return sorted(found, key=lambda choice: places[choice.node])


def _choice(world: World, transition: Transition) -> Choice:
    record = _foreseen(world, transition)
    # The list is by component and the packets have names, so neither need be said again.
    words = retell_packets(headline(record).removesuffix("."), lambda found: found[1])
    begins = (f"{record.node}: ", f"{record.node} ", f"Controller {record.node} ")
    shown = next((words.removeprefix(begin) for begin in begins if words.startswith(begin)), words)
    return Choice(transition, record.node, shown)


def _foreseen(world: World, transition: Transition) -> Record:
    """Return what is known of a step before it is taken."""
    verb, node, what = transition
    if verb == ACT:
        return Record(transition, node)
    channel = Endpoint(node, what)
    head = world.queue(channel)[0]
    if verb == DELIVER:
        at = world.network.fabric.peer(world.state(FABRIC), channel)
        return Record(transition, at.node if at is not None else node, at, head)
    return Record(transition, FABRIC, lost=(InFlight(channel, head),))


# Where a run that goes on by itself stops and lets a person look.


ANY: Final = "broken"
"""What a person types for: stop when anything is broken."""


@dataclass(frozen=True, slots=True)
class PropertyBreak:
    """Stop when a property is broken, or any if none is named."""

    name: str = ""

    def reason(self, _record: Record, broken: Mapping[str, str]) -> str:
        """Return why a step is one to stop at; an empty text if it is not."""
        found = next((name for name in broken if self.name in ("", name)), "")
        return f"{found} is violated" if found else ""

    def __str__(self) -> str:
        return f"{self.name or 'any property'} is violated"


@dataclass(frozen=True, slots=True)
class PacketBreak:
    """Stop when a message that has a text in it, or a packet of that name, reaches a component, or any."""

    text: str
    node: str = ""

    def reason(self, record: Record, _broken: Mapping[str, str]) -> str:
        """Return why a step is one to stop at; an empty text if it is not."""
        message = record.message
        if message is None or self.node not in ("", record.node):
            return ""
        said = f"{getattr(message, 'tag', '')} {message}"
        return f"{self.text} reached {record.node}" if self.text.lower() in said.lower() else ""

    def __str__(self) -> str:
        return f"{self.text} reaches {self.node or 'anybody'}"


Breakpoint = PropertyBreak | PacketBreak


def breakpoint_of(words: str, *, properties: Collection[str], components: Collection[str]) -> Breakpoint:
    """Return the breakpoint that somebody typed: `broken`, a property, or `h1#1 at s2`."""
    text = words.strip()
    if text == ANY:
        return PropertyBreak()
    if text in properties:
        return PropertyBreak(text)
    what, found, node = text.rpartition(" at ")
    if not found:
        what, node = text, ""
    if node and node not in components:
        raise PenstockError(f"There is no {node[:40]!r} to stop at: the components are {_some(components)}.")
    if not what.strip():
        raise PenstockError(f"Nothing says where to stop: type {ANY}, a property, or as in h1#1 at s2.")
    return PacketBreak(what.strip(), node.strip())


def _some(names: Collection[str], most: int = 12) -> str:
    shown = ", ".join(list(names)[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


# The run.


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
        return self._add(self._take(transition))

    def _add(self, moment: Moment) -> Moment:
        """Go on to a moment; what lay ahead is given up."""
        del self.moments[self.at + 1 :]
        self.moments.append(moment)
        self.at += 1
        return moment

    def undo(self, steps: int = 1) -> Moment:
        """Go back some steps."""
        if not 1 <= steps <= self.at:
            raise PenstockError(f"Cannot go back {steps} steps: {self.at} were taken.")
        return self.go_to(self.at - steps)

    def redo(self) -> Moment:
        """Take the step again that was undone last, or the next one of a trace."""
        if self.following() is None:
            raise PenstockError("There is nothing to redo: no step was undone.")
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

    def _take(self, transition: Transition | str) -> Moment:
        """Take a step; if it fails, nothing has happened."""
        try:
            return self._moment(self.world.take(transition))
        except (ComponentRaised, PenstockError) as error:
            self._enter(self.now)
            raise error if isinstance(error, PenstockError) else PenstockError(f"{error}.") from error

    def _moment(self, record: Record) -> Moment:
        """Return the moment after a step that was taken just now."""
        broken = self._watch.observe(record, states_of(self.world))
        at_rest = self._watch.at_rest(states_of(self.world)) if self.world.is_at_rest() else {}
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
            return "no transition is enabled any more"
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

    def follow(self, trace: SearchTrace) -> None:
        """Take the steps of a trace, as far as they go as they were written."""
        player = TracePlayer(playable_in(trace, self.network, self.world.snapshot()))
        for played in player.steps():
            another_way = f"The replay diverges at step {played.line.number}:"
            if played.failure or played.record is None:
                self.remarks.append(f"{another_way} {played.failure}.")
                return
            self.world.restore(player.world.snapshot())
            self._add(self._moment(played.record))
            if played.differs:
                self.remarks.append(f"{another_way} it is now {played.record}.")
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
    if not isinstance(trace, SearchTrace):
        is_run = isinstance(trace, FuzzTrace)
        kind, use = ("fuzzing run", "openflow --interactive") if is_run else ("proof", "show")
        raise PenstockError(f"The steps of a {kind} cannot be chosen ({path}): use penstock {use}.")
    run = Run(runnable(trace, file.parent, consent_to(file) if consent is None else consent))
    run.follow(trace)
    return run


# What is inside the components at a moment, and what the last step changed there.


class Looking:
    """Looks into the components of a run; what stays as it was is not described again."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._describers: dict[str, Describer] = {}

    def state(self, name: str) -> object:
        """Return the state of a component."""
        return self._run.world.state(name)

    def sections(self, name: str) -> dict[str, Lines]:
        """Return what is inside a component now, by section, and what is on its way from and to it."""
        found = self._sections(name, self._run.now.state)
        way = tuple(self._in_flight(name, self._run.now.state))
        return {**found, IN_FLIGHT: way} if way else found

    def changes(self) -> list[Change]:
        """Return what the last step changed."""
        if not self._run.at:
            return []
        before, after = self._run.moments[self._run.at - 1].state, self._run.now.state
        return [change for change in self._changes(before, after) if change.removed or change.added]

    def _changes(self, before: GlobalState, after: GlobalState) -> Iterator[Change]:
        places = self._run.network.places
        for name in self._run.components:
            place = places[name]
            if before.states[place] is not after.states[place]:
                was, now = self._sections(name, before), self._sections(name, after)
                for section in {**was, **now}:
                    yield Change(name, section, *difference(was.get(section, ()), now.get(section, ())))
        for end, held, holds in zip(self._run.network.channels, before.queues, after.queues, strict=True):
            if held is not holds:
                gone, new = difference(tuple(map(str, held)), tuple(map(str, holds)))
                where = f"to {end.port}" if isinstance(end.port, str) else f"out of port {end.port}"
                yield Change(end.node, f"{IN_FLIGHT} {where}", gone, new)

    def _sections(self, name: str, state: GlobalState) -> dict[str, Lines]:
        describer = self._describers.setdefault(name, Describer())
        return describer.sections(state.states[self._run.network.places[name]])

    def _in_flight(self, name: str, state: GlobalState) -> Iterator[str]:
        """Yield the messages between a component and others."""
        network = self._run.network
        fabric: Any = state.states[network.places[FABRIC]]
        for end, queue in zip(network.channels, state.queues, strict=True):
            peer: Endpoint | None = network.fabric.peer(fabric, end) if queue else None
            for message in queue:
                if end.node == name:
                    yield f"to {peer}: {message}"
                elif peer is not None and peer.node == name:
                    yield f"from {end}: {message}"
