"""Properties of a user's own: a class, or one function."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import pytest
from tests.properties.property_lab import lab, search
from tests.properties.sample_controllers import Hub, LearningSwitch

from penstock._properties.base import Property, Violated, at_rest, from_function, invariant
from penstock._world.hosts import host
from penstock._world.transition import Record
from penstock.errors import PenstockError
from penstock.openflow.messages import PacketIn

PAIR = {"h1": host("client", to="h2", count=2), "h2": host("server")}


def rules(switch: Any) -> int:
    return sum(len(table) for table in switch.tables.values())


@invariant(reads=("s1",))
def few_rules(s1: Any) -> bool | None:
    """S1 has at most two rules."""
    return rules(s1) <= 2 if rules(s1) else None


@at_rest
def all_answered(states: Mapping[str, Any]) -> bool | None:
    """Every packet of h1 was answered."""
    memory = states["h1"].memory
    return None if not memory.sent else memory.received == memory.sent


class OneWay(Property):
    """Breaks when h2 sends anything."""

    def see(self, record: Record) -> Hashable:
        sent = [event.detail for event in record.events if event.kind == "sent"]
        return sent[0][0] if sent else None

    def next(self, state: Any, seen: Any) -> Any:
        if seen == "h2":
            raise Violated("h2 spoke")
        return state


def test_a_function_of_some_components_is_judged_in_every_state() -> None:
    network = lab("single,2", LearningSwitch(), PAIR)
    result = search(network, few_rules)
    assert result.broken == {"few_rules": "Violated: S1 has at most two rules."}
    # Breadth first, the story ends with the third rule.
    assert result.stories["few_rules"][-1] == "deliver c0:s1"
    assert search(lab("single,2", Hub(), PAIR), few_rules).exercised == {"few_rules": 1}


def test_a_function_of_all_components_is_judged_at_rest() -> None:
    class Silent(Hub):
        def packet_in(self, switch: str, message: PacketIn) -> None:
            pass

    assert search(lab("single,2", Hub(), PAIR), all_answered).exercised["all_answered"] == 1
    broken = search(lab("single,2", Silent(), PAIR), all_answered).broken
    assert broken == {"all_answered": "Violated: Every packet of h1 was answered."}


def test_a_function_that_had_nothing_to_judge_was_never_put_to_the_test() -> None:
    result = search(lab("single,2", Hub(), {"h1": host("client", to="h2", count=0)}), all_answered)
    assert result.warnings == ("all_answered was never exercised.",)


def test_a_class_of_ones_own_follows_what_happens() -> None:
    result = search(lab("single,2", Hub(), PAIR), OneWay())
    assert result.broken == {"OneWay": "h2 spoke"}
    assert result.stories["OneWay"][-1] == "h2 reply to h1"
    quiet = search(lab("single,2", Hub(), {"h1": host("client", to="h2", count=2)}), OneWay())
    assert quiet.exercised == {"OneWay": 1}


def test_a_plain_function_reads_the_components_its_parameters_are_named_after() -> None:
    def no_more_than_h1(h1: Any, h2: Any) -> bool | str:
        return True if h2.sent <= h1.sent else f"h2 sent {h2.sent}"

    def quiet(states: Mapping[str, Any]) -> bool:
        return False

    watcher = from_function(no_more_than_h1)
    assert watcher.reads == ("h1", "h2")
    assert search(lab("single,2", Hub(), PAIR), watcher).exercised["no_more_than_h1"] > 3
    assert search(lab("single,2", Hub(), {}), from_function(quiet)).broken == {"quiet": "quiet is violated."}


def test_a_sentence_returned_is_the_message() -> None:
    @invariant(reads=["h1"])
    def silence(h1: Any) -> bool | str:
        return f"h1 sent {h1.sent} packets" if h1.sent else True

    assert search(lab("single,2", Hub(), PAIR), silence).broken == {"silence": "h1 sent 1 packets"}


@pytest.mark.parametrize("function", [lambda: True, lambda *states: True, lambda **states: True, print])
def test_a_function_that_says_nothing_of_what_it_reads_is_refused(function: Any) -> None:
    with pytest.raises(PenstockError, match="is not a property: give it the parameter states, or parameters"):
        from_function(function)


def test_components_that_are_not_there_are_refused() -> None:
    @invariant(reads=["s1", "s9"])
    def both(s1: Any, s9: Any) -> bool:
        return True

    with pytest.raises(PenstockError, match="The property both reads 's9', which is no component here: the"):
        search(lab("single,2", Hub(), {}), both)
