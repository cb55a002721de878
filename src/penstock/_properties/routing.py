"""The rules that a controller installs for a packet lie on the path that the packet must take.

What that path is only the application's author can say: NICE checks so a controller that chooses
between an always-on and an on-demand routing table by the load of the network (§9.3).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from penstock._base.frozen import FrozenMap
from penstock._properties.base import Property, Violated
from penstock._properties.flows import Flow, flow_of
from penstock._properties.packets import called, heard
from penstock._world.network import Network
from penstock._world.switch import Switch
from penstock._world.switch.headers import read
from penstock._world.transition import Record
from penstock.errors import PenstockError
from penstock.openflow.match import ANYTHING, Match
from penstock.openflow.messages import FlowCommand, FlowMod, PacketIn
from penstock.openflow.stats import StatsReply
from penstock.packet import parse

_INSTALLS = (FlowCommand.ADD, FlowCommand.MODIFY, FlowCommand.MODIFY_STRICT)


class Asked(NamedTuple):
    """A packet that a switch handed to a controller."""

    switch: str
    tag: str
    data: bytes

    def __str__(self) -> str:
        return called(self.tag, self.data)


class Sight(NamedTuple):
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

    sentence = "For each packet the controller installs rules on all and just the switches of its path."
    needs = "a packet that goes to the controller and has a path"

    _switches: tuple[str, ...] = field(init=False, repr=False, default=())

    def __post_init__(self) -> None:
        for option in ("path", "load"):
            given = getattr(self, option)
            if not callable(given) and (option == "path" or given is not None):
                raise PenstockError(
                    f"{self.name} cannot ask {given!r}: give {option} a function, or file.py:name of one."
                )

    def start(self, network: Network, /) -> Routes:
        """Begin with no flow known."""
        self._switches = tuple(part.name for part in network.components if isinstance(part, Switch))
        return Routes()

    def see(self, record: Record, /) -> Hashable | None:
        """See what a controller is told, and the rules it installs."""
        asked = told = None
        match heard(record):
            case switch, PacketIn(data=data, tag=tag):
                asked = Asked(switch, tag, data)
            case switch, StatsReply() as reply if self.load is not None:
                told = (switch, reply)
        installed = tuple(
            (str(channel.port), message.match)
            for channel, message in (*record.sends, *record.lost)
            if isinstance(message, FlowMod) and message.command in _INSTALLS and message.match != ANYTHING
        )
        return Sight(asked, told, installed) if asked or told or installed else None

    def next(self, state: Routes, seen: Sight, /) -> Routes:
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

    def _route(self, state: Routes, seen: Sight) -> tuple[Flow, Route, Asked] | None:
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
                    f"The path that {self.name} was given for {asked} goes through {switch!r}, which is no "
                    f"switch: the switches are {', '.join(self._switches)}."
                )
        known = state.flows.get(flow)
        if known is not None and known.path == path:
            return flow, known, asked
        return flow, Route(path, frozenset(path), asked), asked

    def judges(self, state: Routes, seen: Sight, /) -> bool:
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
