"""What is inside the components at a moment of a run, and what the last step changed there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from penstock._cli.stepper.model import Run
from penstock._report.states import IN_FLIGHT, Describer, Lines, difference
from penstock._world.component import Endpoint
from penstock._world.network import GlobalState
from penstock._world.signals import FABRIC


class Change(NamedTuple):
    """What a step changed in one section of a component's state."""

    node: str
    section: str
    removed: list[str]
    added: list[str]


class Looking:
    """Looks into the components of a run; what stays as it was is not described again."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._describers: dict[str, Describer] = {}

    def state(self, name: str) -> Any:
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
