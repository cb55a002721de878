"""Asking a controller what it would do, without it being done."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple, Protocol, runtime_checkable

from penstock._concolic.packets.inputs import Question
from penstock._concolic.space import Inputs
from penstock._world.component import Event, Port, Send, Step
from penstock.openflow.messages import OpenFlowMessage, PacketIn


class Given(NamedTuple):
    """Something that happened to a program: in which of its states, and what.

    `what` is for the controller to know; `message` is there if it was one, from a switch.
    """

    before: Any
    what: Hashable
    switch: str = ""
    message: OpenFlowMessage | None = None


class Perform(Protocol):
    """Has something happen to a program, with the contents of its message followed if they are given."""

    def __call__(self, given: Given, question: Question | None, inputs: Inputs, /) -> None:
        """Have it happen."""
        ...


HandOver = Callable[[str, OpenFlowMessage], "Reaction"]
"""Hands a program what a switch sent, and returns what it would do."""


class Before:
    """What was handed to a program in one memory so far, by a digest: nothing for the first message.

    A call is known by what it depends on (see `calls`), and that is then more than the state it began in.
    """

    def __init__(self) -> None:
        self.digest = b""

    def add(self, what: object) -> None:
        """Note what is handed over now."""
        self.digest = blake2b(self.digest + repr(what).encode(), digest_size=16).digest()


class Reaction(NamedTuple):
    """What a controller would do: the messages it would send, the events that would be seen."""

    sends: tuple[Send, ...]
    events: tuple[Event, ...]


def unheard(controller: str, switch: str, message: object) -> tuple[Event, ...]:
    """Return what properties are told of a packet that came before its switch had joined, so goes unheard."""
    if not isinstance(message, PacketIn) or not message.tag:
        return ()
    return (Event("unheard", (controller, switch, message.tag)),)


@runtime_checkable
class Probeable(Protocol):
    """A controller that can be asked."""

    name: str
    version: int
    sees_numbers: bool
    """Whether the program sees addresses as whole numbers rather than as text."""

    @property
    def steps(self) -> Mapping[Given, Any]:
        """What has happened to the program so far, with the state that it was in afterwards, both bare."""
        ...

    def bare(self, state: Any) -> Any:
        """Return a state without what the program itself does not know of: what it does is the same."""
        ...

    def rehearse(self, state: Any, *, steady: bool = False) -> Perform:
        """Bring the program into a state, and return what has things happen to it one after the other.

        Nothing of what it does then is done; memory stays as it is in between.  With `steady`, chance is the
        same whatever happens.
        """
        ...

    def arrival(self, state: Any, switch: str, message: OpenFlowMessage) -> Given:
        """Return it as something that happens that a switch's message comes in a state."""
        ...

    def try_out(self, state: Any) -> HandOver:
        """Bring the program into a state, and return what hands it messages there, one after the other.

        As with `rehearse`; nothing is followed, and chance is the same whatever the messages are.
        """
        ...

    def sources(self) -> Sequence[str]:
        """Return the source texts of the program, as far as there are any."""
        ...

    @property
    def acts_outside(self) -> bool:
        """Whether the program was seen to use files, sockets or processes."""
        ...

    def namespaces(self) -> Sequence[Mapping[str, Any]]:
        """Return the variables of the program's modules and apps, as they are now."""
        ...

    def receive(self, state: Any, port: Port, message: Any, /) -> Step:
        """Have the program handle what a switch sent."""
        ...

    def hears(self, state: Any, switch: str) -> bool:
        """Tell whether the controller would take in what a switch sends."""
        ...

    def probe(
        self, state: Any, switch: str, question: Question, inputs: Inputs, *, followed: bool = True
    ) -> Reaction:
        """Run the handler on a message, whose contents may be followed, and forget what it did."""
        ...
