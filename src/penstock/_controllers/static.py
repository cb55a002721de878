"""A controller that knows the network and installs every rule before the first packet.

On each switch, each host gets two rules, both along shortest paths: one for what is sent to its MAC
address, one for ARP packets that ask for its IP address.  So ARP questions go straight to whom
they ask for, nothing is ever flooded, and no packet loops, whatever the topology.  Where several
shortest paths are equally long, the destination's place among the hosts picks one, which spreads
destinations over the paths of a fat tree and is the same in every run.

Installing a switch is an action, `install s1`, so that a run decides when it happens, also again
after the switch was away.  The rules are the same in OpenFlow 1.0 and 1.3.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from penstock._world.component import Endpoint, Port, Send, Step
from penstock._world.signals import FABRIC, Carrier, Power
from penstock._world.topology import HostNode, Topology
from penstock.errors import PenstockError
from penstock.openflow.actions import ApplyActions, Output
from penstock.openflow.fields import ETH_ARP
from penstock.openflow.match import Match
from penstock.openflow.messages import FlowCommand, FlowMod, OpenFlowMessage

_INSTALL = "install "

ARP_PRIORITY = 200
MAC_PRIORITY = 100


@dataclass(frozen=True, slots=True)
class StaticState:
    """The switches that are connected and wait for their rules, in the topology's order."""

    waiting: tuple[str, ...]


class StaticController:
    """Installs shortest-path rules for each host on each switch."""

    def __init__(self, topology: Topology, name: str = "c0") -> None:
        self.name = name
        self._switches = tuple(switch.name for switch in topology.switches)
        self._rules = _rules(topology)

    def initial(self) -> StaticState:
        """Begin with every switch connected and without rules."""
        return StaticState(self._switches)

    def actions(self, state: StaticState) -> tuple[str, ...]:
        """Offer to install any switch that waits for it."""
        return tuple(_INSTALL + switch for switch in state.waiting)

    def act(self, state: StaticState, action: str) -> Step:
        """Send a switch its rules."""
        switch = action.removeprefix(_INSTALL)
        if action not in self.actions(state):
            raise PenstockError(f"{self.name} cannot {action!r}: it installs a connected switch, once.")
        sends = tuple(Send(switch, rule) for rule in self._rules[switch])
        return Step(self._without(state, switch), sends)

    def receive(self, state: StaticState, port: Port, message: OpenFlowMessage | Carrier | Power) -> Step:
        """Note which switches come and go; what they say is of no interest to a controller that knows all."""
        if port != FABRIC:
            return Step(state)
        match message:
            case Carrier(port=switch, up=True):
                return Step(self._with(state, str(switch)))
            case Carrier(port=switch):
                return Step(self._without(state, str(switch)))
            case _:
                return Step(StaticState(()))

    def _without(self, state: StaticState, switch: str) -> StaticState:
        return StaticState(tuple(name for name in state.waiting if name != switch))

    def _with(self, state: StaticState, switch: str) -> StaticState:
        return StaticState(tuple(name for name in self._switches if name in state.waiting or name == switch))


def _rules(topology: Topology) -> dict[str, tuple[FlowMod, ...]]:
    """Return each switch's rules."""
    rules: dict[str, list[FlowMod]] = {switch.name: [] for switch in topology.switches}
    links = _switch_links(topology)
    distances: dict[str, dict[str, int]] = {}
    for number, host in enumerate(topology.hosts):
        if host.attachment is None or host.attachment.node not in rules:
            continue
        root = host.attachment.node
        if root not in distances:
            distances[root] = _distances(links, root)
        for switch, port in _ports_towards(links, distances[root], host.attachment, number).items():
            rules[switch] += _host_rules(host, port)
    return {switch: tuple(found) for switch, found in rules.items()}


def _host_rules(host: HostNode, port: int) -> list[FlowMod]:
    forward = (ApplyActions((Output(port),)),)
    rules = [FlowMod(FlowCommand.ADD, Match.of(eth_dst=host.mac), forward, MAC_PRIORITY)]
    if host.ip:
        asked = Match.of(eth_type=ETH_ARP, arp_tpa=host.ip)
        rules.append(FlowMod(FlowCommand.ADD, asked, forward, ARP_PRIORITY))
    return rules


def _switch_links(topology: Topology) -> dict[str, list[tuple[int, str]]]:
    """Return each switch's ports that lead to other switches, in order, with the switch there."""
    links: dict[str, list[tuple[int, str]]] = {switch.name: [] for switch in topology.switches}
    for near, far in topology.peers().items():
        if near.node in links and far.node in links:
            links[near.node].append((int(near.port), far.node))
    return {switch: sorted(found) for switch, found in links.items()}


def _distances(links: dict[str, list[tuple[int, str]]], root: str) -> dict[str, int]:
    """Return how many links every reachable switch is away from a switch."""
    distances = {root: 0}
    queue = deque([root])
    while queue:
        near = queue.popleft()
        for _, far in links[near]:
            if far not in distances:
                distances[far] = distances[near] + 1
                queue.append(far)
    return distances


def _ports_towards(
    links: dict[str, list[tuple[int, str]]], distances: dict[str, int], place: Endpoint, number: int
) -> dict[str, int]:
    """Return the port by which each switch sends to the host at a place."""
    ports = {place.node: int(place.port)}
    for switch, distance in distances.items():
        if switch != place.node:
            closer = [port for port, far in links[switch] if distances[far] == distance - 1]
            # Neighbouring switches choose by different digits, or a fat tree's core would stay half idle.
            ports[switch] = closer[number // distance % len(closer)]
    return ports
