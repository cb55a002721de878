"""A web server's load balancer, after section 9.2 of the NICE paper, which found six bugs in one.

A service has one address, two replicas and one switch, whose port 1 leads to the clients.

1. When the switch joins, have what the replicas send leave under the service's address.
2. Answer ARP questions for the addresses it knows; flood the rest.
3. After a while, share out the clients by their addresses: each replica gets blocks of all IPv4
   addresses in proportion to its weight, and one rule per block.  The fewest blocks are one for each
   binary digit 1 of a weight, and if the largest come first, each begins where a prefix can.
4. From time to time, change the weights.  Take the rules away for blocks that get another replica,
   and inspect such clients' packets instead: a SYN begins a new connection, which goes to the new
   replica; all others belong to connections of the old one.  Each gets a rule of its own, for as
   long as it is used.
5. A minute later, end the inspection: put the new rules in place.  A connection that was silent
   all that time is taken for dead.

`fixes` says which of the bugs are mended, by the paper's numbers:

IV    The ARP question that was answered stays in the switch's buffer; mended, it is released.
V     A TCP packet that meets no rule is ignored, as all are before there are rules; mended, such packets
      are released until the switch confirms the first rules.  (To release every packet that meets no
      rule would be more proper, but hides VII: the paper says so too.)
VI    A packet that gets its connection a rule is not sent on; mended, the rule is applied to it.
VII   A rule is taken away before the inspection is there, and in between packets meet no rule; mended,
      the inspection comes first, at a lower priority.
VIII  Packets to inspect are asked for with a maximum length of 0, which meant all
      of it in the first versions of OpenFlow and means nothing of it now; mended, the length is what
      the headers need.
IX    A SYN may also be a repetition, of a connection that the old replica has; mended, the old
      replica gets all connections that begin during the inspection, and the new rules wait for its end.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network
from typing import Any, Final, NamedTuple

from os_ken import cfg
from os_ken.base import app_manager
from os_ken.controller import ofp_event
from os_ken.controller.handler import CONFIG_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from os_ken.lib import hub
from os_ken.lib.packet import arp, ethernet, ipv4, tcp
from os_ken.lib.packet.packet import Packet
from os_ken.ofproto import ofproto_v1_0


class Replica(NamedTuple):
    """One of the servers behind the service's address."""

    mac: str
    ip: str
    port: int


SERVICE_IP: Final = "10.0.0.100"
SERVICE_MAC: Final = "02:00:00:00:00:64"
REPLICAS: Final = (Replica("00:00:00:00:00:02", "10.0.0.2", 2), Replica("00:00:00:00:00:03", "10.0.0.3", 3))
CLIENT_PORT: Final = 1

MACS: Final = {SERVICE_IP: SERVICE_MAC, **{replica.ip: replica.mac for replica in REPLICAS}}
"""Whom the controller answers ARP questions for, besides the clients it has heard of."""

WEIGHTS: Final = ((1, 3), (3, 1))
"""What each replica can bear; by turns, and each sums to a power of 2."""

PERIOD: Final = 3600
INSPECTION: Final = 60
"""How long weights hold, and how long the change to others takes, in seconds."""

TO_INSPECT, TO_REPLICA, CONNECTION = 10, 20, 30
"""The priorities of rules."""

Policy = dict[IPv4Network, Replica]
"""Which replica the clients of each block get; every address is in one block."""

cfg.CONF.register_opts(
    [
        cfg.ListOpt("fixes", default=[], help="numbers of the bugs to do without"),
        cfg.IntOpt("warm_up", default=60, help="seconds from a switch's joining to the first weights"),
    ]
)


def shared_out(weights: tuple[int, ...]) -> Policy:
    """Give each replica its share of all clients, in as few blocks as possible."""
    whole = sum(weights)
    policy: Policy = {}
    start, size = 0, whole
    while size:
        for replica, weight in zip(REPLICAS, weights, strict=True):
            if weight & size:
                length = whole.bit_length() - size.bit_length()
                policy[IPv4Network(((start << 32) // whole, length))] = replica
                start += size
        size >>= 1
    return policy


def replica_of(policy: Policy, client: str) -> Replica:
    """Return the replica that a client gets."""
    address = IPv4Address(client)
    return next(replica for block, replica in policy.items() if address in block)


class LoadBalancer(app_manager.OSKenApp):
    """Spreads the connections to one address over replicas, in changing proportions."""

    OFP_VERSIONS = (ofproto_v1_0.OFP_VERSION,)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fixes = frozenset(self.CONF.fixes)
        self.clients: dict[str, str] = {}
        self.policy: Policy = {}
        self.previous: Policy = {}
        self.confirmed = False
        self.turn = 0
        self.switch: Any = None

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def switch_joined(self, event: Any) -> None:
        """Prepare the way back, which is the same whatever the weights, and wait for the first weights."""
        self.switch = event.msg.datapath
        parser = self.switch.ofproto_parser
        for replica in REPLICAS:  # 1
            answers = parser.OFPMatch(dl_type=0x0800, nw_proto=6, nw_src=replica.ip)
            as_service = [
                parser.OFPActionSetDlSrc(SERVICE_MAC),
                parser.OFPActionSetNwSrc(SERVICE_IP),
                parser.OFPActionOutput(CLIENT_PORT),
            ]
            self.install(answers, TO_REPLICA, as_service)
        if self.CONF.warm_up:
            hub.spawn_after(self.CONF.warm_up, self.reweigh)
        else:
            self.reweigh()

    # Weights.

    def reweigh(self) -> None:
        """Go on to the next weights."""
        self.previous, self.policy = self.policy, shared_out(WEIGHTS[self.turn])
        self.turn = (self.turn + 1) % len(WEIGHTS)
        if self.previous:
            self.begin_inspection()
            hub.spawn_after(INSPECTION, self.end_inspection)
            return
        self.add_rules()  # 3
        self.switch.send_msg(self.switch.ofproto_parser.OFPBarrierRequest(self.switch))
        hub.spawn_after(PERIOD, self.reweigh)

    def begin_inspection(self) -> None:
        """See the next packet of every connection from clients that are to get another replica."""
        ofproto, parser = self.switch.ofproto, self.switch.ofproto_parser
        length = ofproto.OFP_DEFAULT_MISS_SEND_LEN if "VIII" in self.fixes else 0
        for block, replica in self.previous.items():  # 4
            if self.policy.get(block) == replica:
                continue
            if "VII" not in self.fixes:
                self.remove(self.requests_from(block), TO_REPLICA)
            to_inspect = [parser.OFPActionOutput(ofproto.OFPP_CONTROLLER, length)]
            self.install(self.requests_from(block), TO_INSPECT, to_inspect)
            if "VII" in self.fixes:
                self.remove(self.requests_from(block), TO_REPLICA)

    def end_inspection(self) -> None:
        """Have the new weights hold for all connections without a rule of their own."""
        self.add_rules()  # 5
        for block, replica in self.previous.items():
            if self.policy.get(block) != replica:
                self.remove(self.requests_from(block), TO_INSPECT)
        hub.spawn_after(PERIOD, self.reweigh)

    def add_rules(self) -> None:
        """Install the rules of the present weights that were not there before."""
        for block, replica in self.policy.items():
            if self.previous.get(block) != replica:
                self.install(self.requests_from(block), TO_REPLICA, self.send_to(replica))

    @set_ev_cls(ofp_event.EventOFPBarrierReply, MAIN_DISPATCHER)
    def rules_confirmed(self, _event: Any) -> None:
        """Know that from now on every request meets a rule."""
        self.confirmed = True

    # Packets.

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, event: Any) -> None:
        """Answer, inspect or discard a packet."""
        message = event.msg
        packet = Packet(message.data)
        if packet.get_protocol(ethernet.ethernet) is None:
            return
        question, ip, segment = map(packet.get_protocol, (arp.arp, ipv4.ipv4, tcp.tcp))
        if question is not None:
            self.handle_arp(message, question)
        elif ip is None or segment is None or ip.dst != SERVICE_IP:
            self.discard(message)
        elif message.reason != self.switch.ofproto.OFPR_NO_MATCH:
            self.inspect(message, ip, segment)
        elif "V" in self.fixes and not self.confirmed:
            self.discard(message)

    def handle_arp(self, message: Any, heard: Any) -> None:
        """Learn who asks or answers, and answer for those who are known."""
        ofproto, parser = self.switch.ofproto, self.switch.ofproto_parser
        self.clients[heard.src_ip] = heard.src_mac
        mac = MACS.get(heard.dst_ip) or self.clients.get(heard.dst_ip)
        if heard.opcode != arp.ARP_REQUEST or mac is None:
            self.send_on(message, [parser.OFPActionOutput(ofproto.OFPP_FLOOD)])
            return
        reply = Packet(
            protocols=[
                ethernet.ethernet(dst=heard.src_mac, src=mac, ethertype=0x0806),
                arp.arp_ip(arp.ARP_REPLY, mac, heard.dst_ip, heard.src_mac, heard.src_ip),
            ]
        )
        self.switch.send_msg(  # 2
            parser.OFPPacketOut(
                datapath=self.switch,
                buffer_id=ofproto.OFP_NO_BUFFER,
                in_port=ofproto.OFPP_NONE,
                actions=[parser.OFPActionOutput(message.in_port)],
                data=reply,
            )
        )
        if "IV" in self.fixes:
            self.discard(message)

    def inspect(self, message: Any, ip: Any, segment: Any) -> None:
        """Keep a connection where it is, or begin it where the new weights want it."""
        is_new = segment.has_flags(tcp.TCP_SYN) and "IX" not in self.fixes  # 4
        actions = self.send_to(replica_of(self.policy if is_new else self.previous, ip.src))
        connection = self.switch.ofproto_parser.OFPMatch(
            dl_type=0x0800,
            nw_proto=6,
            nw_src=ip.src,
            nw_dst=SERVICE_IP,
            tp_src=segment.src_port,
            tp_dst=segment.dst_port,
        )
        no_buffer = self.switch.ofproto.OFP_NO_BUFFER
        released = message.buffer_id if "VI" in self.fixes else no_buffer
        self.install(connection, CONNECTION, actions, idle_timeout=INSPECTION, buffer_id=released)
        if "VI" in self.fixes and message.buffer_id == no_buffer:
            self.send_on(message, actions)

    def discard(self, message: Any) -> None:
        """Have the switch forget a packet that it keeps."""
        if message.buffer_id != self.switch.ofproto.OFP_NO_BUFFER:
            self.send_on(message, [])

    def send_on(self, message: Any, actions: list[Any]) -> None:
        """Send a packet on its way, from the switch's buffer if it is there."""
        buffered = message.buffer_id != self.switch.ofproto.OFP_NO_BUFFER
        self.switch.send_msg(
            self.switch.ofproto_parser.OFPPacketOut(
                datapath=self.switch,
                buffer_id=message.buffer_id,
                in_port=message.in_port,
                actions=actions,
                data=None if buffered else message.data,
            )
        )

    # Rules.

    def requests_from(self, block: IPv4Network) -> Any:
        """Match the requests of a block of clients."""
        return self.switch.ofproto_parser.OFPMatch(
            dl_type=0x0800,
            nw_proto=6,
            nw_src=int(block.network_address),
            nw_src_mask=block.prefixlen,
            nw_dst=SERVICE_IP,
        )

    def send_to(self, replica: Replica) -> list[Any]:
        """Return the actions that hand a request to a replica."""
        parser = self.switch.ofproto_parser
        return [
            parser.OFPActionSetDlDst(replica.mac),
            parser.OFPActionSetNwDst(replica.ip),
            parser.OFPActionOutput(replica.port),
        ]

    def install(self, match: Any, priority: int, actions: list[Any], **details: int) -> None:
        """Add a rule."""
        parser = self.switch.ofproto_parser
        self.switch.send_msg(
            parser.OFPFlowMod(self.switch, match=match, priority=priority, actions=actions, **details)
        )

    def remove(self, match: Any, priority: int) -> None:
        """Delete a rule."""
        ofproto, parser = self.switch.ofproto, self.switch.ofproto_parser
        self.switch.send_msg(
            parser.OFPFlowMod(
                self.switch, match=match, priority=priority, command=ofproto.OFPFC_DELETE_STRICT
            )
        )
