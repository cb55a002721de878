"""Counts how much each station says."""

from collections import Counter

from penstock._controllers.controller import FLOOD, Controller
from penstock.openflow.messages import PacketIn
from penstock.packet import parse


class Talkers(Controller):
    """Lets nobody say more than three packets."""

    def __init__(self) -> None:
        self.said = Counter({1: 3})

    def packet_in(self, switch: str, message: PacketIn) -> None:
        """Count a packet for its sender."""
        packet = parse(message.data)
        self.said.update([packet.src])
        if self.said[packet.src] > 3:
            return
        self.packet_out(switch, message, FLOOD)
