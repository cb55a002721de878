"""Queues by how urgent a datagram is, where it goes and whether there is congestion."""

from penstock._controllers.controller import Controller
from penstock.addresses import ipv4
from penstock.openflow.actions import Output
from penstock.openflow.messages import PacketIn
from penstock.packet import IPv4, parse

EXPEDITED = 46
NETWORK = ipv4("10.0.0.0")
MASK = 0xFFFFFF00
CONGESTED = 1 << 3


class TrafficClasses(Controller):
    """Arithmetic with bits."""

    def packet_in(self, switch: str, message: PacketIn) -> None:
        """Put three bits together, and send by them."""
        datagram = parse(message.data).find(IPv4)
        if datagram is None:
            return
        queue = 1 if datagram.tos >> 2 == EXPEDITED else 0
        if datagram.dst & MASK == NETWORK:
            queue |= 2
        if 1 << (datagram.tos & 0b11) & CONGESTED:
            queue |= 4
        self.packet_out(switch, message, (Output(1 + queue),))
