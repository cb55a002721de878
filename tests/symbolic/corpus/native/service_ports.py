"""Services have a port each, found by a text made of Ethernet type and protocol."""

from penstock._controllers.controller import FLOOD, Controller
from penstock.openflow.actions import Output
from penstock.openflow.messages import PacketIn
from penstock.packet import IPv4, parse


class ServicePorts(Controller):
    """Sends TCP, UDP and ARP to a port of their own."""

    def __init__(self) -> None:
        self.ports = {"0800/6": 2, "0800/17": 3, "0806/0": 4}

    def packet_in(self, switch: str, message: PacketIn) -> None:
        """Look up the service that a packet belongs to."""
        packet = parse(message.data)
        datagram = packet.find(IPv4)
        protocol = datagram.protocol if datagram is not None else 0
        port = self.ports.get(f"{packet.ethertype:04x}/{protocol}")
        if port is None:
            self.packet_out(switch, message, FLOOD)
        else:
            self.packet_out(switch, message, (Output(port),))
