"""Properties along one run, as they are along a search."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any

from penstock._properties.base import UPHELD, Property, Undecided, Violated, ask, sight_of, unfinished
from penstock._properties.ending import Ending
from penstock._world.network import Network
from penstock._world.signals import FABRIC
from penstock._world.transition import ACT, Record


class Watch:
    """The properties of a run and where they stand; broken ones are watched no further."""

    def __init__(self, network: Network, properties: Sequence[Property]) -> None:
        self.properties = tuple(copy(watcher) for watcher in properties)
        self.states: list[Any] = [ask(watcher, "start", network) for watcher in self.properties]
        self.broken: dict[str, str] = {}
        self.upheld: Counter[str] = Counter()
        """How many steps each property judged by themselves, and found right."""
        self._ending = Ending(network)

    def snapshot(self) -> tuple[list[Any], dict[str, str]]:
        """Return where the properties stand."""
        return list(self.states), dict(self.broken)

    def restore(self, snapshot: tuple[list[Any], dict[str, str]]) -> None:
        """Go back to where the properties stood."""
        self.states, self.broken = list(snapshot[0]), dict(snapshot[1])

    def begin(self, states: Mapping[str, Any]) -> dict[str, str]:
        """Judge the states that a run starts in; return the properties broken from the start."""
        return self._judged(
            lambda _, watcher: (
                watcher.reads and ask(watcher, "check", {name: states[name] for name in watcher.reads})
            )
        )

    def observe(self, record: Record, states: Mapping[str, Any]) -> dict[str, str]:
        """Take in a step and the states after it; return the properties newly broken, with how."""
        record = _as_in_a_search(record)

        def judge(index: int, watcher: Property) -> None:
            seen = sight_of(watcher, record, states.get(record.node))
            self.upheld[watcher.name] += seen is UPHELD
            if seen is not None and seen is not UPHELD:
                self.states[index] = ask(watcher, "next", self.states[index], seen)
            if watcher.reads:
                ask(watcher, "check", {name: states[name] for name in watcher.reads})

        return self._judged(judge)

    def at_rest(self, states: Mapping[str, Any]) -> dict[str, str]:
        """Judge a network at rest; return the properties newly broken, with how."""
        if unfinished(states):
            return {}

        def judge(index: int, watcher: Property) -> None:
            try:
                ask(watcher, "at_rest", self.states[index], states)
            except Undecided:
                return
            except Violated:
                if self._ending.stays_broken(watcher, self.states[index], states):
                    raise

        return self._judged(judge)

    def _judged(self, judge: Callable[[int, Property], object]) -> dict[str, str]:
        """Let the properties that still hold judge; return those newly broken, with how."""
        found: dict[str, str] = {}
        for index, watcher in enumerate(self.properties):
            if watcher.name in self.broken:
                continue
            try:
                judge(index, watcher)
            except Violated as violated:
                found[watcher.name] = str(violated)
        self.broken |= found
        return found


def _as_in_a_search(record: Record) -> Record:
    """Return a record without what was lost on a wire as it was cut.

    That depends on the channels of others, so a search, whose steps are local, does not show it to
    properties; a run must not show them more, or a finding could fail to be confirmed.
    """
    if record.node != FABRIC or record.transition.verb != ACT:
        return record
    return record._replace(lost=(), events=tuple(event for event in record.events if event.kind != "lost"))
