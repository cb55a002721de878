"""What components do, each step computed once: states and messages as numbers, real code on a miss.

This is the only place of a search where a component's own code runs: a controller's handler, a
flow-table look-up, a solver behind an aware host.  What comes out is not routed yet.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from penstock._controllers.watched import programs
from penstock._explore.interning import Interned
from penstock._explore.reexecution import Remembered
from penstock._world.component import Event, Port, Send, Step, readers
from penstock._world.network import ComponentRaised, Network
from penstock._world.signals import FABRIC
from penstock._world.transition import ACT, Transition


class Local(NamedTuple):
    """What one action or delivery did to its component, before routing."""

    state: int
    sends: tuple[tuple[int, int], ...]
    events: tuple[Event, ...]
    cleared: tuple[int, ...]


class LocalSteps:
    """The components of a network in the order of their cells, and the steps they have taken."""

    def __init__(self, network: Network) -> None:
        self.network = network
        fabric = network.places[FABRIC]
        self.order = [fabric, *(p for p in range(len(network.components)) if p != fabric)]
        """The components' places in the order of their cells; the fabric comes first."""
        self.cell_of = {place: cell for cell, place in enumerate(self.order)}
        self.names = [network.names[place] for place in self.order]
        self.components = [network.components[place] for place in self.order]
        self.readers = {
            self.cell_of[place]: (component, tuple(self.cell_of[other] for other in others))
            for place, (component, others) in readers(network.components).items()
        }
        """The aware components by their cells, each with the cells it looks at."""
        self.states = [Interned(f"states of {name}") for name in self.names]
        self.messages = Interned("messages")
        self._acted: dict[tuple[int, int, str], Local] = {}
        self._received: dict[tuple[int, int, Port, int], Local] = {}
        self._possible: dict[tuple[int, ...], tuple[str, ...]] = {}

    def actions(self, cell: int, state: int) -> tuple[str, ...]:
        """Return what a component that is not aware may do in a state."""
        return self._asked(cell, lambda: self.components[cell].actions(self.states[cell].values[state]))

    def actions_given(self, cell: int, state: int, seen: tuple[int, ...]) -> tuple[str, ...]:
        """Return what an aware component may do in a state, given those of what it looks at."""
        key = (cell, state, *seen)
        possible = self._possible.get(key)
        if possible is None:
            component, others = self.readers[cell]
            given = {
                self.names[other]: self.states[other].values[number]
                for other, number in zip(others, seen, strict=True)
            }
            own = self.states[cell].values[state]
            possible = self._possible[key] = self._asked(cell, lambda: component.actions_given(own, given))
        return possible

    def _asked(self, cell: int, question: Callable[[], tuple[str, ...]]) -> tuple[str, ...]:
        try:
            return question()
        except Exception as error:
            name = self.names[cell]
            raise ComponentRaised(name, Transition(ACT, name, "…"), error) from error

    def act(self, cell: int, state: int, action: str) -> Local:
        """Let a component perform an action."""
        key = (cell, state, action)
        local = self._acted.get(key)
        if local is None:
            name = self.names[cell]
            transition = Transition(ACT, name, action)
            try:
                step = self.components[cell].act(self.states[cell].values[state], action)
            except Exception as error:
                raise ComponentRaised(name, transition, error) from error
            local = self._acted[key] = self._localised(cell, step, transition)
        return local

    def receive(self, cell: int, state: int, port: Port, message: int, channel: int) -> Local:
        """Let a component take a message that arrived on a port, by a channel."""
        key = (cell, state, port, message)
        local = self._received.get(key)
        if local is None:
            transition = self.network.delivery(channel)
            own: Any = self.states[cell].values[state]
            try:
                step = self.components[cell].receive(own, port, self.messages.values[message])
            except Exception as error:
                raise ComponentRaised(self.names[cell], transition, error) from error
            local = self._received[key] = self._localised(cell, step, transition)
        return local

    def remembered(self) -> list[Remembered]:
        """Return the steps of programs under test that have been made, in order."""
        found = []
        for cell, component in enumerate(self.components):
            if next(programs([component]), None) is not None:
                found += [self._acted_before(*key) for key in self._acted if key[0] == cell]
                found += [self._received_before(*key) for key in self._received if key[0] == cell]
        return found

    def _acted_before(self, cell: int, state: int, action: str) -> Remembered:
        own: Any = self.states[cell].values[state]
        step = self._globalised(cell, self._acted[cell, state, action])
        return Remembered(
            self.names[cell],
            action,
            lambda: self.components[cell].act(own, action)._replace(cleared=()),
            step,
            own,
            action,
        )

    def _received_before(self, cell: int, state: int, port: Port, message: int) -> Remembered:
        own: Any = self.states[cell].values[state]
        sent = self.messages.values[message]
        step = self._globalised(cell, self._received[cell, state, port, message])
        return Remembered(
            self.names[cell],
            f"{sent} from {port}",
            lambda: self.components[cell].receive(own, port, sent)._replace(cleared=()),
            step,
            own,
            (port, sent),
        )

    def _globalised(self, cell: int, local: Local) -> Step:
        """Return a step as its component made it, the channels that it cleared apart."""
        ports = {channel: port for (name, port), channel in self._outlets_of(cell)}
        sends = tuple(Send(ports[channel], self.messages.values[sent]) for channel, sent in local.sends)
        return Step(self.states[cell].values[local.state], sends, local.events)

    def _outlets_of(self, cell: int) -> list[tuple[tuple[str, Port], int]]:
        name = self.names[cell]
        return [(end, channel) for end, channel in self.network.outlets.items() if end[0] == name]

    def has_noted(self, kind: str) -> bool:
        """Tell whether an event of a kind happened in a step that was computed."""
        computed = (*self._acted.values(), *self._received.values())
        return any(event.kind == kind for local in computed for event in local.events)

    def _localised(self, cell: int, step: Step, transition: Transition) -> Local:
        outlets, name = self.network.outlets, self.names[cell]
        sends = []
        for port, message in step.sends:
            channel = outlets.get((name, port))
            if channel is None:
                raise ComponentRaised(name, transition, LookupError(f"it has no port {port} to send on"))
            sends.append((channel, self.messages.number(message)))
        cleared = tuple(outlets[end] for end in step.cleared)
        return Local(self.states[cell].number(step.state), tuple(sends), step.events, cleared)
