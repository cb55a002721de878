"""Keeps some hosts from some services."""

from penstock._controllers.controller import FLOOD, Controller
from penstock.addresses import ipv4
from penstock.openflow.messages import PacketIn
from penstock.packet import TCP, IPv4, parse


class BlockedFlows(Controller):
    """A set of pairs, parts of which a packet decides."""

    def __init__(self) -> None:
        self.blocked = {(ipv4("10.0.0.1"), 80), (ipv4("10.0.0.2"), 22)}

    def packet_in(self, switch: str, message: PacketIn) -> None:
        """Drop TCP that is blocked, and all that is no TCP over IPv4."""
        packet = parse(message.data)
        datagram = packet.find(IPv4)
        if datagram is None:
            return
        segment = packet.find(TCP)
        if segment is None:
            return
        if (datagram.src, segment.dst) not in self.blocked:
            self.packet_out(switch, message, FLOOD)
