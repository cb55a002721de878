"""An os-ken app that does what `bench.fattree_controller` does, to measure with a controller that people use.

Each switch is given an entry for packets that nothing matches, then a barrier; at each word of a
port that went down, the entries that lead there are deleted, then comes a barrier again.
"""

from __future__ import annotations

from typing import Any

from os_ken.base.app_manager import OSKenApp
from os_ken.controller import ofp_event
from os_ken.controller.handler import CONFIG_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from os_ken.ofproto import ofproto_v1_3


class PortWatcher(OSKenApp):  # type: ignore[misc]
    """Keeps tables free of entries that lead to a port which is down."""

    OFP_VERSIONS = [ofproto_v1_3.OFP_VERSION]  # noqa: RUF012 - os-ken's way to say it

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)  # type: ignore[untyped-decorator]
    def joined(self, event: Any) -> None:
        """Give a switch its first entry."""
        datapath = event.msg.datapath
        parser, ofproto = datapath.ofproto_parser, datapath.ofproto
        actions = [parser.OFPActionOutput(ofproto.OFPP_CONTROLLER, ofproto.OFPCML_NO_BUFFER)]
        inst = [parser.OFPInstructionActions(ofproto.OFPIT_APPLY_ACTIONS, actions)]
        datapath.send_msg(parser.OFPFlowMod(datapath, priority=0, instructions=inst))
        datapath.send_msg(parser.OFPBarrierRequest(datapath))

    @set_ev_cls(ofp_event.EventOFPPortStatus, MAIN_DISPATCHER)  # type: ignore[untyped-decorator]
    def changed(self, event: Any) -> None:
        """Delete what leads to a port that went down."""
        datapath, port = event.msg.datapath, event.msg.desc
        parser, ofproto = datapath.ofproto_parser, datapath.ofproto
        if port.state & ofproto.OFPPS_LINK_DOWN:
            gone = parser.OFPFlowMod(
                datapath,
                command=ofproto.OFPFC_DELETE,
                out_port=port.port_no,
                out_group=ofproto.OFPG_ANY,
            )
            datapath.send_msg(gone)
            datapath.send_msg(parser.OFPBarrierRequest(datapath))
