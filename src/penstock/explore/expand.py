"""The inner loop: the successors of a state, in whole numbers only.

Everything that costs has been done when a table was filled; here a state is taken apart by shift
and mask, and a successor is the sum of the state and a few differences.  This module has no other
concern, so that it can be compiled one day.

`wary` also keeps sleep sets (Godefroid).  Transitions of different cells commute: each takes from
its own inbox and puts into channels that only it writes to.  What remains is whether the
properties care for the order of what the two show, and that is decided by trying both orders.
A sleep set is a whole number with one bit per transition.
"""

from __future__ import annotations

from collections.abc import Callable

from penstock.explore.cells import MASK, Cells

Plain = Callable[[int], tuple[list[int], bool]]
Wary = Callable[[int, int, int], tuple[list[tuple[int, int]], bool]]

EVERY = -1
"""All transitions, as a set of bits."""


def plain(cells: Cells) -> Plain:
    """Return the function from a state to its successors, and whether only the fabric can move."""
    tables = cells.tables

    def expand(state: int) -> tuple[list[int], bool]:
        found = []
        resting = True
        for shift, cell, rows in tables[state & MASK]:
            entries = rows[state >> shift & MASK]
            if cell and entries:
                resting = False
            for _, difference, ops, _, _ in entries:
                after = state + difference
                for at, op in ops:
                    after += op[after >> at & MASK]
                found.append(after)
        return found, resting

    return expand


def wary(cells: Cells) -> Wary:
    """Return the function from a state, its sleep set and the transitions wanted to the successors.

    Each successor comes with its own sleep set.  Transitions are taken in a fixed order; one that
    is taken sleeps for its later siblings as long as it commutes with what they do.
    """
    tables = cells.tables
    bits_of = cells.cell_bits

    def expand(state: int, asleep: int, wanted: int) -> tuple[list[tuple[int, int]], bool]:
        found = []
        resting = True
        done = asleep
        for shift, cell, rows in tables[state & MASK]:
            entries = rows[state >> shift & MASK]
            if not entries:
                continue
            if cell:
                resting = False
            others = ~bits_of[cell]
            for bit, difference, ops, seen, _ in entries:
                if bit:
                    if done & bit or not wanted & bit:
                        continue
                    asleep_after = done & others
                    if seen and asleep_after:
                        asleep_after = _commuting(cells, state, asleep_after, seen)
                    done |= bit
                else:
                    # What the fabric does may change anybody's routes; it is taken only once,
                    # when the state is new.
                    if wanted != EVERY:
                        continue
                    asleep_after = 0
                after = state + difference
                for at, op in ops:
                    after += op[after >> at & MASK]
                found.append((after, asleep_after))
        return found, resting

    return expand


def _commuting(cells: Cells, state: int, asleep: int, seen: int) -> int:
    """Return which sleeping transitions show the properties nothing that depends on `seen`."""
    for shift, cell, rows in cells.tables[state & MASK]:
        if not asleep & cells.cell_bits[cell]:
            continue
        for bit, _, _, sight, _ in rows[state >> shift & MASK]:
            if bit & asleep and sight and not cells.commute(state, sight, seen):
                asleep &= ~bit
    return asleep
