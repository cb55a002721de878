"""Flow tables as elements of a partition: one for each port that entries name, and one for all others.

`in_port` is no part of what a packet is, so a table that asks for it is several elements.  An entry that
names a port stands in that port's element, any other in all of them; the element of a port begins as a copy
of that of all others when an entry first names it.

What an element does with a class is the *behaviour* of the entry that the class meets: its instructions.
Entries of the same instructions have the same behaviour, so classes that only they tell apart are one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from penstock._forwarding.classes import Partition
from penstock._forwarding.header_space import Cube, cube_of, field_mask
from penstock._forwarding.sets import PacketSet
from penstock._forwarding.tables import Change, Rule, RuleTable
from penstock._world.switch.flow_table import FlowEntry, order_of
from penstock.openflow.actions import Action, ApplyActions, Instruction, WriteActions
from penstock.openflow.match import Match

_PORTS: Final = field_mask("in_port", "in_phy_port")


class Behaviour:
    """Instructions, and all actions among them; there is one object of each."""

    __slots__ = ("actions", "instructions")

    def __init__(self, instructions: tuple[Instruction, ...]) -> None:
        self.instructions = instructions
        lists = [i.actions for i in instructions if isinstance(i, ApplyActions | WriteActions)]
        self.actions: tuple[Action, ...] = tuple(action for some in lists for action in some)


class Behaviours:
    """All behaviours that entries have, or had."""

    def __init__(self) -> None:
        self._known: dict[tuple[Instruction, ...], Behaviour] = {}

    def of(self, entry: FlowEntry) -> Behaviour:
        """Return the behaviour of an entry."""
        found = self._known.get(entry.instructions)
        if found is None:
            found = self._known[entry.instructions] = Behaviour(entry.instructions)
        return found


class EntryRule(Rule):
    """A flow entry as a rule of an element."""

    __slots__ = ("entry",)

    def __init__(self, entry: FlowEntry, packets: PacketSet, behaviour: Behaviour | None) -> None:
        super().__init__(order_of(entry), without_port(entry.match), packets, behaviour)
        self.entry = entry


def without_port(match: Match) -> Cube:
    """Return the packets of a match wherever they come in, as a cube."""
    value, mask = cube_of(match)
    return value & ~_PORTS, mask & ~_PORTS


def named_port(match: Match) -> int | None:
    """Return the port that packets of a match come in by, if it names one."""
    term = match.get("in_port")
    return term.value if term is not None else None


class TableElements:
    """One flow table of a switch."""

    def __init__(
        self, partition: Partition, behaviours: Behaviours, place: tuple[str, int], owners: dict[int, str]
    ) -> None:
        self._partition, self._behaviours, self._owners = partition, behaviours, owners
        self.place = place
        self.entries: dict[tuple[int, Match], FlowEntry] = {}
        self._elements: dict[int | None, int] = {None: partition.new_element()}
        self._tables: dict[int | None, RuleTable[EntryRule]] = {
            None: RuleTable(partition.space, partition.universe)
        }
        owners[self._elements[None]] = place[0]

    def __str__(self) -> str:
        return f"{self.place[0]} table {self.place[1]}"

    @property
    def names_ports(self) -> bool:
        """Whether some entry ever asked for a port."""
        return len(self._elements) > 1

    def element(self, port: int) -> int:
        """Return the element that packets from a port come to."""
        found = self._elements.get(port)
        return self._elements[None] if found is None else found

    def elements(self) -> Iterable[int]:
        """Return all elements of the table."""
        return self._elements.values()

    def rules(self, port: int) -> RuleTable[EntryRule]:
        """Return the rules that packets from a port may meet."""
        found = self._tables.get(port)
        return self._tables[None] if found is None else found

    def region(self, port: int, behaviour: Behaviour | None) -> PacketSet:
        """Return the packets from a port that have a behaviour."""
        rules = self.rules(port)
        if behaviour is None:
            return rules.missed
        return self._partition.space.union(rule.hit for rule in rules if rule.behaviour is behaviour)

    def sharing(self, match: Match) -> list[FlowEntry]:
        """Return the entries that share packets with a match, which may be that of one of them."""
        port, cube = named_port(match), without_port(match)
        tables = self._tables.values() if port is None else [self.rules(port)]
        return list({id(r.entry): r.entry for table in tables for r in table.overlapping(cube)}.values())

    def is_hit(self, entry: FlowEntry) -> bool:
        """Tell whether the entries before one leave it packets."""
        order, cube, nothing = order_of(entry), without_port(entry.match), self._partition.space.nothing
        rules = (self._tables[where].find(order, cube) for where in self._standing(named_port(entry.match)))
        return any(rule is not None and rule.hit != nothing for rule in rules)

    def put(self, entry: FlowEntry) -> None:
        """Add an entry, in place of the one of its priority and match."""
        key = entry.priority, entry.match
        old = self.entries.get(key)
        if old is not None and (order_of(old) != order_of(entry)):
            self.remove(*key)
            old = None
        self.entries[key] = entry
        behaviour = self._behaviours.of(entry)
        port = named_port(entry.match)
        if old is not None:
            for where in self._standing(port):
                table = self._tables[where]
                rule = table.find(order_of(entry), without_port(entry.match))
                assert rule is not None
                rule.entry = entry
                self._carry_out(where, table.replace(rule, behaviour))
            return
        if port is not None and port not in self._elements:
            self._tables[port] = self._tables[None].clone()
            element = self._elements[port] = self._partition.copy_element(self._elements[None])
            self._owners[element] = self.place[0]
        space = self._partition.space
        inner = entry.match.get("in_phy_port")
        packets = space.nothing if inner is not None and inner.value else space.match(entry.match)
        for where in self._standing(port):
            self._carry_out(where, self._tables[where].add(EntryRule(entry, packets, behaviour)))

    def remove(self, priority: int, match: Match) -> bool:
        """Take an entry out; tell whether there was one."""
        entry = self.entries.pop((priority, match), None)
        if entry is None:
            return False
        for where in self._standing(named_port(match)):
            table = self._tables[where]
            rule = table.find(order_of(entry), without_port(match))
            assert rule is not None
            self._carry_out(where, table.remove(rule))
        return True

    def _standing(self, port: int | None) -> list[int | None]:
        return [*self._tables] if port is None else [port]

    def _carry_out(self, where: int | None, changes: list[Change]) -> None:
        for change in changes:
            self._partition.move(self._elements[where], change.behaviour, change.packets)
