"""Writes down everything in every way, and decides nothing by it."""

from os_ken.controller import ofp_event
from os_ken.controller.handler import MAIN_DISPATCHER, set_ev_cls
from os_ken.lib.packet import ether_types
from switch_app import SwitchApp


class ChattyHub(SwitchApp):
    """Texts that only people read."""

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, ev):
        """Describe a packet at length, and flood it unless it is LLDP."""
        msg = ev.msg
        pkt, eth = self.opened(msg)
        if eth.ethertype == ether_types.ETH_TYPE_LLDP:
            return
        self.logger.info("packet in %s from %s to %s", msg.datapath.id, eth.src, eth.dst)
        self.logger.info(f"type {eth.ethertype:#06x}, from {eth.src!r:>24}")
        self.logger.info("{} > {dst:s}".format(eth.src.upper(), dst=eth.dst))  # noqa: UP032
        self.logger.info("type %x" % eth.ethertype)  # noqa: UP031
        self.logger.info("headers: %s, the first %r", pkt, eth)
        print("flooded", eth.dst, len(eth.dst))
        self.send_on(msg, self.FLOOD)
