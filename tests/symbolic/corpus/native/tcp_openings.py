"""Notices who opens connections."""

from penstock._controllers.controller import FLOOD, Controller
from penstock.openflow.messages import PacketIn
from penstock.packet import TCP, TcpFlags, parse


class TcpOpenings(Controller):
    """Flags of a segment that is named where it is found."""

    def __init__(self) -> None:
        self.openings = 0

    def packet_in(self, switch: str, message: PacketIn) -> None:
        """Count a segment with SYN and without ACK; let everything else pass."""
        packet = parse(message.data)
        if (
            (segment := packet.find(TCP))
            and segment.flags & TcpFlags.SYN
            and not segment.flags & TcpFlags.ACK
        ):
            self.openings += 1
            return
        self.packet_out(switch, message, FLOOD)
