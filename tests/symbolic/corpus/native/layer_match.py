"""A packet's fate by what is in it, layer by layer."""

from penstock._controllers.controller import FLOOD, Controller
from penstock.openflow.actions import Output
from penstock.openflow.messages import PacketIn
from penstock.packet import ARP, TCP, parse


class LayerMatch(Controller):
    """Matches classes with attributes."""

    def __init__(self) -> None:
        self.stations = {1: 1, 2: 2}

    def packet_in(self, switch: str, message: PacketIn) -> None:
        """Flood questions, deliver answers, keep SSH out."""
        packet = parse(message.data)
        match packet.find(ARP) or packet.find(TCP):
            case ARP(op=1):
                self.packet_out(switch, message, FLOOD)
            case ARP(op=2, tha=target) if target in self.stations:
                self.packet_out(switch, message, (Output(self.stations[target]),))
            case TCP(dst=22 | 23):
                pass
            case TCP() as segment:
                self.packet_out(switch, message, (Output(2 if segment.dst < 1024 else 3),))
            case _:
                self.packet_out(switch, message, FLOOD)
