"""A router whose rules stay for ever; who has moved is sent to where it was.

Once a host's place is known all switches have a rule for it, so nothing that it is sent comes up any more.
The bug: a host that is plugged in elsewhere, behind a port that nobody watches, is not looked for; the
rules lead to a port where it no longer is.  (POX's l2_multi did so until its rules expired.)

Mended, rules expire after two seconds, and with the first of them the host is forgotten and looked for again.
"""

from __future__ import annotations

from typing import Any

from os_ken.controller import ofp_event
from os_ken.controller.handler import MAIN_DISPATCHER, set_ev_cls
from routing import ROUTE, Router

SECONDS_TO_TRUST = 2


class StayingRouter(Router):
    """Routes packets to hosts that are where they ever were."""

    def route(self, key: tuple[int, str], out: int) -> None:
        """Tell a switch where to send a host's packets, and for how long."""
        if not self.mended:
            super().route(key, out)
            return
        switch = self.switches[key[0]]
        self.rules[key] = out
        self.install(
            switch,
            ROUTE,
            {"eth_dst": key[1]},
            [switch.ofproto_parser.OFPActionOutput(out)],
            hard_timeout=SECONDS_TO_TRUST,
            flags=switch.ofproto.OFPFF_SEND_FLOW_REM,
        )

    @set_ev_cls(ofp_event.EventOFPFlowRemoved, MAIN_DISPATCHER)
    def rule_expired(self, event: Any) -> None:
        """Forget the host of a rule that expired."""
        message = event.msg
        host = message.match["eth_dst"]
        if message.reason == message.datapath.ofproto.OFPRR_HARD_TIMEOUT and host in self.hosts:
            self.rules.pop((message.datapath.id, host), None)
            del self.hosts[host]
            self.reroute()
