"""Consistent updates, controller program CP5 of the MOCS paper: no packet meets half an update.

Switch s2 drops what it has no better rule for, so a packet to the server may leave s1 only when s2 has one.

1. The first packet to the server has s2 given the rule and a barrier; it is held, one at each port where such
   packets come in (lines 2-8 of CP5).
2. When s2 has confirmed the barrier (14), s1 gets the rule too (16-18) and the held packets go on (19-22).
3. Packets for anybody else, or after the confirmation, go on at once (10).

`Hasty` does not wait: it sends s2 its rule and the barrier, and the packet on, in one go, so that the packet
may get to s2 before the rule.
"""

from penstock import Controller
from penstock.addresses import ipv4
from penstock.openflow.actions import Output
from penstock.openflow.fields import ETH_IPV4
from penstock.openflow.match import Match
from penstock.openflow.messages import BarrierReply, BarrierRequest, OpenFlowMessage, PacketIn
from penstock.packet import IPv4, parse

BARRIER = 1
ENTRANCE, GUARDED = "s1", "s2"


class ConsistentUpdate(Controller):
    """Opens the way to the server from its end."""

    def __init__(self, server: int = ipv4("10.0.0.2")) -> None:
        self.server = server
        self.held: dict[tuple[str, int], PacketIn] = {}
        self.asked = False
        self.confirmed = False

    def switch_join(self, switch: str) -> None:
        """Have the server's switch drop what it has no better rule for."""
        if switch == GUARDED:
            self.install(switch, priority=0)

    def packet_in(self, switch: str, message: PacketIn) -> None:
        """Send a packet on, or hold it until the way is open."""
        if self.is_to_server(message) and not self.confirmed:
            self.held.setdefault((switch, message.in_port), message)  # 1
            self.update()
        else:
            self.packet_out(switch, message, (Output(2),))  # 3

    def update(self) -> None:
        """Ask for the rule at the server's switch, once."""
        if not self.asked:
            self.asked = True
            self.open_way(GUARDED)
            self.send(GUARDED, BarrierRequest(xid=BARRIER))

    def other(self, _switch: str, message: OpenFlowMessage) -> None:
        """Open the rest of the way, and let the held packets go."""
        if isinstance(message, BarrierReply):  # 2
            self.confirmed = True
            self.open_way(ENTRANCE)
            for (switch, _), held in sorted(self.held.items()):
                self.packet_out(switch, held, (Output(2),))
            self.held.clear()

    def open_way(self, switch: str) -> None:
        """Have a switch forward packets to the server."""
        self.install(switch, Match.of(eth_type=ETH_IPV4, ipv4_dst=self.server), (Output(2),), priority=2)

    def is_to_server(self, message: PacketIn) -> bool:
        """Tell whether a packet goes to the server."""
        ip = parse(message.data).payload
        return isinstance(ip, IPv4) and ip.dst == self.server


class Hasty(ConsistentUpdate):
    """Does not wait for the confirmation."""

    def packet_in(self, switch: str, message: PacketIn) -> None:
        """Send every packet on, and ask for the rule at the server's switch in the same breath."""
        if self.is_to_server(message):
            self.update()
        self.packet_out(switch, message, (Output(2),))

    def other(self, _switch: str, _message: OpenFlowMessage) -> None:
        """Take no notice of confirmations."""
