"""A packet's fate by its Ethernet type."""

from penstock._controllers.controller import FLOOD, Controller
from penstock.openflow.actions import Output
from penstock.openflow.messages import PacketIn
from penstock.packet import parse

FIRST_EXPERIMENTAL = 0x8800


class EthertypeMatch(Controller):
    """Matches literals, alternatives, a guard and all the rest."""

    def packet_in(self, switch: str, message: PacketIn) -> None:
        """Treat ARP, IP and unusual types differently."""
        match parse(message.data).ethertype:
            case 0x0806:
                self.packet_out(switch, message, FLOOD)
            case 0x0800 | 0x86DD:
                self.packet_out(switch, message, (Output(2),))
            case other if other >= FIRST_EXPERIMENTAL:
                self.packet_out(switch, message, (Output(3),))
            case _:
                pass
