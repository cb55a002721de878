"""Breadth-first search: all states one step away, then all two steps away, and so on.

A violation is found by a path than which none is shorter, so its story is the shortest there is.
Sleep sets do not change that: the states of one distance are all known before any of them is
expanded, each with the intersection of the sleep sets by which it was reached.
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock._explore.expand import EVERY
from penstock._explore.search import Outcome, Search
from penstock._verdict import verdict as stopping


def breadth_first(search: Search, *, sleep: bool = True) -> Outcome:
    """Visit every reachable state, within the search's bounds."""
    may_sleep = sleep and search.key is None and not search.cells.collects
    return search.conclude(_spread_wary if may_sleep else _spread_plain)


def _at_limit(search: Search, level: Iterable[int]) -> bool:
    """Tell whether the states now at hand are as far away as states may be; then judge those at rest."""
    limit = search.bounds.depth
    if limit is None or search.outcome.depth < limit:
        return False
    expand = search.expand_all()
    for state in level:
        found, resting = expand(state)
        if resting:
            search.at_rest(state)
        if found:
            search.outcome.stopped_by = stopping.depth(limit)
    return True


def _spread_plain(search: Search) -> None:
    """Take every transition of every state."""
    expand, parents, key_of = search.expand_all(), search.parents, search.key
    outcome, violated = search.outcome, search.cells.violated
    checking = search.judges_states
    level: list[tuple[int, int]] = [search.begin()]
    countdown = 1
    while level and not _at_limit(search, (state for state, _ in level)):
        following: list[tuple[int, int]] = []
        fresh = False
        for state, key in level:
            countdown -= 1
            if not countdown:
                countdown = search.pause()
            found, resting = expand(state)
            outcome.transitions += len(found)
            if resting:
                search.at_rest(state)
            for after in found:
                after_key = after if key_of is None else key_of(after)
                if after_key in parents:
                    continue
                parents[after_key] = key
                fresh = True
                if after >= violated:
                    search.broken(after)
                    continue
                if checking:
                    search.new_state(after)
                following.append((after, after_key))
        outcome.depth += fresh
        level = following


def _spread_wary(search: Search) -> None:
    """Take only transitions that no sleep set makes superfluous."""
    expand, parents = search.expand_with_sleep_sets(), search.parents
    outcome, violated = search.outcome, search.cells.violated
    checking = search.judges_states
    asleep: dict[int, int] = {}
    """The stored sleep set of each state that has one."""
    start, _ = search.begin()
    level: list[tuple[int, int]] = [(start, EVERY)]
    countdown = 1
    while level and not _at_limit(search, (state for state, wanted in level if wanted == EVERY)):
        following: dict[int, int] = {}
        fresh = False
        for state, wanted in level:
            countdown -= 1
            if not countdown:
                countdown = search.pause()
            # What woke up since this level began, by ways from other states of it, is taken at once.
            wanted |= following.pop(state, 0)
            found, resting = expand(state, asleep.get(state, 0), wanted)
            outcome.transitions += len(found)
            if resting and wanted == EVERY:
                search.at_rest(state)
            for after, sleeping in found:
                if after not in parents:
                    parents[after] = state
                    fresh = True
                    if after >= violated:
                        search.broken(after)
                        continue
                    if checking:
                        search.new_state(after)
                    if sleeping:
                        asleep[after] = sleeping
                    following[after] = EVERY
                    continue
                stored = asleep.get(after, 0)
                missing = stored & ~sleeping
                if missing:
                    following[after] = following.get(after, 0) | missing
                    if stored & sleeping:
                        asleep[after] = stored & sleeping
                    else:
                        del asleep[after]
        outcome.depth += fresh
        level = list(following.items())
