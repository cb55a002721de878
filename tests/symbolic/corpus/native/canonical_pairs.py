"""Conversations, whoever speaks first."""

from penstock._controllers.controller import FLOOD, Controller
from penstock.openflow.messages import PacketIn
from penstock.packet import parse


class CanonicalPairs(Controller):
    """Knows a pair by its addresses in order."""

    def __init__(self) -> None:
        self.pairs = {(1, 2)}

    def packet_in(self, switch: str, message: PacketIn) -> None:
        """Let the known pair talk, in both directions."""
        packet = parse(message.data)
        pair = tuple(sorted((packet.src, packet.dst)))
        if pair in self.pairs:
            self.packet_out(switch, message, FLOOD)
