"""Random walks: one run after another, each choosing at random among what can happen.

A walk ends where nothing can happen any more or after `longest` steps; then the next one starts over.
It remembers no states, so it needs no memory and proves nothing, but gets deep at once.  The seed
decides everything.
"""

from __future__ import annotations

from functools import partial
from random import Random

from penstock._explore.search import Outcome, Search
from penstock._verdict.verdict import Bound, Why

_LOOKS = 256
"""How many steps are taken between two looks at the clock."""


def random_walk(search: Search, seed: int, *, longest: int = 1000, walks: int | None = None) -> Outcome:
    """Walk until a bound is reached or a property is broken."""
    return search.conclude(partial(_walk, random=Random(seed), longest=longest, walks=walks))


def _walk(search: Search, random: Random, longest: int, walks: int | None) -> None:
    expand, violated, outcome = search.expand_all(), search.cells.violated, search.outcome
    done = 0
    while walks is None or done < walks:
        done += 1
        search.parents.clear()
        state, _ = search.begin()
        for depth in range(1, longest + 1):
            found, resting = expand(state)
            if resting:
                search.at_rest(state)
            if not found:
                break
            after = random.choice(found)
            outcome.transitions += 1
            outcome.depth = max(outcome.depth, depth)
            search.parents.setdefault(after, state)
            if after >= violated:
                search.broken(after)
                break
            search.new_state(after)
            state = after
            if outcome.transitions % _LOOKS == 0:
                search.tick()
    outcome.stopped_by = Bound(f"{walks} walks", Why.WALKS, walks)
