"""Rules between which a switch may choose: equal priority, a packet that meets both, and different effects.

Which of several matching entries of the same highest priority a switch uses is "explicitly undefined"
(specification 1.3 §5.3).  That is harmless where no packet gets to meet both, or where both do the same with
all that do; so it is decided by packets:

1. Pairs of entries of one table and priority whose cubes meet, and whose instructions differ.
2. The packets that come to the table: any frame at any port, through the tables before it, as exact sets.
3. What each of the two has done with those that meet both and no entry of higher priority, to the end of the
   pipeline (`crossing`), part by part.
4. A packet in a part of both with which the two do different things: they send it elsewhere, otherwise, or
   through other meters.

The packet is then sent through the switch itself, once with each of the two entries gone, so what is
told is what happens.  Ports count as up, whatever became of their cables.  The frames thought of are those
of `kinds`; what is not followed (MPLS labels put on or taken off, a second tag) is counted in `Audit.open`,
as are pairs that take more than `MOST_FLOWS` sets of packets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Final, NamedTuple, assert_never

from penstock._forwarding.crossing import (
    Exit,
    GoesOn,
    Leaves,
    Part,
    Site,
    ToController,
    Unfollowed,
    Writes,
    parts,
)
from penstock._forwarding.frames import frame_of
from penstock._forwarding.header_space import EVERYTHING, Cube, cube_of, meet, packed, pulled_back
from penstock._forwarding.kinds import TTL, all_packets, example, usual_header
from penstock._forwarding.sets import PacketSet, packet_space
from penstock._forwarding.steps import LOCAL, packets_of
from penstock._forwarding.tables import Rule, RuleTable
from penstock._world.component import Send
from penstock._world.frame import Frame
from penstock._world.switch import pipeline
from penstock._world.switch.flow_table import FlowEntry, FlowTable, order_of
from penstock._world.switch.state import PortStatus, SwitchState
from penstock._world.switch.turn import Chassis, Turn
from penstock.openflow.actions import Action, UseMeter
from penstock.openflow.messages import PortNo
from penstock.packet import describe

MOST_FLOWS: Final = 3000
"""How many sets of packets are followed for one pair of entries before it is left open."""

MOST_MEETINGS: Final = 2_000_000
"""How many times it is asked which packets meet an entry before it is left open which entries are met."""

_USUAL: Final = usual_header(1, 0x0A000001)
_UP: Final = PortStatus()


class Ambiguity(NamedTuple):
    """Two entries, and a frame that meets both when it comes in by a port."""

    table: int
    first: FlowEntry
    second: FlowEntry
    port: int
    frame: bytes

    def told(self, switch: str) -> str:
        """Return what is wrong, in a sentence."""
        return (
            f"{switch} has two rules of priority {self.first.priority} in table {self.table} for "
            f"{describe(self.frame)} from port {self.port}, which do different things, and which of them it "
            f"uses is undefined: {self.first}, and {self.second}."
        )


class _Class(NamedTuple):
    """Packets that come to a table, having come in by a port; sets are of packets as they were sent."""

    packets: PacketSet
    writes: Writes
    action_set: tuple[Action, ...]


class _End(NamedTuple):
    """Packets of which all copies go the same ways out, through the same meters."""

    packets: PacketSet
    exits: tuple[Leaves | ToController, ...]
    meters: tuple[int, ...]


class _EntryRule(Rule):
    """A flow entry, with the whole cube of its match: the port is a part of it here."""

    __slots__ = ("entry",)

    def __init__(self, entry: FlowEntry) -> None:
        super().__init__(order_of(entry), cube_of(entry.match), packet_space().nothing, None)
        self.entry = entry


_Rules = RuleTable[_EntryRule]


class _TooMany(Exception):
    """There are more classes of packets than are followed."""


Pair = tuple[_EntryRule, _EntryRule]


def clashes(table: FlowTable) -> bool:
    """Tell whether entries of one priority share packets and are not the same in all they do."""
    mixed = table.mixed_priorities
    if not mixed:
        return False
    return next(_pairs(_rules_of(entry for entry in table if entry.priority in mixed)), None) is not None


def _rules_of(entries: Iterable[FlowEntry]) -> _Rules:
    """Return entries as a table that finds overlaps; which packets they hit is not worked out."""
    space = packet_space()
    table: _Rules = RuleTable(space, space.nothing)
    for entry in entries:
        table.index(_EntryRule(entry))
    return table


def differ(one: FlowEntry, other: FlowEntry) -> bool:
    """Tell whether entries of one priority may do different things, as far as their texts say."""
    return one.priority == other.priority and one.instructions != other.instructions


def _pairs(table: _Rules) -> Iterator[Pair]:
    for rule in table:
        for other in table.overlapping(rule.cube):
            if rule < other and differ(rule.entry, other.entry):
                yield rule, other


class Audit:
    """Looks for ambiguities in the tables that a switch has now."""

    def __init__(self, chassis: Chassis, state: SwitchState, arriving: Iterable[int] | None = None) -> None:
        """Look at what comes in by some ports, which are those with cables unless others are told."""
        self._arriving_by = sorted((spec.number for spec in chassis.ports) if arriving is None else arriving)
        ports = {number: _UP if number != PortNo.LOCAL else status for number, status in state.ports.items()}
        # Meters may hold a packet back, and counters would be counted twice.
        options = replace(chassis.options, counters=False, meters="pass", overruns=0, reorder="none")
        self._chassis = replace(chassis, options=options)
        self._state = replace(state, ports=type(state.ports)(ports), powered=True)
        self._site = Site(self._chassis, self._state)
        self._tables = {number: _rules_of(table) for number, table in state.tables.items()}
        self._space = packet_space()
        self._sent_packets = self._space.meet(all_packets(self._space), self._space.cube((0, LOCAL)))
        self._flows, self._lost_sight = 0, False
        self.open = 0
        """How many pairs of entries could not be judged."""

    def ambiguities(self) -> Iterator[Ambiguity]:
        """Yield one ambiguity for each pair of entries that has one."""
        for number, table in [*self._tables.items()]:
            for pair in _pairs(table):
                found = self._judged(number, *pair)
                if found is not None:
                    yield found

    def _judged(self, number: int, one: _EntryRule, other: _EntryRule) -> Ambiguity | None:
        self._flows, self._lost_sight = MOST_FLOWS, False
        try:
            for port in self._arriving_by:
                for flow in self._arriving(number, port):
                    header = self._differing(number, one, other, port, flow)
                    if header is not None:
                        return Ambiguity(number, one.entry, other.entry, port, frame_of(header & ~LOCAL))
        except _TooMany:
            self._lost_sight = True
        self.open += self._lost_sight
        return None

    # Which rules are met at all.

    def met(self) -> tuple[set[tuple[int, FlowEntry]], bool]:
        """Return the entries that some packet meets, with their tables, and whether that is known of all.

        Some may be met by packets that could not be followed so far.  Of rules of one priority a switch may
        use any, so none of them takes packets from another here.
        """
        found: set[tuple[int, FlowEntry]] = set()
        self._flows, self._lost_sight = MOST_MEETINGS, False
        try:
            for port in sorted(self._state.ports):
                self._note_met(port, found)
        except _TooMany:
            self._lost_sight = True
        return found, not self._lost_sight

    def _note_met(self, port: int, found: set[tuple[int, FlowEntry]]) -> None:
        begin = Writes(LOCAL, packed("in_port", port), TTL), ()
        # Packets go on to later tables only; those that come to one alike are followed together.
        ahead: dict[int, dict[tuple[Writes, tuple[Action, ...]], PacketSet]] = {
            0: {begin: self._sent_packets}
        }
        while ahead:
            at = min(ahead)
            for (writes, action_set), packets in ahead.pop(at).items():
                for rule, met in self._meeting(at, _Class(packets, writes, action_set), found):
                    if rule is None:
                        continue
                    for part, some in self._parts(rule, port, met):
                        _, onward = self._sorted_out(part.exits)
                        if onward is not None:
                            there = ahead.setdefault(onward.table, {})
                            key = onward.writes, onward.action_set
                            there[key] = self._space.join(there.get(key, self._space.nothing), some)

    # What comes to a table.

    def _arriving(self, number: int, port: int) -> Iterator[_Class]:
        """Yield the packets that come to a table from a port."""
        first = _Class(self._sent_packets, Writes(LOCAL, packed("in_port", port), TTL), ())
        ahead = [(0, first)]
        while ahead:
            at, flow = ahead.pop()
            if at == number:
                yield flow
            elif at < number:
                ahead += self._onward(at, port, flow)

    def _onward(self, at: int, port: int, flow: _Class) -> Iterator[tuple[int, _Class]]:
        for rule, met in self._meeting(at, flow):
            if rule is None:
                continue
            for part, packets in self._parts(rule, port, met):
                _, onward = self._sorted_out(part.exits)
                if onward is not None:
                    yield onward.table, _Class(packets, onward.writes, onward.action_set)

    def _parts(self, rule: _EntryRule | None, port: int, flow: _Class) -> Iterator[tuple[Part, PacketSet]]:
        """Yield what becomes of packets that meet a rule, or none, each with those packets."""
        instructions = None if rule is None else rule.entry.instructions
        for part in parts(self._site, instructions, port, flow.writes, flow.action_set):
            packets = self._space.meet(flow.packets, packets_of(self._space, part))
            if packets != self._space.nothing:
                yield part, packets

    def _asked_for(self, rule: _EntryRule, writes: Writes) -> PacketSet:
        """Return the packets that a rule asks for, as they were sent."""
        wanted = pulled_back(rule.cube, writes.written, writes.values)
        return self._space.nothing if wanted is None else self._space.cube(wanted)

    def _meeting(
        self, at: int, flow: _Class, usable: set[tuple[int, FlowEntry]] | None = None
    ) -> Iterator[tuple[_EntryRule | None, _Class]]:
        """Yield the rules that packets meet in a table, and none, each with those packets.

        Rules that a switch may use instead, being of the same priority, are added to those that are usable.
        """
        table = self._tables.get(at)
        if table is None:
            table = self._tables[at] = _rules_of(())
        space, rest = self._space, flow.packets
        written, values, _ = flow.writes
        priority, left = -1, rest
        for rule in (*sorted(table.overlapping((values & written, written))), None):
            if rule is None or rule.entry.priority != priority:
                if rest == space.nothing:
                    return
                priority, left = -1 if rule is None else rule.entry.priority, rest
            elif rest == space.nothing and usable is None:
                return
            self._flows -= 1
            if not self._flows:
                raise _TooMany
            asked = space.everything if rule is None else self._asked_for(rule, flow.writes)
            if usable is not None and rule is not None and space.meet(left, asked) != space.nothing:
                usable.add((at, rule.entry))
            met = space.meet(rest, asked)
            if met != space.nothing:
                rest = space.less(rest, met)
                yield rule, flow._replace(packets=met)

    # What two rules do with it.

    def _differing(
        self, number: int, one: _EntryRule, other: _EntryRule, port: int, flow: _Class
    ) -> int | None:
        """Return a packet that meets two rules, and with which they do different things."""
        space, packets = self._space, flow.packets
        for rule in (one, other):
            packets = space.meet(packets, self._asked_for(rule, flow.writes))
        for above in self._tables[number].overlapping(one.cube) if packets != space.nothing else ():
            if above.entry.priority > one.entry.priority:
                packets = space.less(packets, self._asked_for(above, flow.writes))
        if packets == space.nothing:
            return None
        both = flow._replace(packets=packets)
        ends = [[*self._ends(rule, port, both)] for rule in (one, other)]
        for first, second in product(*ends):
            told_apart = self._told_apart(first, second)
            if told_apart == space.nothing:
                continue
            header = example(space, told_apart, _USUAL)
            metered = first.meters != second.meters
            if metered or self._acts_apart(number, one.entry, other.entry, port, header):
                return header
        return None

    def _ends(self, rule: _EntryRule, port: int, flow: _Class) -> Iterator[_End]:
        """Yield what becomes of packets that a rule is used for, part by part."""
        ahead: list[tuple[_EntryRule | None, _Class, tuple[Leaves | ToController, ...], tuple[int, ...]]] = [
            (rule, flow, (), ())
        ]
        while ahead:
            met, here, exits, meters = ahead.pop()
            if met is not None:
                meters += tuple(i.meter_id for i in met.entry.instructions if isinstance(i, UseMeter))
            for part, packets in self._parts(met, port, here):
                sent, onward = self._sorted_out(part.exits)
                if sent is None:
                    continue
                if onward is None:
                    yield _End(packets, (*exits, *sent), meters)
                    continue
                later = _Class(packets, onward.writes, onward.action_set)
                ahead += (
                    (rule, flow, (*exits, *sent), meters) for rule, flow in self._meeting(onward.table, later)
                )

    def _sorted_out(
        self, exits: tuple[Exit, ...]
    ) -> tuple[list[Leaves | ToController] | None, GoesOn | None]:
        """Return what an entry sends, if that is known, and where the packets go on, if they do."""
        sent: list[Leaves | ToController] = []
        onward: GoesOn | None = None
        for way_out in exits:
            match way_out:
                case Unfollowed():
                    self._lost_sight = True
                    return None, None
                case GoesOn():
                    onward = way_out
                case Leaves() | ToController():
                    sent.append(way_out)
                case _:
                    assert_never(way_out)
        return sent, onward

    def _told_apart(self, one: _End, other: _End) -> PacketSet:
        """Return the packets of two parts whose ways out are not the same, as far as they seem to differ."""
        shared = self._space.meet(one.packets, other.packets)
        alike = _alike(one.exits, other.exits) if one.meters == other.meters else None
        # Where all seem alike, meters and copies may still tell them apart; the switch itself is asked.
        if shared == self._space.nothing or alike is None or alike == EVERYTHING:
            return shared
        return self._space.less(shared, self._space.cube(alike))

    def _acts_apart(self, number: int, one: FlowEntry, other: FlowEntry, port: int, header: int) -> bool:
        """Tell whether the switch does different things with a packet by one entry and by the other."""
        frame = Frame(frame_of(header & ~LOCAL))
        return self._sent(number, one, port, frame) != self._sent(number, other, port, frame)

    def _sent(self, number: int, chosen: FlowEntry, port: int, frame: Frame) -> list[str]:
        """Return what the switch sends if of all entries of a priority only the chosen one is there."""
        tables = self._state.tables
        kept = tables[number].without(
            lambda entry: entry.priority == chosen.priority and entry.match != chosen.match
        )
        turn = Turn(self._chassis, replace(self._state, tables=tables.set(number, kept)))
        pipeline.receive(turn, port, frame)
        return sorted(map(_sending, turn.sends))


def _sending(send: Send) -> str:
    """Return what is sent, without what only names the entry that sent it."""
    message = send.message
    data = message.data if isinstance(message, Frame) else getattr(message, "data", b"")
    aside = getattr(message, "match", "")
    return f"{send.port} {data.hex()} {aside}"


def _alike(one: tuple[Leaves | ToController, ...], other: tuple[Leaves | ToController, ...]) -> Cube | None:
    """Return the packets that go the same ways out in both cases, or None if none do."""
    if len(one) != len(other):
        return None
    found: Cube | None = EVERYTHING
    for first, second in zip(sorted(one, key=_way), sorted(other, key=_way), strict=True):
        same = _equally_written(first, second) if _place(first) == _place(second) else None
        found = None if found is None or same is None else meet(found, same)
    return found


def _place(way_out: Leaves | ToController) -> tuple[int, bool]:
    return (way_out.port if isinstance(way_out, Leaves) else int(PortNo.CONTROLLER)), way_out.perhaps


def _way(way_out: Leaves | ToController) -> tuple[tuple[int, bool], Writes]:
    return _place(way_out), way_out.writes


def _equally_written(one: Leaves | ToController, other: Leaves | ToController) -> Cube | None:
    """Return the packets that are the same after the writes of one way out as after those of another."""
    # What travels with no packet makes no difference on a wire.
    kept = ~LOCAL if isinstance(one, Leaves) else ~0
    (written, values, ttl), (others_written, others_values, others_ttl) = one.writes, other.writes
    if ttl != others_ttl or (values ^ others_values) & written & others_written & kept:
        return None
    only = (written ^ others_written) & kept
    return (values | others_values) & only, only


def find_ambiguity(chassis: Chassis, state: SwitchState) -> Ambiguity | None:
    """Return an ambiguity of a switch's tables, if there is one."""
    if not any(map(clashes, state.tables.values())):
        return None
    return next(Audit(chassis, state).ambiguities(), None)


def all_ambiguities(chassis: Chassis, state: SwitchState) -> Mapping[str, Ambiguity]:
    """Return the ambiguities of a switch's tables, each under the names of its entries."""
    if not any(map(clashes, state.tables.values())):
        return {}
    found = Audit(chassis, state).ambiguities()
    return {
        f"table {one.table} {one.first.priority} {one.first.match} {one.second.match}": one for one in found
    }
