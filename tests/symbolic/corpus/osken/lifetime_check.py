"""A router's look at a datagram before it goes on."""

from os_ken.controller import ofp_event
from os_ken.controller.handler import MAIN_DISPATCHER, set_ev_cls
from os_ken.lib.packet import ipv4
from switch_app import SwitchApp


class LifetimeCheck(SwitchApp):
    """Raises where it thinks that something cannot be."""

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, ev):
        """Pass a datagram on while it has time to live."""
        msg = ev.msg
        ip = self.header(msg, ipv4.ipv4)
        if ip is None:
            return
        if ip.version != 4:
            self.logger.error("not IPv4")
            return
        if ip.ttl == 0:
            raise ValueError(f"{ip.src} sent a datagram that should be dead")
        if ip.ttl == 1:
            self.logger.info("time exceeded for %s", ip.dst)
            return
        self.send_on(msg, self.FLOOD)
