"""A policy in variables of the module."""

from os_ken.controller import ofp_event
from os_ken.controller.handler import MAIN_DISPATCHER, set_ev_cls
from os_ken.lib.packet import ipv4
from switch_app import SwitchApp

BLOCKED = {"10.0.0.9"}
DROPPED = 0


def is_blocked(address):
    """Tell whether an address is on the list."""
    return address in BLOCKED


class SharedPolicy(SwitchApp):
    """Keeps nothing in itself."""

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, ev):
        """Drop what comes from or goes to a blocked address."""
        global DROPPED
        msg = ev.msg
        ip = self.header(msg, ipv4.ipv4)
        if ip is None:
            return
        if is_blocked(ip.src) or is_blocked(ip.dst):
            DROPPED += 1
            return
        self.send_on(msg, self.FLOOD)
