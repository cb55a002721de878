"""Policies under texts that were put together."""

from os_ken.controller import ofp_event
from os_ken.controller.handler import MAIN_DISPATCHER, set_ev_cls
from switch_app import SwitchApp


class WrittenKeys(SwitchApp):
    """Pairs of stations first, then services."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.pairs = {
            "00:00:00:00:00:01|00:00:00:00:00:02": 2,
            "00:00:00:00:00:02|00:00:00:00:00:01": 1,
        }
        self.services = {"10.0.0.2:80": 2, "10.0.0.3:443": 3}

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, ev):
        """Look for the pair, then for the service."""
        msg = ev.msg
        _, eth = self.opened(msg)
        port = self.pairs.get("{}|{}".format(eth.src, eth.dst))  # noqa: UP032
        if port is None:
            found = self.tcp_over_ipv4(msg)
            if found is None:
                return
            ip, segment = found
            port = self.services.get("%s:%d" % (ip.dst, segment.dst_port), self.FLOOD)  # noqa: UP031
        self.send_on(msg, port)
