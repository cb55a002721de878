"""Answers questions for addresses that it knows, on their owners' behalf."""

from os_ken.controller import ofp_event
from os_ken.controller.handler import MAIN_DISPATCHER, set_ev_cls
from os_ken.lib.packet import arp, ether_types, ethernet, packet
from switch_app import SwitchApp


class ArpResponder(SwitchApp):
    """An app that makes packets of its own."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.owners = {"10.0.0.1": "00:00:00:00:00:01", "10.0.0.2": "00:00:00:00:00:02"}

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, ev):
        """Answer a question, or pass it on."""
        msg = ev.msg
        question = packet.Packet(msg.data).get_protocol(arp.arp)
        if question is None or question.opcode != arp.ARP_REQUEST:
            return
        mac = self.owners.get(question.dst_ip)
        if mac is None:
            self.send_on(msg, self.FLOOD)
            return
        answer = packet.Packet()
        answer.add_protocol(
            ethernet.ethernet(dst=question.src_mac, src=mac, ethertype=ether_types.ETH_TYPE_ARP)
        )
        answer.add_protocol(
            arp.arp(
                opcode=arp.ARP_REPLY,
                src_mac=mac,
                src_ip=question.dst_ip,
                dst_mac=question.src_mac,
                dst_ip=question.src_ip,
            )
        )
        answer.serialize()
        self.send_on(msg, msg.match["in_port"], data=answer.data)
