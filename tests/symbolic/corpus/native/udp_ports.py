"""UDP by its ports."""

from penstock._controllers.controller import FLOOD, Controller
from penstock.openflow.actions import Output
from penstock.openflow.messages import PacketIn
from penstock.packet import UDP, parse

NTP = 123


class UdpPorts(Controller):
    """Comparisons in chains."""

    def packet_in(self, switch: str, message: PacketIn) -> None:
        """Drop what looks reflected, forward well-known services and games."""
        datagram = parse(message.data).find(UDP)
        if datagram is None:
            return
        if 0 < datagram.dst <= 1023:
            if datagram.src == datagram.dst != NTP:
                return
            self.packet_out(switch, message, (Output(2),))
        elif datagram.dst in range(5000, 6000):
            self.packet_out(switch, message, (Output(3),))
        else:
            self.packet_out(switch, message, FLOOD)
