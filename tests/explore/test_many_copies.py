"""A step that sends thousands of messages makes one value of each cell that they wait for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.little_components import Note, Talker, network, wire

from penstock._explore.compiled_network import CompiledNetwork
from penstock._world.component import Endpoint, Port, Send, Step
from penstock._world.network import Network

COPIES = 2000


@dataclass(eq=False)
class Copier:
    """Sends numbered notes out of its ports in turn, all at once."""

    name: str = "a"
    ports: tuple[Port, ...] = (1, 2, 3)

    def initial(self) -> bool:
        return False

    def actions(self, state: bool) -> tuple[str, ...]:
        return () if state else ("copy",)

    def act(self, state: bool, action: str) -> Step:
        notes = (Note(str(number)) for number in range(COPIES))
        return Step(True, tuple(Send(port, note) for note in notes for port in self.ports))

    def receive(self, state: bool, port: Port, message: Any) -> Step:
        return Step(state)


def copied() -> Network:
    """Return a copier with two wires to one hearer and a third to another."""
    wires = [wire("a:1", "b:1"), wire("a:2", "b:2"), wire("a:3", "c:1")]
    return network([Copier(), Talker("b", (1, 2)), Talker("c")], wires)


def test_all_copies_wait_in_order_and_nothing_in_between_is_remembered() -> None:
    cells = CompiledNetwork(copied())
    ((state, _, _),) = cells.steps(cells.initial())
    places = {name: place for place, name in enumerate(cells.names)}
    waiting = dict(cells.waiting(state, places["b"]))
    texts = [str(number) for number in range(COPIES)]
    assert [str(note) for note in waiting[Endpoint("a", 1)]] == texts
    assert [str(note) for note in waiting[Endpoint("a", 2)]] == texts
    assert cells.size()["c"] == 2
    assert cells.size()["b"] <= 3
