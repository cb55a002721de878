"""Random walks as a strategy: run after run from the start, each choosing at random (see `random_walk`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from penstock.errors import PenstockError
from penstock.explore.random_walk import random_walk
from penstock.explore.search import Outcome, Search
from penstock.explore.strategies.base import Onward, Ordering
from penstock.explore.strategies.guide import Guide


@dataclass(frozen=True, slots=True)
class RandomWalks(Ordering):
    """Takes `walks` random runs (None: no end) of at most `longest` steps; the seed decides everything."""

    name: ClassVar[str] = "random-walk"
    remembers: ClassVar[bool] = False

    seed: int = 1
    walks: int | None = 100
    longest: int = 1000

    def __post_init__(self) -> None:
        if type(self.seed) is not int:
            raise PenstockError(f"seed = {self.seed!r} of random-walk is no whole number.")
        for name, number in (("walks", self.walks), ("longest", self.longest)):
            if number is not None and (type(number) is not int or number < 1):
                raise PenstockError(f"{name} = {number!r} of random-walk is no number from 1 up.")

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
