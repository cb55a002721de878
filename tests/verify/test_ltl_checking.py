"""Whether a property holds of every run of a system: verdicts, runs that break it, fairness, events."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

import networkx
import pytest
from tests.verify.ltl_systems import (
    SIGNATURE,
    Bits,
    Option,
    Processes,
    State,
    random_formula,
    random_processes,
)

from penstock._explore.search import Bounds
from penstock._verify.ltl.checking import Verdict, decide, invariant_of, is_safety, property_of
from penstock._verify.ltl.core import negation
from penstock._verify.ltl.grounding import Grounded
from penstock._verify.ltl.signature import NUMBER, TEXT, TRUTH, Signature, many, one
from penstock._verify.ltl.translation import automaton_of
from penstock.errors import PenstockError


def stated(text: str, system: Processes) -> Grounded:
    return property_of(text, SIGNATURE, Bits(), system.initial())


def decided(system: Processes, text: str, *, fair: bool = False, bounds: Bounds | None = None) -> Verdict:
    return decide(system, stated(text, system), fair=system.actors if fair else (), bounds=bounds)


def broken_by_components(system: Processes, grounded: Grounded, *, fair: bool) -> bool:
    """Look for a broken run in the strong components of the whole product, without flags."""
    automaton = automaton_of(negation(grounded.core))
    graph = networkx.MultiDiGraph()
    waiting = [(system.initial(), automaton.initial)] if len(automaton) else []
    graph.add_nodes_from(waiting)
    for node in waiting:
        state, place = node
        steps: list[tuple[str, int | None, State]] = [*system.successors(state)] or [("rest", None, state)]
        for after in automaton.successors(place, grounded.letter(state)):
            for _, actor, target in steps:
                if (target, after) not in graph:
                    waiting.append((target, after))
                graph.add_edge(node, (target, after), actor=actor)
    for component in networkx.strongly_connected_components(graph):
        inner = graph.subgraph(component)
        if not inner.number_of_edges() or not any(place in automaton.accepting for _, place in component):
            continue
        acting = {actor for *_, actor in inner.edges(data="actor")}
        resting = [{actor for _, actor, _ in system.successors(state)} for state, _ in component]
        if not fair or all(
            actor in acting or any(actor not in able for able in resting) for actor in system.actors
        ):
            return True
    return False


@pytest.mark.parametrize("fair", [False, True])
def test_the_search_finds_a_broken_run_where_there_is_one(fair: bool) -> None:
    random = Random(7)
    results = []
    for _ in range(400):
        system = random_processes(random)
        grounded = stated(str(random_formula(random, random.randint(1, 7))), system)
        verdict = decide(system, grounded, fair=system.actors if fair else ())
        assert verdict.divergence == ""
        assert (verdict.result == "violated") == broken_by_components(system, grounded, fair=fair)
        results.append((verdict.result, verdict.method))
    assert {*results} == {(r, m) for r in ("proved", "violated") for m in ("reachability", "nested search")}


SWITCHED_ON = Option(0, (), ((0, 1),), 1)
BLINKING = (Option(0, (), ((1, 1),), 1), Option(1, (), ((1, 0),), 0))
LAMP = Processes(((SWITCHED_ON,), BLINKING))
"""One process sets a once, the other one sets b and takes it back for ever."""


def test_a_fair_run_lets_everybody_act_who_can() -> None:
    assert decided(LAMP, "F a").result == "violated"
    assert decided(LAMP, "F a", fair=True).result == "proved"
    assert decided(LAMP, "G F b", fair=True).result == "proved"
    assert decided(LAMP, "F G a", fair=True).result == "proved"
    assert decided(LAMP, "F G b", fair=True).result == "violated"


def test_a_broken_run_is_a_lasso() -> None:
    run = decided(LAMP, "F a").counterexample
    assert run is not None and run.ending == "loop"
    assert {move.actor for move in run.loop} == {1}
    assert [move.label for move in run.stem + run.loop] == ["1.0", "1.1"]
    assert str(run).splitlines()[-3:] == ["and then again and again:", "1. 1.0", "2. 1.1"]


def test_a_run_that_comes_to_rest_stays_there_for_ever() -> None:
    once = Processes(((SWITCHED_ON,),))
    assert decided(once, "F G a").result == "proved"
    run = decided(once, "G F not a").counterexample
    assert run is not None and (run.ending, [move.label for move in run.stem], run.loop) == (
        "rest",
        ["0.0"],
        (),
    )
    assert str(run) == "1. 0.0\nand nothing can happen any more."


def test_what_must_not_happen_is_decided_by_reachability_and_shown_shortest() -> None:
    verdict = decided(LAMP, "G not (a and b)")
    assert verdict.method == "reachability" and verdict.counterexample is not None
    assert verdict.counterexample.ending == "prefix" and len(verdict.counterexample.stem) == 2
    assert verdict.automaton_states == 2


@pytest.mark.parametrize(
    ("text", "safety"),
    [
        ("G a", True),
        ("a W b", True),
        ("b R a", True),
        ("G (a implies (b W c))", True),
        ("a U b", False),
        ("F a", False),
        ("G F a", False),
        ("G (a implies F b)", False),
    ],
)
def test_safety_is_recognised(text: str, safety: bool) -> None:
    assert is_safety(stated(text, LAMP)) == safety


def test_an_invariant_is_handed_out_as_a_predicate() -> None:
    invariant = invariant_of(stated("G (a implies b) and G not c", LAMP))
    assert invariant is not None
    assert [invariant(((0, 0), bits), None) for bits in ((0, 0, 0), (1, 0, 0), (1, 1, 0), (1, 1, 1))] == [
        True,
        False,
        True,
        False,
    ]
    assert all(invariant_of(stated(text, LAMP)) is None for text in ("a", "F a", "G F a", "a W b"))


def test_a_property_too_large_to_translate_is_refused() -> None:
    parts = [f"G (here == {number} implies F there == {number})" for number in range(6)]
    with pytest.raises(PenstockError, match="more than 5000 edges"):
        decided(LAMP, f"not ({' and '.join(parts)})")


def test_a_bound_stops_the_search_and_is_named() -> None:
    verdict = decided(LAMP, "G (here < 5)", bounds=Bounds(states=2))
    assert (verdict.result, verdict.stopped_by) == ("bounded", "2 states")
    assert decided(LAMP, "G F b", fair=True, bounds=Bounds(states=3)).result == "bounded"


# Sets, fields and events.

POST = Signature(
    names={"rooms": many("room", fixed=True), "sent": NUMBER},
    sorts={"room": {"letters": many("letter"), "name": TEXT}, "letter": {"to": TEXT, "sealed": TRUTH}},
    events={"post": (one("room"), one("letter")), "read": (one("room"), one("letter")), "wait": ()},
)


@dataclass(frozen=True)
class Letter:
    to: str
    sealed: bool


@dataclass(frozen=True)
class Story:
    """A system with one run: a list of events, each with its room and letter; it may begin again."""

    events: tuple[tuple[str, tuple[Any, ...]], ...]
    again: bool = False

    def initial(self) -> int:
        return 0

    def successors(self, state: int) -> Iterator[tuple[Any, Hashable, int]]:
        if state < len(self.events):
            after = state + 1
            yield self.events[state], "post", 0 if self.again and after == len(self.events) else after

    def named(self, state: int, name: str, /) -> Any:
        return ("north", "south") if name == "rooms" else sum(e == "post" for e, _ in self.events[:state])

    def field(self, state: int, owner: Any, name: str, /) -> Any:
        if name == "name":
            return owner
        if name != "letters":
            return getattr(owner, name)
        there: list[Letter] = []
        for event, arguments in self.events[:state]:
            if event == "post" and arguments[0] == owner:
                there.append(arguments[1])
            elif event == "read" and arguments[0] == owner:
                there.remove(arguments[1])
        return there

    def happened(self, label: Any, event: str, /) -> tuple[tuple[Any, ...], ...]:
        return (label[1],) if label[0] == event else ()

    def check(self, text: str) -> str:
        grounded = property_of(text, POST, self, self.initial())
        verdict = decide(self, grounded)
        assert verdict.divergence == ""
        return verdict.result


OPEN, SEALED = Letter("south", False), Letter("north", True)
MAIL = Story((("post", ("north", OPEN)), ("post", ("south", SEALED)), ("read", ("north", OPEN))))


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("G forall r in rooms, l in r.letters: l.to != r.name", True),
        ("G forall r in rooms, l in r.letters: l.sealed", False),
        ("F exists r in rooms, l in r.letters: l.sealed", True),
        ('forall r in rooms: F exists l in r.letters: l.to in {"north", "south"}', True),
        ("forall r in rooms: F G not (exists l in r.letters: true)", False),
        ("exists r in rooms: F G not (exists l in r.letters: true)", True),
        ("exists r in rooms: G not (exists l in r.letters: true)", False),
        ("sent == 0 U sent == 1", True),
        ("F sent > 2", False),
        ("F sent not in {0, 1}", True),
        ("G [read(r, l)] not l.sealed", True),
        ("G [post(r, l)] (not l.sealed and l in r.letters)", False),
        ("G [post(r, l)] l in r.letters", True),
        ('F <read(r, l)> (l.to == "south" and r.name == "north")', True),
        ("F <wait> true", False),
        ("G [wait] false", True),
        ("G (<post(_, l)> l.sealed implies F <read> true)", True),
        ("G (<read> true implies F <post> true)", False),
        ("forall r in rooms: F <post(s, _)> s == r", True),
        ("sent == 0 iff F sent == 2", True),
    ],
)
def test_sets_fields_and_events_mean_what_they_say(text: str, holds: bool) -> None:
    assert MAIL.check(text) == ("proved" if holds else "violated")


def test_an_event_lasts_for_one_moment_and_no_longer() -> None:
    assert MAIL.check("G (<read> true implies F not <read> true)") == "proved"
    assert MAIL.check("G not <post> true or F (<post> true and (<post> true U not <post> true))") == "proved"
    assert Story((("wait", ()),), again=True).check("G F <wait> true and G F not <wait> true") == "proved"


def test_where_an_event_stands_among_others_that_nobody_hears_does_not_matter() -> None:
    heard, unheard = ("post", ("north", OPEN)), ("wait", ())
    orders = [Story((heard, unheard, heard)), Story((unheard, heard, heard)), Story((heard, heard, unheard))]
    formulas = [
        "F (<post> true and (<post> true U (not <post> true and F <post> true)))",
        "F G not <post> true",
        "G (<post> true or F <post> true)",
        "not <post> true U <post> true",
        "F (<post> true and (<post> true U sent == 2))",
    ]
    for text in formulas:
        assert len({story.check(text) for story in orders}) == 1, text


def test_propositions_say_what_they_look_at() -> None:
    grounded = property_of(
        "forall r in rooms: (F exists l in r.letters: l.sealed) and G [post(s, l)] (l.sealed or sent == 1)",
        POST,
        MAIL,
        MAIL.initial(),
    )
    assert grounded.events == {"post"}
    assert [str(proposition) for proposition in grounded.propositions] == [
        "exists l in r.letters: l.sealed where r = north",
        "[post(s, l)] (l.sealed or sent == 1)",
        "exists l in r.letters: l.sealed where r = south",
    ]
    north, posting, south = grounded.propositions
    assert north.reads == {"north", "north.letters", "north.letters.sealed"} and not north.events
    assert posting.reads == {"post(1)", "post(1).sealed", "sent"} and posting.events == {"post"}
    assert "south.letters" in south.reads and grounded.reads == north.reads | posting.reads | south.reads
