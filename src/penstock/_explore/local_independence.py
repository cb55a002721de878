"""Quiet cells: whose transitions nobody can add to, told from what cells can do on their own.

A set K of cells is *quiet* in a state if, along every run in which no cell of K moves, no transition of K
comes to be possible that was not possible before.  Those that were stay as they are: messages are
taken from the heads of channels and are put at their ends.  So all transitions of K together, taken
first, rule out no order that matters (see `ample`).  A *single* transition t may go first, too, if it
commutes with all that its cell does before it on its own (see `footprints`) and if nothing comes to that
cell before, except behind the message that t takes.

What could come is a message on an empty channel to a cell of K.  It does not come from a cell q if

- q is in K and so does not move before, or
- q does not send to that cell *on its own*, which is in runs of q alone with what has already
  arrived, and nobody sends to q either, by the same rule.

(Take the first message that comes against the rule.  Its sender had got nothing new and was on its
own, so that the message is among those that it sends on its own.)

What a cell does on its own depends on its value only, so each value is looked into once.  These
are runs that the network really has: no code of a component runs in a situation that cannot be.  Which sets
are quiet depends on a few facts about each value, its *shape*, and there are few combinations of shapes.
Stubborn sets (Valmari) are found like this.

Nothing is quiet as long as the fabric can change anything.  A cell that looks at others or is looked
at is in no quiet set, nor is one whose transitions show something to a property, or change a component
that a property reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from penstock._explore.compiled_network import CompiledNetwork
from penstock._explore.expand import offered
from penstock._explore.footprints import Footprints
from penstock._explore.interning import MASK, WIDTH, Interned
from penstock._explore.tables import Entry

LONGEST: Final = 200
"""How many values a cell may come to on its own; where there are more, it may send to anybody."""

ANYBODY: Final = -1
"""All cells, as a set of bits."""


class Shape(NamedTuple):
    """What matters of a cell's value; cells are sets of bits."""

    moves: int
    """How many transitions it has, the actions of an aware cell apart."""
    may_go: bool
    """Whether they may go first as far as properties and onlookers are concerned."""
    opening: int
    """The cells from which a message would make another transition possible."""
    reaches: int
    """The cells it sends to on its own."""
    singles: tuple[int, ...]
    """For each transition that commutes with the others on its own: from where a message would matter."""


class Profile(NamedTuple):
    """A cell's value as far as it matters here: the number of its shape, and bits of its transitions."""

    shape: int
    bits: int
    """Those of all of them."""
    singles: tuple[int, ...]
    """Those of the transitions that commute with the others on its own."""


Chosen = tuple[tuple[int, ...], int]
"""The places of the cells whose transitions go first, and which single one of a cell, or -1 for all."""


class _Profiles(dict[int, Profile]):
    """The profiles of a cell's values under a fabric state, by their numbers."""

    __slots__ = ("work",)

    def __init__(self, work: Callable[[int], Profile]) -> None:
        super().__init__()
        self.work = work

    def __missing__(self, number: int) -> Profile:
        profile = self[number] = self.work(number)
        return profile


class LocalIndependence:
    """The quiet sets of cells in the states of a compiled network."""

    def __init__(self, cells: CompiledNetwork, footprints: Footprints | None = None) -> None:
        self._cells = cells
        self._footprints = footprints
        self._read = {cells.names.index(name) for watcher in cells.properties for name in watcher.reads}
        self._lookers = {reader.cell for reader in cells.readers.values()}
        self._looked_at = {cell for reader in cells.readers.values() for cell in reader.reads}
        self._leading: dict[tuple[int, int], dict[int, int]] = {}
        self._shapes = Interned("shapes of cells")
        self._profiles: dict[int, list[tuple[int, _Profiles]]] = {}
        self._chosen: dict[tuple[int, ...], Chosen] = {}

    def chosen(self, state: int) -> int:
        """Return the bits of the fewest transitions found that may go first, 0 if that would be all."""
        fabric = state & MASK
        known = self._profiles.get(fabric)
        if known is None:
            known = self._profiles[fabric] = self._all_profiles(fabric)
        profiles = [of_cell[state >> shift & MASK] for shift, of_cell in known]
        if not profiles:
            return 0
        key = (fabric, *[profile[0] for profile in profiles])
        chosen = self._chosen.get(key)
        if chosen is None:
            chosen = self._chosen[key] = self._fewest(fabric, [profile[0] for profile in profiles])
        places, single = chosen
        if single >= 0:
            return profiles[places[0]][2][single]
        bits = 0
        for place in places:
            bits |= profiles[place][1]
        return bits

    def is_unread(self, state: int, cell: int, entry: Entry) -> bool:
        """Tell whether a transition of a cell changes no component that a property reads in every state."""
        if cell not in self._read:
            return True
        return self._cells.value(state, cell)[0] == self._cells.value(state + entry[1], cell)[0]

    # Shapes.

    def _all_profiles(self, fabric: int) -> list[tuple[int, _Profiles]]:
        if not self._cells.is_settled(fabric):
            return []

        def profiles(cell: int) -> _Profiles:
            return _Profiles(lambda number: self._profile(fabric | number << WIDTH * cell, cell))

        return [(WIDTH * cell, profiles(cell)) for cell in range(1, len(self._cells.names))]

    def _profile(self, alone: int, cell: int) -> Profile:
        """Return the profile of a cell in a state of which nothing matters but the cell and the fabric."""
        row = self._row(alone, cell)
        may_go = self._is_aloof(cell) and all(
            not entry[3] and self.is_unread(alone, cell, entry) for entry in row
        )
        loaded = {channel for channel, _ in self._cells.value(alone, cell)[1]}
        opening, singles, bits = 0, [], []
        senders = self._senders(alone & MASK, cell)
        for channel, sender in senders.items():
            if channel not in loaded:
                opening |= sender
        for entry in row if may_go and len(row) > 1 else ():
            if self._commutes(alone, cell, entry[0]):
                # What comes behind the message that is to be taken first makes no difference.
                own = {c for c in senders if self._cells.network.delivery(c) == entry[4]}
                singles.append(_joined(sender for channel, sender in senders.items() if channel not in own))
                bits.append(entry[0])
        shape = Shape(len(row), may_go, opening, self._reaches(alone, cell), tuple(singles))
        return Profile(self._shapes.number(shape), sum(entry[0] for entry in row), tuple(bits))

    def _is_aloof(self, cell: int) -> bool:
        """Tell whether a cell neither looks at others nor is looked at."""
        return cell not in self._lookers and cell not in self._looked_at

    def _commutes(self, alone: int, cell: int, bit: int) -> bool:
        """Tell whether a transition commutes with all that its cell does before it on its own."""
        if self._footprints is None:
            return False
        group = self._cells.tables[alone & MASK][cell]
        met, waiting = {alone}, [alone]
        while waiting:
            here = waiting.pop()
            others = offered(group, here) & ~bit
            if others and self._footprints.commuting(group, here, bit, others) != others:
                return False
            for entry in self._row(here, cell):
                after = here + entry[1]
                if entry[0] != bit and after not in met:
                    if len(met) >= LONGEST:
                        return False
                    met.add(after)
                    waiting.append(after)
        return True

    def _row(self, state: int, cell: int) -> tuple[Entry, ...]:
        shift, mask, _, rows = self._cells.tables[state & MASK][cell]
        return rows[state >> shift & mask]

    def _senders(self, fabric: int, cell: int) -> dict[int, int]:
        """Return the channels that lead to a cell, each with the bit of its sender, the cell itself apart."""
        known = self._leading.get((fabric, cell))
        if known is None:
            names, channels = self._cells.names, self._cells.network.channels
            known = self._leading[fabric, cell] = {
                channel: 1 << names.index(channels[channel].node)
                for channel in self._cells.leading_to(fabric, cell)
                if channels[channel].node != names[cell]
            }
        return known

    def _reaches(self, alone: int, cell: int) -> int:
        """Return to which cells a cell sends in runs in which nobody else moves."""
        if cell in self._lookers:
            return ANYBODY
        found, properties = 0, self._cells.watching.shift
        met, waiting = {alone}, [alone]
        while waiting:
            here = waiting.pop()
            for _, difference, ops, _, _ in self._row(here, cell):
                for at, _ in ops:
                    if at < properties:
                        found |= 1 << at // WIDTH
                after = here + difference
                if after not in met:
                    if len(met) >= LONGEST:
                        return ANYBODY
                    met.add(after)
                    waiting.append(after)
        return found

    # Quiet sets.

    def _fewest(self, fabric: int, shapes: list[int]) -> Chosen:
        """Return the single transition or the quiet set with the fewest."""
        by_cell: list[Shape] = [Shape(0, False, 0, 0, ()), *(self._shapes.values[shape] for shape in shapes)]
        cells = range(1, len(by_cell))
        senders = [0, *(_joined(self._senders(fabric, cell).values()) for cell in cells)]
        for cell in cells:
            for index, others in enumerate(by_cell[cell].singles):
                if _are_silent(cell, others, by_cell, senders):
                    return (cell - 1,), index
        below = sum(shape.moves for shape in by_cell)
        best: tuple[int, ...] = ()
        for cell in cells:
            shape = by_cell[cell]
            if 0 < shape.moves < below and shape.may_go:
                found = _closed(cell, by_cell, senders)
                count = sum(by_cell[each].moves for each in found)
                if 0 < count < below:
                    below, best = count, tuple(each - 1 for each in found)
        return best, -1


def _joined(bits: Iterable[int]) -> int:
    found = 0
    for each in bits:
        found |= each
    return found


def _are_silent(cell: int, others: int, shapes: list[Shape], senders: list[int]) -> bool:
    """Tell whether some cells send nothing to another one, as long as a transition of it is not taken."""
    silent, waiting = 1 << cell, [(cell, others)]
    while waiting:
        to, others = waiting.pop()
        for other, shape in enumerate(shapes):
            if others >> other & 1:
                if shape.reaches >> to & 1:
                    return False
                if not silent >> other & 1:
                    silent |= 1 << other
                    waiting.append((other, senders[other]))
    return True


def _closed(first: int, shapes: list[Shape], senders: list[int]) -> list[int]:
    """Return the cells of the quiet set that the rules lead to from a cell; none if there is none."""
    inside, silent = 1 << first, 0
    waiting = [(first, shapes[first].opening)]
    """Cells to which some others must not send."""
    while waiting:
        cell, others = waiting.pop()
        for other, shape in enumerate(shapes):
            bit = 1 << other
            if not others & bit or inside & bit:
                continue
            if shape.reaches & 1 << cell:
                if not shape.may_go:
                    # Even without moves of its own: the actions of an aware cell are not among them.
                    return []
                inside |= bit
                waiting.append((other, shape.opening))
            elif not silent & bit:
                silent |= bit
                waiting.append((other, senders[other]))
    return [cell for cell in range(len(shapes)) if inside >> cell & 1]
