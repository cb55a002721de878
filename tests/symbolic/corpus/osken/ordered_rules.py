"""An access list: the first rule that fits decides."""

from dataclasses import dataclass

from os_ken.controller import ofp_event
from os_ken.controller.handler import MAIN_DISPATCHER, set_ev_cls
from switch_app import SwitchApp


@dataclass
class Rule:
    """What a segment must be for a rule to fit; None leaves it open."""

    src: str | None
    port: int | None
    allowed: bool

    def fits(self, ip, segment):
        """Tell whether the rule is about a segment."""
        return self.src in (None, ip.src) and self.port in (None, segment.dst_port)


class OrderedRules(SwitchApp):
    """Goes through a list until something fits."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.rules = [Rule("10.0.0.1", 80, True), Rule(None, 22, False), Rule("10.0.0.2", None, False)]

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, ev):
        """Let a segment pass if its rule allows it, or if there is none."""
        msg = ev.msg
        found = self.tcp_over_ipv4(msg)
        if found is None:
            return
        ip, segment = found
        rule = next((rule for rule in self.rules if rule.fits(ip, segment)), None)
        if rule is None or rule.allowed:
            self.send_on(msg, self.FLOOD)
