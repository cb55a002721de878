"""A run of a scenario's network with its properties watching, taken transition by transition.

A replay takes the transitions that it is told to.  `rest` then has everything arrive that is under way, and
switches and controllers do what they still have to do; hosts that could say something more are silent.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from penstock._engine.building import Built
from penstock._properties.watch import Watch
from penstock._world.component import Endpoint, Message
from penstock._world.hosts import Host
from penstock._world.transition import ACT, DELIVER, Record, Transition
from penstock._world.world import World, states_of

MOST_STEPS_TO_REST: Final = 10_000
"""How many steps a network may take to come to rest."""


def is_quiet(world: World) -> bool:
    """Tell whether nothing can happen any more but what hosts, or the fabric, would begin."""
    return next(_pending(world), None) is None


def _pending(world: World) -> Iterator[Endpoint | str]:
    for transition in world.deliveries():
        yield Endpoint(transition.node, transition.what)
    for made in world.network.components[:-1]:
        if not isinstance(made, Host):
            for action in made.actions(world.state(made.name)):
                yield str(Transition(ACT, made.name, action))


class WatchedWorld:
    """A world that begins where a scenario's search does, with its properties watching."""

    def __init__(self, built: Built) -> None:
        self.world = World(built.network)
        self.world.restore(built.start)
        self.watch = Watch(built.network, built.properties)
        self.records: list[Record] = []
        self.watch.begin(states_of(self.world))

    def take(self, transition: Transition | str) -> None:
        """Take a transition, and let the properties see it."""
        record = self.world.take(transition)
        self.records.append(record)
        self.watch.observe(record, states_of(self.world))

    def queue(self, channel: Endpoint) -> tuple[Message, ...]:
        """Return what is under way on a channel."""
        if channel not in self.world.network.outlets:
            return ()
        return self.world.queue(channel)

    def pending(self) -> Iterator[Endpoint | str]:
        """Return the channels that can deliver, and what switches and controllers can do by themselves."""
        return _pending(self.world)

    def deliver(self, channel: Endpoint) -> None:
        """Deliver the head of a channel."""
        self.take(Transition(DELIVER, *channel))

    def act(self, action: str) -> None:
        """Have a component do something."""
        self.take(action)

    def rest(self, most: int = MOST_STEPS_TO_REST, watched: str = "") -> bool:
        """Let everything happen but what hosts would begin, then judge; tell whether it came to rest.

        That ends after so many steps, and as soon as a property that is `watched` is broken.
        """
        for _ in range(most):
            if watched in self.watch.broken:
                return False
            turn = next(self.pending(), None)
            if turn is None:
                self.watch.at_rest(states_of(self.world))
                return True
            self.act(turn) if isinstance(turn, str) else self.deliver(turn)
        return False
