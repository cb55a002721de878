"""Exhaustive search: depth-first or breadth-first, by where the next state is taken from.

Sleep sets are kept with Godefroid's rule for state matching: a state met again with sleep set Z
has those of its stored sleeping transitions explored that are not in Z, and keeps the rest.  Every
reachable state is visited either way.  Breadth-first finds every state by a shortest path.
"""

from __future__ import annotations

from collections import deque
from typing import Literal

from penstock.explore.expand import EVERY, plain, wary
from penstock.explore.search import Outcome, Search, Stop

Order = Literal["depth-first", "breadth-first"]
_PERIOD = 4096


def explore(search: Search, order: Order = "depth-first", *, sleep: bool = True) -> Outcome:
    """Visit every reachable state, within the search's bounds."""
    try:
        if sleep and search.key is None:
            _explore_wary(search, order)
        else:
            _explore_plain(search, order)
    except Stop as stop:
        return search.finish(str(stop))
    return search.finish(search.outcome.stopped_by)


def _start(search: Search) -> tuple[int, int]:
    start = search.cells.initial()
    key = start if search.key is None else search.key(start)
    search.parents[key] = key
    search.new_state(start)
    return start, key


def _explore_plain(search: Search, order: Order) -> None:
    """Take every transition of every state."""
    expand, parents, key_of = plain(search.cells), search.parents, search.key
    outcome, violated, limit = search.outcome, search.cells.violated, search.bounds.depth
    start, key = _start(search)
    waiting: deque[tuple[int, int, int]] = deque([(start, key, 0)])
    take = waiting.pop if order == "depth-first" else waiting.popleft
    checking = bool(search.judges_states)
    countdown = _PERIOD
    while waiting:
        state, key, depth = take()
        countdown -= 1
        if not countdown:
            countdown = _PERIOD
            search.tick()
        if limit is not None and depth >= limit:
            outcome.stopped_by = f"depth {limit}"
            continue
        found, resting = expand(state)
        outcome.transitions += len(found)
        if resting:
            search.at_rest(state)
        depth += 1
        fresh = False
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
            waiting.append((after, after_key, depth))
        if fresh and depth > outcome.depth:
            outcome.depth = depth


def _explore_wary(search: Search, order: Order) -> None:
    """Take only transitions that no sleep set makes superfluous."""
    expand, parents = wary(search.cells), search.parents
    outcome, violated, limit = search.outcome, search.cells.violated, search.bounds.depth
    start, _ = _start(search)
    asleep: dict[int, int] = {}
    """The stored sleep set of each state that has one."""
    unexpanded: set[int] = set()
    """The waiting states that have a sleep set."""
    waiting: deque[tuple[int, int, int]] = deque([(start, EVERY, 0)])
    take = waiting.pop if order == "depth-first" else waiting.popleft
    checking = bool(search.judges_states)
    countdown = _PERIOD
    while waiting:
        state, wanted, depth = take()
        countdown -= 1
        if not countdown:
            countdown = _PERIOD
            search.tick()
        if limit is not None and depth >= limit:
            outcome.stopped_by = f"depth {limit}"
            continue
        unexpanded.discard(state)
        found, resting = expand(state, asleep.get(state, 0), wanted)
        outcome.transitions += len(found)
        if resting and wanted == EVERY:
            search.at_rest(state)
        depth += 1
        fresh = False
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
                    unexpanded.add(after)
                waiting.append((after, EVERY, depth))
                continue
            stored = asleep.get(after, 0)
            if stored & ~sleeping:
                if after not in unexpanded:
                    waiting.append((after, stored & ~sleeping, depth))
                if stored & sleeping:
                    asleep[after] = stored & sleeping
                else:
                    del asleep[after]
        if fresh and depth > outcome.depth:
            outcome.depth = depth
