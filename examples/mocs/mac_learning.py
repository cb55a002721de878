"""MAC learning, controller program CP3 of the MOCS paper, after POX's `l2_learning`.

1. Learn by which port the sender of a packet is reached, unless it is known (lines 2-4 of CP3).
2. If the receiver is known (5), send the packet there (6) and install a rule for such packets (7-12).
   As in POX, a packet whose receiver is where it came from is dropped without a rule.
3. Otherwise flood the packet (14).

A rule is sent once.  What was learned is kept in sets, because the order in which it was learned decides
nothing.
"""

from penstock import FLOOD, Controller
from penstock.openflow.actions import Output
from penstock.openflow.match import Match
from penstock.openflow.messages import PacketIn
from penstock.packet import parse


class MacLearning(Controller):
    """Learns where hosts are, and installs rules between those it knows."""

    def __init__(self) -> None:
        self.learned: set[tuple[str, int, int]] = set()
        self.installed: set[tuple[str, int, int, int]] = set()

    def packet_in(self, switch: str, message: PacketIn) -> None:
        """Learn from a packet, and forward or flood it."""
        packet, in_port = parse(message.data), message.in_port
        if self.port_of(switch, packet.src) is None:  # 1
            self.learned.add((switch, packet.src, in_port))
        out_port = self.port_of(switch, packet.dst)
        if out_port is None:  # 3
            self.packet_out(switch, message, FLOOD)
        elif out_port != in_port:  # 2
            self.packet_out(switch, message, (Output(out_port),))
            rule = (switch, packet.src, packet.dst, in_port)
            if rule not in self.installed:
                self.installed.add(rule)
                match = Match.of(in_port=in_port, eth_src=packet.src, eth_dst=packet.dst)
                self.install(switch, match, (Output(out_port),), priority=1)

    def port_of(self, switch: str, address: int) -> int | None:
        """Return the port by which a switch reaches an address, if that was learned."""
        return next((port for at, known, port in self.learned if (at, known) == (switch, address)), None)
