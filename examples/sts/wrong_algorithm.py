"""A router by Floyd and Warshall's algorithm, badly implemented: when links are lost, packets go round.

The distances between all switches are computed anew whenever links change.  The bug: they are computed
on from the last ones, and only those along lost links are struck out.  A longer path that led over a lost
link is still believed in; switches that have no path any more each think that another has one.

Mended, each computation begins with the links alone.
"""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

from routing import Router


class Way(NamedTuple):
    """How far it is to a switch, and by which port."""

    length: int
    port: int
    via: int
    """The first switch on the way."""


class DistanceRouter(Router):
    """Routes packets by a table of distances."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.ways: dict[tuple[int, int], Way] = {}

    def next_hops(self) -> dict[tuple[int, int], int]:
        """Return the port from one switch to another by the distances."""
        links = {
            (switch, other): Way(1, port, other)
            for (switch, port), (other, _) in sorted(self.links.items(), reverse=True)
        }
        kept = {pair: way for pair, way in self.ways.items() if (pair[0], way.via) in links}
        self.ways = {**({} if self.mended else kept), **links}
        switches = sorted(self.switches)
        for middle, start, end in product(switches, repeat=3):
            first, second = self.ways.get((start, middle)), self.ways.get((middle, end))
            if start == end or first is None or second is None:
                continue
            known = self.ways.get((start, end))
            if known is None or first.length + second.length < known.length:
                self.ways[start, end] = first._replace(length=first.length + second.length)
        return {pair: way.port for pair, way in self.ways.items()}
