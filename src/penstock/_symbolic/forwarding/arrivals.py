"""Which packets that come into a network reach a controller: where, and as what.

Packets are followed as a class, whose header fields are terms (NICE, NSDI'12, §10.1, names what
this is for: packets that rules handle need not be sent to exercise a controller, and a class that
only in part reaches it needs a representative that does).  From switch to switch the class splits
(see `crossing`) until each part is handed to a controller, leaves the network or is dropped.

What is analysed are the flow tables, groups, ports and links as they are now.  A packet that is
really sent may meet others: messages that are still on their way may change them first.

Nothing that happens is left out: a packet that satisfies none of the conditions reaches no
controller.  An arrival that is `exact` says no more than what happens, either.  A packet that goes
round and round is followed once.  One that is still under way after so many hops, always another
than before, is given up, as are those of a network with too many cases to go through: they are
reported as if the switch that they had come to handed them over, which is not exact.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple

from penstock._concolic.terms import Term, TooWide, either, negation
from penstock._symbolic.forwarding.assumptions import NOTHING, Assumptions
from penstock._symbolic.forwarding.crossing import (
    Allowance,
    Crossing,
    Feasible,
    HandedOver,
    Site,
    TooMuchWork,
)
from penstock._symbolic.forwarding.matching import Header
from penstock._world.component import Endpoint
from penstock._world.network import Network
from penstock._world.signals import FABRIC
from penstock._world.switch import Switch
from penstock._world.switch.packet_ins import NO_COOKIE
from penstock.openflow.match import Match
from penstock.openflow.messages import PacketInReason

MOST_HOPS: Final = 64
MOST_STEPS: Final = 10_000
"""How many look-ups and actions are gone through before an analysis is given up."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """Packets that a switch hands to controllers.

    `condition` speaks of the packets as they were sent.  `reason`, `table`, `cookie` and `match` are
    those of the packet_in; `fields` is the header as it has it, where a missing field is unknown.
    Packets that are `given_up` may reach a controller here, elsewhere or not at all.
    """

    condition: Term
    switch: str
    port: int
    reason: PacketInReason
    table: int
    cookie: int
    match: Match
    controllers: tuple[str, ...]
    fields: Mapping[str, Term]
    exact: bool
    given_up: bool = False


def untouched(found: Iterable[Arrival]) -> Term:
    """Return which packets reach no controller: none of these does, and all others do if all is exact."""
    return negation(either(*(arrival.condition for arrival in found)))


class Passage(NamedTuple):
    """Packets that come into a switch, as they were sent: which, and which of them it treats alike.

    Each takes one of the `ways`, and copies that groups make take one of `copies`; for those in `spread` the
    switch chooses a bucket, and of those in `vague` it is not known which rule they meet.  `handed_over`,
    `exits` and `onward` say which packets it hands to controllers, lets out of the network by a port, and
    sends on to switches; whatever is none of these is dropped there.  Packets that come in just as they came
    in before are going round, or meet again (`again`).
    """

    switch: str
    port: int
    given: Term
    ways: tuple[tuple[Term, ...], ...] = ()
    copies: tuple[Term, ...] = ()
    spread: tuple[Term, ...] = ()
    vague: tuple[Term, ...] = ()
    handed_over: tuple[tuple[Term, tuple[str, ...]], ...] = ()
    exits: tuple[tuple[Term, int, Mapping[str, Term]], ...] = ()
    onward: tuple[Term, ...] = ()
    again: bool = False
    given_up: bool = False


class _Stage(NamedTuple):
    """Packets that are about to come into a switch."""

    switch: str
    port: int
    header: Header
    given: Assumptions
    exact: bool
    hops: int


def arrivals(
    network: Network,
    states: Mapping[str, Any],
    switch: str,
    port: int,
    fields: Mapping[str, Term],
    feasible: Feasible,
    *,
    hops: int = MOST_HOPS,
) -> tuple[Arrival, ...]:
    """Return what reaches controllers of packets that come into a switch by a port.

    `states` are those of the components by name, the fabric's among them.  The fields are called
    as OpenFlow calls them, and `ip_ttl`; where there are fragments, `fragment` is other than 0 in
    them.  Fields that nothing here looks at are passed on.  `feasible` tells whether any packet
    satisfies some conditions.
    """
    start = _Stage(switch, port, _kept(tuple(fields.items())), NOTHING, True, hops)
    return _Walk(network, states, feasible).follow(start)


def passages(
    network: Network,
    states: Mapping[str, Any],
    switch: str,
    port: int,
    fields: Mapping[str, Term],
    feasible: Feasible,
    *,
    hops: int = MOST_HOPS,
) -> tuple[Passage, ...]:
    """Return the switches that packets come into which enter the network by a port: all of their journeys."""
    walk = _Walk(network, states, feasible)
    walk.follow(_Stage(switch, port, _kept(tuple(fields.items())), NOTHING, True, hops))
    return tuple(walk.passages)


class _Walk:
    """One analysis of a network."""

    def __init__(self, network: Network, states: Mapping[str, Any], feasible: Feasible) -> None:
        self._network = network
        self._states = states
        self._feasible = feasible
        self._allowance = Allowance(MOST_STEPS)
        self._sites: dict[str, Site] = {}
        self._visited: dict[tuple[str, int, Header], list[_Stage]] = {}
        self.passages: list[Passage] = []

    def follow(self, start: _Stage) -> tuple[Arrival, ...]:
        """Follow packets wherever they go."""
        found: dict[tuple[str, int, HandedOver], list[Term]] = {}
        ahead = deque([start])
        while ahead:
            stage = ahead.popleft()
            if self._was_here(stage):
                self.passages.append(Passage(stage.switch, stage.port, stage.given.all, again=True))
                continue
            site = self._site(stage.switch)
            crossing = Crossing(site, self._feasible, self._allowance)
            handed_over = [_given_up(site, stage)]
            if stage.hops:
                try:
                    crossing.receive(stage.port, stage.header, stage.given, stage.exact)
                    handed_over = crossing.handed_over
                except (TooMuchWork, TooWide):
                    pass
                else:
                    for given, exact, port, header in crossing.leaving:
                        node, end = site.onward[port]
                        ahead.append(_Stage(node, int(end), header, given, exact, stage.hops - 1))
            self.passages.append(_passage(stage, crossing, handed_over))
            for one in handed_over:
                what = stage.switch, stage.port, one._replace(given=NOTHING)
                found.setdefault(what, []).append(one.given.all)
        return tuple(_arrival(*what, conditions) for what, conditions in found.items())

    def _was_here(self, stage: _Stage) -> bool:
        """Tell whether all these packets came here before, and note that they have now."""
        known = self._visited.setdefault((stage.switch, stage.port, stage.header), [])
        if any(stage.given.imply(one.given) and one.exact >= stage.exact for one in known):
            return True
        known.append(stage)
        return False

    def _site(self, name: str) -> Site:
        site = self._sites.get(name)
        if site is None:
            site = self._sites[name] = self._find_site(name)
        return site

    def _find_site(self, name: str) -> Site:
        network, state = self._network, self._states[name]
        switch = self._component(name)
        assert isinstance(switch, Switch)
        wiring = self._states[FABRIC]
        onward: dict[int, Endpoint] = {}
        for number in state.ports:
            end = network.fabric.peer(wiring, Endpoint(name, number))
            if end is not None and isinstance(self._component(end.node), Switch):
                onward[number] = end
        connected = frozenset(
            brain
            for brain in state.sessions
            if network.fabric.peer(wiring, Endpoint(name, brain)) is not None
        )
        return Site(switch, state, connected, onward)

    def _component(self, name: str) -> object:
        return self._network.components[self._network.places[name]]


@lru_cache(maxsize=256)
def _kept(fields: tuple[tuple[str, Term], ...]) -> Header:
    """Return one and the same header for the same fields, because it remembers what it was asked."""
    return Header(dict(fields))


def _passage(stage: _Stage, crossing: Crossing, handed_over: list[HandedOver]) -> Passage:
    """Return what a switch does with packets, as conditions on them."""
    given_up = any(one.given_up for one in handed_over)
    return Passage(
        stage.switch,
        stage.port,
        stage.given.all,
        tuple(dict.fromkeys(given.conditions for given in crossing.ways)),
        tuple(dict.fromkeys(given.all for given in crossing.copies if given not in crossing.ways)),
        tuple(dict.fromkeys(given.all for given in crossing.spread)),
        tuple(dict.fromkeys(given.all for given in crossing.vague)),
        tuple((one.given.all, one.controllers) for one in handed_over),
        tuple((given.all, port, header) for given, port, header in crossing.exits),
        tuple(dict.fromkeys(one.given.all for one in crossing.leaving)),
        given_up=given_up,
    )


def _given_up(site: Site, stage: _Stage) -> HandedOver:
    """Return packets that are followed no further as if they were handed over."""
    match = Match.of(in_port=stage.port)
    reason, controllers = PacketInReason.NO_MATCH, tuple(sorted(site.connected))
    header = stage.header
    return HandedOver(stage.given, False, reason, 0, NO_COOKIE, match, controllers, header, given_up=True)


def _arrival(switch: str, port: int, one: HandedOver, conditions: list[Term]) -> Arrival:
    _, exact, reason, table, cookie, match, controllers, header, given_up = one
    condition = either(*conditions)
    return Arrival(
        condition, switch, port, reason, table, cookie, match, controllers, header, exact, given_up
    )
