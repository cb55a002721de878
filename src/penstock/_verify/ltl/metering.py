"""How far a search has come, and where it stops by itself."""

from __future__ import annotations

import time

from penstock._explore.search import PERIOD, Bounds, Stop, peak_rss_mb
from penstock._verdict import stopping


class Meter:
    """Counts the nodes and transitions of one search and holds them against its bounds.

    `depth` among the bounds means nothing here.
    """

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._started = time.monotonic()
        self.nodes = 0
        self.transitions = 0

    @property
    def seconds(self) -> float:
        """How long the search has taken."""
        return time.monotonic() - self._started

    def node(self) -> None:
        """Count a node; raise `Stop` where a bound is reached."""
        self.nodes += 1
        bounds = self._bounds
        if bounds.states is not None and self.nodes > bounds.states:
            raise Stop(stopping.states(bounds.states))
        if self.nodes % PERIOD == 0:
            if bounds.seconds is not None and self.seconds >= bounds.seconds:
                raise Stop(stopping.seconds(bounds.seconds))
            if bounds.memory_mb is not None and peak_rss_mb() >= bounds.memory_mb:
                raise Stop(stopping.memory(bounds.memory_mb))
