"""Who listens to which group, who was heard saying what, and where."""

from collections import defaultdict

from os_ken.controller import ofp_event
from os_ken.controller.handler import MAIN_DISPATCHER, set_ev_cls
from os_ken.lib.packet import ipv4
from switch_app import SwitchApp


class GroupMembers(SwitchApp):
    """Sets, lists and dictionaries that come into being by being asked for."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.members = defaultdict(set, {"224.1.1.1": {2}})
        self.said = defaultdict(list, {"00:00:00:00:00:01": ["224.1.1.1"]})
        self.ports = defaultdict(dict)

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, ev):
        """Note who says something to a group; send it to the other members."""
        msg = ev.msg
        in_port = msg.match["in_port"]
        pkt, eth = self.opened(msg)
        ip = pkt.get_protocol(ipv4.ipv4)
        if ip is None or not ip.dst.startswith("224."):
            return
        self.ports[msg.datapath.id][eth.src] = in_port
        members = self.members[ip.dst]
        members.add(in_port)
        self.said[eth.src].append(ip.dst)
        if len(members) > 1:
            self.send_on(msg, *sorted(members - {in_port}))
        if len(self.said[eth.src]) > 1:
            self.logger.info("%s keeps talking", eth.src)
