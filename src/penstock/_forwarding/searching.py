"""Finding a packet of a class, or that there is none.

A class is a cube and the constraints gathered on the way: at this table the packets met that rule and
none before it, at that question they were outside of some cubes.  What a constraint takes away is never
written out, which for a default route would be a whole table.  Instead a likely packet of the cube is
tried; a constraint that it breaks names a hole around it; the search goes on in what the hole leaves of
the cube.  So the work is that of the holes in the way, and a class of packets costs little however many
rules lie above it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Protocol

from penstock._forwarding.header_space import Cube, less, meet, overlap, pulled_back
from penstock._forwarding.kinds import KINDS
from penstock._forwarding.rules import Rule, RuleTable

MOST_TRIES: Final = 20_000
"""How many packets of one class are tried before the search is given up."""


class Constraint(Protocol):
    """Something that the packets of a class satisfy, as they were sent."""

    def hole(self, header: int) -> Cube | None:
        """Return a cube around a header none of which satisfies this, or None if the header does."""
        ...


class Met:
    """At one table, the packets meet this rule, or none at all."""

    __slots__ = ("_rule", "_table", "_values", "_written")

    def __init__(self, table: RuleTable, rule: Rule | None, written: int, values: int) -> None:
        self._table, self._rule = table, rule
        self._written, self._values = written, values

    def hole(self, header: int) -> Cube | None:
        """Return the packets of the rule that is met instead."""
        found = self._table.lookup(header & ~self._written | self._values)
        if found is self._rule or found is None:
            return None
        return pulled_back(found.cube, self._written, self._values)


class Outside:
    """The packets are in none of some cubes."""

    __slots__ = ("_cubes",)

    def __init__(self, cubes: tuple[Cube, ...]) -> None:
        self._cubes = cubes

    def hole(self, header: int) -> Cube | None:
        """Return the cube that the header is in."""
        for cube in self._cubes:
            if header & cube[1] == cube[0]:
                return cube
        return None


Constraints = tuple[Constraint, ...]


def first_hole(header: int, constraints: Iterable[Constraint]) -> Cube | None:
    """Return a hole that a header is in, or None if it satisfies all constraints."""
    for constraint in constraints:
        hole = constraint.hole(header)
        if hole is not None:
            return hole
    return None


class Search:
    """Finds packets; `given_up` counts the searches that were ended without an answer."""

    def __init__(self) -> None:
        self.given_up = 0

    def find(self, cube: Cube, constraints: Constraints, usual: int) -> int | None:
        """Return a packet of a class, as like a usual one as can be, or None if there is none."""
        hole = first_hole(cube[0] | usual & ~cube[1], constraints)
        if hole is not None and not hole[1] & ~cube[1]:
            return None
        tries = MOST_TRIES
        for kind in KINDS:
            start = meet(cube, kind.cube)
            if start is None:
                continue
            ahead = [start]
            known = [hole for hole in kind.holes if overlap(start, hole)]
            while ahead:
                piece = ahead.pop()
                header = piece[0] | usual & ~piece[1]
                hole = _around(header, known) or first_hole(header, constraints)
                if hole is None:
                    return header
                ahead += reversed(less(piece, hole))
                tries -= 1
                if not tries:
                    self.given_up += 1
                    return None
        return None


def _around(header: int, cubes: list[Cube]) -> Cube | None:
    for cube in cubes:
        if header & cube[1] == cube[0]:
            return cube
    return None
