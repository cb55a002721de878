"""An edge and a core: what an app does depends on the datapath."""

from os_ken.controller import ofp_event
from os_ken.controller.handler import MAIN_DISPATCHER, set_ev_cls
from os_ken.lib.packet import ether_types
from switch_app import SwitchApp

EDGE = 1


class DatapathRoles(SwitchApp):
    """One handler for all switches."""

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, ev):
        """Filter ARP at the edge; forward by destination in the core."""
        msg = ev.msg
        _, eth = self.opened(msg)
        if msg.datapath.id == EDGE:
            if eth.ethertype != ether_types.ETH_TYPE_ARP:
                self.send_on(msg, self.FLOOD)
        else:
            ports = {"00:00:00:00:00:01": 1, "00:00:00:00:00:02": 2}
            self.send_on(msg, ports.get(eth.dst, 3))
