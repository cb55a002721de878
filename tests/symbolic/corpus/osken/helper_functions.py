"""Addresses by the helper functions that come with os-ken."""

from os_ken.controller import ofp_event
from os_ken.controller.handler import MAIN_DISPATCHER, set_ev_cls
from os_ken.lib import mac
from switch_app import SwitchApp

LOCAL = 1 << 41


class HelperFunctions(SwitchApp):
    """A table whose keys are bytes."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.ports = {b"\0\0\0\0\0\1": 1, b"\0\0\0\0\0\2": 2}

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, ev):
        """Flood to groups, drop made-up senders, look up the rest."""
        msg = ev.msg
        _, eth = self.opened(msg)
        target = mac.haddr_to_bin(eth.dst)
        if mac.is_multicast(target):
            self.send_on(msg, self.FLOOD)
            return
        if mac.haddr_to_int(eth.src) & LOCAL:
            return
        self.send_on(msg, self.ports.get(target, self.FLOOD))
