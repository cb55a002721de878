"""What a scenario says of searches, in its table `[search]`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Final, Literal

from penstock._base.suggesting import hint
from penstock._base.tables import Table
from penstock._base.typed import Checked, From, check_fields
from penstock.errors import PenstockError

REDUCTIONS: Final = ("sleep", "ample", "footprints")
"""The reductions by name (see `_explore.reductions`)."""

NONE: Final = "none"
"""What switches all of them off."""


class Strategy:
    """A way to search; what it is called in scenarios, and what it costs."""

    name: ClassVar[str]

    def __post_init__(self) -> None:
        check_fields(self, f"the strategy {self.name}")

    @property
    def remark(self) -> str:
        """What a search with this strategy may have missed, in a sentence; empty if nothing."""
        return ""


@dataclass(frozen=True, slots=True)
class Limits(Checked):
    """How a search goes about and where it stops."""

    SECTION: ClassVar[str] = "[search]"

    order: Literal["breadth-first", "depth-first"] = "breadth-first"
    """Which state comes next: breadth-first finds the shortest story, depth-first needs less memory."""
    start: Literal["joined", "cold"] = "joined"
    """Begin once every switch has joined and the controller has set it up, or before that."""
    states: Annotated[int, From(1)] | None = None
    """Stop after this many states."""
    depth: Annotated[int, From(1)] | None = None
    """Go no deeper than this many steps."""
    seconds: Annotated[float, From(0, above=True)] | None = None
    """Stop after this time."""
    memory_mb: Annotated[int, From(1)] | None = None
    """Stop when the process takes this much memory, in millions of bytes."""
    all_violations: bool = False
    """Go on after a violation, in states that do not come after it."""
    compact: bool = False
    """Remember states by 64-bit fingerprints: less memory, and a known small probability of missing one."""
    strategies: Sequence[str | Table | Strategy] = ()
    """Names of strategies, or tables with a name and options (see `_explore.strategies.plan`)."""
    reductions: Sequence[str] = ()
    """What there is beside sleep sets to search less without missing anything (see `_explore.reductions`)."""

    def __post_init__(self) -> None:
        Checked.__post_init__(self)
        for name in self.reductions:
            if name not in (*REDUCTIONS, NONE):
                raise PenstockError(f"There is no reduction {name!r}: {hint(name, (*REDUCTIONS, NONE))}")
        if NONE in self.reductions and set(self.reductions) != {NONE}:
            raise PenstockError(f"The reduction {NONE!r} goes with no other: leave it out, or the others.")
