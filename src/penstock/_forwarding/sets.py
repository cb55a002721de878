"""Exact sets of packets, as binary decision diagrams; the one module that imports oxidd.

A packet is a point of the header space: every bit of every match field is a variable.  The order of the
fields was measured on routing tables and on tables of learning switches; what decides most often is on top.
`in_port` is no variable: where packets are is told apart from what they are.  Below all fields there are
variables for *numbers*, so that one diagram, a *relation*, can hold for every packet the number of its class.

Three things about oxidd decide how it is used.  Diagrams of two managers must never meet (the process is
aborted), so a process has one (`packet_space`).  A manager that is full raises `DDMemoryError` before its own
collector has run, so each operation collects and tries once more.  There is no call that makes a cube, so
diagrams of single bytes are kept and put together (4 µs for a prefix).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from oxidd.bdd import BDDFunction, BDDManager
from oxidd.util import DDMemoryError

from penstock._forwarding.header_space import WIDTH, Cube, field_mask, fields_of, header_of
from penstock.errors import PenstockError
from penstock.openflow.fields import BY_NAME
from penstock.openflow.match import Match

PacketSet = BDDFunction
"""A set of packets, or a relation between packets and numbers.  Equal sets are equal objects."""

ORDER: Final = (
    *("eth_type", "vlan_vid", "ip_proto", "ipv4_dst", "ipv4_src"),
    *("tcp_dst", "tcp_src", "udp_dst", "udp_src", "sctp_dst", "sctp_src", "icmpv4_type", "icmpv4_code"),
    *("eth_dst", "eth_src", "vlan_pcp", "ip_dscp", "ip_ecn"),
    *("arp_op", "arp_tpa", "arp_spa", "arp_tha", "arp_sha"),
    *("ipv6_dst", "ipv6_src", "ipv6_flabel", "icmpv6_type", "icmpv6_code"),
    *("ipv6_nd_target", "ipv6_nd_sll", "ipv6_nd_tll", "mpls_label", "mpls_tc", "mpls_bos"),
    *("metadata", "tunnel_id", "pbb_isid", "ipv6_exthdr"),
)
"""The fields from the top of a diagram down."""

NOT_IN_SETS: Final = ("in_port", "in_phy_port")

NODES: Final = 16_000_000
CACHE: Final = 1_000_000
NUMBER_BITS: Final = 20
_COLLECT_FROM: Final = 400_000
"""From how many nodes on it is worth looking for those that nobody needs any more."""

_MOST_TERMS: Final = 200_000


class PacketSpace:
    """All packets, and the operations on sets of them."""

    def __init__(self, nodes: int = NODES, cache: int = CACHE) -> None:
        manager = self._manager = BDDManager(nodes, cache, 1)
        self._nodes = nodes
        self._first: dict[str, int] = {}
        width = 0
        for name in ORDER:
            self._first[name] = width
            width += BY_NAME[name].bits
        self.width = width
        manager.add_vars(width + NUMBER_BITS)
        self.everything = manager.true()
        self.nothing = manager.false()
        self._set = [manager.var(index) for index in range(width + NUMBER_BITS)]
        self._clear = [manager.not_var(index) for index in range(width + NUMBER_BITS)]
        self._bytes: dict[tuple[int, int, int], PacketSet] = {}
        self._terms: dict[tuple[str, int, int], PacketSet] = {}
        self._numbers: dict[int, PacketSet] = {}
        self._written: dict[int, PacketSet] = {}
        self._usual: dict[int, list[bool]] = {}
        self._collect_from = _COLLECT_FROM
        self._header = self._together(self._set[:width])

    def _together(self, parts: list[PacketSet]) -> PacketSet:
        found = self.everything
        for part in reversed(parts):
            found = self.meet(part, found)
        return found

    # Operations.

    def _again(self, operation: Callable[[], PacketSet]) -> PacketSet:
        """Do what there was no room for once more, after a collection."""
        self._manager.gc()
        try:
            return operation()
        except DDMemoryError:
            raise PenstockError(
                f"The tables tell more sets of packets apart than {self._nodes:,} nodes can hold: "
                "look at fewer switches, or at fewer rules, at once."
            ) from None

    def meet(self, a: PacketSet, b: PacketSet) -> PacketSet:
        """Return the packets of both sets."""
        try:
            return a & b
        except DDMemoryError:
            return self._again(lambda: a & b)

    def join(self, a: PacketSet, b: PacketSet) -> PacketSet:
        """Return the packets of either set."""
        try:
            return a | b
        except DDMemoryError:
            return self._again(lambda: a | b)

    def less(self, a: PacketSet, b: PacketSet) -> PacketSet:
        """Return the packets of a set that are not in another."""
        try:
            return b.imp_strict(a)
        except DDMemoryError:
            return self._again(lambda: b.imp_strict(a))

    def choose(self, where: PacketSet, then: PacketSet, otherwise: PacketSet) -> PacketSet:
        """Return what is in one set where a condition holds, and in the other where it does not."""
        try:
            return where.ite(then, otherwise)
        except DDMemoryError:
            return self._again(lambda: where.ite(then, otherwise))

    def _without(self, a: PacketSet, variables: PacketSet) -> PacketSet:
        try:
            return a.exists(variables)
        except DDMemoryError:
            return self._again(lambda: a.exists(variables))

    def tidy(self) -> None:
        """Forget diagrams that nobody needs, if there may be many of them."""
        manager = self._manager
        if manager.approx_num_inner_nodes() > self._collect_from:
            manager.gc()
            self._collect_from = max(_COLLECT_FROM, 2 * manager.approx_num_inner_nodes())

    # Sets.

    def term(self, field: str, value: int, mask: int) -> PacketSet:
        """Return the packets whose field has a value in the bits of a mask."""
        key = field, value, mask
        found = self._terms.get(key)
        if found is None:
            if len(self._terms) >= _MOST_TERMS:
                self._terms.clear()
            found = self._terms[key] = self._term(field, value, mask)
        return found

    def _term(self, field: str, value: int, mask: int) -> PacketSet:
        first, bits = self._first[field], BY_NAME[field].bits
        found = self.everything
        for low in range(0, bits, 8):  # from the bottom of the diagram up
            size = min(8, bits - low)
            looked_at = mask >> low & ((1 << size) - 1)
            if looked_at:
                part = self._byte(first + bits - low - size, size, value >> low & looked_at, looked_at)
                found = self.meet(part, found)
        return found

    def _byte(self, first: int, size: int, value: int, mask: int) -> PacketSet:
        key = first, value, mask
        found = self._bytes.get(key)
        if found is None:
            found = self.everything
            for bit in range(size):
                if mask >> bit & 1:
                    index = first + size - 1 - bit
                    found = self.meet(self._set[index] if value >> bit & 1 else self._clear[index], found)
            self._bytes[key] = found
        return found

    def span(self, field: str, least: int, most: int) -> PacketSet:
        """Return the packets whose field is between two values, or is one of them."""
        first, bits = self._first[field], BY_NAME[field].bits
        above = below = self.everything
        for bit in range(bits):
            index = first + bits - 1 - bit
            above = (self.meet if least >> bit & 1 else self.join)(self._set[index], above)
            below = (self.join if most >> bit & 1 else self.meet)(self._clear[index], below)
        return self.meet(above, below)

    def match(self, match: Match) -> PacketSet:
        """Return the packets that a match accepts, wherever they come in."""
        found = self.everything
        first = self._first
        terms = [term for term in match.terms if term.field in first]
        for term in sorted(terms, key=lambda term: -first[term.field]) if len(terms) > 1 else terms:
            found = self.meet(self.term(*term), found)
        return found

    def cube(self, cube: Cube) -> PacketSet:
        """Return the packets of a cube, wherever they come in."""
        values, masks = fields_of(cube[0]), fields_of(cube[1])
        found = self.everything
        for name in reversed(ORDER):
            mask = masks.get(name)
            if mask:
                found = self.meet(self.term(name, values.get(name, 0) & mask, mask), found)
        return found

    def preimage(self, packets: PacketSet, written: int, values: int) -> PacketSet:
        """Return the packets that a write brings into a set (see `header_space`)."""
        at_them = self.meet(packets, self.cube((values & written, written)))
        return self._without(at_them, self._variables(written))

    def image(self, packets: PacketSet, written: int, values: int) -> PacketSet:
        """Return what a write makes of the packets of a set."""
        return self.meet(
            self._without(packets, self._variables(written)), self.cube((values & written, written))
        )

    def _variables(self, mask: int) -> PacketSet:
        variables = self._written.get(mask)
        if variables is None:
            masks = fields_of(mask)
            variables = self._written[mask] = self._together(
                [
                    self._set[first + BY_NAME[name].bits - 1 - bit]
                    for name, first in self._first.items()
                    for bit in reversed(range(BY_NAME[name].bits))
                    if masks.get(name, 0) >> bit & 1
                ]
            )
        return variables

    # Numbers.

    def numbered(self, number: int) -> PacketSet:
        """Return the relation of every packet to a number."""
        found = self._numbers.get(number)
        if found is None:
            found = self.everything
            for bit in range(NUMBER_BITS):
                index = self.width + NUMBER_BITS - 1 - bit
                found = self.meet(self._set[index] if number >> bit & 1 else self._clear[index], found)
            self._numbers[number] = found
        return found

    def numbers(self, relation: PacketSet, packets: PacketSet) -> list[int]:
        """Return the numbers that packets of a set have."""
        found: list[int] = []
        nothing, width = self.nothing, self.width
        left = [(self._without(self.meet(relation, packets), self._header), 0, 0)]
        while left:
            rest, number, level = left.pop()
            if rest == nothing:
                continue
            if level == NUMBER_BITS:
                found.append(number)
                continue
            halves = rest.cofactors() if rest.node_var() == width + level else None
            high, low = halves if halves is not None else (rest, rest)
            left.append((low, number << 1, level + 1))
            left.append((high, number << 1 | 1, level + 1))
        return found

    def number_of(self, relation: PacketSet, header: int) -> int | None:
        """Return the number of one packet, if it has one."""
        found = self.numbers(relation, self.packet(header))
        return found[0] if found else None

    # Single packets.

    def packet(self, header: int) -> PacketSet:
        """Return the set of one packet."""
        return self.cube((header, _EVERY_BIT))

    def has(self, packets: PacketSet, header: int) -> bool:
        """Tell whether a packet is in a set."""
        bits = self._bits(fields_of(header))
        while (halves := packets.cofactors()) is not None:
            variable = packets.node_var()
            assert variable is not None
            packets = halves[0] if bits[variable] else halves[1]
        return packets != self.nothing

    def witness(self, packets: PacketSet, usual: int, within: Cube = (0, 0)) -> int | None:
        """Return a packet of a set that is as like a usual one as can be, or None of no packets.

        The first fields count most, and the highest bits of a field; so it is found on one way down.  That is
        shorter where a cube is known that the set is within.
        """
        if packets == self.nothing:
            return None
        fixed, mask = within
        if mask:
            packets, usual = self._without(packets, self._variables(mask)), usual & ~mask | fixed
        bits = self._usual.get(usual)
        if bits is None:
            bits = self._usual[usual] = self._bits(fields_of(usual))
        chosen = bits.copy()
        while (halves := packets.cofactors()) is not None:
            variable = packets.node_var()
            assert variable is not None
            wanted, other = halves if bits[variable] else halves[::-1]
            if wanted == self.nothing:
                wanted, chosen[variable] = other, not bits[variable]
            packets = wanted
        found: dict[str, int] = {}
        for name, first in self._first.items():
            value = 0
            for bit in chosen[first : first + BY_NAME[name].bits]:
                value = value << 1 | bit
            found[name] = value
        return header_of(found)

    def _bits(self, fields: Mapping[str, int]) -> list[bool]:
        found: list[bool] = []
        for name in ORDER:
            value, bits = fields.get(name, 0), BY_NAME[name].bits
            found += (bool(value >> bit & 1) for bit in reversed(range(bits)))
        return found

    def enclosing(self, packets: PacketSet) -> Cube:
        """Return the smallest cube that has all packets of a set."""
        values, decided = self._decided(packets)
        value = mask = 0
        for name, first in self._first.items():
            bits = range(first, first + BY_NAME[name].bits)
            value |= header_of({name: _number(values >> index & 1 for index in bits)})
            mask |= header_of({name: _number(decided >> index & 1 for index in bits)})
        return value, mask

    def _decided(self, packets: PacketSet) -> tuple[int, int]:
        """Return the variables that are the same in all packets of a set, their values first, each as a bit.

        A variable is decided below a node if it is, and alike, below both halves; a half without packets
        has no say.  So each node is looked at once, however many variables there are.
        """
        known: dict[PacketSet, tuple[int, int]] = {}
        left = [packets]
        while left:
            node = left[-1]
            halves = None if node in known else node.cofactors()
            if halves is None:
                known.setdefault(node, (0, 0))
                left.pop()
                continue
            ahead = [half for half in halves if half not in known]
            if ahead:
                left += ahead
                continue
            variable = node.node_var()
            assert variable is not None
            (high_values, high), (low_values, low) = known[halves[0]], known[halves[1]]
            if halves[1] == self.nothing:
                known[node] = high_values | 1 << variable, high | 1 << variable
            elif halves[0] == self.nothing:
                known[node] = low_values, low | 1 << variable
            else:
                both = high & low & ~(high_values ^ low_values)
                known[node] = high_values & both, both
            left.pop()
        return known[packets]

    def has_made(self, packets: PacketSet) -> bool:
        """Tell whether a set is one of this space, and not of that of a process that this one comes of."""
        return packets.manager == self._manager

    def union(self, parts: Iterable[PacketSet]) -> PacketSet:
        """Return the packets of any of some sets."""
        found = self.nothing
        for part in parts:
            found = self.join(found, part)
        return found


_EVERY_BIT: Final = (1 << WIDTH) - 1 & ~field_mask(*NOT_IN_SETS)


def _number(bits: Iterable[int]) -> int:
    found = 0
    for bit in bits:
        found = found << 1 | bit
    return found


_spaces: dict[int, PacketSpace] = {}


def packet_space() -> PacketSpace:
    """Return the space of this process; one that was forked begins a space of its own."""
    here = os.getpid()
    space = _spaces.get(here)
    if space is None:
        space = _spaces[here] = PacketSpace()
    return space


def space_of(packets: PacketSet) -> PacketSpace:
    """Return the space of a set, which may have been made before this process was forked."""
    return next(space for space in _spaces.values() if space.has_made(packets))
