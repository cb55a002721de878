"""An os-ken app that floods, asks every switch for its ports each second, and trips over odd ethertypes."""

from os_ken.base import app_manager
from os_ken.controller import ofp_event
from os_ken.controller.handler import CONFIG_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from os_ken.lib import hub
from os_ken.lib.packet import ethernet, packet
from os_ken.ofproto import ofproto_v1_3


class Monitor(app_manager.OSKenApp):
    OFP_VERSIONS = [ofproto_v1_3.OFP_VERSION]  # noqa: RUF012 - as os-ken wants it

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.switches = {}
        hub.spawn(self._poll)

    def _poll(self):
        while True:
            for datapath in self.switches.values():
                datapath.send_msg(datapath.ofproto_parser.OFPPortStatsRequest(datapath, 0, 0xFFFFFFFF))
            hub.sleep(1)

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def joined(self, ev):
        datapath = ev.msg.datapath
        self.switches[datapath.id] = datapath
        parser, proto = datapath.ofproto_parser, datapath.ofproto
        actions = [parser.OFPActionOutput(proto.OFPP_CONTROLLER, proto.OFPCML_NO_BUFFER)]
        apply = [parser.OFPInstructionActions(proto.OFPIT_APPLY_ACTIONS, actions)]
        datapath.send_msg(
            parser.OFPFlowMod(datapath=datapath, priority=0, match=parser.OFPMatch(), instructions=apply)
        )

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def arrived(self, ev):
        datapath = ev.msg.datapath
        kind = packet.Packet(ev.msg.data).get_protocol(ethernet.ethernet).ethertype
        if kind == 0x9001:
            raise LookupError("nobody has told me of this type")
        parser, proto = datapath.ofproto_parser, datapath.ofproto
        datapath.send_msg(
            parser.OFPPacketOut(
                datapath=datapath,
                buffer_id=proto.OFP_NO_BUFFER,
                in_port=ev.msg.match["in_port"],
                actions=[parser.OFPActionOutput(proto.OFPP_FLOOD)],
                data=ev.msg.data,
            )
        )
