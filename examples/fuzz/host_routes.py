"""A switch with one rule for each pair of hosts, which never looks at what the switch answers.

Once it has sent a rule it takes it for granted: packets of that pair are the switch's business, and
what still comes up is old news.  A switch whose table is full refuses the rule with an error that
nobody reads; from then on every packet of that pair is dropped by the controller itself.

With the option `reads_errors` it clears the routes of a switch that is full, and begins anew.  It does so too
with a switch that joins, because the error may have been lost with the session.
"""

from os_ken import cfg
from os_ken.base import app_manager
from os_ken.controller import ofp_event
from os_ken.controller.handler import CONFIG_DISPATCHER, DEAD_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from os_ken.lib.packet import ethernet, packet
from os_ken.ofproto import ofproto_v1_3

ROUTES = 1
"""The cookie of the rules that belong to pairs of hosts."""

cfg.CONF.register_opts([cfg.BoolOpt("reads_errors", default=False, help="notice when a table is full")])


class HostRoutes(app_manager.OSKenApp):
    """Learns where hosts are and installs a rule for each pair that talks, once."""

    OFP_VERSIONS = [ofproto_v1_3.OFP_VERSION]  # noqa: RUF012

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.ports = {}
        self.routed = set()

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def switch_joined(self, event):
        """Have a new switch send up what it does not know."""
        switch = event.msg.datapath
        protocol, parser = switch.ofproto, switch.ofproto_parser
        to_controller = parser.OFPActionOutput(protocol.OFPP_CONTROLLER, protocol.OFPCML_NO_BUFFER)
        if self.CONF.reads_errors:
            self.clear(switch)
        self.install(switch, 0, parser.OFPMatch(), [to_controller])

    @set_ev_cls(ofp_event.EventOFPStateChange, DEAD_DISPATCHER)
    def switch_left(self, event):
        """Forget what was installed on a switch that left."""
        self.ports.pop(event.datapath.id, None)
        self.routed = {route for route in self.routed if route[0] != event.datapath.id}

    @set_ev_cls(ofp_event.EventOFPErrorMsg, [CONFIG_DISPATCHER, MAIN_DISPATCHER])
    def refused(self, event):
        """Make room in a table that is full, if told to read errors."""
        message = event.msg
        switch = message.datapath
        protocol = switch.ofproto
        full = (protocol.OFPET_FLOW_MOD_FAILED, protocol.OFPFMFC_TABLE_FULL)
        if self.CONF.reads_errors and (message.type, message.code) == full:
            self.clear(switch)

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, event):
        """Route a pair of hosts, or flood what cannot be routed yet."""
        message = event.msg
        switch = message.datapath
        protocol, parser = switch.ofproto, switch.ofproto_parser
        in_port = message.match["in_port"]
        frame = packet.Packet(message.data).get_protocol(ethernet.ethernet)
        ports = self.ports.setdefault(switch.id, {})
        ports[frame.src] = in_port

        out = ports.get(frame.dst, protocol.OFPP_FLOOD)
        actions = [parser.OFPActionOutput(out)]
        if out != protocol.OFPP_FLOOD:
            route = (switch.id, frame.src, frame.dst)
            if route in self.routed:
                return
            self.routed.add(route)
            match = parser.OFPMatch(eth_src=frame.src, eth_dst=frame.dst)
            self.install(switch, 10, match, actions, cookie=ROUTES)
        switch.send_msg(
            parser.OFPPacketOut(
                switch, buffer_id=message.buffer_id, in_port=in_port, actions=actions, data=message.data
            )
        )

    def clear(self, switch):
        """Take all routes out of a switch."""
        protocol, parser = switch.ofproto, switch.ofproto_parser
        self.routed = {route for route in self.routed if route[0] != switch.id}
        switch.send_msg(
            parser.OFPFlowMod(
                switch,
                cookie=ROUTES,
                cookie_mask=0xFFFFFFFFFFFFFFFF,
                table_id=protocol.OFPTT_ALL,
                command=protocol.OFPFC_DELETE,
                out_port=protocol.OFPP_ANY,
                out_group=protocol.OFPG_ANY,
            )
        )

    def install(self, switch, priority, match, actions, cookie=0):
        """Send a rule."""
        parser = switch.ofproto_parser
        apply = parser.OFPInstructionActions(switch.ofproto.OFPIT_APPLY_ACTIONS, actions)
        rule = {"priority": priority, "match": match, "cookie": cookie}
        switch.send_msg(parser.OFPFlowMod(switch, instructions=[apply], **rule))
