"""Zones by netaddr."""

import netaddr
from os_ken.controller import ofp_event
from os_ken.controller.handler import MAIN_DISPATCHER, set_ev_cls
from os_ken.lib.packet import ipv4
from switch_app import SwitchApp

INSIDE = netaddr.IPNetwork("10.0.0.0/24")
GATEWAY = netaddr.EUI("00-00-00-00-00-02")


class NetaddrZones(SwitchApp):
    """Networks and addresses as objects."""

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, ev):
        """Tell who comes from inside, and who goes to the gateway."""
        msg = ev.msg
        pkt, eth = self.opened(msg)
        ip = pkt.get_protocol(ipv4.ipv4)
        if ip is None:
            return
        port = 2 if netaddr.IPAddress(ip.src) in INSIDE else 3
        if netaddr.EUI(eth.dst) == GATEWAY:
            port += 10
        self.send_on(msg, port)
