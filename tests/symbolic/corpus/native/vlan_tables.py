"""A learning switch with a table for each VLAN, already taught."""

from penstock._controllers.controller import FLOOD, Controller
from penstock.openflow.actions import Output
from penstock.openflow.messages import PacketIn
from penstock.packet import parse

UNTAGGED = 10


class VlanTables(Controller):
    """Tables in a table in a table: switch, VLAN, station."""

    def __init__(self) -> None:
        self.tables = {"s1": {10: {1: 1, 2: 2}, 20: {3: 3}}}

    def packet_in(self, switch: str, message: PacketIn) -> None:
        """Send a packet where its receiver is, in its own VLAN."""
        packet = parse(message.data)
        vid = packet.tags[0].vid if packet.tags else UNTAGGED
        port = self.tables[switch].get(vid, {}).get(packet.dst)
        actions = FLOOD if port is None else (Output(port),)
        self.packet_out(switch, message, actions)
