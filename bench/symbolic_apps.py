"""The Ryu apps whose handlers are explored, and how to bring one to where a packet may come in.

A `Station` is an app with a network whose switches have joined it.  What has happened since is a
history: packets that it was given, one after another.  Histories can be told to another process,
whose station does the same with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from penstock._concolic.packets.domain import Addresses
from penstock._concolic.packets.frames import FrameSpace
from penstock._controllers.osken.binding import OsKenController
from penstock._engine.building import build
from penstock._scenario.scenario import Scenario
from penstock._world.topology import topology
from penstock.addresses import ipv4
from penstock.openflow.match import Match
from penstock.openflow.messages import NO_BUFFER, PacketIn
from penstock.packet import ethernet

UNASSIGNED_TYPE = 0x88B5
BUFFER = 1


class Inlet(NamedTuple):
    """Where a packet comes in, and whether the switch keeps it in a buffer."""

    switch: str
    port: int
    buffer: int = NO_BUFFER

    def packet_in(self, data: bytes = b"") -> PacketIn:
        """Return what the switch tells the controller of a packet."""
        return PacketIn(self.buffer, len(data), 0, Match.of(in_port=self.port), data)


class Delivery(NamedTuple):
    """A packet that comes in somewhere."""

    inlet: Inlet
    data: bytes


History = tuple[Delivery, ...]


@dataclass(frozen=True)
class App:
    """A Ryu app, with the network and the inlets that it is explored with.

    `hosts` is how many hosts' addresses packets are to have.
    """

    name: str
    inlets: tuple[Inlet, ...]
    topology: str = "linear,2,2"
    hosts: int = 4

    @cached_property
    def frames(self) -> FrameSpace:
        """All packets there can be."""
        numbers = range(1, self.hosts + 1)
        addresses = Addresses(
            macs=tuple(numbers), ipv4s=tuple(ipv4(f"10.0.0.{number}") for number in numbers), dpids=(1, 2)
        )
        return FrameSpace(addresses)


LEARNING = "simple_switch_13"


def learning(known: int) -> tuple[App, History]:
    """Return the learning switch, and the packets by which it gets to know some addresses."""
    history = tuple(
        Delivery(Inlet("s1", number), ethernet(0xFFFFFFFFFFFF, number, UNASSIGNED_TYPE, b"x").to_bytes())
        for number in range(1, known + 1)
    )
    return App(LEARNING, (Inlet("s1", 1),), "single,2", known), history


# The multicast app has s1 ask who listens, for a server at port 2.
# The link aggregation app joins ports 1 and 2 of s1.
APPS: Sequence[App] = (
    App("rest_firewall", (Inlet("s1", 1), Inlet("s2", 1))),
    App(
        "simple_switch_igmp_13",
        (Inlet("s1", 1), Inlet("s1", 2), Inlet("s2", 1), Inlet("s2", 2), Inlet("s2", 1, BUFFER)),
    ),
    App(
        "simple_switch_lacp_13",
        (Inlet("s1", 1), Inlet("s1", 2), Inlet("s1", 3), Inlet("s2", 1), Inlet("s1", 1, BUFFER)),
    ),
)


class Station:
    """An app whose switches have all joined."""

    def __init__(self, app: App, *, followed: bool) -> None:
        hosts = {node.name: {"kind": "host"} for node in topology(app.topology).hosts}
        controller = {"apps": [f"ryu.app.{app.name}"]}
        scenario = Scenario(controller, app.topology, hosts)
        built = build(scenario, asked=followed)
        places = {made.name: place for place, made in enumerate(built.network.components)}
        made = built.network.components[places["c0"]]
        assert isinstance(made, OsKenController)
        self.controller = made
        self._start = built.start.states[places["c0"]]
        self._after: dict[History, Any] = {(): self._start}

    def after(self, history: History) -> Any:
        """Return the app's state after a history."""
        known = self._after.get(history)
        if known is None:
            known = self._after[history] = self.given(self.after(history[:-1]), history[-1])
        return known

    def given(self, state: Any, delivery: Delivery) -> Any:
        """Return the app's state after one more packet."""
        inlet, data = delivery
        return self.controller.receive(state, inlet.switch, inlet.packet_in(data)).state
