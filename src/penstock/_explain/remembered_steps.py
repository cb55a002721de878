"""A network whose programs under test make each step once, however often it is asked for.

The runs of an explanation differ in little, and most of their time would be spent on handlers that do what
they have done before.  A component does the same whenever it is given the same in the same state, which the
search that found the violation has relied on and looked at (`_explore.reexecution`); here it is relied on
too.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from copy import copy
from typing import Any

from penstock._controllers import watched
from penstock._world.component import Component, Port, Step
from penstock._world.network import Network


def remembering(network: Network) -> Network:
    """Return a network like another, in which the steps of programs under test are remembered."""
    found = copy(network)
    found.components = tuple(
        _Remembering(made) if next(watched.programs([made]), None) is not None else made
        for made in network.components
    )
    return found


class _Remembering:
    """A component that is asked for each step once."""

    def __init__(self, inner: Component) -> None:
        self.inner = inner
        self._made: dict[Hashable, Step] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def act(self, state: Hashable, action: str) -> Step:
        """Let the component perform an action."""
        return self._once((state, action), lambda: self.inner.act(state, action))

    def receive(self, state: Hashable, port: Port, message: Hashable) -> Step:
        """Let the component take a message."""
        return self._once((state, port, message), lambda: self.inner.receive(state, port, message))

    def _once(self, key: Hashable, make: Callable[[], Step]) -> Step:
        step = self._made.get(key)
        if step is None:
            step = self._made[key] = make()
        return step
