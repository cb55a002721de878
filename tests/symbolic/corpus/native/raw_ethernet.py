"""Reads the frame's own bytes, tag and all."""

import struct

from penstock._controllers.controller import FLOOD, Controller
from penstock.openflow.actions import Output
from penstock.openflow.messages import PacketIn

VLAN = 0x8100
ARP = 0x0806
GUESTS = 100


class RawEthernet(Controller):
    """Takes headers apart by their layout."""

    def packet_in(self, switch: str, message: PacketIn) -> None:
        """Send guests to their own port, flood ARP, drop the rest."""
        *_, ethertype = struct.unpack_from("!HIHIH", message.data)
        guest = False
        if ethertype == VLAN:
            tag, ethertype = struct.unpack_from("!HH", message.data, 14)
            guest = tag & 0xFFF == GUESTS
        if guest:
            self.packet_out(switch, message, (Output(9),))
        if ethertype == ARP:
            self.packet_out(switch, message, FLOOD)
