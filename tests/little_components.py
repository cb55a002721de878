"""Small components that tests put in place of hosts, switches and controllers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock._world.component import Endpoint, Event, Port, Send, Step
from penstock._world.fabric import Fabric, Wire
from penstock._world.faults import NO_FAULTS, Faults
from penstock._world.network import Network
from penstock._world.signals import FABRIC


@dataclass(frozen=True, slots=True)
class Note:
    """A message with a text, and how many more times it may be passed on."""

    text: str
    hops: int = 0

    def __str__(self) -> str:
        return self.text


@dataclass(eq=False)
class Talker:
    """Sends `notes` one by one, each through the next of its ports, and passes on what has hops left.

    Its state is how many notes it sent and which it heard, signals of the fabric included.
    """

    name: str
    ports: tuple[Port, ...] = (1,)
    notes: int = 0
    hops: int = 0

    def initial(self) -> tuple[int, tuple[Any, ...]]:
        return (0, ())

    def actions(self, state: tuple[int, tuple[Any, ...]]) -> tuple[str, ...]:
        return ("talk",) if state[0] < self.notes else ()

    def act(self, state: tuple[int, tuple[Any, ...]], action: str) -> Step:
        sent, heard = state
        note = Note(f"{self.name}#{sent + 1}", self.hops)
        port = self.ports[sent % len(self.ports)]
        return Step((sent + 1, heard), (Send(port, note),), (Event("talked", (note.text,)),))

    def receive(self, state: tuple[int, tuple[Any, ...]], port: Port, message: Any) -> Step:
        sent, heard = state
        after = (sent, (*heard, message))
        if port == FABRIC or not message.hops:
            return Step(after)
        onward = self.ports[(self.ports.index(port) + 1) % len(self.ports)]
        return Step(after, (Send(onward, Note(message.text, message.hops - 1)),))


@dataclass(eq=False)
class Repeater:
    """Sends every frame out of all its other ports, as a hub does."""

    name: str
    ports: tuple[Port, ...]

    def initial(self) -> int:
        return 0

    def actions(self, state: int) -> tuple[str, ...]:
        return ()

    def act(self, state: int, action: str) -> Step:
        raise NotImplementedError(action)

    def receive(self, state: int, port: Port, message: Any) -> Step:
        if port == FABRIC:
            return Step(state)
        return Step(state + 1, tuple(Send(other, message) for other in self.ports if other != port))


def wire(a: str, b: str) -> Wire:
    """Return the wire between two ports, given as in `s1:2`."""
    return Wire(_end(a), _end(b))


def _end(text: str) -> Endpoint:
    node, _, port = text.rpartition(":")
    return Endpoint(node, int(port) if port.isdecimal() else port)


def network(
    components: Sequence[Any],
    wires: Sequence[Wire] = (),
    *,
    attachments: Sequence[Wire] = (),
    sessions: Sequence[Wire] = (),
    faults: Faults = NO_FAULTS,
) -> Network:
    """Put components together; each has a channel for each of its ports."""
    fabric = Fabric(
        cables=wires,
        attachments=attachments,
        sessions=sessions,
        switches=sorted({w.a.node for w in [*wires, *sessions]}),
        controllers=sorted({w.b.node for w in sessions}),
        faults=faults,
    )
    return Network(components, fabric, [Endpoint(c.name, port) for c in components for port in c.ports])


def two_talkers(notes: int = 2, faults: Faults = NO_FAULTS) -> Network:
    """Return a and b, joined by one wire, a with some notes to send."""
    return network([Talker("a", (1,), notes), Talker("b")], [wire("a:1", "b:1")], faults=faults)
