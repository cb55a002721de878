"""The header space: packets as points, matches as cubes.

A packet's header is one whole number, every match field of OpenFlow at a place of its own; a field
that the packet does not have is zero there, which is how a switch's look-up sees it too.  A *cube* is a
(value, mask) pair: all headers whose masked bits have that value.  Every match is a cube, two cubes meet
in a cube (Header Space Analysis, NSDI'12, §3); sets that are no cubes are in `sets`.

Writing constants into fields is a pair of the same form, (written, values): a header `h` becomes
`h & ~written | values`.  The headers that a write brings into a cube are a cube as well (`pulled_back`),
so whatever happens to a class on its way can be said in terms of the packets as they were sent.

The port a packet came in by, metadata and the tunnel's number are fields here as in a match, although
they travel with no packet: each switch begins by writing them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from penstock.openflow.fields import BY_NAME, FIELDS
from penstock.openflow.match import Match, Term

Cube = tuple[int, int]
"""The headers whose bits under the mask, the second number, are those of the first."""

EVERYTHING: Final[Cube] = (0, 0)

_LAST: Final = ("vlan_vid", "ip_proto", "eth_type", "in_port")
"""The fields at the low end: a search for a packet changes what is higher up first, so kinds stay."""

_SHIFT: Final[dict[str, int]] = {}
_bits = 0
for _field in sorted(FIELDS, key=lambda field: -_LAST.index(field.name) if field.name in _LAST else 1):
    _SHIFT[_field.name] = _bits
    _bits += _field.bits
_BY_PLACE: Final = tuple((BY_NAME[name], shift) for name, shift in _SHIFT.items())

WIDTH: Final = _bits
"""How many bits a header has."""


def packed(field: str, value: int) -> int:
    """Return a field's value at its place."""
    return value << _SHIFT[field]


def header_of(fields: Mapping[str, int]) -> int:
    """Return the header with these fields; others that a switch may read, such as a TTL, are left out."""
    return sum(value << _SHIFT[name] for name, value in fields.items() if name in _SHIFT)


def fields_of(header: int) -> dict[str, int]:
    """Return the fields of a header that are not zero."""
    found = {field.name: header >> shift & field.full for field, shift in _BY_PLACE}
    return {name: value for name, value in found.items() if value}


def field_mask(*names: str) -> int:
    """Return the mask that looks at these fields and nothing else."""
    return sum(BY_NAME[name].full << _SHIFT[name] for name in names)


def cube_of(match: Match) -> Cube:
    """Return the headers that a match accepts."""
    value = mask = 0
    for field, wanted, looked_at in match.terms:
        shift = _SHIFT[field]
        value |= wanted << shift
        mask |= looked_at << shift
    return value, mask


def match_of(cube: Cube) -> Match:
    """Return a cube as a match, for people to read."""
    value, mask = cube
    terms = [
        Term(field.name, value >> shift & field.full, mask >> shift & field.full)
        for field, shift in _BY_PLACE
    ]
    return Match.normal(terms)


def meet(a: Cube, b: Cube) -> Cube | None:
    """Return the headers that two cubes share, or None."""
    if (a[0] ^ b[0]) & a[1] & b[1]:
        return None
    return a[0] | b[0], a[1] | b[1]


def overlap(a: Cube, b: Cube) -> bool:
    """Tell whether two cubes share a header."""
    return not (a[0] ^ b[0]) & a[1] & b[1]


def is_within(a: Cube, b: Cube) -> bool:
    """Tell whether every header of one cube is in another."""
    return not (b[1] & ~a[1] or (a[0] ^ b[0]) & b[1])


def pulled_back(cube: Cube, written: int, values: int) -> Cube | None:
    """Return the headers that a write brings into a cube, or None where it brings none."""
    value, mask = cube
    if (value ^ values) & mask & written:
        return None
    return value & ~written, mask & ~written
