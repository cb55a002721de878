"""Asks what the layers of a packet are."""

from penstock._controllers.controller import FLOOD, Controller
from penstock.openflow.actions import Output
from penstock.openflow.messages import PacketIn
from penstock.packet import ARP, TCP, IPv4, parse


class HeaderKinds(Controller):
    """Tells layers apart by their class."""

    def packet_in(self, switch: str, message: PacketIn) -> None:
        """Flood ARP, forward TCP, drop the rest."""
        packet = parse(message.data)
        network = packet.find(ARP) or packet.find(IPv4)
        if isinstance(network, ARP):
            self.packet_out(switch, message, FLOOD)
        elif type(network) is IPv4 and isinstance(packet.find(TCP), TCP):
            self.packet_out(switch, message, (Output(2),))
