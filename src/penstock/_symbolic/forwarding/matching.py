"""Matches as conditions on a packet's header fields, which are terms.

A switch reads a field only in packets of the kind that has it, and what it did not read counts as
zero (see `_world.switch.headers`).  So a match on `tcp_dst` asks for an Ethernet type and a protocol
too, and a field's term says what the field is *if* the packet has it.

A header need not know every field.  What depends on one that it does not know has a verdict with
two conditions: when it surely holds and when it possibly does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from penstock._concolic.terms import FALSE, TRUE, Term, bit_and, both, const, either, eq, ite, lt, negation
from penstock._world.switch.headers import ETH_RARP, NOT_ETHERNET_II
from penstock._world.switch.labels import MPLS_TYPES
from penstock.openflow.fields import (
    BY_NAME,
    ETH_IPV4,
    ETH_IPV6,
    FIELDS,
    IP_ICMP,
    IP_ICMPV6,
    VID_PRESENT,
    Prerequisite,
)
from penstock.openflow.match import ANYTHING, Match

LOWEST_TYPE: Final = 0x600
"""Where Ethernet types begin; below that is a length."""

IP: Final[Prerequisite] = ("eth_type", (ETH_IPV4, ETH_IPV6))
MPLS: Final[Prerequisite] = ("eth_type", MPLS_TYPES)
_IPV4: Final[Prerequisite] = ("eth_type", (ETH_IPV4,))
_IPV6: Final[Prerequisite] = ("eth_type", (ETH_IPV6,))
_ICMP: Final[Prerequisite] = ("ip_proto", (IP_ICMP,))
_ICMPV6: Final[Prerequisite] = ("ip_proto", (IP_ICMPV6,))
_NO_CODE: Final[Prerequisite] = ("icmpv6_code", (0,))
NEIGHBOUR_FIELDS: Final = ("ipv6_nd_target", "ipv6_nd_sll", "ipv6_nd_tll")

_READ_IF: Final[Mapping[str, tuple[Prerequisite, ...]]] = {
    **{field.name: field.needs for field in FIELDS},
    **{name: (*BY_NAME[name].needs, _NO_CODE) for name in NEIGHBOUR_FIELDS},
    "ip_ttl": (IP,),
    "mpls_ttl": (MPLS,),
}
"""Which packets have a field."""

_PERHAPS_READ_IF: Final[Mapping[str, tuple[Prerequisite, ...]]] = {
    **{field.name: (("eth_type", (ETH_RARP,)),) for field in FIELDS if field.name.startswith("arp_")},
    **dict.fromkeys(("icmpv4_type", "icmpv4_code"), (_IPV6, _ICMP)),
    **dict.fromkeys(("icmpv6_type", "icmpv6_code", "ipv6_nd_target"), (_IPV4, _ICMPV6)),
    "ipv6_nd_sll": (IP, _ICMPV6, ("icmpv6_type", (136,))),
    "ipv6_nd_tll": (IP, _ICMPV6, ("icmpv6_type", (135,))),
}
"""In which other packets a switch may come to read a field; the field's term does not speak of them."""


class Verdict(NamedTuple):
    """When something holds of a packet: surely, and possibly."""

    sure: Term
    possible: Term

    @property
    def is_exact(self) -> bool:
        """Tell whether nothing unknown plays a part."""
        return self.sure == self.possible

    @property
    def negated(self) -> Verdict:
        """The verdict on the contrary."""
        return Verdict(negation(self.possible), negation(self.sure))


ALWAYS: Final = Verdict(TRUE, TRUE)
NEVER: Final = Verdict(FALSE, FALSE)
UNKNOWN: Final = Verdict(FALSE, TRUE)


def exactly(condition: Term) -> Verdict:
    """Return the verdict that a condition is, no more and no less."""
    return Verdict(condition, condition)


def all_of(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict that all hold."""
    found = tuple(verdicts)
    return Verdict(both(*(one.sure for one in found)), both(*(one.possible for one in found)))


def any_of(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict that any holds."""
    found = tuple(verdicts)
    return Verdict(either(*(one.sure for one in found)), either(*(one.possible for one in found)))


class Header(Mapping[str, Term]):
    """Header fields as terms, an immutable value; a field that is not there is unknown.

    It remembers the verdict on each match it was asked about.
    """

    __slots__ = ("_fields", "_hash", "_verdicts")

    def __init__(self, fields: Mapping[str, Term]) -> None:
        self._fields = dict(fields)
        self._hash: int | None = None
        self._verdicts: dict[Match, Verdict] = {}

    def __getitem__(self, name: str) -> Term:
        return self._fields[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self._fields.items()))
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Header) and hash(self) == hash(other) and self._fields == other._fields

    def __repr__(self) -> str:
        return f"Header({', '.join(f'{name}: {term}' for name, term in self._fields.items())})"

    def changed(self, changes: Mapping[str, Term | None]) -> Header:
        """Return this header with some fields other than they were; None makes one unknown."""
        fields = {**self._fields, **changes}
        return Header({name: term for name, term in fields.items() if term is not None})

    def only(self, *names: str) -> Header:
        """Return this header with no field known but these."""
        return Header({name: term for name, term in self._fields.items() if name in names})

    def accepted_by(self, match: Match) -> Verdict:
        """Return when the packet satisfies a match."""
        verdict = self._verdicts.get(match)
        if verdict is None:
            verdict = all_of(self._holds(field, value, mask, match) for field, value, mask in match.terms)
            self._verdicts[match] = verdict
        return verdict

    def holds(self, field: str, value: int, mask: int | None = None) -> Verdict:
        """Return when the bits of a field that a mask shows have a value."""
        return self._holds(field, value, BY_NAME[field].full if mask is None else mask, ANYTHING)

    def is_one_of(self, needed: Prerequisite) -> Verdict:
        """Return when a field has one of several values."""
        name, values = needed
        return any_of(self.holds(name, value) for value in values)

    def _holds(self, field: str, value: int, mask: int, match: Match) -> Verdict:
        here = self._compared(field, value, mask)
        read = self._read(field, match)
        verdict = all_of((read, here)) if value else any_of((read.negated, here))
        elsewhere = _PERHAPS_READ_IF.get(field)
        if elsewhere is None:
            return verdict
        perhaps = all_of(self._is_kind(kind, match) for kind in elsewhere).possible
        return Verdict(both(verdict.sure, negation(perhaps)), either(verdict.possible, perhaps))

    def _read(self, field: str, match: Match) -> Verdict:
        """Return when the field is there to be read, in packets that satisfy the rest of the match."""
        if field == "vlan_pcp":
            return self.holds("vlan_vid", VID_PRESENT, VID_PRESENT)
        return all_of(self._is_kind(kind, match) for kind in _READ_IF[field])

    def _is_kind(self, kind: Prerequisite, match: Match) -> Verdict:
        field, values = kind
        asked = match.value(field)
        if asked is None:
            return self.is_one_of(kind)
        return ALWAYS if asked in values else NEVER

    def _compared(self, field: str, value: int, mask: int) -> Verdict:
        term = self._fields.get(field)
        if term is None:
            return UNKNOWN
        if field == "eth_type":
            return exactly(_type_is(term, value, mask))
        return exactly(eq(bit_and(term, const(mask)), const(value)))


def _type_is(term: Term, value: int, mask: int) -> Term:
    """Return when the Ethernet type has a value; all lengths have that of frames without a type."""
    is_length = lt(term, const(LOWEST_TYPE))
    if mask != BY_NAME["eth_type"].full:
        return eq(bit_and(ite(is_length, const(NOT_ETHERNET_II), term), const(mask)), const(value))
    if value == NOT_ETHERNET_II:
        return is_length
    return eq(term, const(value)) if value >= LOWEST_TYPE else FALSE
