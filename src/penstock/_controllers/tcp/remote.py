"""A real controller's place in the model.

The model knows of it no more than that it has a session with each switch.  What is delivered to it goes
out on a socket, and what comes in from there is put on its channels from outside (`World.inject`); see
`penstock._fuzz.live_harness`.  So its state says nothing.
"""

from __future__ import annotations

from typing import Any, Final

from penstock._world.component import Port, Step
from penstock.errors import PenstockError

ELSEWHERE: Final = "elsewhere"
"""The only state: whatever the controller knows, it knows outside the model."""


class RemoteController:
    """Stands for a process that is reached over sockets."""

    def __init__(self, name: str = "c0") -> None:
        self.name = name

    def initial(self) -> str:
        """Begin in the only state there is."""
        return ELSEWHERE

    def actions(self, _state: str) -> tuple[str, ...]:
        """Offer nothing: what it does comes from outside."""
        return ()

    def act(self, _state: str, action: str) -> Step:
        """Refuse: it has no actions."""
        raise PenstockError(f"{self.name} cannot {action!r}: it is a process of its own.")

    def receive(self, state: str, _port: Port, _message: Any) -> Step:
        """Stay as it is; whoever drives the network hands the message on."""
        return Step(state)
