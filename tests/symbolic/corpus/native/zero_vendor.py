"""Tells addresses that a simulator made from real ones."""

from penstock._controllers.controller import FLOOD, Controller
from penstock.openflow.messages import PacketIn


class ZeroVendor(Controller):
    """Looks at the vendor's bytes one by one."""

    def packet_in(self, switch: str, message: PacketIn) -> None:
        """Let through what has no vendor."""
        if all(octet == 0 for octet in message.data[6:9]):
            self.packet_out(switch, message, FLOOD)
