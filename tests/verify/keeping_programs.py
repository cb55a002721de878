"""Programs that go the same way for all packets at first, and remember something that decides later."""

from penstock._controllers.controller import Controller
from penstock.openflow.actions import Output
from penstock.openflow.messages import BarrierReply, BarrierRequest, OpenFlowMessage, PacketIn
from penstock.packet import TCP, IPv4, parse

FORBIDDEN = 666


def destination(message: PacketIn) -> int:
    """Return the TCP port that a packet goes to, 0 if there is none."""
    ip = parse(message.data).payload
    return ip.payload.dst if isinstance(ip, IPv4) and isinstance(ip.payload, TCP) else 0


class Wire(Controller):
    """Sends on what comes in by one port by the other."""

    def __init__(self) -> None:
        self.blocked = 77
        self.ip = "10.0.0.101"

    def packet_in(self, switch: str, message: PacketIn) -> None:
        self.packet_out(switch, message, (Output(2 if message.in_port == 1 else 1),))


class Comparing(Controller):
    """Keeps two numbers of packets, and is upset afterwards if they are not the same."""

    def __init__(self) -> None:
        self.ports: list[int] = []

    def packet_in(self, _switch: str, message: PacketIn) -> None:
        port = destination(message)
        if len(self.ports) < 2:
            self.ports.append(port)
        elif self.ports[0] != self.ports[1]:
            raise RuntimeError("they differ")


class Dispatching(Controller):
    """Sends packets out by the port of the switch that their TCP port names."""

    def packet_in(self, switch: str, message: PacketIn) -> None:
        self.packet_out(switch, message, (Output(destination(message)),))


class Holding(Controller):
    """Keeps the first packet whole, and sends it on when the next one comes."""

    def __init__(self) -> None:
        self.held: PacketIn | None = None

    def packet_in(self, switch: str, message: PacketIn) -> None:
        if self.held is None:
            self.held = message
        else:
            self.packet_out(switch, self.held, (Output(2),))


class Peeking(Holding):
    """Looks into the packet that it has kept when the next one comes."""

    def packet_in(self, switch: str, message: PacketIn) -> None:
        if self.held is not None and destination(self.held) == FORBIDDEN:
            raise RuntimeError("a forbidden packet was kept")
        super().packet_in(switch, message)


class Impatient(Controller):
    """Cannot bear a barrier reply that comes after the second packet."""

    def __init__(self) -> None:
        self.packets = 0

    def packet_in(self, switch: str, _message: PacketIn) -> None:
        if self.packets == 0:
            self.send(switch, BarrierRequest(xid=1))
        self.packets = min(self.packets + 1, 2)

    def other(self, _switch: str, message: OpenFlowMessage) -> None:
        if isinstance(message, BarrierReply) and self.packets > 1:
            raise RuntimeError("too late")
