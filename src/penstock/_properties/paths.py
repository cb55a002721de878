"""Properties of the path that packets take: direct paths, flow affinity, correct routing tables.

Direct paths: once a flow works, its packets no longer go to the controller.

Only packets that were sent after the moment from which the property speaks are judged; those
already under way then may still meet the controller, which is natural delay and no fault.

The rules that a controller installs for a packet lie on the path that the packet must take.

What that path is only the application's author can say: NICE checks so a controller that chooses
between an always-on and an on-demand routing table by the load of the network (§9.3).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from penstock._base.frozen import FrozenMap
from penstock._properties.base import Property, Violated
from penstock._properties.packets import (
    Flow,
    Hosts,
    accepting_host,
    changes,
    fabric_action,
    flow_of,
    frames_sent,
    handed_over,
    handled_message,
    packet_label,
)
from penstock._world.component import Event
from penstock._world.network import Network
from penstock._world.switch import Switch
from penstock._world.switch.headers import read
from penstock._world.transition import Record
from penstock.errors import PenstockError
from penstock.openflow.match import ANYTHING, Match
from penstock.openflow.messages import FlowCommand, FlowMod, PacketIn
from penstock.openflow.stats import StatsReply
from penstock.packet import parse

RESET: Final = "reset"


class Flying(NamedTuple):
    """A packet on its way: its flow, and how many copies there are."""

    flow: Flow
    copies: int


class Known(NamedTuple):
    """The flows of which a packet has been delivered, and the packets on their way that matter.

    Those are packets of flows not yet delivered, one of which may be the first, and packets that
    are judged: they were sent after the safe time.  A packet of a delivered flow is of these.
    """

    delivered: frozenset[Flow] = frozenset()
    flying: FrozenMap[str, Flying] = FrozenMap()


class PathSight(NamedTuple):
    """What a step showed: packets delivered, handed over, copied or ended, and sent."""

    delivered: str
    switch: str
    handed: tuple[tuple[str, str], ...]
    changes: tuple[tuple[str, int], ...]
    sent: tuple[tuple[str, Flow], ...]


@dataclass(eq=False)
class DirectPaths(Property):
    """Once a packet of a flow has reached its destination, later ones do not go to the controller.

    When a link fails, a host moves or a rule times out, everything begins anew: the controller
    has to be asked again then.
    """

    sentence = (
        "Once a packet has reached its destination, no packet of its flow sent after that "
        "goes to the controller."
    )
    needs = "a packet that is sent after an earlier one of its flow was delivered"
    because = "although an earlier packet of its flow had reached its destination when it was sent"

    def start(self, _network: Network, /) -> Known:
        """Begin with no flow known."""
        return Known()

    def see(self, record: Record, /) -> Hashable | None:
        """See packets sent, delivered, and handed to controllers, and copies come and go."""
        if fabric_action(record) or _timed_out(record):
            return RESET
        sent = [(frame.tag, flow_of(frame.data)) for _, frame in frames_sent(record)]
        change = changes(record)
        for tag, _ in sent:
            change.pop(tag, None)
        reached = accepting_host(record)
        sight = PathSight(
            reached[1].tag if reached and flow_of(reached[1].data) else "",
            record.node,
            handed_over(record),
            tuple(sorted(change.items())),
            tuple((tag, flow) for tag, flow in sent if flow is not None),
        )
        if not (sight.delivered or sight.handed or sight.changes or sight.sent):
            return None
        return sight if sight.handed else sight._replace(switch="")

    def next(self, state: Known, seen: PathSight | str, /) -> Known:
        """Judge what goes to the controller; learn which flows work."""
        if isinstance(seen, str):
            return Known()
        delivered, flying = state
        for tag, packet in seen.handed:
            if tag in flying and flying[tag].flow in delivered:
                raise Violated(f"{seen.switch} handed {packet} to the controller {self.because}.")
        if seen.delivered in flying:
            flow = flying[seen.delivered].flow
            if flow not in delivered:
                delivered |= {flow}
                flying = flying.without(*(tag for tag in flying if flying[tag].flow == flow))
        for tag, change in seen.changes:
            if tag in flying:
                flow, copies = flying[tag]
                left = copies + change
                flying = flying.set(tag, Flying(flow, left)) if left > 0 else flying.without(tag)
        for tag, flow in seen.sent:
            if flow not in delivered or self.is_settled(flow, delivered):
                flying = flying.set(tag, Flying(flow, 1))
        return Known(delivered, flying)

    def is_settled(self, flow: Flow, delivered: frozenset[Flow]) -> bool:
        """Tell whether packets of a flow that are sent now are judged."""
        return flow in delivered

    def judges(self, state: Known, seen: PathSight | str, /) -> bool:
        """A packet sent after the safe time is judged; it puts the property to the test where it ends."""
        if isinstance(seen, str):
            return False
        tags = [tag for tag, _ in (*seen.handed, *seen.changes)]
        return any(tag in state.flying and state.flying[tag].flow in state.delivered for tag in tags)


@dataclass(eq=False)
class StrictDirectPaths(DirectPaths):
    """Once packets of a flow were delivered both ways, later ones do not go to the controller."""

    sentence = (
        "Once two hosts have delivered a packet of a flow to each other, no packet of it sent after that "
        "goes to the controller."
    )
    needs = "a packet that is sent after a packet of its flow and an answer were delivered"
    because = "although packets of its flow had been delivered both ways when it was sent"

    def is_settled(self, flow: Flow, delivered: frozenset[Flow]) -> bool:
        """Tell whether packets of a flow that are sent now are judged."""
        return flow in delivered and flow.reverse() in delivered


def _timed_out(record: Record) -> bool:
    """Tell whether a rule timed out in a step."""
    for event in record.events:
        match event:
            case Event("rule-removed", (_, _, str(reason))) if reason.endswith("timeout"):
                return True
    return False


class Connection(NamedTuple):
    """A TCP connection as every replica sees it: the client's address and port, and the service's port."""

    client: int
    client_port: int
    service_port: int


class Arrival(NamedTuple):
    """A segment that a replica took in."""

    connection: Connection
    replica: str
    packet: str


@dataclass(eq=False)
class FlowAffinity(Property):
    """All segments of a TCP connection reach the same one of the `replicas`.

    The address that the client connected to does not count, since a load balancer rewrites it.  So a
    connection from the same address and port to the same port is the same connection, also when it
    is opened anew or to another address.
    """

    blames_arrival = True
    replicas: Sequence[str]

    sentence = "All packets of a TCP connection reach the same replica."
    needs = "a connection of which a second packet reaches a replica"

    def __post_init__(self) -> None:
        given = self.replicas
        if isinstance(given, str) or len(set(given)) < 2:
            raise PenstockError(
                f'invalid replicas = {given!r} of {self.name}: must be two hosts or more, as in ["h2", "h3"].'
            )
        self.replicas = tuple(given)

    def start(self, network: Network, /) -> FrozenMap[Connection, str]:
        """Begin with no connection."""
        hosts = Hosts(network).names
        for replica in self.replicas:
            if replica not in hosts:
                raise PenstockError(
                    f"{self.name} names the replica {replica!r}, which is not a host: the hosts are "
                    f"{', '.join(hosts)}."
                )
        return FrozenMap()

    def see(self, record: Record, /) -> Hashable | None:
        """See a replica take in a segment."""
        taken = accepting_host(record)
        if taken is None or taken[0] not in self.replicas:
            return None
        replica, frame = taken
        fields = read(frame.data).fields
        if "tcp_dst" not in fields:
            return None
        connection = Connection(
            fields.get("ipv4_src") or fields.get("ipv6_src", 0), fields.get("tcp_src", 0), fields["tcp_dst"]
        )
        return Arrival(connection, replica, packet_label(frame.tag, frame.data))

    def next(self, state: FrozenMap[Connection, str], seen: Arrival, /) -> FrozenMap[Connection, str]:
        """Remember which replica a connection went to first."""
        first = state.get(seen.connection, seen.replica)
        if first != seen.replica:
            raise Violated(
                f"{seen.packet} reached {seen.replica}, but earlier packets of that connection "
                f"reached {first}."
            )
        return state.set(seen.connection, seen.replica)

    def judges(self, state: FrozenMap[Connection, str], seen: Arrival, /) -> bool:
        """The first packet of a connection could go anywhere."""
        return seen.connection in state


_INSTALLS = (FlowCommand.ADD, FlowCommand.MODIFY, FlowCommand.MODIFY_STRICT)


class Asked(NamedTuple):
    """A packet that a switch handed to a controller."""

    switch: str
    tag: str
    data: bytes

    def __str__(self) -> str:
        return packet_label(self.tag, self.data)


class RoutingSight(NamedTuple):
    """What a controller heard in a step, and where it installed which rules."""

    asked: Asked | None
    told: tuple[str, StatsReply] | None
    installed: tuple[tuple[str, Match], ...]


class Route(NamedTuple):
    """A flow's path and, until every switch on it has got a rule, those without and a packet for it."""

    path: tuple[str, ...]
    missing: frozenset[str] = frozenset()
    asked: Asked | None = None

    def after(self, installed: tuple[tuple[str, Match], ...]) -> Route:
        """Return the route after some rules were installed."""
        if self.asked is None:
            return self
        got = {switch for switch, match in installed if _concerns(match, self.asked)}
        missing = self.missing - got
        return self._replace(missing=missing) if missing else Route(self.path)


class Routes(NamedTuple):
    """The flows that were judged so far, and the load as the application's author reckons it."""

    flows: FrozenMap[Flow, Route] = FrozenMap()
    load: Any = None


@dataclass(eq=False)
class UseCorrectRoutingTable(Property):
    """A controller that is handed a packet installs rules for it on all and just the switches of its path.

    `path` is a function from the packet and the switch that handed it over to the names of the
    switches on the path, or to None where there is nothing to judge.  If the path depends on the
    network's load, `load` is a function from the load so far (None at first), a switch and its
    answer to a statistics request to the load from then on, and `path` gets the load as well.

    A rule off the path is a violation at once; a rule that is missing is one when the network has
    come to rest, since a controller may install a path step by step.  A rule counts for a packet
    that it matches, whatever port it asks for; one that matches everything counts for none.
    """

    path: Callable[..., Iterable[str] | None]
    load: Callable[[Any, str, StatsReply], Hashable] | None = None

    sentence = "For each packet the controller installs rules on all switches of its path, and on no others."
    needs = "a packet that goes to the controller and has a path"

    _switches: tuple[str, ...] = field(init=False, repr=False, default=())

    def __post_init__(self) -> None:
        for option in ("path", "load"):
            given = getattr(self, option)
            if not callable(given) and (option == "path" or given is not None):
                raise PenstockError(
                    f"invalid {option} = {given!r} of {self.name}: must be a function, or the "
                    "file.py:name of one."
                )

    def start(self, network: Network, /) -> Routes:
        """Begin with no flow known."""
        self._switches = tuple(part.name for part in network.components if isinstance(part, Switch))
        return Routes()

    def see(self, record: Record, /) -> Hashable | None:
        """See what a controller is told, and the rules it installs."""
        asked = told = None
        match handled_message(record):
            case switch, PacketIn(data=data, tag=tag):
                asked = Asked(switch, tag, data)
            case switch, StatsReply() as reply if self.load is not None:
                told = (switch, reply)
        installed = tuple(
            (str(channel.port), message.match)
            for channel, message in (*record.sends, *record.lost)
            if isinstance(message, FlowMod) and message.command in _INSTALLS and message.match != ANYTHING
        )
        return RoutingSight(asked, told, installed) if asked or told or installed else None

    def next(self, state: Routes, seen: RoutingSight, /) -> Routes:
        """Judge the rules installed for a packet, and wait for those that are missing."""
        flows, load = state
        if seen.told is not None and self.load is not None:
            load = self.load(load, *seen.told)
        judged = self._route(state, seen)
        if judged is not None:
            flow, route, asked = judged
            for switch, match in seen.installed:
                if switch not in route.path and _concerns(match, asked):
                    raise Violated(
                        f"The controller installed a rule for {asked} on {switch}, which is not on its path "
                        f"{', '.join(route.path)}."
                    )
            flows = flows.set(flow, route)
        for flow, route in flows.items():
            flows = flows.set(flow, route.after(seen.installed))
        return Routes(flows, load)

    def _route(self, state: Routes, seen: RoutingSight) -> tuple[Flow, Route, Asked] | None:
        """Return the flow of the packet that was handed over, and the path it must take."""
        asked = seen.asked
        flow = flow_of(asked.data) if asked else None
        if asked is None or flow is None:
            return None
        load = () if self.load is None else (state.load,)
        given = self.path(parse(asked.data), asked.switch, *load)
        if given is None:
            return None
        path = tuple(given)
        for switch in path:
            if switch not in self._switches:
                raise PenstockError(
                    f"The path that {self.name} was given for {asked} goes through {switch!r}, which is "
                    f"not a switch: the switches are {', '.join(self._switches)}."
                )
        known = state.flows.get(flow)
        if known is not None and known.path == path:
            return flow, known, asked
        return flow, Route(path, frozenset(path), asked), asked

    def judges(self, state: Routes, seen: RoutingSight, /) -> bool:
        """A packet that goes to the controller and has a path is judged."""
        return self._route(state, seen) is not None

    def at_rest(self, state: Routes, _states: Mapping[str, Any], /) -> bool:
        """Judge which switches never got a rule."""
        for route in state.flows.values():
            if route.missing:
                raise Violated(
                    f"The controller never installed a rule for {route.asked} on "
                    f"{', '.join(sorted(route.missing))}, although its path is {', '.join(route.path)}."
                )
        return bool(state.flows)


def _concerns(match: Match, asked: Asked) -> bool:
    """Tell whether a rule is for a packet, whatever port it comes in by."""
    anywhere = Match(tuple(term for term in match.terms if term.field != "in_port"))
    return anywhere != ANYTHING and anywhere.accepts(read(asked.data).fields)
