"""What a strategy is: a way to search less, or first where bugs are likely.

There are two sorts.  One *narrows* a search: in every state it picks some of the transitions that are
possible there, and the others are not taken.  The other *orders* it: it has a way of its own through
the states in place of breadth-first or depth-first search.  A search may be narrowed by several
strategies and ordered by one.
How several strategies that narrow go together is for the `guide` to say.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from penstock._explore.compiled_network import CompiledNetwork
from penstock._explore.search import Outcome, Search
from penstock._explore.strategies.guide import Guide, Pick
from penstock._properties.base import Property
from penstock._scenario.options import Strategy

__all__ = ["Narrowing", "Onward", "Ordering", "Strategy"]


class Narrowing(Strategy):
    """A strategy that leaves transitions out."""

    @property
    def remark(self) -> str:
        """What a search with this strategy may have missed, in a sentence."""
        return f"{self.name}: it left transitions out, so what they lead to may have been missed."

    def watcher(self) -> Property | None:
        """Return what must be remembered of a run to pick, as the state of a property never broken."""
        return None

    def pick(self, cells: CompiledNetwork) -> Pick:
        """Return how to pick in the states of a compiled network."""
        raise NotImplementedError


Onward = Callable[[Search], Outcome]
"""How a search would go about without a strategy that orders it."""


class Ordering(Strategy):
    """A strategy with a way of its own through the states."""

    remembers: ClassVar[bool] = True
    """Whether it remembers the states it has visited."""

    def explore(self, search: Search, guide: Guide, onward: Onward) -> Outcome:
        """Visit states as the guide says, within the search's bounds, and go onward if that is wise."""
        raise NotImplementedError
