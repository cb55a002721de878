"""A violation that a search or a proof has found."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from penstock._story.explanation import UNEXPLAINED, Explanation
from penstock._world.transition import Record


@dataclass(frozen=True, slots=True)
class Finding:
    """A violation, replayed: the run that shows it, and where it was written."""

    property: str
    message: str
    records: tuple[Record, ...]
    confirmed: bool
    trace: Path | None = None
    explanation: Explanation = UNEXPLAINED
