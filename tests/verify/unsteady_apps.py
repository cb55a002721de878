"""os-ken apps that go by what no snapshot of a moment shows: numbers of messages, time, generators."""

import time
from collections.abc import Iterator
from typing import Any, ClassVar

from os_ken.base import app_manager
from os_ken.controller import ofp_event
from os_ken.controller.handler import CONFIG_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from os_ken.ofproto import ofproto_v1_3

NOWHERE = 0xFFFFFFF0
"""A number that no port can have."""


class Asking(app_manager.OSKenApp):
    """Has all packets handed over."""

    OFP_VERSIONS: ClassVar = [ofproto_v1_3.OFP_VERSION]

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def features(self, event: Any) -> None:
        datapath = event.msg.datapath
        self.add(datapath, 0, datapath.ofproto.OFPP_CONTROLLER)

    def add(self, datapath: Any, priority: int, port: int) -> Any:
        """Add a rule that sends everything to a port; return the message's number."""
        parser = datapath.ofproto_parser
        actions = [parser.OFPActionOutput(port, datapath.ofproto.OFPCML_NO_BUFFER)]
        apply = parser.OFPInstructionActions(datapath.ofproto.OFPIT_APPLY_ACTIONS, actions)
        message = parser.OFPFlowMod(datapath=datapath, priority=priority, instructions=[apply])
        datapath.set_xid(message)
        datapath.send_msg(message)
        return message.xid


class Numbers(Asking):
    """Knows by its number which message was refused."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.number: Any = None

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, event: Any) -> None:
        self.number = self.add(event.msg.datapath, 1, NOWHERE)

    @set_ev_cls(ofp_event.EventOFPErrorMsg, MAIN_DISPATCHER)
    def error(self, event: Any) -> None:
        if event.msg.xid == self.number:
            raise RuntimeError("it was refused")


class Clock(Asking):
    """Cannot bear to wait for a packet."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.began = time.time()

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, _event: Any) -> None:
        if time.time() > self.began + 5:
            raise RuntimeError("it is late")


class Generator(Asking):
    """Has a plan for three packets."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.plan = self.steps()

    def steps(self) -> Iterator[None]:
        """Yield once for each packet."""
        yield from (None, None, None)

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, _event: Any) -> None:
        next(self.plan)
