"""The one interface of all properties.

A property watches executions from outside.  It may
- follow what happens: `see` picks what matters out of the record of a step (or None), `next` takes
  the property's own state on by it;
- look at the network when it has come to rest: `at_rest`;
- look at some components in every state: `reads` names them, `check` gets their states.

Each of the three raises `Violated` with one sentence when the property is broken.  They must be
functions of their arguments alone, since a search remembers their answers.

A property that waits for a safe time (NICE §6.2) does so by keeping in its own state what is still
to be explained, and judging at rest or when the event that should have explained it has passed.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, ClassVar

from penstock.world.network import Network
from penstock.world.transition import Record


class Violated(Exception):
    """A property is broken; the text says how, in one sentence."""


class Property:
    """Something that must hold in every execution."""

    sentence: ClassVar[str] = ""
    """What the property demands, in one sentence."""

    @property
    def name(self) -> str:
        """What the property is called in results."""
        return type(self).__name__

    def start(self, _network: Network, /) -> Hashable:
        """Return the property's state before anything happened."""
        return None

    def see(self, _record: Record, /) -> Hashable | None:
        """Return what matters to this property in a step, or None."""
        return None

    def next(self, state: Any, _seen: Any, /) -> Any:
        """Return the property's state after it saw something."""
        return state

    def at_rest(self, _state: Any, _states: Mapping[str, Any], /) -> bool:
        """Judge a network in which nothing can happen by itself any more.

        `states` holds the components' states by name.  Return whether there was anything to judge.
        """
        return False

    @property
    def reads(self) -> tuple[str, ...]:
        """The components whose states `check` looks at."""
        return ()

    def check(self, _states: Mapping[str, Any], /) -> bool:
        """Judge the states of the components in `reads`; return whether there was anything to judge."""
        return False
