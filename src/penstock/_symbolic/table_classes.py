"""Which packets the flow tables tell apart, and what becomes of them.

What rules forward or drop by themselves never reaches a controller, so no path through its handlers says
that it should be sent.  Here a host's packets are split by the ways that they take through the tables of all
switches (`_forwarding.arrivals.passages`: masks, goto chains, metadata, groups and rewritten headers are
followed there), and by whom they are for: to the tables alone, a packet for one host may be like a packet
for another, but only one of them is where it should be when it comes out at a port.

Packets are such as a host would send: what goes to a host's MAC address goes to its IP address as well, and
with a usual time to live.  Rules for packets of other kinds are exercised as far as such packets meet them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from penstock._concolic.equivalence import EquivalenceClass, Partition, Refinement
from penstock._concolic.packets.frames import FrameSpace
from penstock._concolic.packets.layouts import ETH_SLOW
from penstock._concolic.solving.solver import Solver
from penstock._concolic.space import Inputs, Space
from penstock._concolic.terms import Term, both, const, either, eq, evaluate, negation
from penstock._symbolic.forwarding.arrivals import Passage
from penstock._symbolic.forwarding.matching import Header
from penstock._world.hosts import Host
from penstock.addresses import BROADCAST_MAC
from penstock.openflow.fields import ETH_ARP, ETH_IPV4, ETH_LLDP, IP_ICMP, IP_TCP, IP_UDP
from penstock.openflow.match import Match
from penstock.packet import ARP_REQUEST, ECHO_REQUEST

MOST_CLASSES: Final = 256
"""How many classes of packets of one host are dealt with."""

_USUAL_TTL: Final = 64
MOST_VARIANTS: Final = 8
"""How many flows of each transport are tried where a group has a switch choose by them."""
_FIRST_PORT: Final = 50_001
_FLOWS: Final = (((ETH_IPV4, IP_TCP), "tcp_src"), ((ETH_IPV4, IP_UDP), "udp_src"))


class Fate(NamedTuple):
    """What becomes of a packet under the present tables.

    `heard` tells that a controller gets it; `exits` are the switches and ports at which it leaves the network
    and the MAC address that it then goes to; `dropped`, that a switch does nothing with it or with a copy;
    `again`, that a switch gets it twice; `spread`, that a group has a switch choose what it does; `vague`,
    that it was not followed to the end.
    """

    heard: bool
    exits: tuple[tuple[str, int, int | None], ...]
    dropped: bool
    again: bool
    spread: bool
    vague: bool

    @property
    def is_for_tables(self) -> bool:
        """Whether more becomes of it than that a controller gets it."""
        return not self.heard or bool(self.exits) or self.dropped or self.again


@dataclass(frozen=True, slots=True)
class TableClass:
    """Packets for one host, or for nobody in particular, that the tables treat alike."""

    packets: EquivalenceClass
    receiver: str
    fate: Fate
    reaches: bool
    """Whether it comes out where its receiver is, and goes to it."""

    @property
    def is_suspicious(self) -> bool:
        """Whether it may be lost or go round, so that it is worth sending to see."""
        if self.fate.again or self.fate.spread or self.fate.vague:
            return True
        return bool(self.receiver) and not self.reaches and not self.fate.heard


class TableClasses:
    """Splits the packets of one host by what tables do with them."""

    def __init__(self, host: Host, hosts: Sequence[Host], frames: FrameSpace, wishes: Sequence[Term]) -> None:
        self.fields = frames.fields
        self._frames = frames
        self._header = Header(frames.fields)
        others = [each for each in hosts if each is not host]
        space = frames.space
        sensible = (*space.constraints, *self._sensible(hosts), negation(self._is(eth_dst=host.mac)))
        self.solver = Solver(Space(space.variables, sensible))
        self._wishes = wishes
        self._receivers = {each: self._is_for(each) for each in others}

    def _is(self, **fields: int) -> Term:
        return self._header.accepted_by(Match.of(**fields)).possible

    def _sensible(self, hosts: Sequence[Host]) -> Iterator[Term]:
        """Yield what is true of packets that hosts send."""
        yield eq(self._frames.fields["ip_ttl"], const(_USUAL_TTL))
        for each in hosts:
            for kind, field in ((ETH_IPV4, "ipv4_dst"), (ETH_ARP, "arp_tpa")):
                to_it = self._is(eth_dst=each.mac, eth_type=kind)
                yield either(negation(to_it), eq(self._frames.fields[field], const(each.ip)))

    def _is_for(self, host: Host) -> tuple[Term, Term]:
        """Return which packets are for a host: those to its address, and the ARP questions after it."""
        between_neighbours = either(self._is(eth_type=ETH_LLDP), self._is(eth_type=ETH_SLOW))
        asked = {"eth_type": ETH_ARP, "arp_op": ARP_REQUEST, "arp_tpa": host.ip}
        return (
            both(self._is(eth_dst=host.mac), negation(between_neighbours)),
            self._is(eth_dst=BROADCAST_MAC, **asked),
        )

    def found(
        self, passages: Iterable[Passage], controller: str, peers: dict[tuple[str, int], str]
    ) -> tuple[list[TableClass], bool]:
        """Return the classes of packets that tables treat, and whether these are all.

        `peers` are the hosts at the ports of switches.
        """
        unknown = self.solver.unknown
        refinement = Refinement(self._frames, self.solver, self._wishes, MOST_CLASSES)
        journeys = tuple(passages)
        for partition in (self._by_receiver(), *_by_way(journeys)):
            refinement.split(partition)
        classes = [self._judged(known, journeys, controller, peers) for known in refinement.classes]
        found = [known for known in classes if known.fate.is_for_tables]
        complete = not refinement.is_too_fine and self.solver.unknown == unknown
        complete = complete and not any(known.fate.vague for known in classes)
        varied = (other for known in found if known.fate.spread for other in self._variants(known))
        return sorted((*found, *varied), key=self._strangeness), complete

    def pings(self) -> Iterator[bytes]:
        """Yield a ping of every other host, and the ARP question that comes before it."""
        for to_it, question in self._receivers.values():
            ping = self._is(eth_type=ETH_IPV4, ip_proto=IP_ICMP, icmpv4_type=ECHO_REQUEST, vlan_vid=0)
            for condition in (both(to_it, ping), both(question, self._is(vlan_vid=0))):
                inputs = self.solver.likely((condition, *self._wishes)) or self.solver.solve((condition,))
                if inputs is not None:
                    yield self._frames.data(inputs)

    def _variants(self, known: TableClass) -> Iterator[TableClass]:
        """Yield packets of a class that differ in what a switch chooses by: other flows."""
        for kind, field in _FLOWS:
            for number in range(MOST_VARIANTS):
                flow = self._is(eth_type=kind[0], ip_proto=kind[1], **{field: _FIRST_PORT + number})
                made = self.solver.likely((*known.packets.condition, flow))
                if made is not None:
                    yield replace(
                        known, packets=replace(known.packets, inputs=made, data=self._frames.data(made))
                    )

    def _strangeness(self, known: TableClass) -> tuple[bool, bool, int]:
        """Return by what packets are ordered: the most common ones first."""
        inputs, kinds = known.packets.inputs, self._frames.space.by_name["eth_type"].preferred
        kind = kinds.index(inputs["eth_type"]) if inputs["eth_type"] in kinds else len(kinds)
        return not known.receiver, bool(inputs["vlan_vid"]), kind

    def _by_receiver(self) -> Partition:
        kinds = [kind for pair in self._receivers.values() for kind in pair]
        return (*((kind,) for kind in kinds), (negation(either(*kinds)),))

    def _judged(
        self,
        known: EquivalenceClass,
        journeys: tuple[Passage, ...],
        controller: str,
        peers: dict[tuple[str, int], str],
    ) -> TableClass:
        fate = _fate(known.inputs, journeys, controller)
        receiver = self._receiver(known.inputs)
        reaches = receiver is not None and any(
            peers.get((switch, port)) == receiver.name and mac in (receiver.mac, BROADCAST_MAC)
            for switch, port, mac in fate.exits
        )
        return TableClass(known, "" if receiver is None else receiver.name, fate, reaches)

    def _receiver(self, inputs: Inputs) -> Host | None:
        for host, kinds in self._receivers.items():
            if any(evaluate(kind, inputs) for kind in kinds):
                return host
        return None


def _by_way(journeys: Iterable[Passage]) -> Iterator[Partition]:
    """Yield the partitions of packets by what each switch does with them."""
    for passage in journeys:
        if passage.ways:
            others = negation(either(*(both(*way) for way in passage.ways)))
            yield (*passage.ways, (others,))
        for copy in passage.copies:
            yield ((copy,), (negation(copy),))


def _fate(inputs: Inputs, journeys: Iterable[Passage], controller: str) -> Fate:
    heard = dropped = again = spread = vague = False
    exits: list[tuple[str, int, int | None]] = []
    for passage in journeys:
        if not evaluate(passage.given, inputs):
            continue
        if passage.again:
            again = True
            continue
        told = [names for when, names in passage.handed_over if evaluate(when, inputs)]
        out = [
            (passage.switch, port, _address(header.get("eth_dst"), inputs))
            for when, port, header in passage.exits
            if evaluate(when, inputs)
        ]
        onward = any(evaluate(when, inputs) for when in passage.onward)
        heard |= any(controller in names for names in told)
        spread |= any(evaluate(when, inputs) for when in passage.spread)
        vague |= passage.given_up or any(evaluate(when, inputs) for when in passage.vague)
        dropped |= not told and not out and not onward
        exits += out
    return Fate(heard, tuple(exits), dropped, again, spread, vague)


def _address(term: Term | None, inputs: Inputs) -> int | None:
    return None if term is None else evaluate(term, inputs)
