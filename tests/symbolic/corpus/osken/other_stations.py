"""Sends to stations other than the sender."""

from os_ken.controller import ofp_event
from os_ken.controller.handler import MAIN_DISPATCHER, set_ev_cls
from switch_app import SwitchApp


class OtherStations(SwitchApp):
    """A dictionary made from another one."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.ports = {f"00:00:00:00:00:{number:02x}": number for number in (1, 2, 3)}

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, ev):
        """Leave the sender out, then look for the receiver."""
        msg = ev.msg
        _, eth = self.opened(msg)
        others = {mac: port for mac, port in self.ports.items() if mac != eth.src}
        port = others.get(eth.dst)
        if port is not None:
            self.send_on(msg, port)
        else:
            self.send_on(msg, *(port for port in others.values() if port != msg.match["in_port"]))
