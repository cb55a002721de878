"""A guarded edge and an open core: what a switch does depends on which it is."""

from penstock._controllers.controller import FLOOD, Controller
from penstock.openflow.messages import PacketIn
from penstock.packet import parse


class TwoRoles(Controller):
    """The same handler for two switches."""

    def __init__(self) -> None:
        self.guests = {"s1": {1}}

    def packet_in(self, switch: str, message: PacketIn) -> None:
        """Let only its guests in at the edge, and nothing that is ARP or IPv6 through the core."""
        packet = parse(message.data)
        if switch in self.guests:
            welcome = packet.src in self.guests[switch]
        else:
            welcome = packet.ethertype not in [0x0806, 0x86DD]
        if welcome:
            self.packet_out(switch, message, FLOOD)
