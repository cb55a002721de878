"""Voice by its ports: signalling, streams, and the reports on them."""

from os_ken.controller import ofp_event
from os_ken.controller.handler import MAIN_DISPATCHER, set_ev_cls
from os_ken.lib.packet import udp
from switch_app import SwitchApp

MEDIA = range(16384, 32768)


class MediaPorts(SwitchApp):
    """Ranges, and odd and even."""

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, ev):
        """Send a datagram by what it carries."""
        msg = ev.msg
        datagram = self.header(msg, udp.udp)
        if datagram is None:
            return
        if datagram.dst_port in MEDIA:
            self.send_on(msg, 3 if datagram.dst_port % 2 else 2)
        elif 5060 <= datagram.dst_port <= 5061:
            self.send_on(msg, 4)
