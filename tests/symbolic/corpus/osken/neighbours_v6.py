"""IPv6, as far as its neighbours."""

from os_ken.controller import ofp_event
from os_ken.controller.handler import MAIN_DISPATCHER, set_ev_cls
from os_ken.lib.packet import in_proto, ipv6
from switch_app import SwitchApp


class NeighboursV6(SwitchApp):
    """Addresses that have many spellings and one that is usual."""

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, ev):
        """Flood to all nodes, and ICMP; drop the rest."""
        msg = ev.msg
        ip = self.header(msg, ipv6.ipv6)
        if ip is None:
            return
        if ip.dst == "ff02::1" or ip.nxt == in_proto.IPPROTO_ICMPV6:
            self.send_on(msg, self.FLOOD)
