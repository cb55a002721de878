"""Single packets on their way, one of each class: where they go, by which rules, and how they end.

What a class does is known (`steps`); a packet of it is followed to tell it.  Its copies are followed as
well, and two that are the same at the same place are one.  A packet that comes to a place as it was there
before, on the same way, runs in a circle.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Final, Literal, NamedTuple

from penstock._forwarding.answers import Grounds
from penstock._forwarding.classes import PacketClass
from penstock._forwarding.crossing import Leaves, ToController, Unfollowed
from penstock._forwarding.frames import frame_of
from penstock._forwarding.kinds import TTL, match_around
from penstock._forwarding.loops import Place, State
from penstock._forwarding.sets import PacketSet, space_of
from penstock._forwarding.steps import LOCAL, Passage, Steps, Stops
from penstock._world.component import Endpoint
from penstock._world.switch import drops
from penstock._world.switch.budgets import is_over_budget
from penstock._world.switch.flow_table import FlowEntry
from penstock.openflow.match import Match
from penstock.packet import describe

MOST_HOPS: Final = 128
MOST_COPIES: Final = 20_000

LEADS_NOWHERE: Final = " leads nowhere"
"""How it is told that nobody is at the other end of a port."""

SPENT: Final = "until its time to live is spent"

Fate = Literal["delivered", "controller", "loop", "lost", "dropped", "missed", "unfollowed"]
"""How packets end.  `lost` is what a rule sent on in vain, `dropped` what a rule had dropped, `missed` what
met no rule anywhere."""


class Source(NamedTuple):
    """Where packets come from: a host and its port, and what its packets look like if nothing decides."""

    name: str
    end: Endpoint
    usual: int


class Step(NamedTuple):
    """One table on a packet's path and the entry it met there, if any."""

    switch: str
    port: int
    table: int
    entry: FlowEntry | None

    @property
    def rule(self) -> str:
        """The entry as a text, which is empty if there was none."""
        return str(self.entry) if self.entry is not None else ""

    def __str__(self) -> str:
        return f"{self.switch}:{self.port} table {self.table}: {self.rule or 'no rule'}"


class Outcome(NamedTuple):
    """How a class of packets that a host sends ends, with one packet of it.

    `at_end` is the packet's header after all that was written to it (`writes`).  `perhaps` tells that it
    depends on the choices of a select group, `alone` that it was never copied.  `cycle` is where the path of
    a loop begins to repeat itself, and 0 otherwise.
    """

    source: str
    fate: Fate
    node: str
    why: str
    members: PacketSet
    header: int
    at_end: int
    path: tuple[Step, ...]
    perhaps: bool = False
    alone: bool = True
    cycle: int = 0
    writes: tuple[int, int] = (0, 0)

    @property
    def frame(self) -> bytes:
        """The bytes of the packet, to be sent by the host."""
        return frame_of(self.header)

    @property
    def packets(self) -> Match:
        """The class as a match, or the smallest match that has it."""
        return match_around(space_of(self.members), self.members)

    @property
    def hops(self) -> tuple[str, ...]:
        """The switches and ports on the path, in order."""
        return tuple(f"{step.switch}:{step.port}" for step in self.path if step.table == 0)

    def __str__(self) -> str:
        way = " > ".join((self.source, *self.hops))
        text = f"{describe(self.frame)} from {self.source}"
        match self.fate:
            case "delivered":
                return f"{text} reaches {self.node} ({way})"
            case "controller":
                return f"{text} goes to the controller from {self.node} ({way})"
            case "loop":
                lasting = f" {self.why}" if self.why else " for ever"
                return f"{text} goes round{lasting} ({way} > {self.node} again)"
            case "dropped" if not self.why:
                return f"{text} is dropped by a rule of {self.node} ({way})"
            case "unfollowed":
                return f"{text} cannot be followed beyond {self.node}: {self.why} ({way})"
            case _:
                return f"{text} is lost at {self.node}: {self.why} ({way})"


class _Here(NamedTuple):
    """A packet, or a copy of it, as it comes to a place."""

    place: Place
    packets: PacketClass
    header: int
    ttl: int
    perhaps: bool
    copied: bool


@dataclass(slots=True)
class _Journey:
    """One packet of a class of a source, and what is known of its copies so far."""

    source: Source
    header: int
    members: PacketSet
    grounds: Grounds
    told: bool
    """Whether it is told by which entries; otherwise it is the class that is followed, and not the packet."""
    found: dict[Outcome, None] = field(default_factory=dict)
    seen: set[_Here] = field(default_factory=set)
    path: list[Step] = field(default_factory=list)
    on_way: dict[tuple[Place, object], tuple[int, int]] = field(default_factory=dict)
    """The places on the way, with the packet as it was there: where in the path, and its time to live."""

    def end(
        self,
        fate: Fate,
        node: str,
        why: str,
        at_end: int,
        *,
        perhaps: bool = False,
        copied: bool = False,
        cycle: int = 0,
        writes: tuple[int, int] = (0, 0),
    ) -> None:
        """Note how a copy ends."""
        outcome = Outcome(
            *(
                self.source.name,
                fate,
                node,
                why,
                self.members,
                self.header,
                at_end & ~LOCAL,
                tuple(self.path),
            ),
            perhaps=perhaps,
            alone=not copied,
            cycle=cycle,
            writes=writes,
        )
        self.found[outcome] = None


class Journeys:
    """Follows packets through what switches do with their classes."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps

    def entry(self, source: Source) -> Place | str:
        """Return where packets of a source come in, or why they do not."""
        peer = self._steps.wires.get(source.end)
        if peer is None:
            return f"port {source.end.port}{LEADS_NOWHERE}"
        site = self._steps.sites.get(peer.node)
        if site is None:
            return ""
        refused = site.refusals.get(int(peer.port), f"there is no port {peer.port} of {peer.node}")
        return refused or (peer.node, int(peer.port))

    def follow(
        self, source: Source, header: int, packets: PacketClass | None, members: PacketSet, grounds: Grounds
    ) -> list[Outcome]:
        """Return how a packet of a class and its copies end."""
        return self._followed(_Journey(source, header, members, grounds, True), packets)

    def fates(
        self, source: Source, packets: PacketClass, members: PacketSet, grounds: Grounds
    ) -> list[Outcome]:
        """Return how packets of a class end, without an example and by which rules."""
        return self._followed(_Journey(source, 0, members, grounds, False), packets)

    def _followed(self, journey: _Journey, packets: PacketClass | None) -> list[Outcome]:
        source, header = journey.source, journey.header
        entry = self.entry(source)
        if isinstance(entry, str):
            peer = self._steps.wires.get(source.end)
            if not entry and peer is not None:
                journey.end("delivered", peer.node, "", header)
            else:
                journey.end("lost", source.end.node if peer is None else peer.node, entry, header)
        elif packets is not None:
            self._arrive(journey, _Here(entry, packets, header, TTL, False, False), (0, 0))
        return list(journey.found)

    def _arrive(self, journey: _Journey, here: _Here, writes: tuple[int, int]) -> None:
        switch, port = here.place
        now = here.place, here.header if journey.told else here.packets
        before = journey.on_way.get(now)
        end = partial(journey.end, perhaps=here.perhaps, copied=here.copied, writes=writes)
        if before is not None:
            cycle, ttl = before
            why = "" if ttl == here.ttl else SPENT
            end("loop", switch, why, here.header, cycle=cycle)
            return
        if here in journey.seen:
            return
        journey.seen.add(here)
        if len(journey.on_way) > MOST_HOPS:
            why = f"it is still under way after {MOST_HOPS} switches"
            end("unfollowed", switch, why, here.header)
            return
        if len(journey.seen) > MOST_COPIES:
            end("unfollowed", switch, "there are too many copies to follow", here.header)
            return
        journey.grounds[here.packets, switch] = None
        journey.on_way[now] = len(journey.path), here.ttl
        for passage in self._steps.passages(switch, port, here.packets, here.ttl):
            length = len(journey.path)
            if journey.told:
                journey.path += self.met(here.place, here.header, passage)
            self._leave(journey, here, passage, writes)
            del journey.path[length:]
        del journey.on_way[now]

    def met(self, place: Place, header: int, passage: Passage) -> list[Step]:
        """Return the tables of a switch that a packet comes to, and the entries it meets there."""
        switch, port = place
        found = []
        for table, written, values in passage.visits:
            rules = self._steps.tables.get((switch, table))
            rule = None if rules is None else rules.rules(port).lookup(header & ~written | values)
            found.append(Step(switch, port, table, rule.entry if rule is not None else None))
        return found

    def _leave(self, journey: _Journey, here: _Here, passage: Passage, before: tuple[int, int]) -> None:
        switch = here.place[0]
        header = here.header & ~passage.written | passage.values if journey.told else 0
        writes = before[0] | passage.written, before[1] & ~passage.written | passage.values
        copied = here.copied or passage.copied
        end = partial(journey.end, perhaps=here.perhaps, copied=copied, writes=writes)
        match passage.way_out:
            case Leaves(port, _, perhaps):
                end = partial(end, perhaps=perhaps or here.perhaps)
                peer = self._steps.wires.get(Endpoint(switch, port))
                if peer is None:
                    nowhere = f"port {port}{LEADS_NOWHERE}"
                    end("lost", switch, nowhere, header)
                    return
                site = self._steps.sites.get(peer.node)
                if site is None:
                    end("delivered", peer.node, "", header)
                    return
                number = int(peer.port)
                refused = site.refusals.get(number, f"there is no port {number} of {peer.node}")
                if refused:
                    end("lost", peer.node, refused, header)
                    return
                place, perhaps = (peer.node, number), perhaps or here.perhaps
                following = _Here(place, passage.packets, header, passage.ttl, perhaps, copied)
                self._arrive(journey, following, writes)
            case ToController(_, perhaps):
                end("controller", switch, "", header, perhaps=perhaps or here.perhaps)
            case Unfollowed(why):
                end("unfollowed", switch, why, header)
            case Stops() as stops:
                fate, why = self._stopped(journey, switch, passage, stops)
                end(fate, switch, why, header)

    def _stopped(self, journey: _Journey, switch: str, passage: Passage, stops: Stops) -> tuple[Fate, str]:
        """Judge packets that nothing sends on."""
        why, idle = stops.failed, stops.idle
        if idle and not why and idle != drops.NO_OTHER_PORT:
            # What comes from a host for that host has no other way to go; from another switch it is a loss.
            why = idle if any(place[0] != switch for place, _ in journey.on_way) else ""
        if why and is_over_budget(why) and stops.sent_before:
            # Then nothing is sent of the packets after all, although copies were followed already.
            return "unfollowed", why
        if why:
            return "lost", why
        if idle:
            return "dropped", idle
        if stops.missed:
            table = f"{switch} table {passage.visits[-1].table}"
            first = len(journey.on_way) == len(passage.visits) == 1
            return "missed" if first else "lost", f"no rule of {table} matches it"
        return "dropped", ""

    def around(
        self, source: Source, header: int, members: PacketSet, way: list[State], cycle: int
    ) -> Outcome | None:
        """Return how a packet goes along a way of states and back to one of them, or None if it does not."""
        ttl, now, path = TTL, header, list[Step]()
        begins, began, perhaps, copied = 0, TTL, False, False
        for number, (place, packets) in enumerate(way):
            if number == cycle:
                begins, began = len(path), ttl
            following = way[number + 1] if number + 1 < len(way) else way[cycle]
            for passage in self._steps.passages(*place, packets, ttl):
                if (
                    isinstance(passage.way_out, Leaves)
                    and passage.packets is following[1]
                    and self._steps.next_place(place[0], passage.way_out.port) == following[0]
                ):
                    break
            else:
                return None
            path += self.met(place, now, passage)
            now, ttl = now & ~passage.written | passage.values, passage.ttl
            perhaps, copied = perhaps or passage.way_out.perhaps, copied or passage.copied
        why = "" if ttl == began else SPENT
        return Outcome(
            *(source.name, "loop", way[cycle][0][0], why, members, header, now & ~LOCAL, tuple(path)),
            perhaps=perhaps,
            alone=not copied,
            cycle=begins,
        )
