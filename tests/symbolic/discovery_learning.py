"""A controller that names no address, not even as a small number."""

from __future__ import annotations

from penstock._controllers.controller import FLOOD, Controller
from penstock.openflow.actions import Output
from penstock.openflow.match import Match
from penstock.openflow.messages import PacketIn
from penstock.packet import parse


class Learning(Controller):
    """Learns where hosts are, and installs a rule once both ends of a flow are known."""

    def __init__(self) -> None:
        self.places: dict[str, dict[int, int]] = {}

    def packet_in(self, switch: str, message: PacketIn) -> None:
        packet = parse(message.data)
        places = self.places.setdefault(switch, {})
        places[packet.src] = message.in_port
        if packet.dst in places:
            out = (Output(places[packet.dst]),)
            self.install(switch, Match.of(eth_dst=packet.dst), out)
            self.packet_out(switch, message, out)
        else:
            self.packet_out(switch, message, FLOOD)
