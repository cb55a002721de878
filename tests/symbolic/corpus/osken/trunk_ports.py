"""Trunks that carry some VLANs each."""

from os_ken.controller import ofp_event
from os_ken.controller.handler import MAIN_DISPATCHER, set_ev_cls
from os_ken.lib.packet import vlan
from switch_app import SwitchApp

DEFAULT = 1


class TrunkPorts(SwitchApp):
    """Collects a set of ports."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.trunks = {1: {10, 20}, 2: {10}, 3: {30}}

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, ev):
        """Send a packet to all trunks that carry its VLAN, but for the one it came by."""
        msg = ev.msg
        tag = self.header(msg, vlan.vlan)
        vid = tag.vid if tag is not None else DEFAULT
        members = {port for port, vids in self.trunks.items() if vid in vids}
        members -= {msg.match["in_port"]}
        if members:
            self.send_on(msg, *sorted(members))
