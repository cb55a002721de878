"""Random walks as a strategy: run after run from the start, each choosing at random (see `random_walk`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from penstock._base.typed import Flag, Positive
from penstock._explore.random_walk import random_walk
from penstock._explore.search import Outcome, Search
from penstock._explore.strategies.base import Onward, Ordering
from penstock._explore.strategies.guide import Guide


@dataclass(frozen=True, slots=True)
class RandomWalks(Ordering):
    """Takes `walks` random runs (None: no end) of at most `longest` steps; the seed decides everything."""

    name: ClassVar[str] = "random-walk"
    remembers: ClassVar[bool] = False

    seed: Annotated[int, Flag("--seed", "walk step")] = 1
    """What decides every choice."""
    walks: Annotated[Positive | None, Flag("--walks", "walk")] = 100
    """How many walks."""
    longest: Annotated[Positive, Flag("--longest", "walk")] = 1000
    """Steps per walk."""

    @property
    def remark(self) -> str:
        """What the strategy may have missed."""
        return (
            f"random-walk: the runs were chosen at random by seed {self.seed}, so what shows in others was "
            f"missed."
        )

    def explore(self, search: Search, _guide: Guide, _onward: Onward) -> Outcome:
        """Walk, and walk again."""
        longest = min(self.longest, search.bounds.depth or self.longest)
        return random_walk(search, self.seed, longest=longest, walks=self.walks)
