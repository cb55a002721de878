"""Where an address is, by the standard library."""

from ipaddress import ip_address, ip_network

from penstock._controllers.controller import FLOOD, Controller
from penstock.openflow.actions import Output
from penstock.openflow.messages import PacketIn
from penstock.packet import IPv4, parse

OFFICE = ip_network("10.0.0.0/24")


class AddressPlan(Controller):
    """Office, groups, other private networks, the world."""

    def packet_in(self, switch: str, message: PacketIn) -> None:
        """Send a datagram by the kind of its destination."""
        datagram = parse(message.data).find(IPv4)
        if datagram is None:
            return
        target = ip_address(datagram.dst)
        if target in OFFICE:
            actions = (Output(2),)
        elif target.is_multicast:
            actions = FLOOD
        elif target.is_private:
            actions = (Output(3),)
        else:
            actions = (Output(4),)
        self.packet_out(switch, message, actions)
