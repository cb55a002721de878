"""Takes MAC addresses apart as texts."""

from os_ken.controller import ofp_event
from os_ken.controller.handler import MAIN_DISPATCHER, set_ev_cls
from switch_app import SwitchApp

BADGE = "02:00:00:00:00:0A"


class AddressTexts(SwitchApp):
    """Splits, replaces, changes case and reads digits."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.names = {"00:00:00:00:00:01": "printer"}

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, ev):
        """Choose a port by the sender, and another one for the printer."""
        msg = ev.msg
        _, eth = self.opened(msg)
        if int(eth.dst.split(":")[0], 16) & 1:
            self.send_on(msg, self.FLOOD)
            return
        if eth.src.upper() == BADGE:
            port = 2
        elif int(eth.src.replace(":", ""), 16) < 16:
            port = 3
        else:
            port = 4
        if self.names.get(eth.dst.lower()) == "printer":
            port += 10
        self.send_on(msg, port)
