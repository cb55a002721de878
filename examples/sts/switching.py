"""What all apps here do alike: have switches send up what meets no rule, install rules, send packets on.

Every app has one bug, which its docstring tells.  With the option `mended` it does without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from os_ken import cfg
from os_ken.base import app_manager
from os_ken.controller import ofp_event
from os_ken.controller.handler import DEAD_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from os_ken.lib.packet import ethernet, packet
from os_ken.ofproto import ofproto_v1_3

cfg.CONF.register_cli_opts([cfg.BoolOpt("mended", default=False, help="do without the bug")])


class SwitchingApp(app_manager.OSKenApp):
    """An app that hears of switches that come and go, and is asked about packets."""

    OFP_VERSIONS: ClassVar = [ofproto_v1_3.OFP_VERSION]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.mended: bool = self.CONF.mended
        self.switches: dict[int, Any] = {}

    # For apps to say.

    def joined(self, switch: Any) -> None:
        """Take a new switch in."""
        self.switches[switch.id] = switch
        self.prepare(switch)

    def prepare(self, switch: Any) -> None:
        """Have a switch ask about what meets no rule."""
        self.send_up(switch, 0, {})

    def left(self, switch: Any) -> None:
        """Forget a switch."""
        self.switches.pop(switch.id, None)

    def packet_in(self, switch: Any, in_port: int, frame: Any, message: Any) -> None:
        """Decide on a packet."""

    # What os-ken tells.

    @set_ev_cls(ofp_event.EventOFPStateChange, [MAIN_DISPATCHER, DEAD_DISPATCHER])
    def switch_came_or_went(self, event: Any) -> None:
        """Hear of a session that begins or ends."""
        if event.state == MAIN_DISPATCHER:
            self.joined(event.datapath)
        elif event.datapath.id is not None:
            self.left(event.datapath)

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_came_up(self, event: Any) -> None:
        """Hear of a packet that met no rule."""
        message = event.msg
        frame = packet.Packet(message.data).get_protocol(ethernet.ethernet)
        if frame is not None:
            self.packet_in(message.datapath, message.match["in_port"], frame, message)

    # What switches are told.

    def install(
        self,
        switch: Any,
        priority: int,
        match: dict[str, Any],
        actions: Sequence[Any],
        command: int = ofproto_v1_3.OFPFC_ADD,
        **details: int,
    ) -> None:
        """Send a rule, or the order to delete one."""
        parser = switch.ofproto_parser
        apply = parser.OFPInstructionActions(switch.ofproto.OFPIT_APPLY_ACTIONS, list(actions))
        switch.send_msg(
            parser.OFPFlowMod(
                switch,
                priority=priority,
                match=parser.OFPMatch(**match),
                instructions=[apply] if actions else [],
                command=command,
                out_port=switch.ofproto.OFPP_ANY,
                out_group=switch.ofproto.OFPG_ANY,
                **details,
            )
        )

    def send_up(self, switch: Any, priority: int, match: dict[str, Any]) -> None:
        """Have a switch ask about packets."""
        ofproto = switch.ofproto
        to_controller = switch.ofproto_parser.OFPActionOutput(
            ofproto.OFPP_CONTROLLER, ofproto.OFPCML_NO_BUFFER
        )
        self.install(switch, priority, match, [to_controller])

    def send_out(self, switch: Any, data: bytes, ports: Sequence[int], in_port: int | None = None) -> None:
        """Have a switch send a frame out of some ports."""
        ofproto, parser = switch.ofproto, switch.ofproto_parser
        switch.send_msg(
            parser.OFPPacketOut(
                switch,
                buffer_id=ofproto.OFP_NO_BUFFER,
                in_port=ofproto.OFPP_CONTROLLER if in_port is None else in_port,
                actions=[parser.OFPActionOutput(port) for port in ports],
                data=data,
            )
        )


class LearningApp(SwitchingApp):
    """A learning switch with a rule for each pair of hosts."""

    priority: ClassVar = 10

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.places: dict[int, dict[str, int]] = {}

    def left(self, switch: Any) -> None:
        """Forget who is where."""
        super().left(switch)
        self.places.pop(switch.id, None)

    def packet_in(self, switch: Any, in_port: int, frame: Any, message: Any) -> None:
        """Learn who is where; install a rule, or flood."""
        places = self.places.setdefault(switch.id, {})
        places[frame.src] = in_port
        out = places.get(frame.dst, switch.ofproto.OFPP_FLOOD)
        if out != switch.ofproto.OFPP_FLOOD:
            match = {"eth_src": frame.src, "eth_dst": frame.dst}
            self.install(switch, self.priority, match, [switch.ofproto_parser.OFPActionOutput(out)])
        self.send_out(switch, message.data, [out], in_port)
