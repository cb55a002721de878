"""A learning switch for os-ken and OpenFlow 1.3, written as most are.

It has three bugs of real ones, numbered as in the NICE paper (section 9.1):

I.   Its rules have no timeout, so that they outlive the move of a host.
II.  It installs the rule for one direction only when a packet takes it, so that the third packet of a
     conversation still comes to the controller.
III. It floods without a spanning tree, so that a packet goes round and round where the network has a cycle.
"""

from os_ken.base.app_manager import OSKenApp
from os_ken.controller import ofp_event
from os_ken.controller.handler import CONFIG_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from os_ken.lib.packet import ether_types, ethernet, packet
from os_ken.ofproto import ofproto_v1_3

TABLE_MISS = 0
LEARNT = 1


class LearningSwitch(OSKenApp):
    """Learns behind which port of a switch each address is, and forwards by that."""

    OFP_VERSIONS = [ofproto_v1_3.OFP_VERSION]

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.ports = {}  # (datapath id, MAC address) -> port

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def switch_features(self, event):
        """Have a switch hand all that no other rule matches to the controller."""
        datapath = event.msg.datapath
        ofproto, parser = datapath.ofproto, datapath.ofproto_parser
        to_controller = parser.OFPActionOutput(ofproto.OFPP_CONTROLLER, ofproto.OFPCML_NO_BUFFER)
        self.add_flow(datapath, TABLE_MISS, parser.OFPMatch(), to_controller)

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, event):
        """Learn the sender's port; send the packet to the receiver's, or everywhere if that is not known."""
        message = event.msg
        datapath = message.datapath
        ofproto, parser = datapath.ofproto, datapath.ofproto_parser
        in_port = message.match["in_port"]
        eth = packet.Packet(message.data).get_protocol(ethernet.ethernet)
        if eth.ethertype == ether_types.ETH_TYPE_LLDP:
            return

        self.ports[datapath.id, eth.src] = in_port
        out_port = self.ports.get((datapath.id, eth.dst), ofproto.OFPP_FLOOD)
        output = parser.OFPActionOutput(out_port)
        if out_port != ofproto.OFPP_FLOOD:
            match = parser.OFPMatch(in_port=in_port, eth_src=eth.src, eth_dst=eth.dst)
            self.add_flow(datapath, LEARNT, match, output)
        datapath.send_msg(
            parser.OFPPacketOut(
                datapath=datapath,
                buffer_id=ofproto.OFP_NO_BUFFER,
                in_port=in_port,
                actions=[output],
                data=message.data,
            )
        )

    def add_flow(self, datapath, priority, match, action):
        """Install a rule with one action."""
        ofproto, parser = datapath.ofproto, datapath.ofproto_parser
        apply = parser.OFPInstructionActions(ofproto.OFPIT_APPLY_ACTIONS, [action])
        datapath.send_msg(
            parser.OFPFlowMod(datapath=datapath, priority=priority, match=match, instructions=[apply])
        )
