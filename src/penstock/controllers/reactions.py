"""Asking a controller what it would do, without it being done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from penstock.symbolic.packets.inputs import Question
from penstock.symbolic.space import Inputs
from penstock.world.component import Event, Send


class Reaction(NamedTuple):
    """What a controller would do: the messages it would send, the events that would be seen."""

    sends: tuple[Send, ...]
    events: tuple[Event, ...]


@runtime_checkable
class Answering(Protocol):
    """A controller that can be asked."""

    name: str
    version: int
    sees_numbers: bool
    """Whether the program sees addresses as whole numbers rather than as text."""

    def sources(self) -> Sequence[str]:
        """Return the source texts of the program, as far as there are any."""
        ...

    def hears(self, state: Any, switch: str) -> bool:
        """Tell whether the controller would take in what a switch sends."""
        ...

    def pose(self, state: Any, switch: str, question: Question, inputs: Inputs) -> Reaction:
        """Run the handler on a message whose contents are followed, and forget what it did."""
        ...
