"""Energy-efficient traffic engineering after REsPoNse, as NICE describes it (section 9.3), bugs X to XIII.

There are two routing tables, computed beforehand.  The always-on table can carry all traffic while there
is little of it, so that what only the on-demand table uses may sleep.  Under high load the flows are to
be split evenly over the two: those to odd addresses go on demand.

1. Ask for the counters of the always-on link when its switch joins, and every ten seconds from then on.
2. If it carried more than 500 million bytes since the last answer, the load is high, otherwise low.
3. When a packet of a new flow enters the network, choose the routing table, look up the list of
   switches on the path, and install a rule at each of them.
4. Send the packet itself on.
5. Send on, too, a packet that was faster than the rule for it, and now comes from a later switch.

Each of NICE's bugs is there until the option `fixes` names it:

X     step 4 is missing;
XI    step 5 is missing: a path is installed as a whole, so who would hear from its other switches?
XII   step 2 puts the table in charge that step 3 uses, so that all flows go on demand under high load;
XIII  step 5 looks for the switch on the path that the flow would be given now, which is not the one
      that it was given if the load has changed since.
"""

from __future__ import annotations

from typing import Any, ClassVar

from os_ken import cfg
from os_ken.base import app_manager
from os_ken.controller import ofp_event
from os_ken.controller.handler import DEAD_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from os_ken.lib import hub
from os_ken.lib.packet import ether_types, ipv4, packet
from os_ken.ofproto import ofproto_v1_0

cfg.CONF.register_opts([cfg.ListOpt("fixes", default=[], help="numbers of the bugs to do without")])

Path = list[int]
Table = dict[tuple[int, int], Path]

HOSTS = {"10.0.0.1": (1, 1), "10.0.0.2": (2, 1), "10.0.0.3": (2, 2)}
"""The switch and the port at which each host is."""

LINKS = {(1, 2): 2, (2, 1): 3, (1, 3): 3, (3, 1): 1, (3, 2): 2, (2, 3): 4}
"""The port by which a switch reaches its neighbour."""

ALWAYS_ON: Table = {(1, 1): [1], (2, 2): [2], (1, 2): [1, 2], (2, 1): [2, 1]}
ON_DEMAND: Table = {(1, 1): [1], (2, 2): [2], (1, 2): [1, 3, 2], (2, 1): [2, 3, 1]}
"""The routing tables: the switches on the path from one switch to another."""

ALWAYS_ON_LINK = (1, 2)
HIGH_LOAD = 500_000_000
SECONDS_BETWEEN_POLLS = 10
IDLE_SECONDS = 10


class TrafficEngineering(app_manager.OSKenApp):
    """Routes flows over as few links as the load allows."""

    OFP_VERSIONS: ClassVar = [ofproto_v1_0.OFP_VERSION]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fixes = frozenset(self.CONF.fixes)
        self.datapaths: dict[int, Any] = {}
        self.carried = 0
        self.high_load = False
        self.table_in_charge = ALWAYS_ON
        self.polling = hub.spawn(self._poll)

    @set_ev_cls(ofp_event.EventOFPStateChange, [MAIN_DISPATCHER, DEAD_DISPATCHER])
    def state_change(self, event: Any) -> None:
        """Remember the switches that are there, and learn the load as soon as can be."""
        datapath = event.datapath
        if event.state == DEAD_DISPATCHER:
            self.datapaths.pop(datapath.id, None)
            return
        self.datapaths[datapath.id] = datapath
        if datapath.id == ALWAYS_ON_LINK[0]:
            self._ask_for_counters()

    # 1.

    def _poll(self) -> None:
        while True:
            hub.sleep(SECONDS_BETWEEN_POLLS)
            self._ask_for_counters()

    def _ask_for_counters(self) -> None:
        datapath = self.datapaths.get(ALWAYS_ON_LINK[0])
        if datapath is not None:
            parser = datapath.ofproto_parser
            datapath.send_msg(parser.OFPPortStatsRequest(datapath, 0, LINKS[ALWAYS_ON_LINK]))

    # 2.

    @set_ev_cls(ofp_event.EventOFPPortStatsReply, MAIN_DISPATCHER)
    def port_stats_reply(self, event: Any) -> None:
        """Judge the load by what the always-on link carried."""
        for port in event.msg.body:
            self.high_load = port.tx_bytes - self.carried > HIGH_LOAD
            self.carried = port.tx_bytes
            self.table_in_charge = ON_DEMAND if self.high_load else ALWAYS_ON
            self.logger.info("the load is %s", "high" if self.high_load else "low")

    # 3, 4 and 5.

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, event: Any) -> None:
        """Install a path for a new flow, and send the packet on."""
        message = event.msg
        header = packet.Packet(message.data).get_protocol(ipv4.ipv4)
        if header is None or header.src not in HOSTS or header.dst not in HOSTS:
            self._release(message, [])
            return
        switch = message.datapath.id
        path = self._path(self._table(header), header)
        if switch == path[0]:
            self._install(path, header)
            if "X" in self.fixes:
                self._send_on(message, path, header)
        elif "XI" in self.fixes and (known := self._path_through(switch, path, header)):
            self._send_on(message, known, header)

    def _path_through(self, switch: int, path: Path, header: Any) -> Path | None:
        """Return the path by which a packet came to a later switch, if one leads there."""
        paths = [path]
        if "XIII" in self.fixes:
            paths = [self._path(table, header) for table in (ALWAYS_ON, ON_DEMAND)]
        return next((known for known in paths if switch in known), None)

    def _table(self, header: Any) -> Table:
        """Choose the routing table for a flow."""
        if "XII" not in self.fixes:
            return self.table_in_charge
        is_odd = int(header.dst.rpartition(".")[2]) % 2 == 1
        return ON_DEMAND if self.high_load and is_odd else ALWAYS_ON

    def _path(self, table: Table, header: Any) -> Path:
        """Look up the switches that a flow passes."""
        return table[HOSTS[header.src][0], HOSTS[header.dst][0]]

    def _install(self, path: Path, header: Any) -> None:
        """Install a rule at each hop of a path, the last hop first."""
        for switch in reversed(path):
            datapath = self.datapaths.get(switch)
            if datapath is not None:
                parser = datapath.ofproto_parser
                flow = parser.OFPFlowMod(
                    datapath,
                    match=parser.OFPMatch(
                        dl_type=ether_types.ETH_TYPE_IP, nw_src=header.src, nw_dst=header.dst
                    ),
                    idle_timeout=IDLE_SECONDS,
                    actions=[parser.OFPActionOutput(self._port(path, switch, header))],
                )
                datapath.send_msg(flow)

    def _send_on(self, message: Any, path: Path, header: Any) -> None:
        """Have a packet sent to the next hop of a path."""
        parser = message.datapath.ofproto_parser
        port = self._port(path, message.datapath.id, header)
        self._release(message, [parser.OFPActionOutput(port)])

    def _port(self, path: Path, switch: int, header: Any) -> int:
        """Return the port by which a path leaves a switch."""
        if switch == path[-1]:
            return HOSTS[header.dst][1]
        return LINKS[switch, path[path.index(switch) + 1]]

    def _release(self, message: Any, actions: list[Any]) -> None:
        """Do something with a packet that a switch keeps, or that it handed over whole."""
        datapath = message.datapath
        is_kept = message.buffer_id != datapath.ofproto.OFP_NO_BUFFER
        datapath.send_msg(
            datapath.ofproto_parser.OFPPacketOut(
                datapath,
                buffer_id=message.buffer_id,
                in_port=message.in_port,
                actions=actions,
                data=None if is_kept else message.data,
            )
        )
