"""Flow tables: immutable, in one canonical order, quick to look up and to add to.

A table is the sequence of its entries, highest priority first and by match among equals, so two
tables that forward alike entry by entry are one value however they came about.  Looking up goes
by tuple space: entries that mask the same bits share a dictionary, built when it is asked for.

Where entries of equal priority overlap the specification leaves the choice to the switch; here
the first in canonical order is taken, unless another is `preferred`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Final, cast

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

WIDEST: Final = 128
"""How many entries, or branches, a node of a table's tree has at most."""

LARGE: Final = 128
"""From how many entries on a table's index goes over to the table that comes of it."""


@dataclass(slots=True)
class _Subtable:
    """The entries that look at the same bits; the first found per value is the one to take."""

    signature: _Signature
    highest: int
    entries: dict[tuple[int, ...], FlowEntry]


class _Index:
    """Where to look entries up: by the bits that they look at, those of the highest priorities first."""

    __slots__ = ("_by_priority", "_by_signature", "shared", "subtables")

    def __init__(self, entries: Iterable[FlowEntry]) -> None:
        self._by_signature: dict[_Signature, _Subtable] = {}
        self._by_priority: dict[int, _Signature] = {}
        self.shared: set[int] = set()
        """The priorities of entries that look at different bits."""
        self.subtables: list[_Subtable] = []
        for entry in entries:
            self.add(entry)

    def add(self, entry: FlowEntry) -> None:
        """Take in an entry, in place of the one of its priority and match."""
        terms, priority = entry.match.terms, entry.priority
        signature = tuple([(term.field, term.mask) for term in terms])
        subtable = self._by_signature.get(signature)
        if subtable is None:
            subtable = self._by_signature[signature] = _Subtable(signature, priority, {})
            self.subtables.append(subtable)
            self._sort()
        elif priority > subtable.highest:
            subtable.highest = priority
            self._sort()
        values = tuple([term.value for term in terms])
        first = subtable.entries.get(values)
        if first is None or order_of(entry) <= order_of(first):
            subtable.entries[values] = entry
        if self._by_priority.setdefault(priority, signature) != signature:
            self.shared.add(priority)

    def _sort(self) -> None:
        self.subtables.sort(key=lambda subtable: -subtable.highest)


Order = tuple[int, bool, tuple[Term, ...]]


def order_of(entry: FlowEntry) -> Order:
    """Return where an entry stands in the order of look-up."""
    return -entry.priority, not entry.preferred, entry.match.terms


_Node = tuple[Any, ...]
"""A part of a table: some of its entries in order, or, further up in the tree, smaller parts in order."""


class FlowTable:
    """A set of flow entries, as an immutable value.

    It is a tree (a B+ tree), of which a table and the one that comes of it share all but one branch; so one
    more entry costs about as much in a large table as in a small one.  A small table is one node.
    """

    __slots__ = ("_contested", "_entries", "_hash", "_height", "_index", "_root", "_size", "_timeouts")

    def __init__(self, entries: Iterable[FlowEntry] = ()) -> None:
        self._build(sorted(entries, key=order_of))

    def _build(self, ordered: list[FlowEntry]) -> None:
        nodes: tuple[_Node, ...] = _divided(tuple(ordered))
        height = 0
        while len(nodes) > 1:
            nodes, height = _divided(nodes), height + 1
        self._fill(nodes[0], height, len(ordered), sum(map(hash, ordered)) & _HASHES)

    def _fill(self, root: _Node, height: int, size: int, hashed: int) -> None:
        self._root, self._height, self._size = root, height, size
        self._hash = hashed
        """The sum of the entries' hashes, which is the same however they came together."""
        self._entries: tuple[FlowEntry, ...] | None = None if height else root
        self._index: _Index | None = None
        self._contested: tuple[FlowEntry, ...] | None = None
        self._timeouts: tuple[int | None, tuple[FlowEntry, ...]] | None = None

    @property
    def entries(self) -> tuple[FlowEntry, ...]:
        """The entries in the order of look-up."""
        if self._entries is None:
            self._entries = tuple(self)
        return self._entries

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FlowTable) or self._size != other._size or self._hash != other._hash:
            return False
        return self is other or self.entries == other.entries

    def __hash__(self) -> int:
        return self._hash

    def __iter__(self) -> Iterator[FlowEntry]:
        nodes: Iterable[Any] = self._root
        for _ in range(self._height):
            nodes = chain.from_iterable(nodes)
        return iter(nodes)

    def __len__(self) -> int:
        return self._size

    def __repr__(self) -> str:
        return f"FlowTable({'; '.join(map(str, self))})"

    def lookup(self, fields: Mapping[str, int]) -> FlowEntry | None:
        """Return the entry that a packet with these fields meets, if any."""
        best: FlowEntry | None = None
        for subtable in (self._index or self._indexed()).subtables:
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
        index = self._index or self._indexed()
        if met.priority not in index.shared:
            return None
        for subtable in index.subtables:
            found = subtable.entries.get(
                tuple([fields.get(field, 0) & mask for field, mask in subtable.signature])
            )
            if found is not None and found.priority == met.priority and not _says_the_same(found, met):
                return found
        return None

    @property
    def mixed_priorities(self) -> Set[int]:
        """The priorities at which entries look at different bits; others have none that share packets."""
        return (self._index or self._indexed()).shared

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
            for entry in self
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
            ends = [entry.hard_end for entry in self if entry.hard_timeout]
            idle = tuple([entry for entry in self if entry.idle_timeout])
            self._timeouts = min(ends, default=None), idle
        return self._timeouts

    def _indexed(self) -> _Index:
        index = self._index = _Index(self)
        return index

    def _leaf(self, order: Order) -> tuple[list[tuple[_Node, int]], _Node]:
        """Return the way to where an entry is or would be (nodes, with the branch taken), and its node."""
        way, node = [], self._root
        for height in range(self._height, 0, -1):
            branch = max(bisect_right(node, order, key=lambda below: _first_order(below, height)) - 1, 0)
            way.append((node, branch))
            node = node[branch]
        return way, node

    def find(self, priority: int, match: Match) -> FlowEntry | None:
        """Return the entry of exactly this priority and match."""
        for last in (True, False):
            order = (-priority, last, match.terms)
            _, leaf = self._leaf(order)
            at = bisect_left(leaf, order, key=order_of)
            if at < len(leaf) and order_of(leaf[at]) == order:
                found: FlowEntry = leaf[at]
                return found
        return None

    def overlapping(self, priority: int, match: Match) -> FlowEntry | None:
        """Return an entry of this priority that some packet of the match would also meet."""
        for entry in self:
            if entry.priority == priority and entry.match.overlaps(match):
                return entry
        return None

    def put(self, entry: FlowEntry) -> FlowTable:
        """Return this table with an entry added, replacing the one of its priority and match."""
        table = self._changed(order_of(entry), (entry,))
        if self._index is not None and self._size >= LARGE:
            # Nobody asks the old table any more, unless a search comes back to it; then it is indexed anew.
            table._index, self._index = self._index, None
            table._index.add(entry)
        return table

    def without(self, gone: Callable[[FlowEntry], bool]) -> FlowTable:
        """Return this table without the entries that a test picks."""
        table = FlowTable.__new__(FlowTable)
        table._build([entry for entry in self if not gone(entry)])
        return table

    def without_entry(self, entry: FlowEntry) -> FlowTable:
        """Return this table without the entry of exactly this priority and match."""
        return self._changed(order_of(entry), ())

    def _changed(self, order: Order, new: tuple[FlowEntry, ...]) -> FlowTable:
        """Return this table with an entry, or none, where there may have been another."""
        way, leaf = self._leaf(order)
        at = bisect_left(leaf, order, key=order_of)
        old: _Node = leaf[at : at + 1] if at < len(leaf) and order_of(leaf[at]) == order else ()
        nodes: tuple[_Node, ...] = _divided((*leaf[:at], *new, *leaf[at + len(old) :]))
        for node, branch in reversed(way):
            nodes = _divided((*node[:branch], *filter(None, nodes), *node[branch + 1 :]))
        size = self._size + len(new) - len(old)
        hashed = (self._hash + sum(map(hash, new)) - sum(map(hash, old))) & _HASHES
        table = FlowTable.__new__(FlowTable)
        if len(nodes) == 1:
            table._fill(nodes[0], self._height, size, hashed)
        else:
            table._fill(nodes, self._height + 1, size, hashed)
        if table._height and size <= WIDEST:
            table._fill(table.entries, 0, size, hashed)
        return table


_HASHES: Final = (1 << 61) - 1


def _first_order(node: _Node, height: int) -> Order:
    """Return where the first entry below a branch stands that is at a height."""
    for _ in range(height):
        node = node[0]
    return order_of(cast("FlowEntry", node))


def _divided(parts: _Node) -> tuple[_Node, ...]:
    """Return entries or nodes as one node, or, if they are too many, as few of about the same width."""
    if len(parts) <= WIDEST:
        return (parts,)
    width = -(-len(parts) // -(-len(parts) // WIDEST))
    return tuple(parts[start : start + width] for start in range(0, len(parts), width))


def _says_the_same(one: FlowEntry, other: FlowEntry) -> bool:
    return one is other or one.instructions == other.instructions


def _contests(one: FlowEntry, other: FlowEntry) -> bool:
    """Tell whether a packet could meet either of two entries, and they say different things."""
    return (
        one.priority == other.priority and not _says_the_same(one, other) and one.match.overlaps(other.match)
    )


EMPTY_TABLE = FlowTable()
