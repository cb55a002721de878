"""One station for each port, as an operator wrote it down."""

from os_ken.controller import ofp_event
from os_ken.controller.handler import MAIN_DISPATCHER, set_ev_cls
from switch_app import SwitchApp


class PortSecurity(SwitchApp):
    """Looks up by port, which is known, and compares by sender, which is not."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.stations = {1: "00:00:00:00:00:01", 2: "00:00:00:00:00:02"}

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, ev):
        """Drop packets from strangers."""
        msg = ev.msg
        _, eth = self.opened(msg)
        station = self.stations.get(msg.match["in_port"])
        if station is None:
            return
        if eth.src == station:
            self.send_on(msg, self.FLOOD)
        else:
            self.logger.warning(f"{eth.src} at the port of {station}")
