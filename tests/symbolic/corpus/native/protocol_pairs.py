"""A packet's fate by Ethernet type and protocol together."""

from penstock._controllers.controller import FLOOD, Controller
from penstock.openflow.actions import Output
from penstock.openflow.messages import PacketIn
from penstock.packet import IPv4, parse


class ProtocolPairs(Controller):
    """Matches sequences."""

    def packet_in(self, switch: str, message: PacketIn) -> None:
        """Tell TCP, the other usual protocols, ARP and all the rest apart."""
        packet = parse(message.data)
        datagram = packet.find(IPv4)
        match (packet.ethertype, datagram.protocol if datagram else None):
            case (0x0800, 6):
                self.packet_out(switch, message, (Output(2),))
            case (0x0800, 17 | 1):
                self.packet_out(switch, message, (Output(3),))
            case [0x0806, _]:
                self.packet_out(switch, message, FLOOD)
            case _:
                pass
