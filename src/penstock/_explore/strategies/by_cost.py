"""Search by cost: the cheapest runs first, where a strategy says what each step costs.

Every transition has a price, a whole number; 0 makes it free.  All states that can be reached for
nothing are visited first, then those that cost 1, and so on.  No price being below 0, a state is visited
by the cheapest way to it first, so that with a limit of d exactly the states that cost d or less are
visited; without one, all states are.

Within one cost a free run is followed to its end before the next one begins, and the next one is that
which branches off earliest.  A transition counts only when it is taken: what is put off costs nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Final

from penstock._explore.search import Outcome, Search
from penstock._explore.strategies.guide import Guide
from penstock._explore.strategies.kinds import Options
from penstock._explore.tables import Entry, taken
from penstock._verdict import verdict as stopping
from penstock._verdict.verdict import Bound, Why

Price = Callable[[int, Options, int], list[tuple[int, Entry]]]
"""What is taken in a state, given its options and the set of those picked: each with its price, in order."""

LOOKS: Final = 256
"""How many transitions are taken between two looks at the clock."""

Branch = tuple[int, int, int, Entry]
"""A transition not yet taken: the state, its key, its depth, and the transition."""


def by_cost(
    search: Search, guide: Guide, price: Price, *, most: int | None = None, transitions: int | None = None
) -> Outcome:
    """Visit every reachable state that costs no more than `most`, the cheapest first.

    With `transitions`, stop after so many of them; `stopped_by` then is the phrase of `spent`.
    """
    return search.conclude(partial(_visit, guide=guide, price=price, most=most, transitions=transitions))


def spent(transitions: int) -> str:
    """Return the phrase for a search that has taken all the transitions it was given."""
    return f"{transitions:,} transitions"


def _visit(search: Search, guide: Guide, price: Price, most: int | None, transitions: int | None) -> None:
    outcome, parents, key_of, limit = search.outcome, search.parents, search.key, search.bounds.depth
    violated, checking = search.cells.violated, search.judges_states
    put_off: dict[int, deque[Branch]] = {}
    """The branches that wait, by what they cost in all."""
    run: list[Branch] = []
    cost = 0

    def spread(state: int, key: int, depth: int) -> None:
        options, picked = guide.picked(state)
        if options.at_rest:
            search.at_rest(state)
        if limit is not None and depth >= limit:
            if picked:
                outcome.stopped_by = stopping.depth(limit)
            return
        for charge, entry in reversed(price(state, options, picked)):
            branch = (state, key, depth, entry)
            if charge:
                put_off.setdefault(cost + charge, deque()).append(branch)
            else:
                run.append(branch)

    spread(*search.begin(), 0)
    while True:
        while run:
            state, key, depth, (_, difference, ops, _, _) = run.pop()
            if transitions is not None and outcome.transitions >= transitions:
                outcome.stopped_by = spent(transitions)
                return
            outcome.transitions += 1
            if outcome.transitions % LOOKS == 0:
                search.tick()
            after = taken(state, difference, ops)
            after_key = after if key_of is None else key_of(after)
            if after_key in parents:
                continue
            parents[after_key] = key
            outcome.depth = max(outcome.depth, depth + 1)
            if after >= violated:
                search.broken(after)
                continue
            if checking:
                search.new_state(after)
            spread(after, after_key, depth + 1)
        if not put_off:
            return
        cost = min(put_off)
        if most is not None and cost > most:
            outcome.stopped_by = Bound(f"{most} delay{'s' if most != 1 else ''}", Why.DELAYS, most)
            return
        run.append(put_off[cost].popleft())
        if not put_off[cost]:
            del put_off[cost]
