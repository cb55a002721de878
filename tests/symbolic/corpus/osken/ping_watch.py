"""Watches pings and the errors that come back."""

from collections import Counter

from os_ken.controller import ofp_event
from os_ken.controller.handler import MAIN_DISPATCHER, set_ev_cls
from os_ken.lib.packet import icmp
from switch_app import SwitchApp


class PingWatch(SwitchApp):
    """Counts by what kind of message it is."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.counts = Counter()

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, ev):
        """Count a message, and pass pings on."""
        msg = ev.msg
        message = self.header(msg, icmp.icmp)
        if message is None:
            return
        if message.type == icmp.ICMP_ECHO_REQUEST:
            self.counts["asked"] += 1
            self.send_on(msg, self.FLOOD)
        elif message.type == icmp.ICMP_ECHO_REPLY and message.code == icmp.ICMP_ECHO_REPLY_CODE:
            self.counts["answered"] += 1
            self.send_on(msg, self.FLOOD)
        elif message.type in (icmp.ICMP_DEST_UNREACH, icmp.ICMP_TIME_EXCEEDED):
            self.counts["errors"] += 1
        else:
            self.counts["others"] += 1
