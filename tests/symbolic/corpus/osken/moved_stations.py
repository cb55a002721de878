"""A learning switch that tells when a station turns up elsewhere."""

from os_ken.controller import ofp_event
from os_ken.controller.handler import MAIN_DISPATCHER, set_ev_cls
from switch_app import SwitchApp


class MovedStations(SwitchApp):
    """A table by datapath, with one station that was somewhere else before."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.tables = {1: {"00:00:00:00:00:01": 3}}

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, ev):
        """Learn the sender's port and use the receiver's."""
        msg = ev.msg
        in_port = msg.match["in_port"]
        _, eth = self.opened(msg)
        table = self.tables.setdefault(msg.datapath.id, {})
        if table.setdefault(eth.src, in_port) != in_port:
            self.logger.info("%s has moved to port %d", eth.src, in_port)
            table[eth.src] = in_port
        self.send_on(msg, table.get(eth.dst, self.FLOOD))
