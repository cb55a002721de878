"""Conversations by their addresses in order, as texts."""

from os_ken.controller import ofp_event
from os_ken.controller.handler import MAIN_DISPATCHER, set_ev_cls
from switch_app import SwitchApp


class OrderedTexts(SwitchApp):
    """The lesser address first."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.conversations = {("00:00:00:00:00:01", "00:00:00:00:00:02"): "friends"}

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, ev):
        """Let friends talk."""
        msg = ev.msg
        _, eth = self.opened(msg)
        pair = (min(eth.src, eth.dst), max(eth.src, eth.dst))
        if pair in self.conversations:
            self.send_on(msg, self.FLOOD)
