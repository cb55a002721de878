"""NICE's ping experiment (section 8): h1 - s1 - s2 - h2, a MAC-learning controller, N pings at once.

h1 sends N layer-2 pings, h2 answers each when it chooses to, in the order they came.  Identical
pings make a state say how many there are and not which; so does the PROMELA model `ping.pml`, and
the two have the same number of states.  Distinct ones carry a number.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from penstock._controllers.controller import FLOOD, Controller
from penstock._controllers.native import NativeController
from penstock._explore.compiled_network import CompiledNetwork
from penstock._world.assembly import build_network
from penstock._world.component import Component
from penstock._world.hosts import Host, Turn
from penstock._world.network import GlobalState, Network
from penstock._world.switch import SwitchOptions
from penstock._world.topology import topology
from penstock._world.transition import DELIVER
from penstock._world.world import World
from penstock.openflow.actions import Output
from penstock.openflow.match import Match
from penstock.openflow.messages import V13, PacketIn, PortNo
from penstock.packet import Ethernet, ethernet, parse

ETHERTYPE = 0x1234
SWITCHES = ("s1", "s2")


@dataclass(eq=False, kw_only=True)
class Pinger(Host):
    """Sends `count` pings; remembers how many went out and came back."""

    count: int = 2
    distinct: bool = False
    named: bool = False

    def start(self) -> tuple[int, int]:
        """Begin with nothing sent."""
        return 0, 0

    def offers(self, memory: tuple[int, int]) -> tuple[str, ...]:
        """Offer to send while there are pings left."""
        return ("send ping",) if memory[0] < self.count else ()

    def perform(self, memory: tuple[int, int], _action: str) -> Turn:
        """Send the next ping."""
        payload = b"%d" % memory[0] if self.distinct else b"ping"
        packet = ethernet(self.find("h2").mac, self.mac, ETHERTYPE, payload)
        return Turn((memory[0] + 1, memory[1]), (packet,))

    def hear(self, memory: tuple[int, int], _packet: Ethernet) -> Turn:
        """Count an answer."""
        return Turn((memory[0], memory[1] + 1))


@dataclass(eq=False, kw_only=True)
class Ponger(Host):
    """Answers every ping with its own payload; remembers those still to be answered."""

    named: bool = False

    def start(self) -> tuple[bytes, ...]:
        """Begin with nothing to answer."""
        return ()

    def offers(self, memory: tuple[bytes, ...]) -> tuple[str, ...]:
        """Offer to answer the oldest ping."""
        return ("send reply",) if memory else ()

    def perform(self, memory: tuple[bytes, ...], _action: str) -> Turn:
        """Answer the oldest ping."""
        return Turn(memory[1:], (ethernet(self.find("h1").mac, self.mac, ETHERTYPE, memory[0]),))

    def hear(self, memory: tuple[bytes, ...], packet: Ethernet) -> Turn:
        """Owe one more answer."""
        payload = packet.payload
        return Turn((*memory, payload)) if isinstance(payload, bytes) else Turn(memory)


class PySwitch(Controller):
    """The MAC-learning switch of NICE's Figure 3, for OpenFlow 1.3."""

    def __init__(self) -> None:
        self.mac_tables: dict[str, dict[int, int]] = {}

    def switch_join(self, switch: str) -> None:
        """Begin with an empty table, and have misses sent up."""
        self.mac_tables[switch] = {}
        self.install(switch, actions=(Output(PortNo.CONTROLLER),), priority=0)

    def packet_in(self, switch: str, message: PacketIn) -> None:
        """Learn where the sender is; forward by rule where the receiver is known, else flood."""
        packet, table = parse(message.data), self.mac_tables[switch]
        table[packet.src] = message.in_port
        out = table.get(packet.dst)
        if out is None or out == message.in_port:
            self.packet_out(switch, message, FLOOD)
            return
        match = Match.of(in_port=message.in_port, eth_src=packet.src, eth_dst=packet.dst)
        self.install(switch, match, (Output(out),), priority=1)
        self.packet_out(switch, message, (Output(out),))


def native() -> Component:
    """Return the native controller of the experiment."""
    return NativeController(PySwitch(), SWITCHES)


def experiment(pings: int, controller: Component, *, distinct: bool = False) -> tuple[Network, GlobalState]:
    """Return the network, and its state once the switches have joined."""
    hosts: dict[str, Any] = {"h1": partial(Pinger, count=pings, distinct=distinct), "h2": Ponger}
    options = SwitchOptions(version=V13, counters=False)
    network = build_network(topology("linear,2"), hosts=hosts, controllers=controller, switches=options)
    world = World(network)
    while joining := [t for t in world.enabled() if t.verb == DELIVER or t.node == controller.name]:
        world.take(joining[0])
    return network, world.snapshot()


def cells(pings: int, controller: Component, *, distinct: bool = False) -> CompiledNetwork:
    """Return the experiment compiled for searching."""
    network, start = experiment(pings, controller, distinct=distinct)
    return CompiledNetwork(network, start=start)
