"""Depth-first search: follow each path to its end before trying the next.

It needs little memory beyond the states it has seen and finds deep violations soon, by paths that
are seldom short.  Sleep sets are kept with Godefroid's rule for state matching: a state met again
with sleep set Z has those of its stored sleeping transitions explored that are not in Z, and keeps
the rest, so every reachable state is visited.

With a bound on the depth it may miss states within the bound: one that was first met far down is not
looked at again when it turns up nearer the start.  Breadth-first search has no such gap.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock._explore.expand import EVERY
from penstock._explore.search import Outcome, Search
from penstock._verdict import verdict as stopping


def depth_first(search: Search, *, sleep: bool = True) -> Outcome:
    """Visit every reachable state, within the search's bounds."""
    may_sleep = sleep and search.key is None and not search.cells.collects
    return search.conclude(_descend_wary if may_sleep else _descend_plain)


def _descend_plain(search: Search) -> None:
    """Take every transition of every state."""
    expand, parents, key_of = search.expand_all(), search.parents, search.key
    outcome, violated, limit = search.outcome, search.cells.violated, search.bounds.depth
    start, key = search.begin()
    checking = search.judges_states
    countdown = 1
    found, resting = expand(start)
    outcome.transitions += len(found)
    if resting:
        search.at_rest(start)
    path: list[tuple[Iterator[int], int]] = [(iter(found), key)]
    while path:
        successors, key = path[-1]
        for after in successors:
            after_key = after if key_of is None else key_of(after)
            if after_key in parents:
                continue
            parents[after_key] = key
            depth = len(path)
            if depth > outcome.depth:
                outcome.depth = depth
            if after >= violated:
                search.broken(after)
                continue
            if checking:
                search.new_state(after)
            found, resting = expand(after)
            if resting:
                search.at_rest(after)
            if limit is not None and depth >= limit:
                if found:
                    outcome.stopped_by = stopping.depth(limit)
                continue
            outcome.transitions += len(found)
            countdown -= 1
            if not countdown:
                countdown = search.pause()
            path.append((iter(found), after_key))
            break
        else:
            path.pop()


def _descend_wary(search: Search) -> None:
    """Take only transitions that no sleep set makes superfluous."""
    expand, parents = search.expand_with_sleep_sets(), search.parents
    outcome, violated, limit = search.outcome, search.cells.violated, search.bounds.depth
    start, _ = search.begin()
    checking = search.judges_states
    asleep: dict[int, int] = {}
    """The stored sleep set of each state that has one."""
    countdown = 1
    found, resting = expand(start, 0, EVERY)
    outcome.transitions += len(found)
    if resting:
        search.at_rest(start)
    path: list[tuple[Iterator[tuple[int, int]], int]] = [(iter(found), start)]
    while path:
        successors, state = path[-1]
        for after, sleeping in successors:
            depth = len(path)
            if after not in parents:
                parents[after] = state
                if depth > outcome.depth:
                    outcome.depth = depth
                if after >= violated:
                    search.broken(after)
                    continue
                if checking:
                    search.new_state(after)
                if sleeping:
                    asleep[after] = sleeping
                wanted = EVERY
            else:
                stored = asleep.get(after, 0)
                wanted = stored & ~sleeping
                if not wanted:
                    continue
                sleeping &= stored
                if sleeping:
                    asleep[after] = sleeping
                else:
                    del asleep[after]
            found, resting = expand(after, sleeping, wanted)
            if resting and wanted == EVERY:
                search.at_rest(after)
            if limit is not None and depth >= limit:
                if found:
                    outcome.stopped_by = stopping.depth(limit)
                continue
            outcome.transitions += len(found)
            countdown -= 1
            if not countdown:
                countdown = search.pause()
            path.append((iter(found), after))
            break
        else:
            path.pop()
