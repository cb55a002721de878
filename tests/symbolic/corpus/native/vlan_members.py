"""Floods stay inside a VLAN."""

from penstock._controllers.controller import Controller
from penstock.openflow.actions import Output
from penstock.openflow.messages import PacketIn
from penstock.packet import parse


class VlanMembers(Controller):
    """Knows which port is in which VLAN."""

    def __init__(self) -> None:
        self.vlans = {1: 10, 2: 20, 3: 10}

    def packet_in(self, switch: str, message: PacketIn) -> None:
        """Send a tagged packet to the ports of its VLAN."""
        packet = parse(message.data)
        if not packet.tags:
            return
        vid = packet.tags[0].vid
        ports = [port for port, vlan in self.vlans.items() if vlan == vid]
        if ports:
            self.packet_out(switch, message, tuple(Output(port) for port in ports))
