"""Transitions and what is recorded of them.

A transition is one step of one run: an action of a component, the delivery of the message at the
head of a channel, something that befalls that message on its way, or a message put on a channel
from outside the model.  Its text is short, stable
and unambiguous, because traces are made of it and transitions are found again by it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from penstock._world.channels import CHANNEL_FAULTS
from penstock._world.component import Endpoint, Event, Message, Port

ACT: Final = "act"
DELIVER: Final = "deliver"
TIME: Final = "time"
INJECT: Final = "inject"

VERBS: Final = frozenset({DELIVER, TIME, INJECT, *CHANNEL_FAULTS})
"""The words that begin the text of a transition which is no component's action."""


class Transition(NamedTuple):
    """One thing that can happen next.

    `verb` is `act`, then `what` is the action of the component `node`; or `deliver`, `drop`,
    `duplicate`, `reorder` or `inject`, then `node` and `what` are the endpoint whose channel is
    meant; or `time`, then `what` is the moment that `node` reaches.
    """

    verb: str
    node: str
    what: Port

    def __str__(self) -> str:
        if self.verb == ACT:
            return f"{self.node} {self.what}"
        return f"{self.verb} {self.node}:{self.what}"


class InFlight(NamedTuple):
    """A message on the channel that leaves an endpoint."""

    channel: Endpoint
    message: Message

    def __str__(self) -> str:
        return f"{self.channel} {self.message}"


class Record(NamedTuple):
    """What one transition did.

    `node` is the component that took the step; `at` the endpoint where `message` arrived, where
    there was one.  `sends` went on their way, `lost` met a dead link or were on one that died.
    """

    transition: Transition
    node: str
    at: Endpoint | None = None
    message: Message | None = None
    sends: tuple[InFlight, ...] = ()
    events: tuple[Event, ...] = ()
    lost: tuple[InFlight, ...] = ()

    def __str__(self) -> str:
        parts = [str(self.transition)]
        if self.message is not None:
            parts.append(f": {self.message}")
        if self.sends:
            parts.append(" -> " + "; ".join(map(str, self.sends)))
        if self.lost:
            parts.append(" lost " + "; ".join(map(str, self.lost)))
        return "".join(parts)
