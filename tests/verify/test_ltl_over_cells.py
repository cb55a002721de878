"""Temporal logic over compiled networks: the same states, events and runs as in the `World`."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from tests.explore.plain_search import TooLarge, oracle
from tests.explore.random_systems import random_network
from tests.little_components import two_talkers

from penstock._properties.base import Property
from penstock._verify.ltl.checking import Verdict, decide, property_of
from penstock._verify.ltl.product import ComponentView, NetworkRuns
from penstock._verify.ltl.signature import NUMBER, TEXT, Signature, many, one
from penstock._world.faults import Faults
from penstock._world.network import Network
from penstock._world.signals import FABRIC
from penstock._world.world import World

TALK = Signature(
    names={"talkers": many("talker", fixed=True), "a": one("talker"), "b": one("talker")},
    sorts={"talker": {"sent": NUMBER, "heard": many("note")}, "note": {"text": TEXT}},
    events={"talked": (TEXT,)},
)


class Talk:
    """What the names mean, given the states of `Talker`s by their names."""

    def named(self, states: dict[str, Any], name: str, /) -> Any:
        return ("a", "b") if name == "talkers" else name

    def field(self, states: dict[str, Any], owner: Any, name: str, /) -> Any:
        if name == "text":
            return owner.text
        sent, heard = states[owner]
        return sent if name == "sent" else [note for note in heard if hasattr(note, "text")]

    def happened(self, label: Any, event: str, /) -> tuple[()]:
        raise AssertionError("events are for the view of the network")


def verdict_on(network: Network, text: str, *, fair: bool = False) -> Verdict:
    runs = NetworkRuns(network, events=TALK.events)
    grounded = property_of(text, TALK, ComponentView(runs, Talk()), runs.initial())
    verdict = decide(runs, grounded, fair=runs.actors if fair else (), situation=runs.situation(("a", "b")))
    assert verdict.divergence == ""
    return verdict


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("F a.sent == 2", "proved"),
        ('F exists n in b.heard: n.text == "a#2"', "proved"),
        ("G forall t in talkers: t.sent <= 1", "violated"),
        ('G [talked(text)] text in {"a#1", "a#2"}', "proved"),
        ('G not <talked(text)> (text == "a#2" and not (exists n in b.heard: true))', "violated"),
        ('(not <talked(t)> t == "a#2") U <talked(t)> t == "a#1"', "proved"),
        ("forall t in talkers: F exists n in t.heard: true", "violated"),
    ],
)
def test_properties_of_a_network_without_faults(text: str, result: str) -> None:
    assert verdict_on(two_talkers(), text).result == result


def test_a_fault_need_not_happen_and_may() -> None:
    network = two_talkers(1, Faults(drops=1))
    lost = verdict_on(network, "F exists n in b.heard: true", fair=True)
    assert lost.result == "violated" and lost.counterexample is not None
    last = lost.counterexample.stem[-1]
    assert (str(last.label), last.actor, lost.counterexample.ending) == ("drop a:1", FABRIC, "rest")
    kept = verdict_on(network, "G (forall n in b.heard: false)", fair=True)
    assert kept.result == "violated"


def test_a_broken_run_can_be_run_in_the_world() -> None:
    verdict = verdict_on(two_talkers(), 'G not (exists n in b.heard: n.text == "a#2")')
    assert verdict.counterexample is not None
    world = World(two_talkers())
    for move in verdict.counterexample.stem:
        world.take(move.label.transition)
    assert [note.text for note in world.state("b")[1]][-1] == "a#2"


@pytest.mark.parametrize("aware", [False, True])
@pytest.mark.parametrize("faults", [False, True])
def test_states_and_events_are_those_of_the_world(aware: bool, faults: bool) -> None:
    random = Random(3)
    compared = 0
    while compared < 12:
        network, _ = random_network(random, faults=faults, aware=aware)
        try:
            expected, _, _ = oracle(network, Property())
        except TooLarge:
            continue
        compared += 1
        runs = NetworkRuns(network, events="xy")
        world = World(network)
        first = runs.initial()
        snapshots = {first: world.snapshot()}
        waiting = [first]
        for state in waiting:
            world.restore(snapshots[state])
            enabled = {str(transition) for transition in world.enabled()}
            seen = set()
            for label, _, after in runs.successors(state):
                world.restore(snapshots[state])
                record = world.take(label.transition)
                assert label.events == tuple(event for event in record.events if event.kind in "xy")
                seen.add(str(label))
                if after not in snapshots:
                    snapshots[after] = world.snapshot()
                    waiting.append(after)
            assert seen == enabled
        assert set(snapshots.values()) == {snapshot for snapshot, _ in expected}
