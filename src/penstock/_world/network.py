"""A network ready to run: its components, its channels, and what one transition does to them.

A `Network` never changes.  It says what there is and, given the states of the components and the
contents of the channels, what a transition makes of them: a `Change`.  Whoever drives it owns the
states: the single-run `World` keeps them in lists, a search in interned ids.

Components and channels have fixed places in a fixed order, which is also the order of scheduling:
signals of the fabric first, then the channels as they were given; controllers before switches
before hosts; the fabric, whose actions are mostly faults, last.

A component that lost its power or a control session, or has it back, takes in that news before
anything else: it cannot go on as if nothing had happened, and a message on a new session is not
taken for one on the old.  That a data link died, in contrast, is noticed at any later moment.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from penstock._base.users_code import explained
from penstock._world.channels import CHANNEL_FAULTS, EMPTY, Queue, can_suffer
from penstock._world.component import Component, Endpoint, Event, Message, Port, Send, Step
from penstock._world.fabric import Fabric, FabricState, Wiring
from penstock._world.signals import FABRIC, Carrier, Power
from penstock._world.transition import ACT, DELIVER, INJECT, TIME, VERBS, InFlight, Record, Transition
from penstock.errors import PenstockError, UserCodeRaised

Route = tuple[int, Port]
Routes = Sequence[Route | None]
"""For each channel, the component (by place) and port that hear it, or None where nobody does."""


class ComponentRaised(UserCodeRaised):
    """A component raised an exception: in a user's host or controller, a bug by itself."""

    def __init__(self, component: str, transition: Transition, error: Exception) -> None:
        super().__init__(f"{component} raised {explained(error)}, on {str(transition)!r}")
        self.component = component
        self.transition = transition


Change = tuple[int, Any, dict[int, Queue], Record]
"""What a transition changes: a component (by place), its state, some channels; and what is recorded."""

_made: Final = tuple.__new__
"""Makes named tuples in a third of the time that calling their classes takes; every step needs several."""


class GlobalState(NamedTuple):
    """A whole network at one moment: the state of every component, the content of every channel."""

    states: tuple[Hashable, ...]
    queues: tuple[Queue, ...]
    clock: int = 0


def is_urgent(signals: Queue) -> bool:
    """Tell whether a component must take in these signals of the fabric before anything else."""
    for signal in signals:
        if isinstance(signal, Power) or (isinstance(signal, Carrier) and isinstance(signal.port, str)):
            return True
    return False


class Network:
    """Components, in the order of scheduling; the fabric; and the endpoints that channels leave."""

    def __init__(self, components: Sequence[Component], fabric: Fabric, channels: Sequence[Endpoint]) -> None:
        self.fabric = fabric
        self.components: tuple[Component, ...] = (*components, fabric)
        self.names = tuple(component.name for component in self.components)
        self.places = {name: place for place, name in enumerate(self.names)}
        for name in self.names:
            if not name or name in VERBS or not name.isprintable() or " " in name or ":" in name:
                raise PenstockError(
                    f"A component cannot be called {name!r}: use a word without spaces and colons that is "
                    f"none of {', '.join(sorted(VERBS))}."
                )
        if len(self.places) < len(self.names):
            twice = next(name for name in self.names if self.names.count(name) > 1)
            raise PenstockError(f"Two components are called {twice!r}: give each a name of its own.")
        signals = [Endpoint(FABRIC, component.name) for component in components]
        self.channels: tuple[Endpoint, ...] = (*signals, *channels)
        self.outlets: dict[tuple[str, Port], int] = {end: place for place, end in enumerate(self.channels)}
        self._deliveries = tuple(Transition(DELIVER, *channel) for channel in self.channels)

    # Where things are.

    def initial(self) -> GlobalState:
        """Return the network at the start of a run."""
        queues = [EMPTY] * len(self.channels)
        for port, signal in self.fabric.first_signals():
            queues[self.outlets[FABRIC, port]] += (signal,)
        return GlobalState(tuple(component.initial() for component in self.components), tuple(queues))

    def routes(self, state: FabricState) -> Routes:
        """Return where each channel leads; it depends on nothing of the fabric but its wiring."""
        return tuple(self._route(state, channel) for channel in self.channels)

    def rerouted(self, before: Wiring, state: FabricState) -> Iterator[tuple[int, Route | None]]:
        """Yield the channels that may lead elsewhere than under an earlier wiring, and where they lead."""
        for end in self.fabric.rewired(before, state.wiring):
            channel = self.outlets.get(end)
            if channel is not None:
                yield channel, self._route(state, end)

    def _route(self, state: FabricState, channel: Endpoint) -> Route | None:
        end = self.fabric.peer(state, channel)
        return None if end is None else (self.places[end.node], end.port)

    def parse(self, text: str) -> Transition:
        """Return the transition that a text means, possible now or not."""
        first, _, rest = text.partition(" ")
        if first not in VERBS:
            if first in self.places and rest:
                return Transition(ACT, first, rest)
        elif first not in (TIME, INJECT):
            node, _, port = rest.rpartition(":")
            for what in (port, int(port)) if port.isdecimal() else (port,):
                if (node, what) in self.outlets:
                    return Transition(first, node, what)
        raise PenstockError(
            f"{text!r} is no transition of this network: write a component and its action, "
            f"or {DELIVER}, {', '.join(CHANNEL_FAULTS)} and a port as in s1:2."
        )

    def delivery(self, channel: int) -> Transition:
        """Return the transition that delivers the head of a channel."""
        return self._deliveries[channel]

    def channel_faults(self, state: FabricState, channel: int, queue: Queue) -> tuple[Transition, ...]:
        """Return what may befall the head of a channel instead of its delivery."""
        end = self.channels[channel]
        return tuple(
            Transition(fault, *end)
            for fault in CHANNEL_FAULTS
            if can_suffer(queue, fault) and self.fabric.may_suffer(state, fault, end)
        )

    # What a transition does.  Each of these needs an enabled transition.

    def act(
        self, states: Sequence[Any], queues: Sequence[Queue], routes: Routes, transition: Transition
    ) -> Change:
        """Let a component perform an action."""
        node = self.places[transition.node]
        try:
            step = self.components[node].act(states[node], str(transition.what))
        except Exception as error:
            raise ComponentRaised(transition.node, transition, error) from error
        return self.settle(transition, node, step, queues, routes, {})

    def deliver(self, states: Sequence[Any], queues: Sequence[Queue], routes: Routes, channel: int) -> Change:
        """Deliver the message at the head of a channel."""
        queue = queues[channel]
        route = routes[channel]
        assert route is not None, f"{self.channels[channel]} holds messages but leads nowhere"
        node, port = route
        message = queue[0]
        transition = self._deliveries[channel]
        try:
            step = self.components[node].receive(states[node], port, message)
        except Exception as error:
            raise ComponentRaised(self.names[node], transition, error) from error
        return self.settle(transition, node, step, queues, routes, {channel: queue[1:]}, port, message)

    def suffer(self, states: Sequence[Any], queues: Sequence[Queue], transition: Transition) -> Change:
        """Let a fault befall the head of a channel."""
        fault, end = transition.verb, Endpoint(transition.node, transition.what)
        channel, node = self.outlets[end], self.places[FABRIC]
        queue = queues[channel]
        lost = (InFlight(end, queue[0]),) if fault == "drop" else ()
        record = Record(transition, FABRIC, None, None, (), (Event(fault, (end, queue[0])),), lost)
        state = self.fabric.suffered(states[node], fault)
        return node, state, {channel: CHANNEL_FAULTS[fault](queue)}, record

    def inject(
        self,
        states: Sequence[Any],
        queues: Sequence[Queue],
        routes: Routes,
        channel: Endpoint,
        message: Message,
    ) -> Change:
        """Put a message on a channel from outside, as if the component there had sent it."""
        name, port = channel
        node = self.places[name]
        sending = _made(Step, (states[node], (_made(Send, (port, message)),), (), ()))
        return self.settle(_made(Transition, (INJECT, name, port)), node, sending, queues, routes, {})

    def settle(
        self,
        transition: Transition,
        node: int,
        step: Step,
        queues: Sequence[Queue],
        routes: Routes,
        changed: dict[int, Queue],
        port: Port | None = None,
        message: Message | None = None,
    ) -> Change:
        """Return what a component's step means for the network: clear first, then send."""
        name = self.names[node]
        if type(step) is not Step:
            raise ComponentRaised(name, transition, TypeError(f"it returned {step!r} where a Step is due"))
        state, sends, events, cleared = step
        outlets, channels = self.outlets, self.channels
        lost: list[InFlight] = []
        for end in cleared:
            channel = outlets[end]
            lost += (InFlight(end, message) for message in changed.get(channel, queues[channel]))
            changed[channel] = EMPTY
        sent: list[InFlight] = []
        batches: dict[int, list[Message]] = {}
        for out, sending in sends:
            channel = outlets.get((name, out), -1)
            if channel < 0:
                raise ComponentRaised(name, transition, LookupError(self._no_port(name, out)))
            flight = _made(InFlight, (channels[channel], sending))
            if routes[channel] is None:
                lost.append(flight)
            else:
                sent.append(flight)
                if channel in batches:
                    batches[channel].append(sending)
                else:
                    batches[channel] = [sending]
        # Many messages for one channel are joined in one go.
        for channel, batch in batches.items():
            changed[channel] = (*(changed[channel] if channel in changed else queues[channel]), *batch)
        if lost:
            events = (*events, *(Event("lost", flight) for flight in lost))
        at = None if port is None else _made(Endpoint, (name, port))
        record = _made(Record, (transition, name, at, message, tuple(sent), events, tuple(lost)))
        return node, state, changed, record

    def _no_port(self, name: str, port: Port) -> str:
        ports = [str(end.port) for end in self.channels if end.node == name]
        return f"it sent on port {port}, but its ports are {', '.join(ports) or 'none'}"
