"""Ample sets: where no order with the rest can matter, take a few transitions and leave the others for later.

Sleep sets leave out transitions, and every state is still visited.  This leaves out states.  In a state
s a set T of possible transitions, the *ample set*, is taken alone, if the following hold (numbered as by
Clarke, Grumberg and Peled; MOCS, section 3.1, has the same as C1 to C4, and a table of actions for which
they hold in any state.  Here they are found out for each state).

C0  T is not empty, and no transition of T breaks a property; nor is any of T the fabric's doing.
C1  Along every run from s that takes none of T, whatever can happen commutes with all of T: both
    orders can be taken and lead to the same state, which has the states of the properties in it.
C2  None of T changes a component that a property reads in every state.
C3  From every state, a chain of such states, each led to by a transition of the ample set of the one
    before, ends where all transitions are taken.

*Why states at rest are kept.*  Let w be a run from s to a state at rest.  It takes something of T, since
otherwise all of T could still happen at its end (C1), which would not be at rest.  The first transition
of T in w commutes with all before it and can be taken first (C1); the rest of w follows, is shorter, and
ends in the same state.  So a state at rest is reached, by as many steps, from wherever it could be.

*Why violations are kept.*  Let w be a run from s to the first state in which a property is broken, by what
it saw or by what it reads.  If w takes something of T, that goes first, as before.  The properties saw the
same, because orders in which they see something else do not commute; and what a property reads is not
changed by what goes first (C2).  If w takes nothing of T, it can be taken after any t of T (C1), breaks
the same in the same way, and is no longer than before; t itself breaks nothing (C0, and C1 along w).  By C3
that cannot go on for ever, so that at some point w gets shorter.  A violation is thus found with the same
sentence, though there may be steps in its story that have nothing to do with it: the t that went first.
No path to it need be a shortest one, not even in breadth-first order.

A property need not declare what is invisible to it.  Two transitions that it sees depend on each other where
it comes to something else, or is broken, in the other order; otherwise they do not.

How the conditions are met:

- C1 and C2, for all transitions of some cells or for a single one: by `quiet`, from what is known of each
  cell's value.  FIFO channels are what makes it work: a message that comes to a loaded channel changes
  nothing about what the cell may do next.
- C1 and C2, for a single transition that others come before: by `foresight`, as far as its allowance goes.
- C3: each state that is not expanded in full is given one successor as its witness, such that witnesses lead
  nowhere in a circle.  This is a forest, kept as in union-find; where any choice would close a
  circle, the state is expanded in full.  The order of the search plays no part in it.

With sleep sets, T without those asleep is taken, or all of T if all are asleep.  Nothing that is not in T
sleeps after a transition of T.  Let w be a run as above no first transition of which (in any order that
comes to the same) is asleep in s.  Then what is first of w in T is awake, and what sleeps after it is
not first in the rest of w; and if w takes nothing of T, nothing that sleeps after the witness is in w.

Not with a bound on depth, since a violation within the bound may be beyond it in the order that is left;
not where collectors make the order of sends matter; not with strategies that leave transitions out.
"""

from __future__ import annotations

from collections.abc import Callable

from penstock._explore.compiled_network import CompiledNetwork
from penstock._explore.expand import EVERY, Expand, SleepSetExpand
from penstock._explore.interning import MASK
from penstock._explore.local_independence import LocalIndependence
from penstock._explore.lookahead import Lookahead
from penstock._explore.tables import taken

Key = Callable[[int], int]


class Ample:
    """The successors of a state by an ample set, or all of them where none is found.

    `full` are the functions to all successors of a state, without and with sleep sets.
    """

    def __init__(
        self,
        cells: CompiledNetwork,
        full: tuple[Expand, SleepSetExpand],
        quiet: LocalIndependence,
        foresight: Lookahead,
        key: Key | None = None,
    ) -> None:
        self._tables = cells.tables
        self._plain, self._wary = full
        self._quiet, self._foresight = quiet, foresight
        self._chosen: dict[int, int] = {}
        """The ample sets of states, as far as something of them may be woken."""
        self._forest = _Forest(key)
        self.left_out = False
        """Whether anything was put off in any state so far."""

    def expand_all(self, state: int) -> tuple[list[int], bool]:
        """Return the successors that are taken in a state, and whether only the fabric can move in it."""
        chosen, found = self._choose(state, 0)
        return (found, False) if chosen else self._plain(state)

    def expand_with_sleep_sets(
        self, state: int, asleep: int, wanted: int
    ) -> tuple[list[tuple[int, int]], bool]:
        """Return the same with sleep sets; a state is chosen for when it is new."""
        if wanted == EVERY:
            chosen, found = self._choose(state, asleep)
            if chosen:
                self._chosen[state] = chosen
                if not chosen & chosen - 1:
                    # Nothing else is taken here, so there is nothing that could sleep afterwards.
                    return [(found[0], 0)], False
                wanted, asleep = chosen, _awake(chosen, asleep) ^ chosen
        else:
            chosen = self._chosen.get(state, 0)
            if chosen:
                wanted, asleep = wanted & chosen, asleep & chosen
        return self._wary(state, asleep, wanted)

    def _choose(self, state: int, asleep: int) -> tuple[int, list[int]]:
        """Return the bits of an ample set, 0 where everything is to be taken, and where it leads."""
        chosen = self._quiet.chosen(state)
        if not chosen or chosen & chosen - 1:
            chosen = self._foresight.first(state) or chosen
        if not chosen:
            return 0, []
        found, taking = [], _awake(chosen, asleep)
        for shift, mask, _, rows in self._tables[state & MASK]:
            for bit, difference, ops, _, _ in rows[state >> shift & mask]:
                if bit & taking:
                    found.append(taken(state, difference, ops))
        end = self._forest.beyond(state, found)
        if end is None:
            return 0, []
        self._forest.plant(state, end)
        self.left_out = True
        return chosen, found


def _awake(chosen: int, asleep: int) -> int:
    """Return what is taken of an ample set: what is awake, or all of it."""
    return chosen & ~asleep or chosen


class _Forest:
    """The witnesses of states that are not expanded in full, none of which leads back to where it began."""

    def __init__(self, key: Key | None) -> None:
        self._key = key
        self._onward: dict[int, int] = {}
        """From a state's key to that of its witness, or of one farther along the chain."""

    def beyond(self, state: int, successors: list[int]) -> int | None:
        """Return where the chain of a successor ends, the first that does not lead back to the state."""
        own = self._end(state)
        return next((end for end in map(self._end, successors) if end != own), None)

    def plant(self, state: int, end: int) -> None:
        """Make the state's chain go on to the end of another."""
        self._onward[state if self._key is None else self._key(state)] = end

    def _end(self, state: int) -> int:
        here = state if self._key is None else self._key(state)
        passed = []
        while (following := self._onward.get(here)) is not None:
            passed.append(here)
            here = following
        for each in passed:
            self._onward[each] = here
        return here
