"""A load balancer that never reads a switch's errors; when its table is full, connections break.

All web traffic is shared between two servers, by turns: the first packet of a connection comes up and gets a
rule, which all others follow.  The bug: a switch whose table is full refuses the rule, which nobody hears
of.  Every packet of that connection comes up then, and by turns they go to one server and the other.
(POX's load balancer did so.)

Mended, a connection whose rule was refused is remembered, and stays with its server.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from os_ken.controller import ofp_event
from os_ken.controller.handler import MAIN_DISPATCHER, set_ev_cls
from os_ken.lib.packet import ether_types, in_proto, ipv4, packet, tcp
from switching import SwitchingApp

WEB = 80
SERVICE_MAC, SERVICE_IP = "00:00:00:00:00:01", "10.0.0.1"
REQUESTS, CONNECTION, ANSWERS = 10, 20, 30
"""The priorities of rules."""


class Server(NamedTuple):
    """One of the servers, and the port it is at."""

    mac: str
    ip: str
    port: int


SERVERS = (Server("00:00:00:00:00:02", "10.0.0.2", 2), Server("00:00:00:00:00:03", "10.0.0.3", 3))
SEGMENTS = {"eth_type": ether_types.ETH_TYPE_IP, "ip_proto": in_proto.IPPROTO_TCP}

Connection = tuple[str, int]
"""A client's address and port."""


class LoadBalancer(SwitchingApp):
    """Shares connections between servers."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.turn = 0
        self.orders: dict[int, tuple[Connection, Server]] = {}
        self.refused: dict[Connection, Server] = {}

    def joined(self, switch: Any) -> None:
        """Have requests come up, answers leave under the service's address, and all else flooded."""
        parser = switch.ofproto_parser
        flood = parser.OFPActionOutput(switch.ofproto.OFPP_FLOOD)
        self.install(switch, 0, {}, [flood])
        self.send_up(switch, REQUESTS, {**SEGMENTS, "tcp_dst": WEB})
        for server in SERVERS:
            as_service = [
                parser.OFPActionSetField(eth_src=SERVICE_MAC),
                parser.OFPActionSetField(ipv4_src=SERVICE_IP),
                flood,
            ]
            self.install(switch, ANSWERS, {**SEGMENTS, "ipv4_src": server.ip, "tcp_src": WEB}, as_service)

    def packet_in(self, switch: Any, in_port: int, _frame: Any, message: Any) -> None:
        """Give a connection a server."""
        parsed = packet.Packet(message.data)
        ip, segment = parsed.get_protocol(ipv4.ipv4), parsed.get_protocol(tcp.tcp)
        connection = (ip.src, segment.src_port)
        server = self.refused.get(connection)
        if server is None:
            server = SERVERS[self.turn % len(SERVERS)]
            self.turn += 1
            self.assign(switch, connection, server)
        switch.send_msg(
            switch.ofproto_parser.OFPPacketOut(
                switch,
                buffer_id=switch.ofproto.OFP_NO_BUFFER,
                in_port=in_port,
                actions=self.to_server(switch, server),
                data=message.data,
            )
        )

    def assign(self, switch: Any, connection: Connection, server: Server) -> None:
        """Have all packets of a connection go to a server."""
        parser = switch.ofproto_parser
        match = {**SEGMENTS, "ipv4_src": connection[0], "tcp_src": connection[1], "tcp_dst": WEB}
        apply = parser.OFPInstructionActions(
            switch.ofproto.OFPIT_APPLY_ACTIONS, self.to_server(switch, server)
        )
        order = parser.OFPFlowMod(
            switch, priority=CONNECTION, match=parser.OFPMatch(**match), instructions=[apply]
        )
        switch.set_xid(order)
        self.orders[order.xid] = (connection, server)
        switch.send_msg(order)

    def to_server(self, switch: Any, server: Server) -> list[Any]:
        """Return the actions that hand a packet to a server."""
        parser = switch.ofproto_parser
        return [
            parser.OFPActionSetField(eth_dst=server.mac),
            parser.OFPActionSetField(ipv4_dst=server.ip),
            parser.OFPActionOutput(server.port),
        ]

    @set_ev_cls(ofp_event.EventOFPErrorMsg, MAIN_DISPATCHER)
    def order_refused(self, event: Any) -> None:
        """Remember a connection that got no rule."""
        order = self.orders.get(event.msg.xid)
        if self.mended and order is not None:
            connection, server = order
            self.refused[connection] = server
