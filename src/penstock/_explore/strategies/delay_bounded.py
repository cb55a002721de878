"""Delay-bounded search: few deviations from an orderly run are tried before many.

There is one orderly run, in which nothing is ever late: signals, then orders, reports, frames, each in
a fixed order, and hosts begin something new only when all is quiet.  To take another transition than the
one that is due, those before it are delayed, and each delay costs 1 (Emmi, Qadeer and Rakamarić,
"Delay-bounded scheduling", 2011).  All runs without delays come first, then those with one, and so on:
most bugs need very few.  With no bound on delays every state is visited in the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from penstock._base.typed import Count
from penstock._explore.search import Outcome, Search
from penstock._explore.strategies.base import Onward, Ordering
from penstock._explore.strategies.by_cost import by_cost
from penstock._explore.strategies.guide import Guide
from penstock._explore.strategies.kinds import Options, TransitionKind
from penstock._explore.tables import Entry


@dataclass(frozen=True, slots=True)
class DelayBounded(Ordering):
    """Tries runs with few delays first, and none with more than `delays`."""

    name: ClassVar[str] = "delay-bounded"

    delays: Count | None = None

    @property
    def remark(self) -> str:
        """What the strategy may have missed."""
        if self.delays is None:
            return ""
        return (
            f"delay-bounded: no run with more delays than {self.delays} was taken, so what needs more to be "
            f"late may have been missed."
        )

    def explore(self, search: Search, guide: Guide, _onward: Onward) -> Outcome:
        """Visit the states that cost the fewest delays first."""
        return by_cost(search, guide, _delays, most=self.delays)


def _delays(_state: int, options: Options, picked: int) -> list[tuple[int, Entry]]:
    return list(enumerate(options.in_order(tuple(TransitionKind), picked)))
