"""Sends urgent packets by several ways at once."""

from penstock._controllers.controller import Controller
from penstock.openflow.actions import Output
from penstock.openflow.messages import PacketIn
from penstock.packet import parse


class PriorityCopies(Controller):
    """Counts up to a number from a packet."""

    def packet_in(self, switch: str, message: PacketIn) -> None:
        """Send one copy more for each step of priority."""
        packet = parse(message.data)
        actions = [Output(2)]
        for tag in packet.tags:
            for way in range(tag.pcp):
                actions.append(Output(3 + way))
        self.packet_out(switch, message, tuple(actions))
