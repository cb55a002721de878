"""Races: short runs first in which packets overtake the rules that are on their way.

Most bugs of controllers show in the simplest of runs, or in one where a packet meets a switch before
the order that was meant to await it.  So the run that costs least is this: a frame that has a
switch's order before it comes first; then controllers hear what they are told, then orders are carried
out, then other frames are delivered; hosts, timers and faults begin something new when all is quiet.

From there every other run has its price:

- each step costs 1, so that short runs come before long ones;
- to put off a step that is due costs 16, once for each that is put off;
- to choose another of the things that one component may do - another packet to send, other contents of
  a report - costs 8: that is no delay, but another input.

Runs are tried by their price (see `by_cost`).  That finds bugs in few transitions, and by stories that
are nearly as short as those of breadth-first search; the prices were chosen on the thirteen bugs of the
NICE paper.  Nothing is left out, but nothing is reduced either, so after `transitions` of them the
search starts over in the scenario's own order, which is faster at visiting everything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from penstock._base.typed import Positive
from penstock._explore.search import Outcome, Search
from penstock._explore.strategies.base import Onward, Ordering
from penstock._explore.strategies.by_cost import by_cost, spent
from penstock._explore.strategies.guide import Guide
from penstock._explore.strategies.kinds import Options, TransitionKind
from penstock._explore.tables import Entry
from penstock._world.signals import FABRIC
from penstock._world.transition import ACT, Transition

STEP: Final = 1
INPUT: Final = 8
DELAY: Final = 16

_DUE: Final = (
    TransitionKind.SIGNAL,
    TransitionKind.RACE,
    TransitionKind.EFFECT,
    TransitionKind.REPORT,
    TransitionKind.ORDER,
    TransitionKind.FRAME,
    TransitionKind.ARRIVAL,
    TransitionKind.OWN,
    TransitionKind.SEND,
    TransitionKind.FAULT,
)
"""The kinds of transitions in the order in which they are due."""


@dataclass(frozen=True, slots=True)
class Races(Ordering):
    """Tries short runs first in which packets overtake rules, then everything."""

    name: ClassVar[str] = "races"

    transitions: Positive | None = 20_000

    def explore(self, search: Search, guide: Guide, onward: Onward) -> Outcome:
        """Visit states by the price of the runs that lead to them; after a while, onward."""
        outcome = by_cost(search, guide, _prices, transitions=self.transitions)
        if self.transitions is None or outcome.stopped_by != spent(self.transitions):
            return outcome
        search.start_over()
        return onward(search)


def _prices(_state: int, options: Options, picked: int) -> list[tuple[int, Entry]]:
    found: list[tuple[int, Entry]] = []
    price, before = STEP, None
    for entry in options.in_order(_DUE, picked):
        transition = entry[4]
        if before is not None:
            price += INPUT if _is_choice(before, transition) else DELAY
        found.append((price, entry))
        before = transition
    return found


def _is_choice(one: Transition, other: Transition) -> bool:
    """Tell whether two actions are a matter of what one component does, not of who is first."""
    return one.verb == other.verb == ACT and one.node == other.node != FABRIC
