"""A stateless firewall, controller program CP1 of the MOCS paper: nobody is reached by ssh.

When a switch asks for the first time, it gets three rules:

1. ssh packets are dropped (priority 10),
2. what comes in by port 1 goes out by port 2 (priority 1),
3. and the other way round.

Rule 1 must be in place before the others, so a barrier has to follow it.  `Reordered` sends rule 2 before
that barrier (CP1 as printed): the switch may carry out rule 2 first, and then ssh packets pass.
"""

from penstock import Controller
from penstock.openflow.actions import Output
from penstock.openflow.fields import ETH_IPV4, IP_TCP
from penstock.openflow.match import Match
from penstock.openflow.messages import BarrierRequest, PacketIn
from penstock.packet import TCP, Ethernet, IPv4, parse

SSH = 22
BARRIER = 1


class StatelessFirewall(Controller):
    """Has the switches drop ssh packets, and only then forward."""

    def __init__(self) -> None:
        self.configured: set[str] = set()

    def packet_in(self, switch: str, message: PacketIn) -> None:
        """Send a packet on unless it is ssh, and configure the switch it came from."""
        if not is_ssh(parse(message.data)):
            self.packet_out(switch, message, (Output(3 - message.in_port),))
        if switch not in self.configured:
            self.configured.add(switch)
            self.configure(switch)

    def configure(self, switch: str) -> None:
        """Send a switch its rules."""
        self.block_ssh(switch)
        self.send(switch, BarrierRequest(xid=BARRIER))
        self.forward(switch, 1)
        self.forward(switch, 2)

    def block_ssh(self, switch: str) -> None:
        """Have a switch drop ssh packets."""
        self.install(switch, Match.of(eth_type=ETH_IPV4, ip_proto=IP_TCP, tcp_dst=SSH), priority=10)

    def forward(self, switch: str, in_port: int) -> None:
        """Have a switch forward what comes in by a port."""
        self.install(switch, Match.of(in_port=in_port), (Output(3 - in_port),), priority=1)


class Reordered(StatelessFirewall):
    """Sends a rule that forwards before the barrier."""

    def configure(self, switch: str) -> None:
        """Send a switch its rules, the barrier too late."""
        self.forward(switch, 1)
        self.block_ssh(switch)
        self.send(switch, BarrierRequest(xid=BARRIER))
        self.forward(switch, 2)


def is_ssh(packet: Ethernet) -> bool:
    """Tell whether a packet goes to an ssh server."""
    ip = packet.payload
    return isinstance(ip, IPv4) and isinstance(ip.payload, TCP) and ip.payload.dst == SSH
