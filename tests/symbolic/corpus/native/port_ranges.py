"""An access list of port ranges."""

from penstock._controllers.controller import FLOOD, Controller
from penstock.openflow.messages import PacketIn
from penstock.packet import UDP, parse


class PortRanges(Controller):
    """Ranges as a class attribute, tried one after the other."""

    RANGES = ((20, 25), (80, 80), (8000, 8999))

    def packet_in(self, switch: str, message: PacketIn) -> None:
        """Let a datagram through if a range has its port."""
        datagram = parse(message.data).find(UDP)
        if datagram and any(low <= datagram.dst <= high for low, high in self.RANGES):
            self.packet_out(switch, message, FLOOD)
