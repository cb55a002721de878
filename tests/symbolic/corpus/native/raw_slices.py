"""Compares slices of a frame."""

from penstock._controllers.controller import FLOOD, Controller
from penstock.openflow.actions import Output
from penstock.openflow.messages import PacketIn

EVERYBODY = b"\xff" * 6
VENDOR = bytes.fromhex("001b21")


class RawSlices(Controller):
    """Knows frames by their first bytes."""

    def __init__(self) -> None:
        self.ports = {1: 1, 2: 2}

    def packet_in(self, switch: str, message: PacketIn) -> None:
        """Flood broadcasts, drop other groups, single out a vendor, look up the rest."""
        data = message.data
        if data[:6] == EVERYBODY:
            self.packet_out(switch, message, FLOOD)
            return
        if data[0] & 1:
            return
        if data[6:9] == VENDOR:
            self.packet_out(switch, message, (Output(9),))
            return
        port = self.ports.get(int.from_bytes(data[:6], "big"))
        self.packet_out(switch, message, (Output(port),) if port else FLOOD)
