"""Which step of a run sent a message that is delivered in a later one."""

from __future__ import annotations

from collections import defaultdict, deque
from typing import NamedTuple

from penstock._world.component import Endpoint, Message
from penstock._world.transition import INJECT, Record


class Sent(NamedTuple):
    """A message of a step: the step's number, and its place among what that step put on the same channel."""

    step: int
    place: int


class Senders:
    """Follows the messages of a run, step by step, from who sends them to who takes them in.

    Messages are found again by channel and content, first sent first taken.  So a part of a run will do, and
    channels that lose, double or swap messages need no special care: equal messages are as good as the same.
    """

    def __init__(self) -> None:
        self._under_way: defaultdict[tuple[Endpoint, Message], deque[Sent]] = defaultdict(deque)
        self._last: dict[tuple[Endpoint, Message], Sent] = {}

    def take(self, number: int, record: Record) -> Sent | None:
        """Take in a step; return who sent the message that it delivers, if it does and that is known."""
        sender = self._sender(record)
        places: dict[Endpoint, int] = {}
        for channel, message in (*record.sends, *record.lost):
            place = places[channel] = places.get(channel, -1) + 1
            self._under_way[channel, message].append(Sent(number, place))
        return sender

    def _sender(self, record: Record) -> Sent | None:
        verb, node, what = record.transition
        if record.message is None or verb == INJECT:
            return None
        key = Endpoint(node, what), record.message
        if waiting := self._under_way.get(key):
            self._last[key] = waiting.popleft()
        # Of a message that the channel doubled, the copy was sent by whoever sent the original.
        return self._last.get(key)
