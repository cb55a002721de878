"""Runs taken again: with the properties watching, and by the controller's program loaded anew.

A run of a scenario's network with its properties watching, taken transition by transition.

A replay takes the transitions that it is told to.  `rest` then has everything arrive that is under way, and
switches and controllers do what they still have to do; hosts that could say something more are silent.

A controller's part in runs, played again by the program loaded anew.

What a search finds may be due to what other runs have left behind, in places that nobody saves: the name of
a function, a class's bases.  A run taken again in the same process finds that there too.  So before a
violation is told, all that happened to the controller from its first step on happens to another one, whose
program was read from its files again and has never run before; it has to do the same.

What was left behind may also keep a search from finding anything.  So before all is said to be well, some
of the steps that the search remembers happen one after the other, in orders that the search never had them
in, to programs that have never run before (`reservations_about_walks`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Final

from penstock._base.users_code import loading_anew
from penstock._controllers import watched
from penstock._controllers.controller import Controller
from penstock._engine.building import Built, NetworkBuilder
from penstock._explore.reexecution import Remembered
from penstock._properties.watch import Watch
from penstock._scenario.scenario import Scenario
from penstock._verdict.verdict import Reservation
from penstock._world.component import Component, Endpoint, Event, Message, Port, Step
from penstock._world.hosts import Host
from penstock._world.signals import FABRIC
from penstock._world.transition import ACT, DELIVER, Record, Transition
from penstock._world.world import World, states_of
from penstock.errors import PenstockError

MOST_STEPS_TO_REST: Final = 10_000
"""How many steps a network may take to come to rest."""


def is_quiet(world: World) -> bool:
    """Tell whether nothing can happen any more but what hosts, or the fabric, would begin."""
    return next(_pending(world), None) is None


def _pending(world: World) -> Iterator[Endpoint | str]:
    for transition in world.deliveries():
        yield Endpoint(transition.node, transition.what)
    for made in world.network.components[:-1]:
        if not isinstance(made, Host):
            for action in made.actions(world.state(made.name)):
                yield str(Transition(ACT, made.name, action))


class WatchedWorld:
    """A world that begins where a scenario's search does, with its properties watching."""

    def __init__(self, built: Built) -> None:
        self.world = World(built.network)
        self.world.restore(built.start)
        self.watch = Watch(built.network, built.properties)
        self.records: list[Record] = []
        self.watch.begin(states_of(self.world))

    def take(self, transition: Transition | str) -> None:
        """Take a transition, and let the properties see it."""
        record = self.world.take(transition)
        self.records.append(record)
        self.watch.observe(record, states_of(self.world))

    def queue(self, channel: Endpoint) -> tuple[Message, ...]:
        """Return what is under way on a channel."""
        if channel not in self.world.network.outlets:
            return ()
        return self.world.queue(channel)

    def pending(self) -> Iterator[Endpoint | str]:
        """Return the channels that can deliver, and what switches and controllers can do by themselves."""
        return _pending(self.world)

    def deliver(self, channel: Endpoint) -> None:
        """Deliver the head of a channel."""
        self.take(Transition(DELIVER, *channel))

    def act(self, action: str) -> None:
        """Have a component do something."""
        self.take(action)

    def rest(self, most: int = MOST_STEPS_TO_REST, watched: str = "") -> bool:
        """Let everything happen but what hosts would begin, then judge; tell whether it came to rest.

        That ends after so many steps, and as soon as a property that is `watched` is violated.
        """
        for _ in range(most):
            if watched in self.watch.broken:
                return False
            turn = next(self.pending(), None)
            if turn is None:
                self.watch.at_rest(states_of(self.world))
                return True
            self.act(turn) if isinstance(turn, str) else self.deliver(turn)
        return False


_DECIDING: Final = frozenset({"crashed", "hung"})
"""The kinds of events that a program's steps are compared by, besides what it sends."""


class _Once(NetworkBuilder):
    """A scenario of which the program is wanted, for one run."""

    watches = False


def reservations_about(scenario: Scenario, built: Built, records: Iterable[Record]) -> list[Reservation]:
    """Return what is to be said if the program, loaded anew, does otherwise in a run than it did."""
    told = [record for record in (*built.joining, *records) if record.node in (built.controller, FABRIC)]
    if not _can_be_made_anew(scenario) or any(record.node == FABRIC for record in told):
        return []
    # What the program has changed around it must not be there when it begins anew.
    watched.leave(built.network.components)
    with loading_anew():
        try:
            program = _program(scenario)
        except PenstockError as error:
            return [_unloadable(built.controller, error)]
        state = program.initial()
        try:
            for record in told:
                step = _taken(program, state, record)
                if step is None or _did(step) != _had_done(record):
                    return [_unseen(built.controller, record.transition)]
                state = step.state
        finally:
            watched.leave([program])
    return []


WALKS: Final = 4
"""How many programs are made anew when nothing was found."""

LONGEST: Final = 60
"""How many steps each of them makes."""


def reservations_about_walks(
    scenario: Scenario, built: Built, remembered: Iterable[Remembered]
) -> list[Reservation]:
    """Return what is to be said if the program, loaded anew, does otherwise than a search remembers."""
    if not _can_be_made_anew(scenario):
        return []
    steps: dict[Hashable, list[Remembered]] = {}
    for each in remembered:
        steps.setdefault(each.before, []).append(each)
    joining = [record for record in built.joining if record.node == built.controller]
    first = dict(zip(built.network.names, built.start.states, strict=True))[built.controller]
    for walk in range(WALKS if steps else 0):
        # What the program has changed around it must not be there when it begins anew.
        watched.leave(built.network.components)
        with loading_anew():
            try:
                program = _program(scenario)
            except PenstockError:
                return []  # that it cannot be loaded a second time matters only to what was found
            try:
                wrong = _walk(program, joining, getattr(first, "inner", first), steps, walk)
            finally:
                watched.leave([program])
        if wrong is not None:
            return [_unseen(built.controller, wrong.happened)]
    return []


def _walk(
    program: Component,
    joining: Iterable[Record],
    first: Hashable,
    steps: Mapping[Hashable, Sequence[Remembered]],
    walk: int,
) -> Remembered | None:
    """Have steps happen to a program, in an order of each walk's own; return one that comes out otherwise."""
    state = program.initial()
    for record in joining:
        joined = _taken(program, state, record)
        if joined is None:
            return None
        state = joined.state
    here, tried, chance = first, Counter[int](), Random(walk)
    for _ in range(LONGEST):
        known = steps.get(here, ())
        if not known:
            return None
        least = min(tried[id(each)] for each in known)
        fresh = [each for each in known if tried[id(each)] == least]
        chosen = chance.choice(fresh)
        tried[id(chosen)] += 1
        step = _made(program, state, chosen.what)
        if step is None:
            return None
        if _did(step) != _did(chosen.step):
            return chosen
        here, state = chosen.step.state, step.state
    return None


def _made(program: Component, state: Hashable, what: str | tuple[Port, Message]) -> Step | None:
    """Have a program make a step; None if it cannot."""
    try:
        return program.act(state, what) if isinstance(what, str) else program.receive(state, *what)
    except (KeyError, ValueError, PenstockError):
        return None


def _can_be_made_anew(scenario: Scenario) -> bool:
    """Tell whether the program comes from files, and nobody answers in place of switches."""
    return not isinstance(scenario.controller, Controller) and not scenario.symbolic.get("messages")


def _program(scenario: Scenario) -> Component:
    made = _Once(scenario, asked=False).alone()
    if hasattr(made, "rolls"):
        made.rolls = True
    return made


def _taken(program: Component, state: object, record: Record) -> Step | None:
    """Have happen what happened; None if it cannot."""
    transition = record.transition
    try:
        if transition.verb == ACT:
            return program.act(state, str(transition.what))
        assert record.at is not None
        return program.receive(state, record.at[1], record.message)
    except (KeyError, ValueError, PenstockError):
        return None


Doing = tuple[list[tuple[object, str]], list[str]]
"""What was sent, by port, and the kinds of the events that count."""


def _did(step: Step) -> Doing:
    return sorted((sent.port, str(sent.message)) for sent in step.sends), _kinds(step.events)


def _had_done(record: Record) -> Doing:
    sent = (*record.sends, *record.lost)
    return sorted((each.channel[1], str(each.message)) for each in sent), _kinds(record.events)


def _kinds(events: Iterable[Event]) -> list[str]:
    return [event.kind for event in events if event.kind in _DECIDING]


def _unloadable(controller: str, error: PenstockError) -> Reservation:
    return Reservation(
        f"What was found could not be confirmed: {controller} cannot be loaded a second time. {error}",
        "Keep loading free of effects on the rest of the process.",
    )


def _unseen(controller: str, happened: object) -> Reservation:
    return Reservation(
        f"The program keeps state that Penstock does not see: loaded anew, {controller} did something else "
        f"when the same happened to it ({happened}).",
        "Keep all state in memory that Penstock saves: attributes, lists, dictionaries.",
    )
