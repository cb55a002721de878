"""Counts how many of a packet's addresses are known."""

from penstock._controllers.controller import FLOOD, Controller
from penstock.openflow.messages import PacketIn
from penstock.packet import parse


class CountedMatches(Controller):
    """Adds up answers, and asks once."""

    def __init__(self) -> None:
        self.peers = (1, 2, 3)

    def packet_in(self, switch: str, message: PacketIn) -> None:
        """Flood a packet whose receiver is a peer."""
        packet = parse(message.data)
        known = sum(packet.dst == peer for peer in self.peers)
        if known > 0:
            self.packet_out(switch, message, FLOOD)
