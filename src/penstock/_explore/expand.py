"""The inner loop: the successors of a state, in whole numbers only.

Everything that costs has been done when a table was filled; here a state is taken apart by shift
and mask, and a successor is the sum of the state and a few differences.  This module has no other
concern, so that it can be compiled one day.

`expand_with_sleep_sets` also keeps sleep sets (Godefroid).  A sleep set is a whole number with one bit per
transition.  Let b be done or asleep in a state s, and a be taken there.  b may sleep in s·a if

    whatever b leads to from s·a is also reached from s by b, then a, then the same as before.

Then nothing is lost: along any way to any state there is a first step that is not asleep, and the
same holds after it, so all states are visited, in breadth-first order each by a shortest way.

- *The two come to the same.*  Transitions of different cells do: each takes from its own inbox and
  puts into channels that only it writes to.  What remains is whether the properties care for the
  order of what the two show, and that is decided by trying both orders.  (This is why those of one
  cell wake each other, unless `footprints` finds that they come to the same as well, why those of the
  fabric wake everybody, and why collectors rule it all out.)
- *b can happen in s.*  It can, unless b is an action of an aware cell: what it looks at may have
  changed since b fell asleep, so that b vanished and will be back only after a.  An aware cell's
  actions that are not possible in s are therefore awake after s.
- *a can happen after b.*  It can, unless a is an action of an aware cell that looks at b's cell.
  This is decided by trying: b is woken by a if any of the cell's actions would be gone after b.

In the other direction nothing needs to be asked: whether b is still possible in s·a does not matter,
since what cannot happen leads nowhere.  It makes no difference either if the cell that an aware one
looks at is aware itself, and the arrivals of an aware cell are like those of any other.
"""

from __future__ import annotations

from collections.abc import Callable

from penstock._explore.compiled_network import CompiledNetwork
from penstock._explore.footprints import Footprints
from penstock._explore.interning import MASK
from penstock._explore.tables import Group, taken

Expand = Callable[[int], tuple[list[int], bool]]
SleepSetExpand = Callable[[int, int, int], tuple[list[tuple[int, int]], bool]]

EVERY = -1
"""All transitions, as a set of bits."""


def expand_all(cells: CompiledNetwork) -> Expand:
    """Return the function from a state to its successors, and whether only the fabric can move."""
    tables = cells.tables

    def expand(state: int) -> tuple[list[int], bool]:
        found = []
        resting = True
        for shift, mask, place, rows in tables[state & MASK]:
            entries = rows[state >> shift & mask]
            if place and entries:
                resting = False
            for _, difference, ops, _, _ in entries:
                after = state + difference
                for at, op in ops:
                    after += op[after >> at & MASK]
                found.append(after)
        return found, resting

    return expand


def expand_with_sleep_sets(cells: CompiledNetwork, footprints: Footprints | None = None) -> SleepSetExpand:
    """Return the function from a state, its sleep set and the transitions wanted to the successors.

    Each successor comes with its own sleep set.  Transitions are taken in a fixed order; one that
    is taken sleeps for its later siblings as long as it commutes with what they do.  Those of one cell
    are taken to commute only where footprints say so.
    """
    tables, bits_of, readers = cells.tables, cells.bits, cells.readers

    def expand(state: int, asleep: int, wanted: int) -> tuple[list[tuple[int, int]], bool]:
        found = []
        resting = True
        groups = tables[state & MASK]
        done = _possible(cells, groups, state, asleep) if readers and asleep else asleep
        for shift, mask, place, rows in groups:
            entries = rows[state >> shift & mask]
            if not entries:
                continue
            if place:
                resting = False
            others = ~bits_of[place]
            if place in readers:
                others &= ~_unsettling(cells, groups, state, done, place)
            for bit, difference, ops, seen, _ in entries:
                if bit:
                    if done & bit or not wanted & bit:
                        continue
                    asleep_after = done & others
                    if footprints is not None and done & bits_of[place] and place not in readers:
                        asleep_after |= footprints.commuting(groups[place], state, bit, done)
                    if seen and asleep_after:
                        asleep_after = _commuting(cells, groups, state, asleep_after, seen)
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


def _commuting(cells: CompiledNetwork, groups: tuple[Group, ...], state: int, asleep: int, seen: int) -> int:
    """Return which sleeping transitions show the properties nothing that depends on `seen`."""
    commute = cells.watching.commute
    for shift, mask, place, rows in groups:
        if not asleep & cells.bits[place]:
            continue
        for bit, _, _, sight, _ in rows[state >> shift & mask]:
            if bit & asleep and sight and not commute(state, sight, seen):
                asleep &= ~bit
    return asleep


def _possible(cells: CompiledNetwork, groups: tuple[Group, ...], state: int, asleep: int) -> int:
    """Return a sleep set without the actions of aware cells that are not possible in a state."""
    for place, reader in cells.readers.items():
        if asleep & reader.bits:
            asleep &= ~reader.bits | offered(groups[place], state)
    return asleep


def _unsettling(
    cells: CompiledNetwork, groups: tuple[Group, ...], state: int, asleep: int, place: int
) -> int:
    """Return which sleeping transitions would take from an aware cell an action that it has now."""
    present = offered(groups[place], state)
    unsettling = 0
    for other in cells.readers[place].groups:
        if not asleep & cells.bits[other]:
            continue
        shift, mask, _, rows = groups[other]
        for bit, difference, ops, _, _ in rows[state >> shift & mask]:
            if bit & asleep and present & ~offered(groups[place], taken(state, difference, ops)):
                unsettling |= bit
    return unsettling


def offered(group: Group, state: int) -> int:
    """Return the bits of a group's transitions in a state."""
    shift, mask, _, rows = group
    bits = 0
    for entry in rows[state >> shift & mask]:
        bits |= entry[0]
    return bits
