"""The successors of a state under strategies, with and without sleep sets.

This stands in for `expand` where a search is narrowed.  Several strategies together leave what all of
them would take.  In a state where they have nothing in common, whatever any of them would take is
taken: a run is never cut short in the middle.  So it does not matter in which order they are named.

What is left of a network's transitions is a transition system of its own, and sleep sets are kept with
respect to *that*: let b be done or asleep in s, and a be taken there.  b may sleep in s·a only if

- b is among what is taken in s,
- a is among what is taken in s·b, and
- if b is taken in s·a, then both orders come to the same state.

All three are tried, not argued, so it does not matter how a strategy picks.  Then whatever b leads to
from s·a is also reached by b, then a: every state that the strategies leave is still visited (compare
`expand`).  What the fabric does wakes everybody, as it does there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from penstock._explore.compiled_network import CompiledNetwork
from penstock._explore.expand import EVERY
from penstock._explore.strategies.kinds import Options, options_in
from penstock._explore.tables import taken

Pick = Callable[[int, Options], int]
"""Which options are taken in a state, as a set; never none where there are any."""


def together(picks: Sequence[Pick]) -> Pick:
    """Return what several strategies pick: what they have in common, else what any of them would take."""

    def pick(state: int, options: Options) -> int:
        common, either = options.every, 0
        for each in picks:
            picked = each(state, options)
            common &= picked
            either |= picked
        return common or either

    return pick


class Guide:
    """Which transitions a search takes in a state; it also notes whether any were ever left out."""

    def __init__(self, cells: CompiledNetwork, picks: Sequence[Pick] = ()) -> None:
        self.options = options_in(cells)
        self._violated = cells.violated
        self._pick = together(picks)
        self.narrowed = False
        """Whether a transition was left out in any state so far."""

    def picked(self, state: int) -> tuple[Options, int]:
        """Return what can happen in a state, and the set of what is taken."""
        options = self.options(state)
        picked = self._pick(state, options)
        if picked != options.every:
            self.narrowed = True
        return options, picked

    def expand_all(self, state: int) -> tuple[list[int], bool]:
        """Return the successors of a state, and whether only the fabric can move in it."""
        options, picked = self.picked(state)
        return [taken(state, entry[1], entry[2]) for entry in options.within(picked)], options.at_rest

    def expand_with_sleep_sets(
        self, state: int, asleep: int, wanted: int
    ) -> tuple[list[tuple[int, int]], bool]:
        """Return the successors that no sleep set makes superfluous, each with its own sleep set."""
        options, picked = self.picked(state)
        entries = options.within(picked)
        lead = {bit: taken(state, difference, ops) for bit, difference, ops, _, _ in entries if bit}
        """Where the transitions that are taken here lead, by their bits."""
        follow: dict[int, dict[int, int]] = {}
        """The same for the states they lead to, as far as it had to be found out."""
        done = asleep & sum(lead)
        found = []
        for bit, difference, ops, _, _ in entries:
            if not bit:
                # What the fabric does is taken only once, when the state is new.
                if wanted == EVERY:
                    found.append((taken(state, difference, ops), 0))
                continue
            if done & bit or not wanted & bit:
                continue
            found.append((lead[bit], self._sleeping(bit, done, lead, follow)))
            done |= bit
        return found, options.at_rest

    def _sleeping(self, bit: int, done: int, lead: dict[int, int], follow: dict[int, dict[int, int]]) -> int:
        """Return which transitions, of those done or asleep, may sleep after another."""
        sleeping = 0
        after = self._follow(bit, lead, follow) if done else {}
        while done:
            other = done & -done
            done ^= other
            other_way = self._follow(other, lead, follow).get(bit)
            if other_way is not None and after.get(other, other_way) == other_way:
                sleeping |= other
        return sleeping

    def _follow(self, bit: int, lead: dict[int, int], follow: dict[int, dict[int, int]]) -> dict[int, int]:
        known = follow.get(bit)
        if known is None:
            known = follow[bit] = self._leads(lead[bit])
        return known

    def _leads(self, state: int) -> dict[int, int]:
        """Return where the transitions taken in a state lead, by their bits; nothing follows a violation."""
        if state >= self._violated:
            return {}
        options, picked = self.picked(state)
        entries = options.within(picked)
        return {bit: taken(state, difference, ops) for bit, difference, ops, _, _ in entries if bit}
