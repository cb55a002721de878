"""Zones by the standard library."""

import ipaddress

from os_ken.controller import ofp_event
from os_ken.controller.handler import MAIN_DISPATCHER, set_ev_cls
from os_ken.lib.packet import ipv4
from switch_app import SwitchApp

INSIDE = ipaddress.ip_network("10.0.0.0/8")


class IpaddressZones(SwitchApp):
    """A table of hosts by address object."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.hosts = {ipaddress.ip_address("10.0.0.1"): 1}

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, ev):
        """Send a datagram by what its destination is."""
        msg = ev.msg
        ip = self.header(msg, ipv4.ipv4)
        if ip is None:
            return
        target = ipaddress.ip_address(ip.dst)
        if target.is_multicast:
            self.send_on(msg, self.FLOOD)
        elif target in INSIDE:
            self.send_on(msg, self.hosts.get(target, self.FLOOD))
        elif not target.is_private:
            self.send_on(msg, 9)
