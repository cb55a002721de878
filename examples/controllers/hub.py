"""A hub: every packet goes to the controller, which has it sent out of all other ports.

The least a controller can do.  It learns nothing and installs nothing but the rule that has packets
sent up, so it is right wherever there is no cycle, and slow everywhere.
"""

from penstock import FLOOD, Controller
from penstock.openflow.actions import Output
from penstock.openflow.messages import NO_MAX_LEN, PacketIn, PortNo


class Hub(Controller):
    """Floods every packet."""

    def switch_join(self, switch: str) -> None:
        """Have every packet sent up whole."""
        self.install(switch, actions=(Output(PortNo.CONTROLLER, NO_MAX_LEN),), priority=0)

    def packet_in(self, switch: str, message: PacketIn) -> None:
        """Flood a packet."""
        self.packet_out(switch, message, FLOOD)
