"""Foresight: which single transition can go first, found by following all that could come before it.

A transition t of a cell may go first in a state s if, along every run from s that does not take t,
each transition u that is possible commutes with t: both orders can be taken and lead to the same state
(C1 in `ample`).  This is followed over the network's real runs.  In each state that they lead to
it is asked

- of the others of t's own cell, whether they commute with t (see `footprints`; without footprints none do).
  This depends on the cell's value only and is found out once;
- if t shows the properties something: whether it breaks one there, and whether anything that is
  possible there shows them something that does not commute with it;
- if others look at t's cell: whether t would take from them an action that they have.

Those of other cells commute with it otherwise.  A transition is not considered if its cell looks at others,
if it changes a component that a property reads in every state, or if the fabric can still change anything.

States from which nothing speaks against t are remembered, and so are those on the way to where something
did.  Still, all that would be looked at comes to as many states as a search without any reduction has, or
more.  Therefore only so many are looked at as are in proportion to those that are searched; where
that is used up, a search goes by `quiet` cells alone.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from penstock._explore.compiled_network import CompiledNetwork
from penstock._explore.expand import offered
from penstock._explore.footprints import Footprints
from penstock._explore.interning import MASK, WIDTH
from penstock._explore.local_independence import LocalIndependence
from penstock._explore.tables import Entry, taken

ALLOWANCE: Final = 5000
"""How many states are looked at in a search, however small it is."""

SHARE: Final = 16
"""How many more are looked at for each state for which a transition is asked for."""

FARTHEST: Final = 300
"""How many of them are looked at, at most, for one transition in one state."""


class _Known(NamedTuple):
    """What is known of a transition: states in which it may go first, and in which it may not."""

    clear: set[int]
    clashing: set[int]
    harmless: dict[int, bool]
    """By the number of its cell's value, whether it commutes with all others of the cell."""


class Lookahead:
    """Looks ahead in the states of a compiled network."""

    def __init__(
        self,
        cells: CompiledNetwork,
        quiet: LocalIndependence,
        footprints: Footprints | None,
        allowance: int = ALLOWANCE,
        share: int = SHARE,
    ) -> None:
        self._cells, self._quiet, self._footprints = cells, quiet, footprints
        self._left, self._share = allowance, share
        self._onlookers: dict[int, list[int]] = {}
        """By cell, the groups of actions that depend on its component's state."""
        for place, reader in cells.readers.items():
            for cell in reader.reads:
                self._onlookers.setdefault(cell, []).append(place)
        self._apart = {0, *cells.readers, *(reader.cell for reader in cells.readers.values())}
        """The groups of the fabric and of cells that look at others."""
        self._known: dict[tuple[int, int], _Known] = {}

    def first(self, state: int) -> int:
        """Return the bit of a transition that may go first, 0 if none was found."""
        fabric = state & MASK
        self._left += self._share
        if self._left <= 0 or not self._cells.is_settled(fabric):
            return 0
        candidates: list[tuple[int, Entry, _Known]] = []
        for shift, mask, cell, rows in self._cells.tables[fabric]:
            if cell in self._apart:
                continue
            for entry in rows[state >> shift & mask]:
                known = self._known_of(fabric, entry[0])
                if state in known.clear:
                    return entry[0]
                if state not in known.clashing and self._is_harmless(known, state, cell, entry[0]):
                    candidates.append((cell, entry, known))
        for cell, entry, known in candidates:
            if self._quiet.is_unread(state, cell, entry) and self._looks_clear(known, state, cell, entry):
                return entry[0]
        return 0

    def _known_of(self, fabric: int, bit: int) -> _Known:
        known = self._known.get((fabric, bit))
        if known is None:
            known = self._known[fabric, bit] = _Known(set(), set(), {})
        return known

    def _looks_clear(self, known: _Known, state: int, cell: int, entry: Entry) -> bool:
        """Follow all that can come before a transition."""
        bit, exposed = entry[0], bool(entry[3]) or cell in self._onlookers
        clear, clashing, violated = known.clear, known.clashing, self._cells.violated
        met, waiting = {state: state}, [state]
        while waiting:
            here = waiting.pop()
            self._left -= 1
            harmless = self._is_harmless(known, here, cell, bit)
            if not harmless or (exposed and self._matters(here, cell, bit)):
                _note_way(clashing, met, here)
                return False
            for after in self._without(here, bit):
                if after >= violated or after in met or after in clear:
                    continue
                if after in clashing:
                    _note_way(clashing, met, here)
                    return False
                if len(met) >= FARTHEST:
                    return False
                met[after] = here
                waiting.append(after)
        clear.update(met)
        return True

    def _without(self, state: int, bit: int) -> list[int]:
        """Return where a state leads without one of its transitions."""
        return [
            taken(state, entry[1], entry[2])
            for shift, mask, _, rows in self._cells.tables[state & MASK]
            for entry in rows[state >> shift & mask]
            if entry[0] != bit
        ]

    def _is_harmless(self, known: _Known, state: int, cell: int, bit: int) -> bool:
        """Tell whether a transition commutes with all others that its cell has in a state."""
        number = state >> WIDTH * cell & MASK
        fine = known.harmless.get(number)
        if fine is None:
            group = self._cells.tables[state & MASK][cell]
            others = offered(group, state) & ~bit
            fine = known.harmless[number] = not others or (
                self._footprints is not None
                and self._footprints.commuting(group, state, bit, others) == others
            )
        return fine

    def _matters(self, state: int, cell: int, bit: int) -> bool:
        """Tell whether a transition breaks a property, or whether someone cares that it comes first."""
        groups = self._cells.tables[state & MASK]
        shift, mask, _, rows = groups[cell]
        _, difference, ops, seen, _ = next(entry for entry in rows[state >> shift & mask] if entry[0] == bit)
        after = taken(state, difference, ops)
        if after >= self._cells.violated:
            return True
        for place in self._onlookers.get(cell, ()):
            if offered(groups[place], state) & ~offered(groups[place], after):
                return True
        commute = self._cells.watching.commute
        return bool(seen) and any(
            entry[3] and entry[0] != bit and not commute(state, seen, entry[3])
            for shift, mask, _, rows in groups
            for entry in rows[state >> shift & mask]
        )


def _note_way(clashing: set[int], met: dict[int, int], state: int) -> None:
    """Note all states on the way to one where something speaks against a transition."""
    while state not in clashing:
        clashing.add(state)
        state = met[state]
