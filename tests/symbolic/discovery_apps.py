"""Small controllers for the tests of discovery."""

from __future__ import annotations

from typing import Any

from penstock._controllers.controller import FLOOD, Controller
from penstock.openflow.match import Match
from penstock.openflow.messages import PacketIn
from penstock.openflow.stats import PortStatsRequest, StatsRequest
from penstock.packet import ARP, TCP, IPv4, parse

SERVICE = 0x0A000002


class PortKnocking(Controller):
    """Lets TCP to port 80 through, answers nothing else, and learns nothing."""

    def packet_in(self, switch: str, message: PacketIn) -> None:
        packet = parse(message.data)
        ip = packet.find(IPv4)
        if ip is not None and ip.dst == SERVICE:
            self.packet_out(switch, message, FLOOD)


class Gate(Controller):
    """Has port 80 dropped from the start; of the rest it tells apart what is below port 1024."""

    def switch_join(self, switch: str) -> None:
        self.install(switch, Match.of(eth_type=0x0800, ip_proto=6, tcp_dst=80), priority=9)

    def packet_in(self, switch: str, message: PacketIn) -> None:
        tcp = parse(message.data).find(TCP)
        if tcp is not None and tcp.dst < 1024:
            self.packet_out(switch, message, FLOOD)


class TwoHops(Controller):
    """s1 forwards everything by a rule; s2 asks, and looks at ARP."""

    def switch_join(self, switch: str) -> None:
        if switch == "s1":
            self.install(switch, actions=FLOOD, priority=1)

    def packet_in(self, switch: str, message: PacketIn) -> None:
        if parse(message.data).find(ARP):
            self.packet_out(switch, message, FLOOD)


class Counting(Controller):
    """Asks for port statistics, and reacts to load."""

    def __init__(self) -> None:
        self.busy = False

    def switch_join(self, switch: str) -> None:
        self.send(switch, StatsRequest(PortStatsRequest()))

    def stats(self, switch: str, message: Any) -> None:
        for port in message.body.ports:
            if port.port_no == 1 and port.tx_bytes > 500_000_000:
                self.busy = True


class Pinned(Controller):
    """Has what comes in by port 1 forwarded by a rule, and fails at everything else."""

    def switch_join(self, switch: str) -> None:
        self.install(switch, Match.of(in_port=1), FLOOD, priority=9)

    def packet_in(self, switch: str, message: PacketIn) -> None:
        raise RuntimeError(switch)


class Balancer(Controller):
    """Counts down by the parity of the receiver, and fails at the bottom."""

    def __init__(self) -> None:
        self.room = [4, 1]

    def packet_in(self, switch: str, message: PacketIn) -> None:
        if message.data[5] & 1:
            self.room[1] -= 1
        else:
            self.room[0] -= 1
        assert min(self.room) >= 0
