"""Reductions: ways to search less without missing anything, by name.

- `sleep`: of orders that come to the same, one is followed (see `expand`).  All states are visited.
- `footprints`: the same for transitions of one cell that commute (see `footprints`), and more of `ample`.
- `ample`: states are left out where no order matters (see `ample`).  States at rest and violations are not
  missed, but paths to violations need not be the shortest.

Sleep sets are always there: they cost little and leave all stories as short as can be.  The names that a
scenario gives come on top of them; `none`, alone, switches everything off.  With strategies that leave
transitions out there are only sleep sets, of a sort of their own, which try both orders of any two (see
`strategies.guide`).  A search in an order of its own, as that of `races`, uses none.

With all three, NICE's load balancer takes 17 times fewer transitions than without any, four pings 16 times
and traffic engineering 8 times, and there are 4 to 7 times fewer states to remember; but it takes up to
twice as long, because steps are remembered and cost so little that finding out which ones to leave out costs
more.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from penstock._explore.ample import Ample
from penstock._explore.compiled_network import CompiledNetwork
from penstock._explore.expand import Expand, SleepSetExpand, expand_all, expand_with_sleep_sets
from penstock._explore.footprints import Footprints
from penstock._explore.local_independence import LocalIndependence
from penstock._explore.lookahead import Lookahead
from penstock._explore.search import Key, Successors
from penstock._explore.strategies.guide import Guide
from penstock._scenario.options import NONE, REDUCTIONS

ALWAYS: Final = "sleep"
"""The reduction that is there without being named."""


def in_effect(names: Collection[str]) -> frozenset[str]:
    """Return the reductions that names in a scenario stand for."""
    return frozenset() if NONE in names else frozenset((ALWAYS, *names))


class Everything:
    """All successors of a state; those of one cell that commute may sleep."""

    def __init__(self, cells: CompiledNetwork, footprints: Footprints | None) -> None:
        self.expand_all: Expand = expand_all(cells)
        self.expand_with_sleep_sets: SleepSetExpand = expand_with_sleep_sets(cells, footprints)


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What a search is like otherwise, as far as it rules reductions out."""

    guide: Guide | None = None
    """What strategies leave of the network, if they leave anything out."""
    key: Key | None = None
    """What states are remembered by, if not by themselves."""
    bounded: bool = False
    """Whether there is a bound on depth."""
    in_order: bool = True
    """Whether it goes breadth-first or depth-first, at least in the end."""

    def against(self, reduction: str, reductions: Collection[str], cells: CompiledNetwork) -> str:
        """Return why one of some reductions cannot be used, to end "that needs …"; empty if it can."""
        if not self.in_order:
            return "a search that goes breadth-first or depth-first"
        if cells.collects:
            return "components that leave their queues to channels"
        if self.guide is not None and reduction != "sleep":
            return "a search without strategies that leave transitions out"
        if self.bounded and reduction == "ample":
            return "a search without a bound on depth"
        if self.key is not None and (
            reduction == "sleep" or (reduction == "footprints" and not self._has_ample(reductions, cells))
        ):
            return "states that are remembered whole, not by fingerprints"
        return ""

    def _has_ample(self, reductions: Collection[str], cells: CompiledNetwork) -> bool:
        return "ample" in reductions and not self.against("ample", reductions, cells)


USUAL: Final = Circumstances()


def reduced(
    cells: CompiledNetwork, reductions: Collection[str], circumstances: Circumstances = USUAL
) -> Successors:
    """Return what a search takes in a state, by those of some reductions that can be used."""
    if circumstances.guide is not None:
        return circumstances.guide
    usable = {name for name in reductions if not circumstances.against(name, reductions, cells)}
    footprints = Footprints(cells) if "footprints" in usable else None
    full = Everything(cells, footprints)
    if "ample" not in usable:
        return full
    quiet = LocalIndependence(cells, footprints)
    foresight = Lookahead(cells, quiet, footprints)
    return Ample(cells, (full.expand_all, full.expand_with_sleep_sets), quiet, foresight, circumstances.key)


def remarks_on(
    cells: CompiledNetwork, names: Collection[str], circumstances: Circumstances, successors: Successors
) -> list[str]:
    """Return what is to be said, beside a result, of the reductions that a scenario names."""
    remarks = []
    for name in REDUCTIONS:
        if name in names and (why := circumstances.against(name, names, cells)):
            remarks.append(f"The reduction {name!r} was not used: that needs {why}.")
    if isinstance(successors, Ample) and successors.left_out:
        remarks.append(
            "States were left out where no order matters: "
            "stories may have steps that have nothing to do with what they show."
        )
    return remarks
