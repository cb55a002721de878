"""Spreads clients over servers by their last octet."""

from os_ken.controller import ofp_event
from os_ken.controller.handler import MAIN_DISPATCHER, set_ev_cls
from os_ken.lib.packet import ipv4
from switch_app import SwitchApp


class SplitLoad(SwitchApp):
    """An index that a packet decides."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.servers = [2, 3, 4]

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, ev):
        """Send a datagram to its client's server."""
        msg = ev.msg
        ip = self.header(msg, ipv4.ipv4)
        if ip is None:
            return
        client = int(ip.src.rsplit(".", 1)[1])
        self.send_on(msg, self.servers[client % len(self.servers)])
