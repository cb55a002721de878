"""Footprints: which transitions of one cell come to the same in either order.

Two look-ups that only read a flow table commute; so do a look-up and a flow-mod, or two flow-mods,
whose matches have no packet in common.  Two transitions that send on one channel do not, because their
messages are told apart by their order (NICE, section 4.2, which has tables of reads and writes for it).

Steps being remembered, nothing has to be declared here.  Whether two transitions commute in a
situation is found by taking them in both orders, once: the cell must come to the same value, the same
must have been put into the same channels in the same order, and each must show the properties what
it would have shown without the other.  (Whether the *properties* care for the order of the two
sights is asked apart, as for transitions of different cells.)  That is finer than any table of reads and
writes: two rules with overlapping matches commute for a packet that meets neither, and so do a
controller's handlers that learn two different hosts.

How it is used: sleep sets (see `expand`) need no more than that two transitions commute in the very
state in which they are possible.  Ample sets (see `ample`) need it in all states that may come before
one of them is taken, and ask there again.
"""

from __future__ import annotations

from penstock._explore.compiled_network import CompiledNetwork
from penstock._explore.interning import MASK
from penstock._explore.tables import Entry, Group


class Footprints:
    """What is known of pairs of transitions of one cell."""

    def __init__(self, cells: CompiledNetwork) -> None:
        self._properties = cells.watching.shift
        self._components = (1 << self._properties) - 1
        self._known: dict[tuple[int, int, int, int, int], bool] = {}

    def commuting(self, group: Group, state: int, bit: int, others: int) -> int:
        """Return which of some transitions of a cell commute with another one of it, in a state."""
        shift, mask, place, rows = group
        number = state >> shift & mask
        found = 0
        for entry in rows[number]:
            other = entry[0]
            if other & others:
                key = (state & MASK, place, number, min(bit, other), max(bit, other))
                known = self._known.get(key)
                if known is None:
                    known = self._known[key] = self._tried(group, state, bit, other)
                if known:
                    found |= other
        return found

    def _tried(self, group: Group, state: int, one: int, other: int) -> bool:
        """Take two transitions of a cell in both orders."""
        state &= self._components
        first, last = _with_bit(group, state, one), _with_bit(group, state, other)
        assert first is not None and last is not None
        after_first, after_last = self._after(state, first), self._after(state, last)
        then_last, then_first = _with_bit(group, after_first, other), _with_bit(group, after_last, one)
        return (
            then_first is not None
            and then_last is not None
            and (then_first[3], then_last[3]) == (first[3], last[3])
            and self._after(after_first, then_last) == self._after(after_last, then_first)
        )

    def _after(self, state: int, entry: Entry) -> int:
        """Return what the components' cells are after a transition; the properties are not asked."""
        state += entry[1]
        for at, op in entry[2]:
            if at < self._properties:
                state += op[state >> at & MASK]
        return state


def _with_bit(group: Group, state: int, bit: int) -> Entry | None:
    """Return the transition of a group that has a bit, if it is possible in a state."""
    shift, mask, _, rows = group
    for entry in rows[state >> shift & mask]:
        if entry[0] == bit:
            return entry
    return None
