"""Channels: FIFO queues as values, and what an unreliable wire does to them.

The content of a channel is a tuple of messages, oldest first.  Every operation returns a new
tuple, so whoever drives a network (one run, a search) keeps contents as parts of its states.

The faults act at the head of a queue.  That loses nothing: any message of a queue is at its head
at some moment, and dropping or doubling it there cannot be told from doing so earlier.  Exchanging
the first two, repeated, gives any order; the number of exchanges is what the budget counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from penstock._world.component import Message

Queue = tuple[Message, ...]
EMPTY: Final[Queue] = ()


def drop(queue: Queue) -> Queue:
    """Lose the message at the head."""
    return queue[1:]


def duplicate(queue: Queue) -> Queue:
    """Deliver the message at the head twice."""
    return queue[:1] + queue


def reorder(queue: Queue) -> Queue:
    """Let the second message overtake the first."""
    return queue[1:2] + queue[:1] + queue[2:]


CHANNEL_FAULTS: Final[Mapping[str, Callable[[Queue], Queue]]] = {
    "drop": drop,
    "duplicate": duplicate,
    "reorder": reorder,
}
"""What may go wrong on a wire, by the verb that traces use."""


def can_suffer(queue: Queue, fault: str) -> bool:
    """Tell whether a fault would change anything for this queue."""
    if fault == "reorder":
        return len(queue) > 1 and queue[0] != queue[1]
    return bool(queue)
