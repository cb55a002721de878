"""A property that raises is itself at fault, and that is what is said."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest
from tests.properties.property_lab import lab, ready, search
from tests.properties.sample_controllers import Hub

from penstock._properties.base import Property, PropertyFault, at_rest, invariant
from penstock._properties.watch import Watch
from penstock._world.hosts import host
from penstock._world.network import Network
from penstock._world.transition import Record
from penstock._world.world import World

PAIR = {"h1": host("client", to="h2"), "h2": host("server")}


class Faulty(Property):
    """Raises in one of its methods."""

    def __init__(self, method: str) -> None:
        self.method = method

    def _do(self, method: str, answer: Any) -> Any:
        if method == self.method:
            raise ZeroDivisionError("of my own")
        return answer

    def start(self, network: Network) -> Any:
        return self._do("start", 0)

    def see(self, record: Record) -> Any:
        return self._do("see", record.node)

    def next(self, state: Any, seen: Any) -> Any:
        return self._do("next", state)

    def judges(self, state: Any, seen: Any) -> Any:
        return self._do("judges", True)

    def at_rest(self, state: Any, states: Mapping[str, Any]) -> Any:
        return self._do("at_rest", True)

    @property
    def reads(self) -> tuple[str, ...]:
        return ("s1",)

    def check(self, states: Mapping[str, Any]) -> Any:
        return self._do("check", True)


@pytest.mark.parametrize("method", ["start", "see", "next", "judges", "at_rest", "check"])
def test_an_exception_of_a_property_names_it_and_shows_where(method: str) -> None:
    with pytest.raises(PropertyFault) as fault:
        search(lab("single,2", Hub(), PAIR), Faulty(method))
    assert re.fullmatch(
        r"The property Faulty raised ZeroDivisionError: of my own at \S+test_property_faults.py:\d+, "
        f"in its {method!r}: that is a fault of the property and not of the network.",
        str(fault.value),
    )
    assert fault.value.property == "Faulty"
    assert "test_property_faults.py" in fault.value.traceback
    assert "ZeroDivisionError: of my own" in fault.value.traceback


@pytest.mark.parametrize("method", ["start", "see", "next"])
def test_a_single_run_says_the_same(method: str) -> None:
    network = lab("single,2", Hub(), PAIR)
    world = World(network)
    world.restore(ready(network))

    def run() -> None:
        watch = Watch(network, [Faulty(method)])
        watch.observe(world.take("h1 send to h2"), {"s1": world.state("s1")})

    with pytest.raises(PropertyFault, match=f"in its '{method}'"):
        run()


class Unhashable(Property):
    """Has a state that a search cannot remember."""

    def see(self, record: Record) -> Any:
        return record.node

    def next(self, state: Any, seen: Any) -> Any:
        return [seen]


def test_a_state_that_cannot_be_hashed_is_a_fault() -> None:
    with pytest.raises(
        PropertyFault, match=r"Unhashable raised TypeError: unhashable type: 'list', in its 'next'"
    ):
        search(lab("single,2", Hub(), PAIR), Unhashable())


def test_a_function_that_returns_nonsense_is_a_fault() -> None:
    @invariant(reads=("s1",))
    def many(s1: Any) -> Any:
        return 12

    @at_rest
    def typo(states: Mapping[str, Any]) -> Any:
        return states["h9"]

    for watcher, said in [(many, "it returned 12 instead of True, False"), (typo, "KeyError")]:
        with pytest.raises(PropertyFault, match=said):
            search(lab("single,2", Hub(), PAIR), watcher)
