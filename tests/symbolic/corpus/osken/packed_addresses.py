"""Addresses as the bytes that they are on the wire."""

from os_ken.controller import ofp_event
from os_ken.controller.handler import MAIN_DISPATCHER, set_ev_cls
from os_ken.lib import addrconv
from os_ken.lib.packet import ipv4
from switch_app import SwitchApp

GROUPS = b"\x01\x00\x5e"


class PackedAddresses(SwitchApp):
    """Converts texts to bytes and bytes to numbers."""

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, ev):
        """Flood to groups; drop what goes to all of a network."""
        msg = ev.msg
        pkt, eth = self.opened(msg)
        if addrconv.mac.text_to_bin(eth.dst)[:3] == GROUPS:
            self.send_on(msg, self.FLOOD)
            return
        ip = pkt.get_protocol(ipv4.ipv4)
        if ip is None:
            return
        number = int.from_bytes(addrconv.ipv4.text_to_bin(ip.dst), "big")
        if number & 0xFF != 0xFF:
            self.send_on(msg, 2)
