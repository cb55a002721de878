"""Stops clients that open too many connections."""

from os_ken.controller import ofp_event
from os_ken.controller.handler import MAIN_DISPATCHER, set_ev_cls
from os_ken.lib.packet import ipv4, tcp
from switch_app import SwitchApp


class SynGuard(SwitchApp):
    """Counts opening segments by sender."""

    LIMIT = 3

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.attempts = {"10.0.0.1": 3}

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, ev):
        """Count a segment that opens; block its sender at the limit."""
        msg = ev.msg
        pkt, _ = self.opened(msg)
        segment = pkt.get_protocol(tcp.tcp)
        if segment is None:
            return
        if segment.bits & tcp.TCP_SYN and not segment.bits & tcp.TCP_ACK:
            ip = pkt.get_protocol(ipv4.ipv4)
            if ip is None:
                return
            self.attempts[ip.src] = self.attempts.get(ip.src, 0) + 1
            if self.attempts[ip.src] > self.LIMIT:
                self.logger.warning("%s is blocked", ip.src)
                return
        self.send_on(msg, self.FLOOD)
