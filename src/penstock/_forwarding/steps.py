"""What a switch does with a class of packets, from the port it comes in by to the ports it leaves by.

Tables give the behaviour that a class meets (`elements`), `crossing` says what comes of it, part by part,
for packets in general.  Two things make that a matter of classes.  Where a behaviour divides packets by what
they are (is there a tag to pop?), the division becomes an element.  Where packets are written to, the write
becomes one, and leads to the class that they have afterwards.  Both come about when they are first needed;
then classes may have been split, so whoever asked begins anew (`Refined`).

What was worked out is kept until something changes at that switch for that class.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from penstock._forwarding.classes import Changed, Event, Joined, PacketClass, Partition, Split
from penstock._forwarding.crossing import GoesOn, Leaves, Part, Site, ToController, Unfollowed, Writes, parts
from penstock._forwarding.elements import Behaviour, TableElements
from penstock._forwarding.header_space import Cube, field_mask
from penstock._forwarding.kinds import LOCAL_FIELDS, TTL
from penstock._forwarding.loops import Onward, Place
from penstock._forwarding.sets import PacketSet, PacketSpace
from penstock._world.component import Endpoint
from penstock.openflow.actions import Action, ApplyActions, Output
from penstock.openflow.messages import PortNo

LOCAL: Final = field_mask(*LOCAL_FIELDS)
"""The bits of a header that travel with no packet."""


_NO_PORT: Final = 0
"""A port that no switch has."""


class Refined(Exception):
    """Classes were split on the way, so that what was asked has to be asked again."""


class Visit(NamedTuple):
    """A table that packets come to, and what was written into them before, at this switch."""

    table: int
    written: int
    values: int


class Stops(NamedTuple):
    """Nothing is sent of the packets: what for, and whether earlier tables have sent them somewhere."""

    failed: str
    idle: str
    missed: bool
    sent_before: bool


class Passage(NamedTuple):
    """One way that packets of a class take through a switch; `written` are all writes on it."""

    visits: tuple[Visit, ...]
    way_out: Leaves | ToController | Unfollowed | Stops
    packets: PacketClass
    written: int
    values: int
    ttl: int
    copied: bool


class _Parts(NamedTuple):
    """What comes of a behaviour, and the element that tells its parts apart, if there are several."""

    parts: list[Part]
    division: int | None


class _At(NamedTuple):
    """Packets on their way through a switch."""

    table: int
    packets: PacketClass
    writes: Writes
    action_set: tuple[Action, ...]
    visits: tuple[Visit, ...]
    copied: bool
    sent: bool


class Steps:
    """What the switches of a network do with classes, kept until it changes."""

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.sites: dict[str, Site] = {}
        self.wires: dict[Endpoint, Endpoint] = {}
        self.tables: dict[tuple[str, int], TableElements] = {}
        self.owners: dict[int, str] = {}
        """The switch that each element is a table of."""
        self._writers: dict[int, dict[str, None]] = {}
        self._divisions: dict[tuple[tuple[Cube, tuple[Cube, ...]], ...], int] = {}
        self._known: dict[PacketClass, dict[str, dict[tuple[int, int], tuple[Passage, ...]]]] = {}
        self._into: dict[PacketClass, dict[str, dict[PacketClass, None]]] = {}
        """The classes that packets of a class become on their way through a switch."""
        self._from: dict[PacketClass, dict[str, dict[PacketClass, None]]] = {}
        """The same, the other way round."""
        self._parts: dict[tuple[str, Behaviour | None, int, int, tuple[Action, ...]], _Parts] = {}

    # What changes.

    def nodes_of(self, element: int, _packets: PacketClass, /) -> Iterable[str]:
        """Return the switches at which an element has a say."""
        writers = self._writers.get(element)
        if writers is not None:
            return tuple(writers)
        switch = self.owners.get(element)
        return () if switch is None else (switch,)

    def note(self, events: Iterable[Event]) -> list[tuple[PacketClass, str]]:
        """Forget what does not hold any more.

        Returns the classes that are written into a class on their way through a switch which now does
        something else with that one, each with the switch.
        """
        concerned: dict[tuple[PacketClass, str], None] = {}
        for event in events:
            match event:
                case Changed(where, element):
                    for switch in self.nodes_of(element, where):
                        self._forget(where, switch)
                        concerned.update(dict.fromkeys(self._become(where, switch)))
                case Joined(left, _, whole):
                    if whole:
                        self._known.pop(left, None)
                        self._into.pop(left, None)
                        self._from.pop(left, None)
                case Split(new, old):
                    for switch, classes in self._into.get(old, {}).items():
                        self._into.setdefault(new, {})[switch] = dict(classes)
                        for one in classes:
                            self._from.setdefault(one, {}).setdefault(switch, {})[new] = None
        return [(one, switch) for one, switch in concerned if self.partition.is_there(one)]

    def _forget(self, packets: PacketClass, switch: str) -> None:
        known = self._known.get(packets)
        if known is not None:
            known.pop(switch, None)

    def _become(self, packets: PacketClass, switch: str) -> list[tuple[PacketClass, str]]:
        """Forget what a switch does with classes that are written into another on their way through it."""
        found = [(one, switch) for one in self._from.get(packets, {}).get(switch, ())]
        for one, _ in found:
            self._forget(one, switch)
        return found

    def switch_changed(self, switch: str, classes: Iterable[PacketClass]) -> list[PacketClass]:
        """Forget what a switch does with classes, since its surroundings have changed.

        Returns these classes and those that are written into them on their way through the switch.
        """
        concerned: dict[PacketClass, None] = {}
        for packets in classes:
            self._forget(packets, switch)
            concerned[packets] = None
            concerned.update((one, None) for one, _ in self._become(packets, switch))
        return [one for one in concerned if self.partition.is_there(one)]

    def site_changed(self, switch: str) -> None:
        """Forget what comes of behaviours at a switch, whose ports or groups have changed."""
        for key in [key for key in self._parts if key[0] == switch]:
            del self._parts[key]

    # What is asked.

    def onward(self, place: Place, packets: PacketClass, /) -> list[Onward]:
        """Return where packets of a class that came to a place go next."""
        switch, port = place
        found: dict[Onward, None] = {}
        for passage in self.passages(switch, port, packets):
            if isinstance(passage.way_out, Leaves):
                following = self.next_place(switch, passage.way_out.port)
                if following is not None:
                    found[Onward(following, passage.packets)] = None
        return list(found)

    def leaving(self, node: str, packets: PacketClass, /) -> Iterator[Onward]:
        """Yield where packets of a class go next from any port of a switch, perhaps more than that."""
        if self._port_is_all_one(node, packets):
            yield from self.onward((node, _NO_PORT), packets)
            return
        site = self.sites[node]
        for port in site.state.ports:
            if not site.refusals[port]:
                yield from self.onward((node, port), packets)

    def _port_is_all_one(self, switch: str, packets: PacketClass) -> bool:
        """Tell whether packets leave by the same ports wherever they come in, but for that one."""
        table = self.tables.get((switch, 0))
        met = None if table is None or table.names_ports else packets.behaviours.get(table.element(_NO_PORT))
        return (
            isinstance(met, Behaviour)
            and all(isinstance(one, ApplyActions) for one in met.instructions)
            and all(isinstance(one, Output) and one.port < PortNo.MAX for one in met.actions)
        )

    def next_place(self, switch: str, port: int) -> Place | None:
        """Return the switch and port that take what leaves by a port, if any do."""
        peer = self.wires.get(Endpoint(switch, port))
        site = None if peer is None else self.sites.get(peer.node)
        if peer is None or site is None or site.refusals.get(int(peer.port), "none"):
            return None
        return peer.node, int(peer.port)

    def passages(self, switch: str, port: int, packets: PacketClass, ttl: int = TTL) -> tuple[Passage, ...]:
        """Return the ways that packets of a class take through a switch."""
        known = self._known.setdefault(packets, {}).setdefault(switch, {})
        found = known.get((port, ttl))
        if found is None:
            found = known[port, ttl] = tuple(self._pass(switch, port, packets, ttl))
        return found

    def _pass(self, switch: str, port: int, packets: PacketClass, ttl: int) -> Iterator[Passage]:
        left = [_At(0, packets, Writes(0, 0, ttl), (), (), False, False)]
        while left:
            at = left.pop()
            if at.packets is not packets:
                self._into.setdefault(packets, {}).setdefault(switch, {})[at.packets] = None
                self._from.setdefault(at.packets, {}).setdefault(switch, {})[packets] = None
            visits = (*at.visits, Visit(at.table, at.writes.written, at.writes.values))
            table = self.tables.get((switch, at.table))
            met = None if table is None else at.packets.behaviours.get(table.element(port))
            behaviour = met if isinstance(met, Behaviour) else None
            part = self._part(switch, at, behaviour, port)
            copied = at.copied or part.ways > 1
            sent = at.sent or len(part.exits) > 1
            for way_out in part.exits:
                match way_out:
                    case Unfollowed():
                        yield Passage(visits, way_out, at.packets, *at.writes, copied)
                    case ToController(writes):
                        after = _after(at.writes, writes)
                        yield Passage(visits, way_out, at.packets, *after, copied)
                    case Leaves(_, writes):
                        after = _after(at.writes, writes)
                        local = after.written & LOCAL
                        leaving = Writes(writes.written | local, writes.values & ~local, writes.ttl)
                        following = self._written(switch, at, behaviour, port, leaving)
                        kept = after.written & ~local, after.values & ~local, after.ttl
                        yield Passage(visits, way_out, following, *kept, copied)
                    case GoesOn(number, writes, action_set):
                        following = self._written(switch, at, behaviour, port, writes)
                        after = _after(at.writes, writes)
                        left.append(_At(number, following, after, action_set, visits, copied, sent))
            if not part.exits:
                stops = Stops(part.failed, part.idle, met is None, at.sent)
                yield Passage(visits, stops, at.packets, *at.writes, copied)

    def _part(self, switch: str, at: _At, behaviour: Behaviour | None, port: int) -> Part:
        """Return what comes of a behaviour for packets of a class."""
        ttl = at.writes.ttl
        key = switch, behaviour, port, ttl, at.action_set
        known = self._parts.get(key)
        if known is None:
            instructions = None if behaviour is None else behaviour.instructions
            found = parts(self.sites[switch], instructions, port, Writes(0, 0, ttl), at.action_set)
            known = self._parts[key] = _Parts(found, self._division(found) if len(found) > 1 else None)
            if self.partition.journal:
                raise Refined
        if known.division is None:
            return known.parts[0]
        number = at.packets.behaviours.get(known.division)
        if not isinstance(number, int):
            raise Refined
        return known.parts[number]

    def _division(self, found: list[Part]) -> int:
        key = tuple((part.cube, part.outside) for part in found)
        element = self._divisions.get(key)
        if element is None:
            partition, space = self.partition, self.partition.space
            element = self._divisions[key] = partition.new_element()
            for number, part in enumerate(found):
                partition.move(element, number, packets_of(space, part))
        return element

    def _written(
        self, switch: str, at: _At, behaviour: Behaviour | None, port: int, writes: Writes
    ) -> PacketClass:
        """Return the class that packets have after some writes."""
        if not writes.written:
            return at.packets
        partition = self.partition
        write = partition.write(writes.written, writes.values)
        target = partition.target(at.packets, write)
        self._writers.setdefault(write.element, {})[switch] = None
        if target is None:
            table = self.tables.get((switch, at.table))
            region = partition.universe if table is None else table.region(port, behaviour)
            partition.use(write, region)
            raise Refined
        return target


def packets_of(space: PacketSpace, part: Part) -> PacketSet:
    """Return the packets of a part."""
    found = space.cube(part.cube)
    for hole in part.outside:
        found = space.less(found, space.cube(hole))
    return found


def _after(before: Writes, then: Writes) -> Writes:
    """Return two writes, one after the other, as one."""
    values = before.values & ~then.written | then.values
    return Writes(before.written | then.written, values, then.ttl)
