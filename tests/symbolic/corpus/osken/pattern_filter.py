"""Knows devices by a regular expression, which nobody can follow."""

import re

from os_ken.controller import ofp_event
from os_ken.controller.handler import MAIN_DISPATCHER, set_ev_cls
from switch_app import SwitchApp

DEVICES = re.compile(r"02:.*:0[1-9]$")


class PatternFilter(SwitchApp):
    """A branch that depends on what was lost."""

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, ev):
        """Flood packets from devices."""
        msg = ev.msg
        _, eth = self.opened(msg)
        if DEVICES.match(eth.src):
            self.send_on(msg, self.FLOOD)
