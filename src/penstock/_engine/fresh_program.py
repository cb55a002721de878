"""A controller's part in runs, played again by the program loaded anew.

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
from collections.abc import Hashable, Iterable, Mapping, Sequence
from random import Random
from typing import Final

from penstock._base.loading import loading_anew
from penstock._controllers import watched
from penstock._controllers.controller import Controller
from penstock._engine.building import Built, NetworkBuilder
from penstock._explore.reexecution import Remembered
from penstock._scenario.scenario import Scenario
from penstock._verdict.reservation import Reservation
from penstock._world.component import Component, Event, Message, Port, Step
from penstock._world.signals import FABRIC
from penstock._world.transition import ACT, Record
from penstock.errors import PenstockError

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
