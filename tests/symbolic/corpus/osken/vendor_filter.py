"""Keeps some vendors' devices out, and multicast away from the uplink."""

from os_ken.controller import ofp_event
from os_ken.controller.handler import MAIN_DISPATCHER, set_ev_cls
from switch_app import SwitchApp


class VendorFilter(SwitchApp):
    """Looks at the beginnings of addresses."""

    BLOCKED = frozenset({"00:1b:21", "3c:fd:fe"})
    UPLINK = 7

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, ev):
        """Drop, keep local or send up."""
        msg = ev.msg
        _, eth = self.opened(msg)
        if eth.src[:8] in self.BLOCKED:
            return
        if eth.dst.startswith("01:00:5e"):
            self.send_on(msg, self.FLOOD)
        else:
            self.send_on(msg, self.UPLINK)
