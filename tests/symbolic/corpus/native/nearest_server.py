"""Chooses the server whose address has most in common with the client's."""

from penstock._controllers.controller import Controller
from penstock.addresses import ipv4
from penstock.openflow.actions import Output
from penstock.openflow.messages import PacketIn
from penstock.packet import IPv4, parse


class NearestServer(Controller):
    """Sorts servers by their distance, and clients into near and far."""

    def __init__(self) -> None:
        self.servers = {ipv4("10.0.0.100"): 2, ipv4("192.168.0.100"): 3}

    def packet_in(self, switch: str, message: PacketIn) -> None:
        """Send a datagram to the nearest server."""
        datagram = parse(message.data).find(IPv4)
        if datagram is None:
            return
        nearest, *_ = sorted(self.servers, key=lambda server: server ^ datagram.src)
        self.packet_out(switch, message, (Output(self.servers[nearest]),))
