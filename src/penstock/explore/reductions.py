"""Reductions: ways to search less without missing anything, by name.

- `sleep`: of orders that come to the same, one is followed (see `expand`).  All states are visited.
- `footprints`: the same for transitions of one cell that commute (see `footprints`), and more of `ample`.
- `ample`: states are left out where no order matters (see `ample`).  States at rest and violations are not
  missed, but paths to violations need not be the shortest.

They can be combined with each other.  With strategies that leave transitions out, there are only sleep sets,
of a sort of their own (see `strategies.guide`).  By default there are sleep sets alone: they cost
little and leave all stories as short as can be.  With all three, NICE's load balancer takes 17 times fewer
transitions than without any, four pings 16 times and traffic engineering 8 times, and there are 4 to 7 times
fewer states to remember; but it takes as long for the load balancer and twice as long for the others,
because steps are remembered and cost so little that finding out which ones to leave out costs more.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from penstock.explore.ample import Ample
from penstock.explore.cells import Cells
from penstock.explore.expand import Plain, Wary, plain, wary
from penstock.explore.footprints import Footprints
from penstock.explore.foresight import Foresight
from penstock.explore.quiet import Quiet
from penstock.explore.search import Key, Successors
from penstock.explore.strategies.guide import Guide

REDUCTIONS: Final = ("sleep", "ample", "footprints")
DEFAULT: Final = ("sleep",)


class Everything:
    """All successors of a state; those of one cell that commute may sleep."""

    def __init__(self, cells: Cells, footprints: Footprints | None) -> None:
        self.plain: Plain = plain(cells)
        self.wary: Wary = wary(cells, footprints)


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What a search is like otherwise, as far as it rules reductions out."""

    guide: Guide | None = None
    """What strategies leave of the network, if they leave anything out."""
    key: Key | None = None
    """What states are remembered by, if not by themselves."""
    bounded: bool = False
    """Whether there is a bound on depth."""

    def against(self, reduction: str, cells: Cells) -> str:
        """Return why a reduction cannot be used, to end "that needs …"; empty if it can."""
        if cells.collects:
            return "components that leave their queues to channels"
        if self.key is not None and reduction != "ample":
            return "states that are remembered whole, not by fingerprints"
        if self.guide is not None and reduction != "sleep":
            return "a search without strategies that leave transitions out"
        if self.bounded and reduction == "ample":
            return "a search without a bound on depth"
        return ""


USUAL: Final = Circumstances()


def reduced(cells: Cells, reductions: Collection[str], circumstances: Circumstances = USUAL) -> Successors:
    """Return what a search takes in a state, by those of some reductions that can be used."""
    usable = {name for name in reductions if not circumstances.against(name, cells)}
    if circumstances.guide is not None:
        return circumstances.guide
    footprints = Footprints(cells) if "footprints" in reductions and not cells.collects else None
    full = Everything(cells, footprints)
    if "ample" not in usable:
        return full
    quiet = Quiet(cells, footprints)
    foresight = Foresight(cells, quiet, footprints)
    return Ample(cells, (full.plain, full.wary), quiet, foresight, circumstances.key)


def remarks_on(cells: Cells, reductions: Collection[str], circumstances: Circumstances) -> list[str]:
    """Return what is to be said of reductions beside a result."""
    remarks = []
    for name in REDUCTIONS:
        if name in reductions and name not in DEFAULT:
            why = circumstances.against(name, cells)
            if why:
                remarks.append(f"The reduction {name!r} was not used: that needs {why}.")
            elif name == "ample":
                remarks.append(
                    "States were left out where no order matters: "
                    "stories may have steps that have nothing to do with what they show."
                )
    return remarks
