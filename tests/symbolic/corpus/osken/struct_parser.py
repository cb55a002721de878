"""Parses packets by itself."""

import struct

from os_ken.controller import ofp_event
from os_ken.controller.handler import MAIN_DISPATCHER, set_ev_cls
from switch_app import SwitchApp

TCP = 6
HTTP = 80


class StructParser(SwitchApp):
    """Knows where things are in a frame."""

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, ev):
        """Flood broadcasts, and find HTTP in the rest."""
        msg = ev.msg
        dst, _, ethertype = struct.unpack("!6s6sH", msg.data[:14])
        if dst == b"\xff" * 6:
            self.send_on(msg, self.FLOOD)
            return
        if ethertype != 0x0800 or msg.data[23] != TCP:
            return
        _, dst_port = struct.unpack_from("!HH", msg.data, 34)
        self.send_on(msg, 2 if dst_port == HTTP else 3)
