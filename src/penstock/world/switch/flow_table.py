"""Flow tables: immutable, in one canonical order, quick to look up.

A table is the tuple of its entries, highest priority first and by match among equals, so two
tables that forward alike entry by entry are one value however they came about.  Looking up goes
by tuple space: entries that mask the same bits share a dictionary, built once per table value.

Where entries of equal priority overlap the specification leaves the choice to the switch; here
the first in canonical order is taken, unless another is `preferred`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from penstock.openflow.actions import Instruction, instructions_text
from penstock.openflow.match import Match, Term


@dataclass(frozen=True, slots=True)
class FlowEntry:
    """One rule; its counters are kept beside the table (see `state.Usage`)."""

    priority: int
    match: Match
    instructions: tuple[Instruction, ...] = ()
    cookie: int = 0
    flags: int = 0
    idle_timeout: int = 0
    hard_timeout: int = 0
    created: int = 0
    modified: int = 0
    preferred: bool = False
    """Whether the switch uses it before others of its priority: which one it uses is its own choice."""

    @property
    def hard_end(self) -> int:
        """The moment at which the hard timeout ends, where there is one."""
        return self.modified + self.hard_timeout * 1000

    @property
    def is_table_miss(self) -> bool:
        """Tell whether this is 1.3's entry for packets that nothing else matches."""
        return self.priority == 0 and not self.match.terms

    def __str__(self) -> str:
        return f"priority={self.priority} {self.match} -> {instructions_text(self.instructions)}"


_Signature = tuple[tuple[str, int], ...]


@dataclass(slots=True)
class _Subtable:
    """The entries that look at the same bits; the first found per value is the one to take."""

    signature: _Signature
    highest: int
    entries: dict[tuple[int, ...], FlowEntry]


Order = tuple[int, bool, tuple[Term, ...]]


def order_of(entry: FlowEntry) -> Order:
    """Return where an entry stands in the order of look-up."""
    return -entry.priority, not entry.preferred, entry.match.terms


class FlowTable:
    """A set of flow entries, as an immutable value."""

    __slots__ = ("_contested", "_hash", "_shared", "_subtables", "_timeouts", "entries")

    entries: tuple[FlowEntry, ...]

    def __init__(self, entries: Iterable[FlowEntry] = ()) -> None:
        self._fill(tuple(sorted(entries, key=order_of)))

    def _fill(self, entries: tuple[FlowEntry, ...]) -> None:
        self.entries = entries
        self._hash: int | None = None
        self._subtables: list[_Subtable] | None = None
        self._shared: frozenset[int] = frozenset()
        """The priorities of entries that look at different bits, once there is an index."""
        self._contested: tuple[FlowEntry, ...] | None = None
        self._timeouts: tuple[int | None, tuple[FlowEntry, ...]] | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FlowTable) and self.entries == other.entries

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(self.entries)
        return self._hash

    def __iter__(self) -> Iterator[FlowEntry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __repr__(self) -> str:
        return f"FlowTable({'; '.join(map(str, self.entries))})"

    def lookup(self, fields: Mapping[str, int]) -> FlowEntry | None:
        """Return the entry that a packet with these fields meets, if any."""
        best: FlowEntry | None = None
        for subtable in self._subtables if self._subtables is not None else self._index():
            if best is not None and best.priority > subtable.highest:
                break
            found = subtable.entries.get(
                tuple([fields.get(field, 0) & mask for field, mask in subtable.signature])
            )
            if found is not None and (best is None or order_of(found) < order_of(best)):
                best = found
        return best

    def rival(self, fields: Mapping[str, int], met: FlowEntry) -> FlowEntry | None:
        """Return an entry of the same priority that a packet could as well meet, and that says otherwise."""
        subtables = self._subtables if self._subtables is not None else self._index()
        if met.priority not in self._shared:
            return None
        for subtable in subtables:
            found = subtable.entries.get(
                tuple([fields.get(field, 0) & mask for field, mask in subtable.signature])
            )
            if found is not None and found.priority == met.priority and not _says_the_same(found, met):
                return found
        return None

    @property
    def contested(self) -> tuple[FlowEntry, ...]:
        """The entries that give way to another of their priority which says otherwise, for some packets."""
        if self._contested is None:
            self._contested = tuple(
                entry
                for place, entry in enumerate(self.entries)
                if any(_contests(other, entry) for other in self.entries[:place])
            )
        return self._contested

    def preferring(self, chosen: FlowEntry) -> FlowTable:
        """Return this table with an entry used before all that it shares priority and packets with."""
        return FlowTable(
            replace(entry, preferred=entry is chosen)
            if entry is chosen or (entry.preferred and _contests(chosen, entry))
            else entry
            for entry in self.entries
        )

    @property
    def first_hard_end(self) -> int | None:
        """The moment at which the first of the hard timeouts ends, if there are any."""
        return self._timed()[0]

    @property
    def idle(self) -> tuple[FlowEntry, ...]:
        """The entries that have an idle timeout."""
        return self._timed()[1]

    def _timed(self) -> tuple[int | None, tuple[FlowEntry, ...]]:
        if self._timeouts is None:
            ends = [entry.hard_end for entry in self.entries if entry.hard_timeout]
            idle = tuple([entry for entry in self.entries if entry.idle_timeout])
            self._timeouts = min(ends, default=None), idle
        return self._timeouts

    def _index(self) -> list[_Subtable]:
        by_signature: dict[_Signature, _Subtable] = {}
        by_priority: dict[int, _Signature] = {}
        shared: set[int] = set()
        for entry in self.entries:
            terms = entry.match.terms
            signature = tuple((term.field, term.mask) for term in terms)
            subtable = by_signature.get(signature)
            if subtable is None:
                subtable = by_signature[signature] = _Subtable(signature, entry.priority, {})
            subtable.entries.setdefault(tuple(term.value for term in terms), entry)
            signatures = by_priority.setdefault(entry.priority, signature)
            if signatures != signature:
                shared.add(entry.priority)
        self._subtables = list(by_signature.values())
        self._shared = frozenset(shared)
        return self._subtables

    def _place(self, order: Order) -> tuple[int, bool]:
        """Return where an entry stands or would stand, and whether it is there."""
        at = bisect_left(self.entries, order, key=order_of)
        return at, at < len(self.entries) and order_of(self.entries[at]) == order

    def find(self, priority: int, match: Match) -> FlowEntry | None:
        """Return the entry of exactly this priority and match."""
        for last in (True, False):
            at, there = self._place((-priority, last, match.terms))
            if there:
                return self.entries[at]
        return None

    def overlapping(self, priority: int, match: Match) -> FlowEntry | None:
        """Return an entry of this priority that some packet of the match would also meet."""
        for entry in self.entries:
            if entry.priority == priority and entry.match.overlaps(match):
                return entry
        return None

    def put(self, entry: FlowEntry) -> FlowTable:
        """Return this table with an entry added, replacing the one of its priority and match."""
        at, there = self._place(order_of(entry))
        table = FlowTable.__new__(FlowTable)
        table._fill((*self.entries[:at], entry, *self.entries[at + there :]))
        return table

    def without(self, gone: Callable[[FlowEntry], bool]) -> FlowTable:
        """Return this table without the entries that a test picks."""
        table = FlowTable.__new__(FlowTable)
        table._fill(tuple([entry for entry in self.entries if not gone(entry)]))
        return table


def _says_the_same(one: FlowEntry, other: FlowEntry) -> bool:
    return one is other or one.instructions == other.instructions


def _contests(one: FlowEntry, other: FlowEntry) -> bool:
    """Tell whether a packet could meet either of two entries, and they say different things."""
    return (
        one.priority == other.priority and not _says_the_same(one, other) and one.match.overlaps(other.match)
    )


EMPTY_TABLE = FlowTable()
