"""States that differ only in what does not count: a key under which a search remembers them.

A search by projection visits one state of each key.  What is left out must not decide what can
happen, be it to the component itself or to an aware one that looks at it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

from penstock._explore.inboxes import Inboxes
from penstock._explore.interning import MASK, WIDTH, Interned
from penstock._world.component import Endpoint, Message

Projection = Callable[[str, Any, Mapping[Endpoint, tuple[Message, ...]]], Hashable]
"""What counts of a component (its name, its state, the channels that hold something for it)."""


def projected(project: Projection, names: list[str], inboxes: Inboxes) -> Callable[[int], int]:
    """Return the key of states that are the same wherever `project` makes no difference."""
    interned = [Interned(f"projections of {name}") for name in names]
    known: list[dict[int, int]] = [{} for _ in names]
    rest = WIDTH * len(names)

    def part(cell: int, number: int) -> int:
        state = number << WIDTH * cell
        waiting = dict(inboxes.waiting_in(state, cell))
        return interned[cell].number(project(names[cell], inboxes.state_in(state, cell), waiting))

    def key(state: int) -> int:
        total = 0
        for cell, memo in enumerate(known):
            number = state >> WIDTH * cell & MASK
            found = memo.get(number)
            if found is None:
                found = memo[number] = part(cell, number)
            total |= found << WIDTH * cell
        return total | state >> rest << rest

    return key
