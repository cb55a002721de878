"""Cells' values: a component's state with what waits for it, and what others do to them.

A component's inbox holds the channels that lead to it.  Others change it without the component
taking part: a message is put at the end of a channel, or a channel is cleared.  Each such effect
is an `Op`, worked out once per value of the cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from penstock._explore.interning import MASK, WIDTH, Interned
from penstock._explore.local_steps import LocalSteps
from penstock._explore.tables import Op
from penstock._world.component import Collector, Endpoint, Message, Port
from penstock._world.network import Routes, is_urgent
from penstock._world.signals import FABRIC

Inbox = tuple[tuple[int, tuple[int, ...]], ...]
"""The channels that hold something, each with the numbers of its messages, oldest first."""


Sent = tuple[int, int, int, Port]
"""A message for a cell: the cell, the channel, the message's number, the port that it arrives at."""


class Inboxes:
    """The values that cells have taken: pairs of a state's number and an inbox."""

    def __init__(self, local: LocalSteps) -> None:
        self._local = local
        self._network = local.network
        self.values = [Interned(f"states of {name} with what waits for it") for name in local.names]
        self._collectors = [made if isinstance(made, Collector) else None for made in local.components]
        self.collects = any(self._collectors)
        """Whether a component keeps its own queues; then sends to it need not commute."""
        self._appending: dict[tuple[int, int, tuple[int, ...], Port], Op] = {}
        self._clearing: dict[tuple[int, int], Op] = {}

    def state_in(self, state: int, cell: int) -> Any:
        """Return the state of a cell's component in a global state."""
        number, _ = self.values[cell].values[state >> WIDTH * cell & MASK]
        return self._local.states[cell].values[number]

    def waiting_in(self, state: int, cell: int) -> tuple[tuple[Endpoint, tuple[Message, ...]], ...]:
        """Return what waits for a cell in a global state, by channel."""
        _, inbox = self.values[cell].values[state >> WIDTH * cell & MASK]
        messages = self._local.messages.values
        return tuple(
            (self._network.channels[channel], tuple(messages[number] for number in numbers))
            for channel, numbers in inbox
        )

    def is_urgent(self, inbox: Inbox) -> bool:
        """Tell whether a cell must take in a signal of the fabric before anything else."""
        messages = self._local.messages.values
        return any(
            self._network.channels[channel].node == FABRIC
            and is_urgent(tuple(messages[number] for number in numbers))
            for channel, numbers in inbox
        )

    def number(self, cell: int, state: int, inbox: Inbox, filled: Iterable[int], routes: Routes) -> int:
        """Return the number of a cell's value after some of its own channels were filled."""
        for channel in filled:
            route = routes[channel]
            assert route is not None
            state, inbox = self._collected(cell, state, inbox, channel, route[1])
        return self.values[cell].number((state, inbox))

    def append_ops(self, sent: Iterable[Sent]) -> list[tuple[int, Op]]:
        """Return the effects of messages that a step puts on channels to other cells.

        All messages for a channel are one effect, or a switch that sends thousands of copies would have every
        inbox in between remembered.  A collector is handed them in the order in which they were sent.
        """
        by_channel: dict[tuple[int, int, Port, int], list[int]] = {}
        for place, (cell, channel, message, port) in enumerate(sent, 1):
            turn = place if self._collectors[cell] is not None else 0
            by_channel.setdefault((cell, channel, port, turn), []).append(message)
        return [
            (WIDTH * cell, self._append_op(cell, channel, tuple(messages), port))
            for (cell, channel, port, _), messages in by_channel.items()
        ]

    def _append_op(self, cell: int, channel: int, messages: tuple[int, ...], port: Port) -> Op:
        key = (cell, channel, messages, port)
        op = self._appending.get(key)
        if op is None:

            def fill(state: int, inbox: Inbox) -> tuple[int, Inbox]:
                inbox = appended(inbox, channel, messages)
                return self._collected(cell, state, inbox, channel, port)

            op = self._appending[key] = self._op(cell, fill)
        return op

    def clear_op(self, cell: int, channel: int) -> Op:
        """Return the effect of losing all that is on a channel to a cell."""
        key = (cell, channel)
        op = self._clearing.get(key)
        if op is None:

            def clear(state: int, inbox: Inbox) -> tuple[int, Inbox]:
                return state, tuple(item for item in inbox if item[0] != channel)

            op = self._clearing[key] = self._op(cell, clear)
        return op

    def _op(self, cell: int, change: Callable[[int, Inbox], tuple[int, Inbox]]) -> Op:
        shift, interned = WIDTH * cell, self.values[cell]

        def work(number: int) -> int:
            return interned.number(change(*interned.values[number])) - number << shift

        return Op(shift, work)

    def _collected(self, cell: int, state: int, inbox: Inbox, channel: int, port: Port) -> tuple[int, Inbox]:
        """Let a collector take what it wants out of one of its channels."""
        collector = self._collectors[cell]
        if collector is None:
            return state, inbox
        position = next(index for index, item in enumerate(inbox) if item[0] == channel)
        numbers = inbox[position][1]
        states, messages = self._local.states[cell], self._local.messages.values
        while numbers:
            after = collector.collect(states.values[state], port, messages[numbers[0]])
            if after is None:
                break
            state, numbers = states.number(after), numbers[1:]
        return state, replaced(inbox, position, numbers)


def appended(inbox: Inbox, channel: int, messages: tuple[int, ...]) -> Inbox:
    """Return an inbox with messages put at the end of one of its channels."""
    for position, (known, numbers) in enumerate(inbox):
        if known == channel:
            return (*inbox[:position], (channel, numbers + messages), *inbox[position + 1 :])
        if known > channel:
            return (*inbox[:position], (channel, messages), *inbox[position:])
    return (*inbox, (channel, messages))


def replaced(inbox: Inbox, position: int, messages: tuple[int, ...]) -> Inbox:
    """Return an inbox with the content of one of its channels replaced; empty ones are not kept."""
    if messages:
        return (*inbox[:position], (inbox[position][0], messages), *inbox[position + 1 :])
    return inbox[:position] + inbox[position + 1 :]
