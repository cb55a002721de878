"""Matches: which packets a flow entry speaks of.

A match is a tuple of terms, one per field, in the order of the fields' OXM numbers, with the
bits outside the mask zero and terms that look at no bit left out.  So two matches that accept
the same packets by the same fields are the same value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from penstock.addresses import ipv4, ipv4_text, ipv6, ipv6_text, mac, mac_text
from penstock.errors import PenstockError
from penstock.openflow.fields import BY_NAME, VID_PRESENT, Field

PORT_NAMES = {
    0xFFFFFFF8: "in_port",
    0xFFFFFFF9: "table",
    0xFFFFFFFA: "normal",
    0xFFFFFFFB: "flood",
    0xFFFFFFFC: "all",
    0xFFFFFFFD: "controller",
    0xFFFFFFFE: "local",
    0xFFFFFFFF: "any",
}

_PARSERS = {"mac": mac, "ipv4": ipv4, "ipv6": ipv6}


def port_text(number: int) -> str:
    """Return a port's number, or the name of a reserved one."""
    return PORT_NAMES.get(number, str(number))


def value_text(field: Field, value: int) -> str:
    """Return a field's value as people write it."""
    match field.kind:
        case "mac":
            return mac_text(value)
        case "ipv4":
            return ipv4_text(value)
        case "ipv6":
            return ipv6_text(value)
        case "port":
            return port_text(value)
        case "hex":
            return f"0x{value:04x}"
        case "vlan":
            return str(value & ~VID_PRESENT) if value & VID_PRESENT else "none"
        case _:
            return str(value)


class Term(NamedTuple):
    """What a match asks of one field: the masked bits equal the value."""

    field: str
    value: int
    mask: int

    def __str__(self) -> str:
        field = BY_NAME[self.field]
        if self.mask == field.full:
            return f"{self.field}={value_text(field, self.value)}"
        if field.kind in ("vlan", "hex", "number"):
            return f"{self.field}=0x{self.value:x}/0x{self.mask:x}"
        ones = self.mask.bit_count()
        if field.kind in ("ipv4", "ipv6") and self.mask == _prefix_mask(field, ones):
            return f"{self.field}={value_text(field, self.value)}/{ones}"
        return f"{self.field}={value_text(field, self.value)}/{value_text(field, self.mask)}"


Given = int | str | tuple[int | str, int | str]


def _whole_number(text: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        raise PenstockError(f"{text!r} is no whole number: write it as 80 or 0x800.") from None


def _number(field: Field, given: int | str) -> int:
    if isinstance(given, str):
        parser = _PARSERS.get(field.kind, _whole_number)
        value = parser(given)
    else:
        value = given
    if not 0 <= value <= field.full:
        raise PenstockError(f"{given!r} does not fit {field.name}: it has {field.bits} bits.")
    return value


def _prefix_mask(field: Field, length: int) -> int:
    """Return the mask that looks at the first bits of a field."""
    return field.full >> field.bits - length << field.bits - length


def _term(field: Field, given: Given) -> Term:
    if isinstance(given, tuple):
        return Term(field.name, _number(field, given[0]), _number(field, given[1]))
    if isinstance(given, str) and "/" in given:
        address, _, length = given.partition("/")
        if not length.isdecimal() or int(length) > field.bits:
            raise PenstockError(
                f"{given!r} has no prefix that fits {field.name}: give 0 to {field.bits} bits."
            )
        return Term(field.name, _number(field, address), _prefix_mask(field, int(length)))
    return Term(field.name, _number(field, given), field.full)


@dataclass(frozen=True, slots=True, order=True)
class Match:
    """The packets that satisfy every term; with no term, all packets."""

    terms: tuple[Term, ...] = ()

    @classmethod
    def of(cls, **fields: Given) -> Match:
        """Make a match from values, text addresses (`10.0.0.0/8` too) or (value, mask) pairs."""
        terms = []
        for name, given in fields.items():
            field = BY_NAME.get(name)
            if field is None:
                raise PenstockError(f"unknown match field {name!r}: the fields are {', '.join(BY_NAME)}.")
            terms.append(_term(field, given))
        return cls.normal(terms)

    @classmethod
    def normal(cls, terms: list[Term]) -> Match:
        """Make the canonical match of these terms (one per field)."""
        kept = [Term(t.field, t.value & t.mask, t.mask) for t in terms if t.mask]
        kept.sort(key=lambda t: BY_NAME[t.field].number)
        return cls(tuple(kept))

    def get(self, field: str) -> Term | None:
        """Return the term on a field, if there is one."""
        for term in self.terms:
            if term.field == field:
                return term
        return None

    def value(self, field: str) -> int | None:
        """Return the value an exact term asks for, else None."""
        term = self.get(field)
        return term.value if term is not None and term.mask == BY_NAME[field].full else None

    def accepts(self, headers: Mapping[str, int]) -> bool:
        """Tell whether a packet with these header fields satisfies the match."""
        for field, value, mask in self.terms:
            found = headers.get(field)
            if found is None or found & mask != value:
                return False
        return True

    def within(self, other: Match) -> bool:
        """Tell whether every packet of this match is a packet of the other, judged term by term."""
        mine = {term.field: term for term in self.terms}
        for field, value, mask in other.terms:
            term = mine.get(field)
            if term is None or mask & ~term.mask or term.value & mask != value:
                return False
        return True

    def overlaps(self, other: Match) -> bool:
        """Tell whether no field keeps the two matches apart."""
        mine = {term.field: term for term in self.terms}
        for field, value, mask in other.terms:
            term = mine.get(field)
            if term is not None and (term.value ^ value) & term.mask & mask:
                return False
        return True

    def __str__(self) -> str:
        return ",".join(map(str, self.terms)) or "any"


ANYTHING = Match()
"""The match that every packet satisfies."""
