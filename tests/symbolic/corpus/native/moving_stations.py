"""Follows stations that move, and forgets receivers once they have been sent to."""

from penstock._controllers.controller import FLOOD, Controller
from penstock.openflow.actions import Output
from penstock.openflow.messages import PacketIn
from penstock.packet import parse


class MovingStations(Controller):
    """A table that grows and shrinks with every packet."""

    def __init__(self) -> None:
        self.location = {1: 1, 2: 2}

    def packet_in(self, switch: str, message: PacketIn) -> None:
        """Learn newcomers, drop from the table whoever has moved, use up the receiver's entry."""
        packet = parse(message.data)
        if packet.src not in self.location:
            self.location.update({packet.src: message.in_port})
        elif self.location[packet.src] != message.in_port:
            del self.location[packet.src]
        port = self.location.pop(packet.dst, None)
        self.packet_out(switch, message, (Output(port),) if port else FLOOD)
