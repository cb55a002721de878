"""What a scenario says of packets that make a difference, in its table `[symbolic]`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Final, Literal

from penstock._base.typed import Checked, From

MOST_TIED: Final = 3
"""How long a chain may be whose first message lives on by nothing but a condition.

A counter that is compared with its last value ties every reading to the one before, without end.
"""


@dataclass(frozen=True, slots=True)
class SymbolicOptions(Checked):
    """How far to go in looking for inputs that make a difference."""

    SECTION: ClassVar[str] = "[symbolic]"

    paths: Annotated[int, From(1)] = 500
    """How many paths are tried through one handler in one state."""
    seconds: Annotated[float, From(0, above=True)] | None = 30.0
    """How long that may take."""
    messages: tuple[Literal["statistics", "port-status", "flow-removed"], ...] = ()
    """The kinds of messages besides packets whose contents are found too."""
    ties: Annotated[int, From(1)] = MOST_TIED
    """Over how many messages a value is followed that nothing but comparisons tie to an earlier one."""
    symmetry: bool = False
    """Hosts that nothing tells apart are not tried one by one: the scenario is then said to be symmetric."""
