"""A MAC-learning switch, after Figure 3 of the NICE paper, which found three bugs in it.

1. Learn by which port the sender of a packet is reached (lines 6-7 of the figure).
2. If the receiver is known, and not where the packet came from (8-10):
   install a rule for such packets (11-13) and have this one sent by it (14).
3. Otherwise flood the packet (16).

The bugs are the original's.  The rule outlives a move of the receiver, as long as it is used (BUG-I).
The way back is not installed together with the way there (BUG-II).  Floods go round for ever where
the network has a cycle (BUG-III).
"""

from penstock import FLOOD, Controller
from penstock.addresses import is_multicast_mac
from penstock.openflow.actions import Output
from penstock.openflow.match import Match
from penstock.openflow.messages import NO_MAX_LEN, PacketIn, PortNo
from penstock.packet import parse

SOFT_TIMER = 5


class LearningSwitch(Controller):
    """Learns where hosts are, and installs rules between those it knows."""

    def __init__(self) -> None:
        self.mac_tables: dict[str, dict[int, int]] = {}

    def switch_join(self, switch: str) -> None:
        """Begin with an empty table, and have packets that meet no rule sent up."""
        self.mac_tables[switch] = {}
        self.install(switch, actions=(Output(PortNo.CONTROLLER, NO_MAX_LEN),), priority=0)

    def switch_leave(self, switch: str) -> None:
        """Forget what was learned there."""
        self.mac_tables.pop(switch, None)

    def packet_in(self, switch: str, message: PacketIn) -> None:
        """Learn from a packet, and forward or flood it."""
        packet, table = parse(message.data), self.mac_tables[switch]
        if not is_multicast_mac(packet.src):  # 1
            table[packet.src] = message.in_port
        out_port = None if is_multicast_mac(packet.dst) else table.get(packet.dst)
        if out_port is None or out_port == message.in_port:  # 3
            self.packet_out(switch, message, FLOOD)
            return
        match = Match.of(  # 2
            in_port=message.in_port, eth_src=packet.src, eth_dst=packet.dst, eth_type=packet.ethertype
        )
        self.install(switch, match, (Output(out_port),), priority=1, idle_timeout=SOFT_TIMER)
        self.packet_out(switch, message, (Output(out_port),))
