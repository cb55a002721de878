"""Turns the eight priorities of a tag into four queues."""

from penstock._controllers.controller import FLOOD, Controller
from penstock.openflow.actions import Output
from penstock.openflow.messages import PacketIn
from penstock.packet import parse


class PriorityQueues(Controller):
    """A loop that a packet ends."""

    LAST = 3

    def packet_in(self, switch: str, message: PacketIn) -> None:
        """Climb from queue to queue while the priority is above it."""
        packet = parse(message.data)
        if not packet.tags:
            self.packet_out(switch, message, FLOOD)
            return
        (tag,) = packet.tags
        queue = 0
        while queue < self.LAST and tag.pcp > 2 * queue:
            queue += 1
        self.packet_out(switch, message, (Output(1 + queue),))
