"""Apps that try to fool, hang or outlive whoever runs them, one line each."""

from __future__ import annotations

from pathlib import Path

_APP = """
import ctypes, os, signal, socket, subprocess, sys, threading, time
from os_ken.base.app_manager import OSKenApp
from os_ken.controller import ofp_event
from os_ken.controller.handler import CONFIG_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from os_ken.ofproto import ofproto_v1_3

{load}

class App(OSKenApp):
    OFP_VERSIONS = [ofproto_v1_3.OFP_VERSION]

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        {init}

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def switch_joins(self, event):
        switch = event.msg.datapath
        ofp, parser = switch.ofproto, switch.ofproto_parser
        out = [parser.OFPActionOutput(ofp.OFPP_CONTROLLER, ofp.OFPCML_NO_BUFFER)]
        apply = [parser.OFPInstructionActions(ofp.OFPIT_APPLY_ACTIONS, out)]
        switch.send_msg(parser.OFPFlowMod(switch, priority=0, match=parser.OFPMatch(), instructions=apply))

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_comes(self, event):
        message, switch = event.msg, event.msg.datapath
        ofp, parser = switch.ofproto, switch.ofproto_parser
        switch.send_msg(
            parser.OFPPacketOut(
                switch,
                buffer_id=ofp.OFP_NO_BUFFER,
                in_port=message.match["in_port"],
                actions=[parser.OFPActionOutput(ofp.OFPP_FLOOD)],
                data=message.data,
            )
        )
        {packet}
"""

PACKET_LINE = _APP.splitlines().index("        {packet}")


def write_app(folder: Path, *, load: str = "", init: str = "pass", packet: str = "pass") -> Path:
    """Write an app that does something when it is loaded, made, or handed a packet."""
    file = folder / "app.py"
    file.write_text(_APP.format(load=load, init=init, packet=packet))
    return file
