"""Asks first and decides later."""

from penstock._controllers.controller import FLOOD, Controller
from penstock.addresses import BROADCAST_MAC
from penstock.openflow.actions import Output
from penstock.openflow.messages import PacketIn
from penstock.packet import parse


class RememberedTests(Controller):
    """Keeps the answers in variables."""

    def packet_in(self, switch: str, message: PacketIn) -> None:
        """Tell four kinds of packets apart by two questions."""
        packet = parse(message.data)
        is_arp = packet.ethertype == 0x0806
        is_broadcast = packet.dst == BROADCAST_MAC
        if is_arp and is_broadcast:
            self.packet_out(switch, message, FLOOD)
        elif is_arp:
            self.packet_out(switch, message, (Output(2),))
        elif not is_broadcast:
            self.packet_out(switch, message, (Output(3),))
