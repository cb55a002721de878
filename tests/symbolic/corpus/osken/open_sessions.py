"""A firewall that lets answers in."""

from collections import namedtuple

from os_ken.controller import ofp_event
from os_ken.controller.handler import MAIN_DISPATCHER, set_ev_cls
from switch_app import SwitchApp

Session = namedtuple("Session", "client server port")


class OpenSessions(SwitchApp):
    """Sessions in a set, under names."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.sessions = {Session("10.0.0.1", "10.0.0.2", 80)}

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, ev):
        """Pass segments of a session in both directions; others open one."""
        msg = ev.msg
        found = self.tcp_over_ipv4(msg)
        if found is None:
            return
        ip, segment = found
        there = Session(ip.src, ip.dst, segment.dst_port)
        back = Session(client=ip.dst, server=ip.src, port=segment.src_port)
        if there in self.sessions:
            self.send_on(msg, 2)
        elif back in self.sessions:
            self.send_on(msg, 1)
        else:
            self.sessions.add(there)
            self.logger.info("new session %s", there)
