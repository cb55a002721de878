"""A class of packets on its way through one switch: `_world.switch.pipeline`, over terms.

Where a rule matches some packets of the class and not others, the way splits: one branch per entry
that may be met, each under the conditions that the entry matches and those before it do not.  A
branch is given up as soon as no packet is left on it.

The rest follows the pipeline action by action.  Three things are said too generously, never too
narrowly.  A select group's choice may be any of its live buckets.  What lies below an MPLS label
is unknown.  And where a switch might send nothing of a packet at all, because of its MPLS labels or
because it might be over a budget (`_world.switch.budgets`), what was sent before is still reported; all
that leaves the switch then counts as not exact.  What may be over is told by what all packets of the
class cost together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, NamedTuple

from penstock._concolic.terms import FALSE, Term, bit_and, bit_or, const, eq, lt
from penstock._symbolic.forwarding.assumptions import Assumptions
from penstock._symbolic.forwarding.matching import (
    MPLS,
    UNKNOWN,
    Header,
    Verdict,
    all_of,
    any_of,
    exactly,
)
from penstock._symbolic.forwarding.transit import Packet, arriving, rewritten
from penstock._world.component import Endpoint
from penstock._world.switch import (
    FlowEntry,
    FlowTable,
    Switch,
    SwitchState,
    budgets,
    mac_learning,
    rewriting,
)
from penstock._world.switch.flow_table import EMPTY_TABLE
from penstock._world.switch.groups import choose_buckets, live_buckets, spreads
from penstock._world.switch.headers import NOT_ETHERNET_II
from penstock._world.switch.packet_ins import NO_COOKIE
from penstock._world.switch.pipeline import DROP_FRAGMENTS, SPANNING_TREE, in_order
from penstock._world.switch.turn import Turn
from penstock.openflow.actions import (
    Action,
    ApplyActions,
    ClearActions,
    DecMplsTtl,
    DecNwTtl,
    Enqueue,
    GotoTable,
    Group,
    Instruction,
    Output,
    PopMpls,
    PopVlan,
    PushMpls,
    WriteActions,
    WriteMetadata,
)
from penstock.openflow.fields import BY_NAME, VID_PRESENT
from penstock.openflow.match import Match
from penstock.openflow.messages import V10, Bucket, GroupType, PacketInReason, PortConfig, PortNo

Feasible = Callable[[tuple[Term, ...]], bool]
"""Tells whether some packet satisfies all conditions."""


class TooMuchWork(Exception):
    """The rules split the packets into more branches than are worth following."""


class Allowance:
    """How many look-ups and actions an analysis may still go through."""

    def __init__(self, steps: int) -> None:
        self._left = steps

    def spend(self) -> None:
        """Take one step."""
        self._left -= 1
        if self._left < 0:
            raise TooMuchWork


@dataclass(frozen=True, slots=True)
class Site:
    """A switch where it stands: its state, who hears its control sessions, which ports lead on."""

    switch: Switch
    state: SwitchState
    connected: frozenset[str]
    onward: Mapping[int, Endpoint]


class Leaving(NamedTuple):
    """Packets that leave a switch by a port to another."""

    given: Assumptions
    exact: bool
    port: int
    header: Header


class Exit(NamedTuple):
    """Packets that leave a switch by a port to a host, or to nowhere; `header` is what is in their bytes."""

    given: Assumptions
    port: int
    header: Header


class HandedOver(NamedTuple):
    """Packets that a switch hands to controllers, and what it tells about them.

    Those `given_up` are only said to be handed over, because nobody followed them further.
    """

    given: Assumptions
    exact: bool
    reason: PacketInReason
    table: int
    cookie: int
    match: Match
    controllers: tuple[str, ...]
    header: Header
    given_up: bool = False


@dataclass(frozen=True, slots=True)
class _Way:
    """Where a branch stands in the pipeline; see `pipeline._Journey` for the names they share.

    `met` tells that some packet is known to get here, `cut` that what is left of the entry's
    instructions is not carried out.
    """

    given: Assumptions
    exact: bool
    packet: Packet
    met: bool = False
    cut: bool = False
    table: int = 0
    entry: FlowEntry | None = None
    action_set: tuple[Action, ...] = ()
    by_rule: bool = True
    afresh: bool = False
    looks: int = 0
    spread: bool = False
    depth: int = 0

    def where(self, verdict: Verdict) -> _Way | None:
        """Return the part of this branch of which a verdict holds, if there plainly is one."""
        given = self.given.also(verdict.possible)
        if given is None:
            return None
        exact = self.exact and verdict.is_exact
        return replace(self, given=given, exact=exact, met=self.met and given is self.given)

    def split(self, cases: Iterable[tuple[Verdict, Packet]]) -> list[_Way]:
        """Return the branches on which the packet is one thing or another."""
        ways = ((self.where(when), packet) for when, packet in cases)
        return [replace(way, packet=packet) for way, packet in ways if way is not None]


class Crossing:
    """What becomes of a class of packets in one switch: `leaving` it, by its `exits`, or `handed_over`.

    `ways` says which packets it treats alike: each condition is that of a way to the end of its tables;
    `copies` are the ways that copies take through a group's buckets.  `spread` are packets for which a switch
    chooses the bucket; for those in `vague` it is not known whether they meet a rule.
    """

    def __init__(self, site: Site, feasible: Feasible, allowance: Allowance) -> None:
        self._site = site
        self._state = site.state
        self._version = site.switch.options.version
        self._feasible = feasible
        self._allowance = allowance
        self._turn = Turn(site.switch.chassis, site.state)
        self._hopeless = False
        self._resubmits = self._buckets = 0
        self._leaving: list[Leaving] = []
        self._handed_over: list[HandedOver] = []
        self.exits: list[Exit] = []
        self.ways: list[Assumptions] = []
        self.copies: list[Assumptions] = []
        self.spread: list[Assumptions] = []
        self.vague: list[Assumptions] = []

    def receive(self, port: int, header: Header, given: Assumptions, exact: bool) -> None:
        """Follow packets that come in by a port."""
        status = self._state.ports.get(port)
        if not self._state.powered or status is None or not status.usable:
            return
        way = _Way(given, exact, arriving(header, port))
        for taken in self._taken_in(way, status.config):
            for done in self._enter_tables(taken):
                self.ways += (one.given for one in self._run_action_set(done))

    @property
    def leaving(self) -> list[Leaving]:
        """The packets that leave for other switches."""
        return [one._replace(exact=one.exact and not self._hopeless) for one in self._leaving]

    @property
    def handed_over(self) -> list[HandedOver]:
        """The packets that controllers get."""
        return [one._replace(exact=one.exact and not self._hopeless) for one in self._handed_over]

    # Coming in.

    def _taken_in(self, way: _Way, config: int) -> list[_Way]:
        """Return the packets that a port takes, the fragments among them apart."""
        taken: _Way | None = way
        refused, bridges_refused = config & PortConfig.NO_RECV, config & PortConfig.NO_RECV_STP
        if refused or bridges_refused:
            if refused and bridges_refused:
                return []
            seen = way.packet.seen
            to_bridges = all_of(
                (seen.holds("eth_dst", SPANNING_TREE), seen.holds("eth_type", NOT_ETHERNET_II))
            )
            taken = way.where(to_bridges if refused else to_bridges.negated)
        if taken is None:
            return []
        packet = taken.packet
        whole = (packet.is_fragment.negated, packet)
        if self._state.fragments == DROP_FRAGMENTS:
            return taken.split((whole,))
        return taken.split((whole, (packet.is_fragment, packet.as_fragment())))

    # Tables.

    def _enter_tables(self, way: _Way) -> list[_Way]:
        """Follow packets through the tables; afterwards they stand at table 0's entry again."""
        done: list[_Way] = []
        for begun, following in self._look_up(way, 0):
            open_ways = [(begun, following)]
            while open_ways:
                one, table = open_ways.pop()
                if table < 0:
                    done.append(replace(one, table=0, entry=begun.entry))
                elif (some := self._met(one)) is not None and self._is_within_depth(some):
                    self._spend_resubmit()
                    open_ways += self._look_up(some, table)
        return done

    def _look_up(self, way: _Way, number: int) -> list[tuple[_Way, int]]:
        """Split packets by the entries of a table that they meet; return each with the next table, or -1."""
        self._allowance.spend()
        way = replace(way, table=number, entry=None, afresh=False)
        found: list[tuple[_Way, int]] = []
        before: dict[int, Verdict] = {}
        table = self._state.tables.get(number, EMPTY_TABLE)
        for place, entry, verdict, rivals in _candidates(way.packet.seen, table):
            met = way.where(verdict)
            if met is None:
                continue
            for rival in rivals:
                if rival in before and met is not None:
                    met = met.where(before[rival].negated)
            if met is not None:
                self.vague += () if verdict.is_exact else (met.given,)
                found += self._follow(replace(met, entry=entry), entry.instructions)
            if verdict.sure.value:
                return found
            before[place] = verdict
        missed = way.where(all_of(verdict.negated for verdict in before.values()))
        if missed is not None:
            if self._version == V10:
                missed = self._hand_over(missed, PacketInReason.NO_MATCH)
            if missed is not None:
                found.append((missed, -1))
        return found

    def _follow(self, way: _Way, instructions: tuple[Instruction, ...]) -> list[tuple[_Way, int]]:
        """Carry out an entry's instructions; return each branch with the next table, or -1."""
        ways, following = [way], -1
        for instruction in instructions:
            match instruction:
                case ApplyActions(actions):
                    ways = [after for one in ways for after in self._apply(one, actions)]
                case ClearActions():
                    ways = [one if one.cut else replace(one, action_set=()) for one in ways]
                case WriteActions(actions):
                    ways = [
                        one if one.cut else replace(one, action_set=(*one.action_set, *actions))
                        for one in ways
                    ]
                case WriteMetadata(value, mask):
                    ways = [one if one.cut else _with_metadata(one, value, mask) for one in ways]
                case GotoTable(table):
                    following = table
                case _:
                    pass
        return [(replace(one, cut=False), -1 if one.cut else following) for one in ways]

    # Actions.

    def _run_action_set(self, way: _Way) -> list[_Way]:
        actions = tuple(in_order(list(way.action_set)))
        return self._apply(replace(way, action_set=(), by_rule=False), actions)

    def _apply(self, way: _Way, actions: tuple[Action, ...]) -> list[_Way]:
        ways = [way]
        for action in actions:
            ways = [after for one in ways for after in ([one] if one.cut else self._act(one, action))]
        return ways

    def _act(self, way: _Way, action: Action) -> list[_Way]:
        self._allowance.spend()
        match action:
            case Output(port, _) | Enqueue(port, _):
                return self._output(way, port)
            case Group(group_id):
                return self._group(way, group_id)
            case DecNwTtl():
                others = way.where(way.packet.is_ip.negated)
                return [*_some(others), *self._count_down(way, "ip_ttl", way.packet.is_ip)]
            case DecMplsTtl():
                labelled = way.packet.seen.is_one_of(MPLS)
                others = way.where(labelled.negated)
                cut = [replace(one, cut=True) for one in _some(others)]
                return [*cut, *self._count_down(way, "mpls_ttl", labelled)]
            case PushMpls() | PopMpls():
                return self._relabel(way, action)
            case _:
                return way.split(rewritten(way.packet, action))

    def _count_down(self, way: _Way, field: str, kind: Verdict) -> list[_Way]:
        """Count a time to live down in packets of a kind; at its end they go to the controller."""
        ttl = way.packet.seen.get(field)
        over = exactly(lt(ttl, const(2))) if ttl is not None else UNKNOWN
        ended = way.where(all_of((kind, over)))
        if ended is not None:
            ended = self._hand_over(ended, PacketInReason.INVALID_TTL)
        going_on = way.where(all_of((kind, over.negated)))
        return [
            *(replace(one, cut=True) for one in _some(ended)),
            *(replace(one, packet=one.packet.counted_down(field)) for one in _some(going_on)),
        ]

    def _relabel(self, way: _Way, action: PushMpls | PopMpls) -> list[_Way]:
        unlabelled = way.packet.seen.is_one_of(MPLS).negated
        if isinstance(action, PopMpls) and unlabelled.sure.value:
            return [way]
        # There may be too many labels.
        self._hopeless = True
        return [replace(way, packet=way.packet.obscured(), looks=way.looks + 1, spread=False)]

    def _output(self, way: _Way, port: int) -> list[_Way]:
        in_port = way.packet.seen["in_port"].value
        ports = self._state.ports
        match port:
            case PortNo.CONTROLLER:
                return _some(self._hand_over(way, self._reason_to_send(way)))
            case PortNo.TABLE:
                return self._start_over(way)
            case PortNo.NORMAL:
                return self._forward_normally(way, in_port)
            case PortNo.IN_PORT:
                return self._emit(way, [number for number in ports if number == in_port])
            case PortNo.ALL:
                return self._emit(way, [number for number in ports if number != in_port])
            case PortNo.FLOOD:
                return self._emit(way, self._flooded(in_port))
            case _:
                return self._emit(way, [number for number in (port,) if number != in_port])

    def _flooded(self, in_port: int | None) -> list[int]:
        flooded = [n for n, status in self._state.ports.items() if not status.config & PortConfig.NO_FLOOD]
        return [number for number in flooded if number != in_port]

    def _forward_normally(self, way: _Way, in_port: int | None) -> list[_Way]:
        """Split packets by where the switch has learned their receivers to be; it floods the others."""
        seen = way.packet.seen
        reserved = any_of(
            (
                seen.holds("eth_dst", *mac_learning.OF_BRIDGES),
                *(seen.holds("eth_dst", address) for address in mac_learning.OF_VENDORS),
            )
        )
        # Who writes to itself has just been learned to be where that came from.
        sender, receiver = seen.get("eth_src"), seen.get("eth_dst")
        same = UNKNOWN if sender is None or receiver is None else exactly(eq(sender, receiver))
        to_itself = all_of((same, seen.holds("eth_dst", 0, mac_learning.GROUP)))
        kept = any_of((reserved, to_itself))
        done = _some(way.where(kept))
        rest = way.where(kept.negated)
        for vlan, address in self._state.addresses:
            port = mac_learning.port_of(self._state.addresses, vlan, address, self._state.now)
            if rest is None or port is None:
                continue
            there = all_of((seen.holds("eth_dst", address), seen.holds("vlan_vid", vlan, mac_learning.VID)))
            if (met := rest.where(there)) is not None:
                done += [met] if port == in_port else self._emit_without_idle_tag(met, [port])
            rest = rest.where(there.negated)
        return done if rest is None else [*done, *self._emit_without_idle_tag(rest, self._flooded(in_port))]

    def _emit_without_idle_tag(self, way: _Way, ports: list[int]) -> list[_Way]:
        """Put packets on wires, those without a tag that says nothing."""
        seen = way.packet.seen
        idle = all_of((seen.holds("vlan_vid", VID_PRESENT), seen.holds("vlan_pcp", 0)))
        tagged, others = way.where(idle), way.where(idle.negated)
        popped = [] if tagged is None else tagged.split(rewritten(tagged.packet, PopVlan()))
        sent = [done for one in popped for done in self._emit(one, ports)]
        return [
            *(replace(one, packet=way.packet) for one in sent),
            *([] if others is None else self._emit(others, ports)),
        ]

    def _start_over(self, way: _Way) -> list[_Way]:
        """Send packets through the tables from the first, and go on where they were."""
        if not self._is_within_depth(way):
            return []
        self._spend_resubmit()
        done = self._enter_tables(replace(way, depth=way.depth + 1))
        return [
            replace(one, depth=way.depth, table=way.table, entry=way.entry, afresh=way.afresh) for one in done
        ]

    def _is_within_depth(self, way: _Way) -> bool:
        """Tell whether packets may enter a table or group from here; if not, nothing is sent of them."""
        self._hopeless = (
            self._hopeless or way.depth >= budgets.DEPTH.most or self._sent >= budgets.COPIES.most
        )
        return way.depth < budgets.DEPTH.most

    @property
    def _sent(self) -> int:
        return len(self._leaving) + len(self._handed_over) + len(self.exits)

    def _spend_resubmit(self) -> None:
        self._resubmits += 1
        self._hopeless = self._hopeless or self._resubmits > budgets.RESUBMITS.most

    def _reason_to_send(self, way: _Way) -> PacketInReason:
        missed = way.entry is not None and way.entry.is_table_miss and way.by_rule and not way.afresh
        return PacketInReason.NO_MATCH if missed and self._version != V10 else PacketInReason.ACTION

    # Groups.

    def _group(self, way: _Way, group_id: int) -> list[_Way]:
        if not self._is_within_depth(way):
            return []
        group = self._state.groups.get(group_id)
        if group is None:
            return [replace(way, cut=True)]
        if group.type != GroupType.SELECT:
            chosen = choose_buckets(self._turn, _ANY_PACKET, group)
            return [self._through_buckets(way, [group.buckets[place] for place in chosen])]
        if spreads(self._turn, group):
            self.spread.append(way.given)
        live = [group.buckets[place] for place in live_buckets(self._turn, group)]
        ways = [way]
        if group.buckets and not way.spread:
            looked = replace(way, by_rule=True, afresh=True, looks=way.looks + 1, spread=True)
            ways = looked.split(way.packet.afresh())
        return [self._through_buckets(one, live, sure=len(live) == 1) for one in ways]

    def _through_buckets(self, way: _Way, buckets: list[Bucket], sure: bool = True) -> _Way:
        """Send a copy of the packets through each bucket, and return where they themselves go on."""
        for bucket in buckets:
            self._buckets += 1
            self._hopeless = self._hopeless or self._buckets > budgets.BUCKETS.most
            copy = replace(way, exact=way.exact and sure, depth=way.depth + 1, by_rule=False)
            for done in self._apply(copy, tuple(in_order(list(bucket.actions)))):
                self.copies.append(done.given)
                if done.looks > way.looks:
                    self._run_action_set(replace(done, cut=False))
                if done.packet.stacked:
                    way = replace(way, packet=replace(way.packet, stacked=True))
        return way

    # Going out.

    def _met(self, way: _Way) -> _Way | None:
        """Return a branch that some packet gets to; None if none does."""
        if way.met:
            return way
        return replace(way, met=True) if self._feasible(way.given.conditions) else None

    def _hand_over(self, way: _Way, reason: PacketInReason) -> _Way | None:
        sessions = self._state.sessions.items()
        controllers = tuple(
            name
            for name, session in sessions
            if session.wants(session.packet_in, reason) and name in self._site.connected
        )
        if not controllers:
            return way
        met = self._met(way)
        if met is not None:
            cookie = NO_COOKIE if met.entry is None else met.entry.cookie
            match = _pipeline_fields(met.packet.seen)
            self._handed_over += (
                HandedOver(given, exact, reason, met.table, cookie, match, controllers, header)
                for given, exact, header in self._read_by_others(met)
            )
        return met

    def _emit(self, way: _Way, ports: list[int]) -> list[_Way]:
        """Put packets on wires, as far as the ports forward, to another switch or out of the network."""
        statuses = self._state.ports
        forwarding = [
            port
            for port in ports
            if port in statuses and statuses[port].usable and not statuses[port].config & PortConfig.NO_FWD
        ]
        leading = [port for port in forwarding if port in self._site.onward]
        outside = (port for port in forwarding if port not in self._site.onward)
        self.exits += (Exit(way.given, port, way.packet.wire) for port in outside)
        met = self._met(way) if leading else way
        if met is None:
            return []
        for port in leading:
            self._leaving += (
                Leaving(given, exact, port, header) for given, exact, header in self._read_by_others(met)
            )
        return [met]

    def _read_by_others(self, way: _Way) -> list[tuple[Assumptions, bool, Header]]:
        """Return what others read in the packets, and of which that is true."""
        parts = [(way.where(when), header) for when, header in way.packet.readings()]
        return [
            (part.given, part.exact, header)
            for part, header in parts
            if part is not None and self._met(part) is not None
        ]


_ANY_PACKET: Final = rewriting.Packet(b"", 0)
"""Which bucket a group chooses depends on the packet only in select groups."""


def _some(way: _Way | None) -> list[_Way]:
    return [] if way is None else [way]


def _pipeline_fields(seen: Header) -> Match:
    """Return what a packet_in tells besides the packet; all of it are constants."""
    found = {name: seen[name].value for name in ("in_port", "metadata", "tunnel_id")}
    return Match.of(**{name: value for name, value in found.items() if value})


def _with_metadata(way: _Way, value: int, mask: int) -> _Way:
    kept = bit_and(way.packet.seen["metadata"], const(BY_NAME["metadata"].full & ~mask))
    return replace(way, packet=way.packet.written("metadata", bit_or(kept, const(value & mask))))


class _Candidate(NamedTuple):
    """An entry that packets may meet: its place, when it matches, which before it may match the same."""

    place: int
    entry: FlowEntry
    verdict: Verdict
    rivals: tuple[int, ...]


@lru_cache(maxsize=4096)
def _candidates(header: Header, table: FlowTable) -> tuple[_Candidate, ...]:
    """Return the entries of a table that packets with a header may meet, in the order they are tried."""
    verdicts = (header.accepted_by(entry.match) for entry in table)
    return tuple(
        _Candidate(place, entry, verdict, rivals)
        for place, (entry, verdict, rivals) in enumerate(zip(table, verdicts, _rivals(table), strict=True))
        if verdict.possible != FALSE
    )


@lru_cache(maxsize=1024)
def _rivals(table: FlowTable) -> tuple[tuple[int, ...], ...]:
    """Return, for each entry of a table, which entries before it might match the same packet."""
    matches = [entry.match for entry in table]
    return tuple(
        tuple(at for at in range(place) if matches[at].overlaps(match)) for place, match in enumerate(matches)
    )
