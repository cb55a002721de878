"""A router with an inventory of its switches; a packet that comes up too soon ends in a KeyError.

A switch counts as up when it has told what it is: its rules are installed then.  A switch that only lost
its session still has its rules, and the probes of its neighbours come up before that answer.  The bug: the
links they prove are noted in the log with the makes of both switches, and of one nobody knows the make yet.
(POX's discovery and l2_multi had such a race: a packet_in before the switch was announced.)

Mended, packets from switches that are not up are ignored.
"""

from __future__ import annotations

from typing import Any

from os_ken.controller import ofp_event
from os_ken.controller.handler import CONFIG_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from routing import Place, Router


class InventoryRouter(Router):
    """Routes packets, and knows the make of every switch."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.makes: dict[int, str] = {}

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def features_known(self, _event: Any) -> None:
        """Look for links to a switch that is about to join."""
        for number, switch in sorted(self.switches.items()):
            self.probe(switch, self.ports[number])

    def joined(self, switch: Any) -> None:
        """Ask a switch what it is before anything else."""
        switch.send_msg(switch.ofproto_parser.OFPDescStatsRequest(switch, 0))
        self.ports[switch.id] = {number for number in switch.ports if number <= switch.ofproto.OFPP_MAX}

    @set_ev_cls(ofp_event.EventOFPDescStatsReply, MAIN_DISPATCHER)
    def description_known(self, event: Any) -> None:
        """Enter a switch into the inventory; now it is up."""
        switch = event.msg.datapath
        self.makes[switch.id] = str(event.msg.body.hw_desc)
        super().joined(switch)

    def left(self, switch: Any) -> None:
        """Strike a switch off the inventory."""
        self.makes.pop(switch.id, None)
        super().left(switch)

    def packet_in(self, switch: Any, in_port: int, frame: Any, message: Any) -> None:
        """Handle a packet."""
        if self.mended and switch.id not in self.makes:
            return
        super().packet_in(switch, in_port, frame, message)

    def found_link(self, here: Place, there: Place) -> None:
        """Note a link, also in the log."""
        self.logger.info("%s is linked to %s", self.makes[here[0]], self.makes[there[0]])
        super().found_link(here, there)
