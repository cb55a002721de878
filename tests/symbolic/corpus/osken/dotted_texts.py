"""Takes IPv4 addresses apart as texts."""

from os_ken.controller import ofp_event
from os_ken.controller.handler import MAIN_DISPATCHER, set_ev_cls
from os_ken.lib.packet import ipv4
from switch_app import SwitchApp


class DottedTexts(SwitchApp):
    """Prefixes and octets, as somebody would who does not trust libraries."""

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, ev):
        """Drop what goes to a network or to all of it; send the rest by where it comes from and goes."""
        msg = ev.msg
        ip = self.header(msg, ipv4.ipv4)
        if ip is None:
            return
        port = 2 if ip.src.startswith("10.0.") else 3
        octets = ip.dst.split(".")
        if int(octets[-1]) in (0, 255):
            return
        if octets[0] == "192":
            port += 10
        self.send_on(msg, port)
