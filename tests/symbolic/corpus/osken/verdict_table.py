"""Verdicts by Ethernet type, in a table of the class."""

import enum
from typing import ClassVar

from os_ken.controller import ofp_event
from os_ken.controller.handler import MAIN_DISPATCHER, set_ev_cls
from os_ken.lib.packet import ether_types
from switch_app import SwitchApp


class Verdict(enum.Enum):
    """What becomes of a packet."""

    FLOOD = "flood"
    DROP = "drop"


class VerdictTable(SwitchApp):
    """Looks a verdict up and matches it."""

    VERDICTS: ClassVar = {
        ether_types.ETH_TYPE_ARP: Verdict.FLOOD,
        ether_types.ETH_TYPE_LLDP: Verdict.DROP,
        ether_types.ETH_TYPE_IPV6: Verdict.DROP,
    }

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, ev):
        """Carry a verdict out."""
        msg = ev.msg
        _, eth = self.opened(msg)
        match self.VERDICTS.get(eth.ethertype):
            case Verdict.FLOOD:
                self.send_on(msg, self.FLOOD)
            case Verdict.DROP:
                self.logger.debug("%s dropped", eth.src)
            case None:
                self.send_on(msg, 2)
