"""A host for unboundedly many packets (MOCS §2.2): it may send its packets again and again, and receives.

Which packets those are is given: one of each class that makes a difference.  `send` is always possible,
and under (0,∞) doing it twice is doing it once.  What arrives waits in a set until `recv`.  A host does not
answer what it receives: an answer is one of the packets it may send anyway.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any, Final

from penstock._verify.abstract_switch import Arrival
from penstock._verify.naming import named
from penstock._world.component import Event, Port, Send, Step
from penstock._world.frame import Frame

SEND: Final = "send"
RECEIVE: Final = "recv"


@dataclass(frozen=True, slots=True)
class HostQueue:
    """The state of an abstract host: the packets it has not yet received."""

    received: frozenset[Arrival] = frozenset()


class AbstractHost:
    """A host that sends `traffic` on its port; `queues` says whether what arrives there is kept at all."""

    def __init__(self, name: str, port: int, traffic: tuple[Frame, ...] = (), *, queues: bool = True) -> None:
        self.name = name
        self._port = port
        self._traffic = named(traffic)
        self._queues = queues

    def initial(self) -> HostQueue:
        """Return a host with nothing to receive."""
        return HostQueue()

    def actions(self, state: HostQueue) -> tuple[str, ...]:
        """Return what it may send, which is always the same, and receive."""
        sending = [f"{SEND} {name}" for name in self._traffic]
        return (*sending, *(f"{RECEIVE} {name}" for name in named(state.received)))

    def act(self, state: HostQueue, action: str) -> Step:
        """Send a packet, or receive one."""
        kind, _, name = action.partition(" ")
        if kind == SEND:
            sent = self._traffic[name]
            event = Event(SEND, (self.name, Arrival(self._port, sent)))
            return Step(state, (Send(self._port, sent),), (event,))
        taken = named(state.received)[name]
        return Step(
            replace(state, received=state.received - {taken}), (), (Event(RECEIVE, (self.name, taken)),)
        )

    def receive(self, state: HostQueue, _port: Port, _message: Any) -> Step:
        """Hear of the physical world, which makes no difference to a host."""
        return Step(state)

    def collect(self, state: HostQueue, port: Port, message: Any) -> Hashable | None:
        """Let a packet wait to be received."""
        if not isinstance(message, Frame):
            return None
        if not self._queues:
            return state
        assert isinstance(port, int)
        return replace(state, received=state.received | {Arrival(port, message)})
