"""Policy by ssh and destination, controller program CP4 of the MOCS paper: the server is not reached by ssh.

1. The first ssh packet to the server has all switches told to drop such packets (lines 2-12 of CP4).
2. Any other packet is sent on towards the server, and a rule forwards those like it (14-21), if it goes to a
   service that is known.

`WrongNesting` has step 2 nested in step 1's test: ssh packets that reach the controller after the first,
because the rule that drops them is still on its way, are sent on as if they were harmless.
"""

from penstock import Controller
from penstock.addresses import ipv4
from penstock.openflow.actions import Output
from penstock.openflow.fields import ETH_IPV4, IP_TCP
from penstock.openflow.match import Match
from penstock.openflow.messages import BarrierRequest, PacketIn
from penstock.packet import TCP, IPv4, parse

SSH, WEB = 22, 80
SERVICES = (SSH, WEB)
BARRIER = 1


class Policy(Controller):
    """Blocks ssh to the server, and forwards the rest."""

    def __init__(self, switches: tuple[str, ...] = ("s1", "s2"), server: int = ipv4("10.0.0.2")) -> None:
        self.switches = switches
        self.server = server
        self.blocked = False
        self.forwarded: set[int] = set()

    def packet_in(self, switch: str, message: PacketIn) -> None:
        """Drop a packet, or send it on."""
        ip = parse(message.data).payload
        if not isinstance(ip, IPv4) or not isinstance(ip.payload, TCP) or ip.dst != self.server:
            return
        if ip.payload.dst == SSH:
            self.meet_ssh(switch, message)
        else:
            self.send_on(switch, message, ip.payload.dst)

    def meet_ssh(self, _switch: str, _message: PacketIn) -> None:
        """Have ssh packets dropped, from the first one on."""
        if not self.blocked:
            self.block()

    def block(self) -> None:
        """Tell all switches to drop ssh packets."""
        self.blocked = True
        for switch in self.switches:
            self.install(switch, self._match(SSH), priority=1)
            self.send(switch, BarrierRequest(xid=BARRIER))

    def send_on(self, switch: str, message: PacketIn, port: int) -> None:
        """Send a packet on, and have those like it forwarded."""
        self.packet_out(switch, message, (Output(2),))
        if port in SERVICES and port not in self.forwarded:
            self.forwarded.add(port)
            for each in self.switches:
                self.install(each, self._match(port), (Output(2),), priority=2)

    def _match(self, port: int) -> Match:
        return Match.of(eth_type=ETH_IPV4, ip_proto=IP_TCP, ipv4_dst=self.server, tcp_dst=port)


class WrongNesting(Policy):
    """Sends on ssh packets that come after the first."""

    def meet_ssh(self, switch: str, message: PacketIn) -> None:
        """Have ssh packets dropped, but send on those that still come."""
        if not self.blocked:
            self.block()
        else:
            self.send_on(switch, message, SSH)
