"""The contract between the network model and everything that drives it.

A *component* (host, switch, fabric, controller, property monitor) is a deterministic state
machine whose states are immutable, hashable values.  It never keeps state in itself: whoever
drives it (the single-run `World`, a search, a fuzzer) owns the states, hands one in, and gets a
`Step` back.  That is what lets a search intern states and remember steps: the same state and
the same input always give the same `Step`.

Components talk over *channels*.  A channel is the FIFO queue that leaves one `Endpoint`, a
(component, port) pair: a switch port, a host's network card, one side of a control session.
Which endpoint hears the other end is for the fabric to say, because links fail and hosts move.
A transition is either an action that a component offers by itself or the delivery of the one
message at the head of one channel; so transitions at different receivers commute unless they
meet in a channel.

Actions, ports and messages have short, stable, readable names, because traces are made of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

from penstock.errors import PenstockError

Port = int | str
"""A data port is its number; a control session is the name of the component at the far end."""


class Endpoint(NamedTuple):
    """One side of a link: the port of a component."""

    node: str
    port: Port

    def __str__(self) -> str:
        return f"{self.node}:{self.port}"


class Message(Protocol):
    """What travels in a channel: an immutable, hashable value whose `str()` reads well in a trace."""

    def __hash__(self) -> int: ...

    def __eq__(self, other: object, /) -> bool: ...

    def __str__(self) -> str: ...


class Send(NamedTuple):
    """A message that a component puts on the channel leaving one of its ports."""

    port: Port
    message: Message


@dataclass(frozen=True, slots=True)
class Event:
    """Something observable that happened inside a component during a step.

    `kind` is a short stable word (`sent`, `received`, `rule-added` …); `detail` holds the values
    that properties and stories need, in an order fixed per kind.
    """

    kind: str
    detail: tuple[Hashable, ...] = ()

    def __str__(self) -> str:
        return " ".join([self.kind, *map(str, self.detail)])


S = TypeVar("S", bound=Hashable)


class Step(NamedTuple):
    """What one action or one delivery did: the component's next state and its visible effects.

    `cleared` names channels whose content is lost, as when a cable is cut under a frame.
    """

    state: Any
    sends: tuple[Send, ...] = ()
    events: tuple[Event, ...] = ()
    cleared: tuple[Endpoint, ...] = ()


@runtime_checkable
class Component(Protocol):
    """A deterministic state machine, driven from outside."""

    name: str

    def initial(self) -> Hashable:
        """Return the state the component starts in."""
        ...

    def actions(self, state: Any) -> tuple[str, ...]:
        """Return the names of what the component may do by itself in this state, in a fixed order."""
        ...

    def act(self, state: Any, action: str) -> Step:
        """Perform one enabled action."""
        ...

    def receive(self, state: Any, port: Port, message: Any) -> Step:
        """Take one message that arrived on a port."""
        ...


@runtime_checkable
class Timed(Protocol):
    """A component that also reacts to the passing of virtual time, in milliseconds."""

    def deadline(self, state: Any) -> int | None:
        """Return the earliest moment at which something falls due, or None."""
        ...

    def advance(self, state: Any, now: int) -> Step:
        """Let the clock reach `now`; everything due by then happens, in order."""
        ...


@runtime_checkable
class Collector(Protocol):
    """A component that takes messages into its own keeping as soon as they are sent to it.

    For models whose queues are not FIFO channels: what is collected is part of the component's
    state, and what becomes of it is for the component's actions to say.
    """

    def collect(self, state: Any, port: Port, message: Any) -> Hashable | None:
        """Return the state with the message taken in, or None to leave it in its channel."""
        ...


@runtime_checkable
class Aware(Protocol):
    """A component whose actions depend on the states of others, as if it could look at them.

    What an action does depends on the component's own state alone, as ever; so does what it makes of
    a message.  Only which actions there are is asked with the others in view, and `actions` is not
    asked then.  The answer must be a function of the states handed in, since it is remembered.
    """

    @property
    def reads(self) -> tuple[str, ...]:
        """The names of the components it looks at, which never change; the fabric may be among them."""
        ...

    def actions_given(self, state: Any, seen: Mapping[str, Any]) -> tuple[str, ...]:
        """Return what it may do by itself in this state, given the states of what it looks at, by name."""
        ...


def readers(components: Sequence[Component]) -> dict[int, tuple[Aware, tuple[int, ...]]]:
    """Return the aware components by their places, each with the places of those it looks at."""
    places = {component.name: place for place, component in enumerate(components)}
    found: dict[int, tuple[Aware, tuple[int, ...]]] = {}
    for place, component in enumerate(components):
        if isinstance(component, Aware):
            for name in component.reads:
                if name not in places:
                    raise PenstockError(
                        f"{component.name} looks at {name!r}, which is no component here: "
                        f"the components are {', '.join(places)}."
                    )
            found[place] = (component, tuple(places[name] for name in component.reads))
    return found
