"""Rules between which a switch may choose: equal priority, a packet that meets both, and different effects.

Which of several matching entries of the same highest priority a switch uses is "explicitly undefined"
(specification 1.3 §5.3).  That is harmless where no packet gets to meet both, or where both do the same with
all that do; so it is decided by packets:

1. Pairs of entries of one table and priority whose cubes meet, and whose instructions differ.
2. The classes of packets that come to the table: any frame at any port, through the tables before it.
3. What each of the two has done with such a class, to the end of the pipeline (`crossing`), part by part.
4. A packet (`searching`) in a part of both, outside of all entries of higher priority, with which the two
   do different things: they send it elsewhere, otherwise, or through other meters.

The packet is then sent through the switch itself, once with each of the two entries gone, so what is
told is what happens.  Ports count as up, whatever became of their cables.  The frames thought of are those
of `kinds`; what is not followed (MPLS labels put on or taken off, a second tag) is counted in `Audit.open`,
as are pairs that take more than `MOST_FLOWS` classes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Final, NamedTuple

from penstock._forwarding.crossing import (
    Exit,
    GoesOn,
    Leaves,
    Site,
    ToController,
    Unfollowed,
    Writes,
    parts,
)
from penstock._forwarding.forest import LOCAL
from penstock._forwarding.frames import frame_of
from penstock._forwarding.header_space import EVERYTHING, Cube, meet, packed, pulled_back
from penstock._forwarding.kinds import TTL, usual_header
from penstock._forwarding.rules import Rule, RuleTable
from penstock._forwarding.searching import Constraints, Met, Outside, Search
from penstock._world.component import Send
from penstock._world.frame import Frame
from penstock._world.switch import pipeline
from penstock._world.switch.flow_table import FlowEntry, FlowTable
from penstock._world.switch.state import PortStatus, SwitchState
from penstock._world.switch.turn import Chassis, Turn
from penstock.openflow.actions import Action, UseMeter
from penstock.openflow.messages import PortNo
from penstock.packet import describe

MOST_FLOWS: Final = 3000
"""How many classes of packets are followed for one pair of entries before it is left open."""

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
    """Packets that come to a table, having come in by a port: those of a cube that keep to constraints."""

    cube: Cube
    constraints: Constraints
    writes: Writes
    action_set: tuple[Action, ...]


class _End(NamedTuple):
    """Packets of which all copies go the same ways out, through the same meters."""

    cube: Cube
    constraints: Constraints
    exits: tuple[Leaves | ToController, ...]
    meters: tuple[int, ...]


class _NotAbove:
    """At a table, the packets meet no entry above a priority."""

    __slots__ = ("_priority", "_table", "_values", "_written")

    def __init__(self, table: RuleTable, priority: int, writes: Writes) -> None:
        self._table, self._priority = table, priority
        self._written, self._values, _ = writes

    def hole(self, header: int) -> Cube | None:
        """Return the packets of the higher entry that is met instead."""
        found = self._table.lookup(header & ~self._written | self._values)
        if found is None or found.entry.priority <= self._priority:
            return None
        return pulled_back(found.cube, self._written, self._values)


class _TooMany(Exception):
    """There are more classes of packets than are followed."""


Pair = tuple[Rule, Rule]


def clashes(table: FlowTable) -> bool:
    """Tell whether entries of one priority share packets and are not the same in all they do."""
    mixed = table.mixed_priorities
    if not mixed:
        return False
    return next(_pairs(rules_of(0, (entry for entry in table if entry.priority in mixed))), None) is not None


def rules_of(number: int, entries: Iterable[FlowEntry]) -> RuleTable:
    """Return entries as a table that finds overlaps."""
    table = RuleTable(f"table {number}")
    for entry in entries:
        table.add(entry)
    return table


def differ(one: FlowEntry, other: FlowEntry) -> bool:
    """Tell whether entries of one priority may do different things, as far as their texts say."""
    return one.priority == other.priority and one.instructions != other.instructions


def _pairs(table: RuleTable) -> Iterator[Pair]:
    for rule in table:
        for other in table.overlapping(rule.cube):
            if rule < other and differ(rule.entry, other.entry):
                yield rule, other


class Audit:
    """Looks for ambiguities in the tables that a switch has now."""

    def __init__(self, chassis: Chassis, state: SwitchState) -> None:
        ports = {number: _UP if number != PortNo.LOCAL else status for number, status in state.ports.items()}
        # Meters may hold a packet back, and counters would be counted twice.
        options = replace(chassis.options, counters=False, meters="pass", overruns=0, reorder="none")
        self._chassis = replace(chassis, options=options)
        self._state = replace(state, ports=type(state.ports)(ports), powered=True)
        self._site = Site(self._chassis, self._state)
        self._tables = {number: rules_of(number, table) for number, table in state.tables.items()}
        self._search = Search()
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

    def _judged(self, number: int, one: Rule, other: Rule) -> Ambiguity | None:
        given_up = self._search.given_up
        self._flows, self._lost_sight = MOST_FLOWS, False
        try:
            for port in sorted(spec.number for spec in self._chassis.ports):
                for flow in self._arriving(number, port):
                    header = self._differing(number, one, other, port, flow)
                    if header is not None:
                        return Ambiguity(number, one.entry, other.entry, port, frame_of(header & ~LOCAL))
        except _TooMany:
            self._lost_sight = True
        self.open += self._lost_sight or self._search.given_up > given_up
        return None

    # What comes to a table.

    def _arriving(self, number: int, port: int) -> Iterator[_Class]:
        """Yield the classes of packets that come to a table from a port."""
        first = _Class((0, LOCAL), (), Writes(LOCAL, packed("in_port", port), TTL), ())
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
            for part in parts(self._site, rule, met.cube, port, met.writes, met.action_set):
                _, onward = self._sorted_out(part.exits)
                constraints = (*met.constraints, Outside(part.outside)) if part.outside else met.constraints
                if onward is not None and self._search.find(part.cube, constraints, _USUAL) is not None:
                    yield onward.table, _Class(part.cube, constraints, onward.writes, onward.action_set)

    def _meeting(self, at: int, flow: _Class) -> Iterator[tuple[Rule | None, _Class]]:
        """Yield the rules that packets of a class meet in a table, and none, each with those packets."""
        table = self._tables.get(at)
        if table is None:
            table = self._tables[at] = rules_of(at, ())
        written, values, _ = flow.writes
        seen = flow.cube[0] & ~written | values, flow.cube[1] | written
        for rule in (*table.overlapping(seen), None):
            self._flows -= 1
            if not self._flows:
                raise _TooMany
            wanted = EVERYTHING if rule is None else pulled_back(rule.cube, written, values)
            cube = None if wanted is None else meet(flow.cube, wanted)
            if cube is not None:
                constraints = (*flow.constraints, Met(table, rule, written, values))
                yield rule, flow._replace(cube=cube, constraints=constraints)
            if rule is not None and not rule.cube[1] & ~seen[1]:
                return

    # What two rules do with it.

    def _differing(self, number: int, one: Rule, other: Rule, port: int, flow: _Class) -> int | None:
        """Return a packet of a class that meets two rules, and with which they do different things."""
        cube: Cube | None = flow.cube
        for rule in (one, other):
            wanted = pulled_back(rule.cube, flow.writes.written, flow.writes.values)
            cube = None if cube is None or wanted is None else meet(cube, wanted)
        if cube is None:
            return None
        not_above = _NotAbove(self._tables[number], one.entry.priority, flow.writes)
        both = flow._replace(cube=cube, constraints=(*flow.constraints, not_above))
        if self._search.find(cube, both.constraints, _USUAL) is None:
            return None
        ends = [[*self._ends(rule, port, both)] for rule in (one, other)]
        for first, second in product(*ends):
            header = self._told_apart(first, second)
            if header is None:
                continue
            metered = first.meters != second.meters
            if metered or self._acts_apart(number, one.entry, other.entry, port, header):
                return header
        return None

    def _ends(self, rule: Rule, port: int, flow: _Class) -> Iterator[_End]:
        """Yield what becomes of a class of packets that a rule is used for, part by part."""
        ahead: list[tuple[Rule | None, _Class, tuple[Leaves | ToController, ...], tuple[int, ...]]] = [
            (rule, flow, (), ())
        ]
        while ahead:
            met, here, exits, meters = ahead.pop()
            if met is not None:
                meters += tuple(i.meter_id for i in met.entry.instructions if isinstance(i, UseMeter))
            for part in parts(self._site, met, here.cube, port, here.writes, here.action_set):
                constraints = (*here.constraints, Outside(part.outside)) if part.outside else here.constraints
                sent, onward = self._sorted_out(part.exits)
                if sent is None:
                    continue
                if onward is None:
                    yield _End(part.cube, constraints, (*exits, *sent), meters)
                    continue
                later = _Class(part.cube, constraints, onward.writes, onward.action_set)
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
                case _:
                    sent.append(way_out)
        return sent, onward

    def _told_apart(self, one: _End, other: _End) -> int | None:
        """Return a packet of two parts whose ways out are not the same, if they seem to differ at all."""
        shared = meet(one.cube, other.cube)
        if shared is None:
            return None
        constraints = (*one.constraints, *other.constraints)
        alike = _alike(one.exits, other.exits) if one.meters == other.meters else None
        if alike is not None and alike != EVERYTHING:
            constraints = (*constraints, Outside((alike,)))
        return self._search.find(shared, constraints, _USUAL)

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
