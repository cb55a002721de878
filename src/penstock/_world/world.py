"""The world: one network in one run, driven one transition at a time.

This is the only mutable thing in the model, and it is small: a list of component states, a list
of channel contents, a clock.  States being immutable, a snapshot is a copy of two lists.

Time is virtual and stands still while transitions are taken; only `advance` and `elapse` move it.  So
a run decides for itself whether a packet is faster than a timeout.

Choosing what happens next never scans the network: the channels that hold messages are kept in
a sorted list, which is put right only when somebody asks for it, and a component is asked for its
actions, or when something falls due for it, only after its state has changed, or the state of one it
looks at.  A change of the wiring looks at the wires that it touches.  So what a step costs does not
depend on how large the network is.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from heapq import heappop, heappush
from random import Random
from typing import Any

from penstock._world.channels import CHANNEL_FAULTS, Queue
from penstock._world.component import Collector, Endpoint, Message, Timed, readers
from penstock._world.fabric import FabricState
from penstock._world.network import Change, ComponentRaised, GlobalState, Network, Route, is_urgent
from penstock._world.signals import FABRIC
from penstock._world.transition import ACT, DELIVER, TIME, Record, Transition
from penstock.errors import PenstockError

Observer = Callable[[Record], None]
Choice = Callable[[tuple[Transition, ...]], Transition]

_SHOWN = 12
"""How many enabled transitions an error message lists."""


def first(transitions: tuple[Transition, ...]) -> Transition:
    """Choose the first transition: what is under way arrives before anything new begins."""
    return transitions[0]


class World:
    """One run of a network."""

    def __init__(self, network: Network, observers: Iterable[Observer] = ()) -> None:
        self.network = network
        self.clock = 0
        self._observers = list(observers)
        size = len(network.components)
        self._fabric = network.places[FABRIC]
        self._states: list[Any] = [None] * size
        self._queues: list[Queue] = [()] * len(network.channels)
        self._routes: list[Route | None] = []
        self._in_order: list[int] = []
        """The channels that hold messages, in order, apart from those that turned."""
        self._turned: set[int] = set()
        """The channels that were filled or emptied since somebody asked for the order."""
        self._urgent: set[int] = set()
        """The components that must take in a signal of the fabric first."""
        self._actions: list[tuple[Transition, ...]] = [()] * size
        self._acting: list[int] = []
        """The components that have actions, the fabric apart, in order."""
        self._stale: set[int] = set(range(self._fabric))
        """The components whose actions are not known since a state that decides them changed."""
        self._lookers = readers(network.components)
        self._depending: dict[int, list[int]] = {}
        """For a component that others look at, those others."""
        for other, (_, seen) in self._lookers.items():
            for place in seen:
                self._depending.setdefault(place, []).append(other)
        self._timed = {
            place: component
            for place, component in enumerate(network.components)
            if isinstance(component, Timed)
        }
        self._reached = dict.fromkeys(self._timed, 0)
        """The moment up to which each timed component knows that time has passed."""
        self._deadlines: dict[int, int | None] = dict.fromkeys(self._timed)
        """When something falls due for each timed component, where that is known."""
        self._agenda: list[tuple[int, int]] = []
        """A heap of those moments; what the deadlines do not confirm is out of date."""
        self._undated = set(self._timed)
        """The timed components whose deadlines are not known since their states changed."""
        self._collectors = {
            place: component
            for place, component in enumerate(network.components)
            if isinstance(component, Collector)
        }
        self.restore(network.initial())

    # Looking.

    def state(self, name: str) -> Any:
        """Return the state of a component."""
        place = self.network.places.get(name)
        if place is None:
            raise PenstockError(
                f"There is no {name!r} here: the components are {', '.join(self.network.names)}."
            )
        return self._states[place]

    def queue(self, channel: Endpoint) -> Queue:
        """Return what is in flight on the channel that leaves an endpoint."""
        return self._queues[self.network.outlets[channel]]

    def observe(self, observer: Observer) -> None:
        """Have every record from now on handed to an observer."""
        self._observers.append(observer)

    def snapshot(self) -> GlobalState:
        """Return the whole state of the network, an immutable and hashable value.

        Components that have not heard yet how late it is (see `elapse`) hear it first.
        """
        for place in self._timed:
            self._catch_up(place)
        return GlobalState(tuple(self._states), tuple(self._queues), self.clock)

    def restore(self, snapshot: GlobalState) -> None:
        """Go back (or forth) to a state of this network."""
        self.clock = snapshot.clock
        self._reached = dict.fromkeys(self._timed, snapshot.clock)
        for place, state in enumerate(snapshot.states):
            if state is not self._states[place]:
                self._enter(place, state)
        for channel, queue in enumerate(snapshot.queues):
            if queue is not self._queues[channel]:
                self._fill(channel, queue)

    # What can happen.

    def is_at_rest(self) -> bool:
        """Tell whether nothing can happen by itself any more: only the fabric may have something left."""
        return next(self._enabled(), None) is None

    def enabled(self) -> tuple[Transition, ...]:
        """Return every transition that can be taken now: deliveries, actions, then faults, each in order."""
        return (*self._enabled(), *self._environment())

    def deliveries(self) -> tuple[Transition, ...]:
        """Return the deliveries that can be made now, in order."""
        return tuple(map(self.network.delivery, self._deliverable()))

    def _enabled(self) -> Iterator[Transition]:
        for channel in self._deliverable():
            yield self.network.delivery(channel)
        for place in self._ready_to_act():
            yield from self._actions[place]

    def _environment(self) -> Iterator[Transition]:
        state = self._states[self._fabric]
        for action in self.network.fabric.actions(state):
            yield Transition(ACT, FABRIC, action)
        for channel in self._loaded():
            yield from self.network.channel_faults(state, channel, self._queues[channel])

    def _loaded(self) -> list[int]:
        """Return the channels that hold messages, in order."""
        for channel in self._turned:
            _mark(self._in_order, channel, bool(self._queues[channel]))
        self._turned.clear()
        return self._in_order

    def _deliverable(self) -> list[int]:
        """Return the channels whose head can be delivered, in order."""
        if not self._urgent:
            return self._loaded()
        return [channel for channel in self._loaded() if not self._must_wait(channel)]

    def _must_wait(self, channel: int) -> bool:
        route = self._routes[channel]
        return route is not None and route[0] in self._urgent and route[1] != FABRIC

    def _ready_to_act(self) -> list[int]:
        """Return the components that can act, the fabric apart, in order."""
        for place in self._stale:
            name = self.network.names[place]
            try:
                actions = self._actions_of(place)
            except Exception as error:
                raise ComponentRaised(name, Transition(ACT, name, "…"), error) from error
            self._actions[place] = tuple(Transition(ACT, name, action) for action in actions)
            _mark(self._acting, place, bool(actions))
        self._stale.clear()
        if not self._urgent:
            return self._acting
        return [place for place in self._acting if place not in self._urgent]

    def _actions_of(self, place: int) -> tuple[str, ...]:
        state = self._states[place]
        reader = self._lookers.get(place)
        if reader is None:
            return self.network.components[place].actions(state)
        component, others = reader
        seen = {self.network.names[other]: self._states[other] for other in others}
        return component.actions_given(state, seen)

    # Taking transitions.

    def take(self, transition: Transition | str) -> Record:
        """Take one enabled transition, given as such or by its text."""
        if isinstance(transition, str):
            transition = self.network.parse(transition)
        if transition.node == FABRIC and transition.verb == ACT:
            return self._befall(transition)
        if not self._is_enabled(transition):
            raise PenstockError(self._not_enabled(transition))
        return self._take(transition)

    def deliver(self, channel: Endpoint) -> Record:
        """Deliver the message at the head of a channel, as `take` does."""
        place = self.network.outlets.get(channel, -1)
        if place < 0 or not self._queues[place] or (self._urgent and self._must_wait(place)):
            raise PenstockError(self._not_enabled(Transition(DELIVER, *channel)))
        return self._deliver(place)

    def _befall(self, transition: Transition) -> Record:
        """Have the fabric act; whether it can is found out by trying, since that takes most of the work."""
        try:
            return self._take(transition)
        except ComponentRaised:
            if self._is_enabled(transition):
                raise
        raise PenstockError(self._not_enabled(transition))

    def run(self, choose: Choice | Random = first, limit: int | None = None, faults: bool = False) -> int:
        """Take transitions until none is enabled or `limit` is reached, and return how many were taken.

        `choose` picks among the enabled transitions; a `Random` picks a channel or component
        evenly, then one of its transitions.  What only the fabric does (failures, moves, losses)
        is left out unless `faults` is set.
        """
        taken = 0
        while limit is None or taken < limit:
            transition = self._next(choose, faults)
            if transition is None:
                break
            self._take(transition)
            taken += 1
        return taken

    def inject(self, channel: Endpoint, message: Message) -> Record:
        """Put a message on the channel that leaves an endpoint, from outside the model."""
        if channel not in self.network.outlets:
            raise PenstockError(f"Nothing can be sent on {channel}: it is no port of this network.")
        return self._apply(self.network.inject(self._states, self._queues, self._routes, channel, message))

    def advance(self, milliseconds: int) -> tuple[Record, ...]:
        """Let time pass; whatever falls due on the way happens at its moment, in order."""
        records = self._fall_due(milliseconds)
        return (*records, *(self._reach(place) for place in self._timed))

    def elapse(self, milliseconds: int) -> tuple[Record, ...]:
        """Let time pass as `advance` does, but only for those for whom something falls due.

        The others hear how late it is before they next act or take a message, and so do nothing else
        than they would have done.  Until then their states show the time they heard last.
        """
        return tuple(self._fall_due(milliseconds))

    def _fall_due(self, milliseconds: int) -> list[Record]:
        if milliseconds < 0:
            raise PenstockError(f"Time cannot go back by {-milliseconds} ms: advance by a number from 0 up.")
        end = self.clock + milliseconds
        records: list[Record] = []
        while (due := self._earliest()) is not None and due[0] <= end:
            moment, place = due
            self.clock = max(self.clock, moment)
            records.append(self._reach(place))
            if (again := self._earliest()) is not None and again <= due:
                name = self.network.names[again[1]]
                raise PenstockError(f"{name} is still due at {again[0]} ms after it was advanced there.")
        self.clock = end
        return records

    def _earliest(self) -> tuple[int, int] | None:
        """Return the next moment at which something falls due, and for whom."""
        for place in self._undated:
            deadline = self._timed[place].deadline(self._states[place])
            if deadline is not None and deadline != self._deadlines[place]:
                heappush(self._agenda, (deadline, place))
            self._deadlines[place] = deadline
        self._undated.clear()
        while self._agenda:
            moment, place = self._agenda[0]
            if self._deadlines[place] == moment:
                return moment, place
            heappop(self._agenda)
        return None

    def _catch_up(self, place: int) -> None:
        """Let a component hear how late it is, if it has not yet."""
        if self._reached.get(place, self.clock) < self.clock:
            self._reach(place)

    def _reach(self, place: int) -> Record:
        """Let one component's clock reach the world's."""
        name = self.network.names[place]
        transition = Transition(TIME, name, self.clock)
        try:
            step = self._timed[place].advance(self._states[place], self.clock)
        except Exception as error:
            raise ComponentRaised(name, transition, error) from error
        self._reached[place] = self.clock
        return self._apply(self.network.settle(transition, place, step, self._queues, self._routes, {}))

    def _next(self, choose: Choice | Random, faults: bool) -> Transition | None:
        if choose is first and (loaded := self._loaded()):
            return self.network.delivery(loaded[0])
        if isinstance(choose, Random):
            return self._random(choose, faults)
        transitions = self.enabled() if faults else tuple(self._enabled())
        return choose(transitions) if transitions else None

    def _random(self, random: Random, faults: bool) -> Transition | None:
        fabric = self._states[self._fabric]
        misfortunes = self.network.fabric.actions(fabric) if faults else ()
        deliverable, acting = self._deliverable(), self._ready_to_act()
        total = len(deliverable) + len(acting) + bool(misfortunes)
        if not total:
            return None
        pick = random.randrange(total)
        if pick < len(deliverable):
            channel = deliverable[pick]
            delivery = self.network.delivery(channel)
            if not faults:
                return delivery
            suffering = self.network.channel_faults(fabric, channel, self._queues[channel])
            return random.choice((delivery, *suffering))
        if pick < len(deliverable) + len(acting):
            return random.choice(self._actions[acting[pick - len(deliverable)]])
        return Transition(ACT, FABRIC, random.choice(misfortunes))

    def _is_enabled(self, transition: Transition) -> bool:
        verb, node, what = transition
        if verb == ACT and node == FABRIC:
            return self.network.fabric.allows(self._states[self._fabric], str(what))
        if verb == ACT:
            place = self.network.places.get(node)
            if place is None or place in self._urgent:
                return False
            self._ready_to_act()
            return transition in self._actions[place]
        channel = self.network.outlets.get((node, what), -1)
        if channel < 0 or not self._queues[channel]:
            return False
        if verb == DELIVER:
            return not self._must_wait(channel)
        state = self._states[self._fabric]
        return transition in self.network.channel_faults(state, channel, self._queues[channel])

    def _not_enabled(self, transition: Transition) -> str:
        enabled = [str(possible) for possible in self.enabled()]
        more = len(enabled) - _SHOWN
        shown = ", ".join(enabled[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
        return f"{str(transition)!r} cannot happen now: enabled are {shown or 'no transitions at all'}."

    def _take(self, transition: Transition) -> Record:
        network, states, queues = self.network, self._states, self._queues
        verb, node, what = transition
        if verb == DELIVER:
            return self._deliver(network.outlets[node, what])
        if verb in CHANNEL_FAULTS:
            return self._apply(network.suffer(states, queues, transition))
        self._catch_up(network.places[node])
        return self._apply(network.act(states, queues, self._routes, transition))

    def _deliver(self, channel: int) -> Record:
        route = self._routes[channel]
        if route is not None:
            self._catch_up(route[0])
        return self._apply(self.network.deliver(self._states, self._queues, self._routes, channel))

    # The only places where the run's state changes.

    def _apply(self, change: Change) -> Record:
        node, state, queues, record = change
        if state is not self._states[node]:
            self._enter(node, state)
        for channel, queue in queues.items():
            self._fill(channel, queue)
            if queue and self._collectors:
                self._collect(channel)
        for observer in self._observers:
            observer(record)
        return record

    def _collect(self, channel: int) -> None:
        """Let a collector take messages out of a channel that leads to it."""
        route = self._routes[channel]
        if route is None or route[0] not in self._collectors:
            return
        place, port = route
        while self._queues[channel]:
            state = self._collectors[place].collect(self._states[place], port, self._queues[channel][0])
            if state is None:
                return
            self._enter(place, state)
            self._fill(channel, self._queues[channel][1:])

    def _enter(self, place: int, state: Any) -> None:
        if place == self._fabric:
            self._rewire(self._states[place], state)
        else:
            self._stale.add(place)
        if place in self._timed:
            self._undated.add(place)
        if place in self._depending:
            self._stale.update(self._depending[place])
        self._states[place] = state

    def _rewire(self, before: FabricState | None, state: FabricState) -> None:
        if before is None:
            self._routes = list(self.network.routes(state))
        elif before.wiring is not state.wiring:
            for channel, route in self.network.rerouted(before.wiring, state):
                self._routes[channel] = route

    def _fill(self, channel: int, queue: Queue) -> None:
        if not queue or not self._queues[channel]:
            self._turned.add(channel)
        self._queues[channel] = queue
        if channel < self._fabric:
            # The channels of the fabric's signals come first, in the order of the components.
            if queue and is_urgent(queue):
                self._urgent.add(channel)
            else:
                self._urgent.discard(channel)


def states_of(world: World) -> dict[str, object]:
    """Return the states of a world's components by name."""
    return dict(zip(world.network.names, world.snapshot().states, strict=True))


def _mark(places: list[int], place: int, present: bool) -> None:
    """Have a place in a sorted list, or not."""
    index = bisect_left(places, place)
    found = index < len(places) and places[index] == place
    if present and not found:
        places.insert(index, place)
    elif found and not present:
        del places[index]
