"""Small controllers, right and wrong, for the properties to tell apart."""

from __future__ import annotations

from typing import ClassVar

from examples.controllers.hub import Hub as Hub
from examples.controllers.learning_switch import LearningSwitch as LearningSwitch

from penstock._controllers.controller import FLOOD, Controller
from penstock.addresses import ipv4, mac
from penstock.openflow.actions import Action, Output, SetField
from penstock.openflow.match import Match
from penstock.openflow.messages import (
    NO_BUFFER,
    NO_MAX_LEN,
    BarrierRequest,
    FlowCommand,
    FlowMod,
    PacketIn,
    PacketOut,
    PortNo,
    PortState,
    PortStatus,
)
from penstock.openflow.stats import PortStatsRequest, StatsReply, StatsRequest
from penstock.packet import ARP, TCP, Ethernet, IPv4, TcpFlags, arp_reply, parse

CUT_AT = 128
"""Packets sent up with at most so many bytes are kept in a buffer, where the switch has one."""


def of_packet(packet: Ethernet, in_port: int) -> Match:
    return Match.of(in_port=in_port, eth_src=packet.src, eth_dst=packet.dst, eth_type=packet.ethertype)


class BothWays(LearningSwitch):
    """NICE's fix of BUG-II: the rule for the way back is installed before the packet goes on."""

    way_back_first = True

    def packet_in(self, switch: str, message: PacketIn) -> None:
        packet = parse(message.data)
        out_port = self.mac_tables[switch].get(packet.dst)
        back = None
        if out_port is not None and out_port != message.in_port:
            answer = Ethernet(packet.src, packet.dst, packet.ethertype, b"")
            back = (switch, of_packet(answer, out_port), (Output(message.in_port),))
        if back and self.way_back_first:
            self.install(*back, priority=1)
        super().packet_in(switch, message)
        if back and not self.way_back_first:
            self.install(*back, priority=1)


class BothWaysTooLate(BothWays):
    """The naive fix of BUG-II, which NICE shows to be wrong: the rule for the way back comes last."""

    way_back_first = False


class Attentive(LearningSwitch):
    """A learning switch that takes back its rules when a host turns up elsewhere or a port goes down."""

    def packet_in(self, switch: str, message: PacketIn) -> None:
        sender = parse(message.data).src
        if self.mac_tables[switch].get(sender, message.in_port) != message.in_port:
            self.send(switch, FlowMod(FlowCommand.DELETE, Match.of(eth_dst=sender)))
        super().packet_in(switch, message)

    def port_status(self, switch: str, message: PortStatus) -> None:
        if message.desc.state & PortState.LINK_DOWN:
            port, table = message.desc.port_no, self.mac_tables[switch]
            self.mac_tables[switch] = {host: place for host, place in table.items() if place != port}
            self.send(switch, FlowMod(FlowCommand.DELETE, out_port=port))


class Careful(Attentive):
    """One whose messages for a packet do not overtake those for the last, whatever the switch does."""

    def packet_in(self, switch: str, message: PacketIn) -> None:
        super().packet_in(switch, message)
        self.send(switch, BarrierRequest())


class PathInstaller(Controller):
    """Knows linear,2, and installs the rules for a flow on its whole path when it is asked."""

    PORTS: ClassVar = {(1, "s1"): 1, (1, "s2"): 2, (2, "s1"): 2, (2, "s2"): 1}

    def switch_join(self, switch: str) -> None:
        self.install(switch, actions=(Output(PortNo.CONTROLLER, NO_MAX_LEN),), priority=0)

    def packet_in(self, switch: str, message: PacketIn) -> None:
        packet = parse(message.data)
        for other in ("s2", "s1"):
            match = Match.of(eth_src=packet.src, eth_dst=packet.dst)
            self.install(other, match, (Output(self.PORTS[packet.dst, other]),), priority=1)
        self.packet_out(switch, message, (Output(self.PORTS[packet.dst, switch]),))


class Buffered(LearningSwitch):
    """A learning switch whose switches keep packets in their buffers until they are told what to do."""

    def switch_join(self, switch: str) -> None:
        self.mac_tables[switch] = {}
        self.install(switch, actions=(Output(PortNo.CONTROLLER, CUT_AT),), priority=0)


class BufferedByRule(Controller):
    """Has the packet in the buffer sent by the very rule it installs; one that is in none, apart."""

    def switch_join(self, switch: str) -> None:
        self.install(switch, actions=(Output(PortNo.CONTROLLER, CUT_AT),), priority=0)

    def packet_in(self, switch: str, message: PacketIn) -> None:
        match = of_packet(parse(message.data), message.in_port)
        self.install(switch, match, FLOOD, priority=1, buffer_id=message.buffer_id)
        if message.buffer_id == NO_BUFFER:
            self.packet_out(switch, message, FLOOD)


class Forgetful(Buffered):
    """BUG-VI and BUG-X: installs the right rule, and forgets the packet that asked for it."""

    def packet_out(self, switch: str, message: PacketIn, actions: tuple[Action, ...]) -> None:
        if actions == FLOOD:
            super().packet_out(switch, message, actions)


class Hoarder(Hub):
    """Keeps each packet in its memory and floods it only when the next one comes."""

    def __init__(self) -> None:
        self.kept: list[tuple[str, PacketIn]] = []

    def packet_in(self, switch: str, message: PacketIn) -> None:
        for held in self.kept:
            self.packet_out(*held, FLOOD)
        self.kept = [(switch, message)]


class ArpProxy(Hub):
    """Answers ARP questions itself; everything else it floods."""

    def packet_in(self, switch: str, message: PacketIn) -> None:
        arp = parse(message.data).payload
        if not isinstance(arp, ARP):
            super().packet_in(switch, message)
            return
        owner = arp.tpa & 0xFF
        answer = arp_reply(eth_src=owner, eth_dst=arp.sha, ip_src=arp.tpa, ip_dst=arp.spa)
        self.send(
            switch, PacketOut(NO_BUFFER, PortNo.CONTROLLER, (Output(message.in_port),), answer.to_bytes())
        )


class Balancer(Controller):
    """Spreads the connections to h4's address over h2 and h3, as NICE's load balancer does (§9.2)."""

    SERVICE = ipv4("10.0.0.4")
    CLIENT_PORT = 1

    def __init__(self) -> None:
        self.turn = 0
        self.replica_of: dict[tuple[int, int], int] = {}

    def switch_join(self, switch: str) -> None:
        self.install(switch, actions=(Output(PortNo.CONTROLLER, NO_MAX_LEN),), priority=0)

    def is_new(self, connection: tuple[int, int], tcp: TCP) -> bool:
        return connection not in self.replica_of

    def packet_in(self, switch: str, message: PacketIn) -> None:
        packet = parse(message.data)
        ip, tcp = packet.payload, packet.find(TCP)
        if not isinstance(ip, IPv4) or tcp is None:
            self.packet_out(switch, message, FLOOD)
        elif ip.dst != self.SERVICE:
            self.packet_out(switch, message, (SetField("ipv4_src", self.SERVICE), Output(self.CLIENT_PORT)))
        else:
            connection = (ip.src, tcp.src)
            if self.is_new(connection, tcp):
                self.replica_of[connection] = 2 + self.turn % 2
                self.turn += 1
            replica = self.replica_of[connection]
            address = SetField("eth_dst", mac(f"00:00:00:00:00:0{replica}"))
            self.packet_out(
                switch,
                message,
                (address, SetField("ipv4_dst", ipv4(f"10.0.0.{replica}")), Output(replica)),
            )


class HastyBalancer(Balancer):
    """BUG-IX: takes every SYN, a repeated one too, for a new connection."""

    def is_new(self, connection: tuple[int, int], tcp: TCP) -> bool:
        return bool(tcp.flags & TcpFlags.SYN)


class TrafficEngineer(Controller):
    """Routes h1's packets to h2 through ring,3 by one of two tables, chosen by load (NICE §9.3).

    The load is high once s3 has answered a question, which is asked when h3 speaks.
    """

    ALWAYS_ON: ClassVar = {"s1": (1, 2), "s2": (2, 1)}
    ON_DEMAND: ClassVar = {"s1": (1, 3), "s3": (3, 2), "s2": (3, 1)}
    """Each switch on the path, with the ports by which a packet comes in and goes out."""

    def __init__(self) -> None:
        self.high = False

    def switch_join(self, switch: str) -> None:
        self.install(switch, actions=(Output(PortNo.CONTROLLER, NO_MAX_LEN),), priority=0)

    def table(self) -> dict[str, tuple[int, int]]:
        return self.ON_DEMAND if self.high else self.ALWAYS_ON

    def packet_in(self, switch: str, message: PacketIn) -> None:
        packet = parse(message.data)
        if packet.src == mac("00:00:00:00:00:03"):
            self.send("s3", StatsRequest(PortStatsRequest()))
        elif switch == "s1":
            for other, (in_port, out_port) in self.table().items():
                match = Match.of(in_port=in_port, eth_src=packet.src, eth_dst=packet.dst)
                self.install(other, match, (Output(out_port),), priority=1)
            self.packet_out(switch, message, (Output(self.table()["s1"][1]),))
        else:
            self.packet_out(switch, message, (Output(self.ON_DEMAND[switch][1]),))

    def stats(self, switch: str, message: StatsReply) -> None:
        self.high = True


class Stubborn(TrafficEngineer):
    """BUG-XII turned round: never uses the on-demand table."""

    def table(self) -> dict[str, tuple[int, int]]:
        return self.ALWAYS_ON


class Sloppy(TrafficEngineer):
    """Installs only the first switch of the path."""

    def table(self) -> dict[str, tuple[int, int]]:
        return {"s1": super().table()["s1"]}


class Clumsy(Hub):
    """Raises when h2 speaks."""

    def packet_in(self, switch: str, message: PacketIn) -> None:
        if parse(message.data).src == mac("00:00:00:00:00:02"):
            raise KeyError("h2")
        super().packet_in(switch, message)
