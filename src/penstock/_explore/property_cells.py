"""The properties' cells: what a step shows them, and how they go on from it.

A property's state is interned like a component's and has its 24 bits in every global state.  What
it sees is numbered too, so that two sights are tried in both orders only once (see `commute`).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from copy import copy
from typing import Any

from penstock._explore.interning import MASK, WIDTH, Interned
from penstock._explore.tables import Op, Ops
from penstock._properties.base import UPHELD, Property, Violated, ask, sight_of
from penstock._world.network import Network
from penstock._world.transition import Record
from penstock.errors import PenstockError


class Watching:
    """The properties that watch a network, compiled; their bits begin at `shift`."""

    def __init__(self, properties: Sequence[Property], shift: int) -> None:
        self.properties = _own(properties)
        self.shift = shift
        self.violated = 1 << shift + WIDTH * len(properties)
        """A state from here on has a broken property in it."""
        self.exercised = [0] * len(properties)
        """Per property, how many different situations it has judged."""
        self._monitors = [Interned(f"states of the property {watcher.name}") for watcher in properties]
        self._seen = Interned("sights of the properties")
        self._seen.number(())
        self._ops: dict[tuple[int, Hashable], Op] = {}
        self._commuting: dict[tuple[int, int, int], bool] = {}

    def start(self, network: Network) -> int:
        """Return the properties' part of the first state."""
        state = 0
        for index, watcher in enumerate(self.properties):
            number = self._monitors[index].number(ask(watcher, "start", network))
            state |= number << self.shift + WIDTH * index
        return state

    def state(self, state: int, index: int) -> Any:
        """Return the state of a property, or what broke it."""
        return self._monitors[index].values[state >> self.shift + WIDTH * index & MASK]

    def broken(self, state: int) -> list[tuple[Property, str]]:
        """Return the properties that a state breaks, each with its sentence."""
        found = []
        for index, watcher in enumerate(self.properties):
            value = self.state(state, index)
            if isinstance(value, _Broken):
                found.append((watcher, value.message))
        return found

    def watch(self, record: Record, state: Any = None) -> tuple[Ops, int]:
        """Return what a step, and the state that it led to, show the properties.

        That is how their cells change, and a number for it.
        """
        ops, shown = [], []
        for index, watcher in enumerate(self.properties):
            seen = sight_of(watcher, record, state)
            if seen is UPHELD:
                self.exercised[index] += 1
            elif seen is not None:
                ops.append((self.shift + WIDTH * index, self._op(index, seen)))
                shown.append((index, seen))
        return tuple(ops), self._seen.number(tuple(shown))

    def _op(self, index: int, seen: Hashable) -> Op:
        key = (index, seen)
        op = self._ops.get(key)
        if op is None:
            shift = self.shift + WIDTH * index
            interned, watcher = self._monitors[index], self.properties[index]

            def work(number: int) -> int:
                before, broken = interned.values[number], 0
                try:
                    after: Any = ask(watcher, "next", before, seen)
                    judged = ask(watcher, "judges", before, seen)
                except Violated as violated:
                    after, broken, judged = _Broken(str(violated)), self.violated, True
                self.exercised[index] += bool(judged)
                return (interned.number(after) - number << shift) + broken

            op = self._ops[key] = Op(shift, work)
        return op

    def commute(self, state: int, one: int, other: int) -> bool:
        """Tell whether the properties come to the same whichever of two sights they have first."""
        watching = state >> self.shift << self.shift
        key = (watching, one, other)
        known = self._commuting.get(key)
        if known is None:
            known = self._commuting[key] = self._tried(watching, one, other)
        return known

    def _tried(self, watching: int, one: int, other: int) -> bool:
        after_one, after_other = self.shown(watching, one), self.shown(watching, other)
        if after_one >= self.violated or after_other >= self.violated:
            return False
        return self.shown(after_one, other) == self.shown(after_other, one)

    def shown(self, state: int, seen: int) -> int:
        """Return a state once the properties have seen something."""
        for index, sight in self._seen.values[seen]:
            shift = self.shift + WIDTH * index
            state += self._op(index, sight)[state >> shift & MASK]
        return state


def _own(properties: Sequence[Property]) -> tuple[Property, ...]:
    """Return copies of the properties, which may keep in them what they learn of this network."""
    names = [watcher.name for watcher in properties]
    for name in names:
        if names.count(name) > 1:
            raise PenstockError(f"Two properties are called {name}: leave one out, or give it another name.")
    return tuple(copy(watcher) for watcher in properties)


class _Broken:
    """The state of a property that has been broken: the sentence of how."""

    __slots__ = ("message",)

    def __init__(self, message: str) -> None:
        self.message = message

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Broken) and self.message == other.message

    def __hash__(self) -> int:
        return hash(self.message)
