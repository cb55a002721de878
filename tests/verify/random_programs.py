"""Random little controller programs, networks and properties for comparing methods of verification.

A program is a table: in which of its few states, given which packet at which switch, it goes to which state
and sends which messages.  So it is order-sensitive in every way there is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from penstock._controllers.controller import FLOOD, Controller
from penstock._controllers.native import NativeController
from penstock._engine.building import joined
from penstock._properties.base import Property
from penstock._verify.invariants import NeverDropped, NeverReceives, NoLoops
from penstock._verify.lifting import Lifting, Model, lift
from penstock._world.assembly import build_network
from penstock._world.frame import Frame
from penstock._world.hosts import HostMaker
from penstock._world.network import Network
from penstock._world.switch import SwitchOptions
from penstock._world.topology import Topology, TopologyBuilder
from penstock.openflow.actions import Action, ApplyActions, Output
from penstock.openflow.fields import ETH_IPV4, IP_UDP
from penstock.openflow.match import Match
from penstock.openflow.messages import (
    V10,
    BarrierReply,
    BarrierRequest,
    FlowCommand,
    FlowMod,
    OpenFlowMessage,
    PacketIn,
)
from penstock.packet import UDP, Ethernet, IPv4, parse, udp_datagram

Order = tuple[str, OpenFlowMessage]
Row = tuple[int, tuple[Action, ...] | None, tuple[Order, ...]]
"""The next state, what becomes of the packet, and the messages that are sent besides."""

KINDS = (7, 9)
"""The UDP ports that tell packets apart."""


def kind_of(packet: Ethernet) -> int:
    ip = packet.payload
    assert isinstance(ip, IPv4) and isinstance(ip.payload, UDP)
    return ip.payload.dst


class Table(Controller):
    """Does what a random table says."""

    def __init__(self, random: Random, switches: tuple[str, ...], *, deletes: bool, barriers: bool) -> None:
        self.state = 0
        self.table: dict[tuple[int, str, int], Row] = {}
        self.after_barrier: list[int] = []
        last = 2 if len(switches) == 1 else 1
        for state in range(last + 1):
            for switch in switches:
                for kind in KINDS:
                    after = min(state + 1, last) if random.random() < 0.6 else state
                    # Messages go out with a change of state only, or queues would grow for ever.
                    number = random.choice((1, 1, 2)) if after != state else 0
                    orders = tuple(_order(random, switches, deletes, barriers) for _ in range(number))
                    out = random.choice((None, FLOOD, (Output(1),), (Output(2),), (Output(2),)))
                    self.table[state, switch, kind] = after, out, orders
            self.after_barrier.append(min(state + 1, last) if random.random() < 0.5 else state)

    def packet_in(self, switch: str, message: PacketIn) -> None:
        self.state, out, orders = self.table[self.state, switch, kind_of(parse(message.data))]
        if out is not None:
            self.packet_out(switch, message, out)
        for to, order in orders:
            self.send(to, order)

    def other(self, switch: str, message: OpenFlowMessage) -> None:
        if isinstance(message, BarrierReply):
            self.state = self.after_barrier[self.state]


def _order(random: Random, switches: tuple[str, ...], deletes: bool, barriers: bool) -> Order:
    to = random.choice(switches)
    if barriers and random.random() < 0.3:
        return to, BarrierRequest(xid=1)
    match = Match.of(eth_type=ETH_IPV4, ip_proto=IP_UDP, udp_dst=random.choice(KINDS))
    if random.random() < 0.3:
        match = Match.of(in_port=random.choice((1, 2)))
    if deletes and random.random() < 0.3:
        return to, FlowMod(FlowCommand.DELETE, match)
    actions = random.choice(((), (Output(1),), (Output(2),), (Output(2),)))
    instructions = (ApplyActions(actions),) if actions else ()
    return to, FlowMod(FlowCommand.ADD, match, instructions, priority=random.choice((1, 2)))


def network_of(random: Random) -> Topology:
    """Return one switch, two in a row, or two with two cables between them."""
    canvas = TopologyBuilder()
    shape = random.choice(("one", "row", "row", "loop"))
    first, last = canvas.add_switch("s1"), "s1"
    if shape != "one":
        last = canvas.add_switch("s2")
    hosts = canvas.add_host("h1"), canvas.add_host("h2")
    canvas.add_link(hosts[0], first, port2=1)
    canvas.add_link(hosts[1], last, port2=2 if shape != "loop" else 3)
    if shape != "one":
        canvas.add_link(first, last, 2, 1)
    if shape == "loop":
        canvas.add_link(first, last, 3, 2)
    return canvas.build()


@dataclass(frozen=True)
class Ingredients:
    """What a random case is made of; `made` judges the lifted network, `watched` is the kind it is about."""

    drawing: Topology
    program: Table
    packets: dict[str, tuple[Ethernet, ...]]
    made: Property
    watched: int
    host: str


def ingredients(seed: int) -> Ingredients:
    """Return a random program, network, traffic and property."""
    random = Random(seed)
    drawing = network_of(random)
    names = tuple(switch.name for switch in drawing.switches)
    program = Table(random, names, deletes=random.random() < 0.3, barriers=random.random() < 0.5)
    h1, h2 = drawing.hosts
    # Two packets in all, at most: what matters is in which order things happen, not how many there are.
    senders, kinds = random.choice(
        (([(h1, h2)], KINDS[:1]),) * 3 + (([(h1, h2)], KINDS), ([(h1, h2), (h2, h1)], KINDS[:1]))
    )
    packets = {
        sender.name: tuple(
            udp_datagram(
                eth_src=sender.mac,
                eth_dst=receiver.mac,
                ip_src=sender.ip,
                ip_dst=receiver.ip,
                udp_src=1,
                udp_dst=kind,
            )
            for kind in kinds
        )
        for sender, receiver in senders
    }
    watched = random.choice(kinds)
    what = f"a packet of kind {watched}"

    def is_watched(packet: Ethernet) -> bool:
        return kind_of(packet) == watched

    host = random.choice(("h1", "h2"))
    made: Property = random.choice(
        (NoLoops(), NeverReceives(host, what, is_watched), NeverDropped(what, is_watched))
    )
    return Ingredients(drawing, program, packets, made, watched, host)


def network_with(parts: Ingredients, hosts: Mapping[str, HostMaker] | None = None) -> Network:
    """Return the network of a case."""
    names = tuple(switch.name for switch in parts.drawing.switches)
    return build_network(
        parts.drawing,
        hosts=hosts,
        controllers=NativeController(parts.program, names, version=V10),
        switches=SwitchOptions(version=V10, counters=False),
    )


def case(seed: int) -> tuple[Model, list[Property]]:
    """Return a random model and property."""
    parts = ingredients(seed)
    network = network_with(parts)
    traffic = {
        name: tuple(Frame(packet.to_bytes()) for packet in packets) for name, packets in parts.packets.items()
    }
    made = parts.made
    how = Lifting(receiving=isinstance(made, NeverReceives), history=isinstance(made, NoLoops))
    return lift(network, joined(network, "c0").start, traffic, how), [made]
