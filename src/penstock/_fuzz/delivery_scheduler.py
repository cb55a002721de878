"""The courier: the one point that all messages pass, control and data alike.

A message that is sent waits on its channel in the world; the courier decides which channel's head is
handed over next.  By default that is the message that was sent first, wherever it is; with `random`
any channel that holds something may be next, as races would have it.  A channel may be held, or
delayed until a moment; the others go on past it.  What the physical world signals (power, carriers)
comes before all else, since whoever it concerns must know it first.

The courier also remembers who has something to do by himself (a switch that may join, say), because
that too happens in turn.

It only keeps the order.  Dropping, doubling and exchanging messages are transitions of the world.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from random import Random
from typing import Final, NamedTuple

from penstock._world.component import Endpoint
from penstock._world.signals import FABRIC
from penstock._world.transition import Record
from penstock._world.world import World
from penstock.errors import PenstockError

ORDERS: Final = ("fifo", "random")

Turn = Endpoint | str
"""What goes next: the head of a channel, or something that a component does by itself."""


class Waiting(NamedTuple):
    """All that a courier knows at a moment."""

    signals: tuple[Endpoint, ...]
    turns: tuple[Turn, ...]
    willing: frozenset[str]
    held: tuple[tuple[Endpoint, int | None], ...]
    parked: tuple[tuple[Endpoint, int], ...]


class DeliveryScheduler:
    """The order in which a world's messages are delivered."""

    def __init__(self, world: World, order: str = "fifo", random: Random | None = None) -> None:
        if order not in ORDERS:
            raise PenstockError(f"invalid order {order!r}: use {' or '.join(map(repr, ORDERS))}.")
        self._world = world
        self._random = (random or Random(0)) if order == "random" else None
        self._signals: deque[Endpoint] = deque()
        self._waiting: deque[Turn] = deque()
        """An entry per message that was sent; one whose message is gone is passed over."""
        self._willing: set[str] = set()
        """The components that wait to do something by themselves."""
        self._held: dict[Endpoint, int | None] = {}
        """The channels that stand still, with the moment when they go on by themselves."""
        self._parked: dict[Endpoint, int] = {}
        """How many entries of a held channel were reached in the meantime."""

    # What there is to deliver.

    def observe(self, record: Record) -> None:
        """Take note of what a step sent."""
        for channel, _ in record.sends:
            (self._signals if channel[0] == FABRIC else self._waiting).append(channel)
        verb, node, what = record.transition
        if verb == "duplicate":
            self._waiting.append(Endpoint(node, what))

    def offer(self, component: str) -> None:
        """Take note that a component has something to do by itself."""
        if component not in self._willing:
            self._willing.add(component)
            self._waiting.append(component)

    def next(self) -> Turn | None:
        """Return what goes next and count it as gone, or None where everything stands still."""
        signals, waiting, queue = self._signals, self._waiting, self._world.queue
        while signals:
            channel = signals.popleft()
            if queue(channel):
                return channel
        while waiting:
            turn = waiting.popleft() if self._random is None else self._any(self._random)
            if isinstance(turn, str):
                self._willing.discard(turn)
                return turn
            if not queue(turn):
                continue
            if turn in self._held:
                self._parked[turn] = self._parked.get(turn, 0) + 1
                continue
            return turn
        return None

    def _any(self, random: Random) -> Turn:
        """Return one of those that wait, and take it out."""
        waiting = self._waiting
        if len(waiting) > 1:
            index = random.randrange(len(waiting))
            waiting[0], waiting[index] = waiting[index], waiting[0]
        return waiting.popleft()

    @property
    def is_idle(self) -> bool:
        """Whether nothing is left to deliver, apart from what is held."""
        return not self._signals and not self._waiting

    def nonempty(self) -> Iterator[Endpoint]:
        """Yield the channels that hold messages, signals apart, each once."""
        turns = dict.fromkeys((*self._waiting, *self._parked))
        for turn in turns:
            if not isinstance(turn, str) and self._world.queue(turn):
                yield turn

    # For those who decide themselves what goes next.

    def turns(self) -> Iterator[Turn]:
        """Yield what could go next, in order, each once."""
        for turn in dict.fromkeys((*self._signals, *self._waiting)):
            if isinstance(turn, str) or (turn not in self._held and self._world.queue(turn)):
                yield turn

    def take(self, turn: Turn) -> None:
        """Count something as gone that went out of turn."""
        if isinstance(turn, str):
            self._willing.discard(turn)
        elif turn in self._signals:
            self._signals.remove(turn)
            return
        with suppress(ValueError):
            self._waiting.remove(turn)

    def snapshot(self) -> Waiting:
        """Return all that has to be known to come back to this moment."""
        return Waiting(
            tuple(self._signals),
            tuple(self._waiting),
            frozenset(self._willing),
            tuple(self._held.items()),
            tuple(self._parked.items()),
        )

    def restore(self, moment: Waiting) -> None:
        """Go back to a moment."""
        self._signals, self._waiting = deque(moment.signals), deque(moment.turns)
        self._willing, self._held, self._parked = set(moment.willing), dict(moment.held), dict(moment.parked)

    # Standing still.

    def hold(self, channel: Endpoint) -> None:
        """Let nothing more through on a channel until it is released."""
        self._check(channel)
        self._held[channel] = None

    def delay(self, channel: Endpoint, until: int) -> None:
        """Let nothing through on a channel until a moment."""
        self._check(channel)
        self._held[channel] = until

    def release(self, channel: Endpoint) -> None:
        """Let a channel go on; what it held comes next, in its order."""
        self._held.pop(channel, None)
        for _ in range(self._parked.pop(channel, 0)):
            self._waiting.appendleft(channel)

    def wake(self, now: int) -> tuple[Endpoint, ...]:
        """Let the channels go on whose time has come; return them."""
        due = tuple(channel for channel, until in self._held.items() if until is not None and until <= now)
        for channel in due:
            self.release(channel)
        return due

    @property
    def held(self) -> tuple[Endpoint, ...]:
        """The channels that stand still."""
        return tuple(self._held)

    @property
    def next_due(self) -> int | None:
        """The moment when a delayed channel goes on by itself."""
        return min((until for until in self._held.values() if until is not None), default=None)

    def _check(self, channel: Endpoint) -> None:
        if channel not in self._world.network.outlets or channel.node == FABRIC:
            raise PenstockError(f"{channel} is not a channel of this network.")
