"""Faults: what may go wrong in a network, and how often.

Every kind has a budget and is off by default.  What remains of the budgets is part of the
fabric's state, so a search that has used up its faults knows it.  Things that failed may recover,
unless that is forbidden; recovering costs nothing.

A budget counts over the whole network; `rule_expiries` alone counts per switch, because it is the
switch that keeps it.  A flow table of limited size is an option of the switches.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Final

from penstock.errors import PenstockError

CHANNEL_BUDGETS: Final = {"drop": "drops", "duplicate": "duplicates", "reorder": "reorders"}
"""The budget that each fault of a channel draws on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """How often each thing may go wrong; all zero means a perfect network.

    `targets` names the links (`s1-s2`, `h1-s1`, `s1-c0`), switches and controllers that may fail;
    empty means all of them.  With `recovery` off, what fails stays as it is.
    """

    drops: int = 0
    duplicates: int = 0
    reorders: int = 0
    link_failures: int = 0
    switch_failures: int = 0
    controller_crashes: int = 0
    disconnects: int = 0
    rule_expiries: int = 0
    recovery: bool = True
    targets: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if type(field.default) is int and (type(value) is not int or value < 0):
                raise PenstockError(
                    f"A network cannot suffer {value!r} {field.name.replace('_', ' ')}: "
                    f"give {field.name} a whole number that is not negative."
                )

    def spend(self, kind: str) -> Faults:
        """Return what may still go wrong after one fault of a kind."""
        left: dict[str, Any] = {kind: getattr(self, kind) - 1}
        return replace(self, **left)

    def may_hit(self, *names: str) -> bool:
        """Tell whether something that has one of these names may fail."""
        return not self.targets or any(name in self.targets for name in names)


NO_FAULTS: Final = Faults()
