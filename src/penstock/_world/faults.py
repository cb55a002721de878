"""Faults: what may go wrong in a network, and how often.

Every kind has a budget and is off by default.  What remains of the budgets is part of the
fabric's state, so a search that has used up its faults knows it.  Things that failed may recover,
unless that is forbidden; recovering costs nothing.

A budget counts over the whole network; `rule_expiries` alone counts per switch, because it is the
switch that keeps it.  A flow table of limited size is an option of the switches.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

from penstock._base.typed import Checked, Count

CHANNEL_BUDGETS: Final = {"drop": "drops", "duplicate": "duplicates", "reorder": "reorders"}
"""The budget that each fault of a channel draws on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults(Checked):
    """How often each thing may go wrong; all zero means a perfect network."""

    SECTION: ClassVar[str] = "[faults]"

    drops: Count = 0
    """How many frames may be lost on their way."""
    duplicates: Count = 0
    """How many frames may be doubled on their way."""
    reorders: Count = 0
    """How many frames may overtake another on the same channel."""
    link_failures: Count = 0
    """How many times a link may go down."""
    switch_failures: Count = 0
    """How many times a switch may lose its power, and its tables."""
    controller_crashes: Count = 0
    """How many times a controller may end and begin anew."""
    disconnects: Count = 0
    """How many times a switch may lose its session with a controller."""
    rule_expiries: Count = 0
    """How many entries with a timeout may expire, on each switch."""
    recovery: bool = True
    """What failed may come back; off, it stays as it is."""
    targets: tuple[str, ...] = ()
    """The links (`s1-s2`, `h1-s1`, `s1-c0`), switches and controllers that may fail; empty means all."""

    def spend(self, kind: str) -> Faults:
        """Return what may still go wrong after one fault of a kind."""
        left: dict[str, Any] = {kind: getattr(self, kind) - 1}
        return replace(self, **left)

    def may_hit(self, *names: str) -> bool:
        """Tell whether something that has one of these names may fail."""
        return not self.targets or any(name in self.targets for name in names)


NO_FAULTS: Final = Faults()
