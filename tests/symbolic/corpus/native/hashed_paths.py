"""Spreads senders over two ports by a hash, which of a number is the number itself."""

from penstock._controllers.controller import Controller
from penstock.openflow.actions import Output
from penstock.openflow.messages import PacketIn
from penstock.packet import parse


class HashedPaths(Controller):
    """Takes one of two ports."""

    def packet_in(self, switch: str, message: PacketIn) -> None:
        """Send a packet by its sender's hash."""
        packet = parse(message.data)
        port = 2 + hash(packet.src) % 2
        self.packet_out(switch, message, (Output(port),))
