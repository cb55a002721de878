"""A learning switch that keeps an inventory: which product each switch is, from its own description.

The description is asked for when a switch joins.  Until the answer is there the inventory does not
know the switch, and a packet_in that comes sooner ends in a KeyError: a bug that shows only when a
packet overtakes the answer.  With the option `patient` a switch has no make until it has said so.
"""

from os_ken import cfg
from os_ken.base import app_manager
from os_ken.controller import ofp_event
from os_ken.controller.handler import DEAD_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from os_ken.lib.packet import ethernet, packet
from os_ken.ofproto import ofproto_v1_3

cfg.CONF.register_opts([cfg.BoolOpt("patient", default=False, help="do not ask for a make too early")])


class InventorySwitch(app_manager.OSKenApp):
    """Learns where hosts are, and counts packets by the make of the switch they came through."""

    OFP_VERSIONS = [ofproto_v1_3.OFP_VERSION]  # noqa: RUF012

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.inventory = {}
        self.packets_by_make = {}
        self.ports = {}

    @set_ev_cls(ofp_event.EventOFPStateChange, [MAIN_DISPATCHER, DEAD_DISPATCHER])
    def switch_came_or_went(self, event):
        """Ask a new switch what it is; forget one that left."""
        switch = event.datapath
        if event.state == DEAD_DISPATCHER:
            self.inventory.pop(switch.id, None)
            self.ports.pop(switch.id, None)
            return
        protocol, parser = switch.ofproto, switch.ofproto_parser
        to_controller = parser.OFPActionOutput(protocol.OFPP_CONTROLLER, protocol.OFPCML_NO_BUFFER)
        apply = parser.OFPInstructionActions(protocol.OFPIT_APPLY_ACTIONS, [to_controller])
        switch.send_msg(parser.OFPFlowMod(switch, priority=0, match=parser.OFPMatch(), instructions=[apply]))
        switch.send_msg(parser.OFPDescStatsRequest(switch, 0))

    @set_ev_cls(ofp_event.EventOFPDescStatsReply, MAIN_DISPATCHER)
    def description_known(self, event):
        """Enter a switch into the inventory."""
        self.inventory[event.msg.datapath.id] = str(event.msg.body.hw_desc)

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, event):
        """Count the packet, learn its sender, send it on."""
        message = event.msg
        switch = message.datapath
        make = self.inventory.get(switch.id) if self.CONF.patient else self.inventory[switch.id]
        self.packets_by_make[make] = self.packets_by_make.get(make, 0) + 1

        protocol, parser = switch.ofproto, switch.ofproto_parser
        in_port = message.match["in_port"]
        frame = packet.Packet(message.data).get_protocol(ethernet.ethernet)
        ports = self.ports.setdefault(switch.id, {})
        ports[frame.src] = in_port
        out = ports.get(frame.dst, protocol.OFPP_FLOOD)
        actions = [parser.OFPActionOutput(out)]
        switch.send_msg(
            parser.OFPPacketOut(
                switch, buffer_id=message.buffer_id, in_port=in_port, actions=actions, data=message.data
            )
        )
