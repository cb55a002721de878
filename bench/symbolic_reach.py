"""Which branches of the apps are out of reach of packets, and why; and whether that is true.

Some branches no packet can take, others only one that comes after others.  They are listed here, each
with its reason.  The list can hide nothing: a branch in it that some packet does take is an error, as
is one that does not exist, and one that is missed without being listed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from bench.symbolic_coverage import EXIT, Branch, Taken

NEVER = None
"""How many packets it takes to get to a branch that none gets to."""


class Reason(NamedTuple):
    """Why branches are out of reach, and the number of packets that it takes to reach them."""

    why: str
    packets: int | None
    branches: tuple[Branch, ...]


def _in(function: str, *ways: tuple[str, str]) -> tuple[Branch, ...]:
    return tuple(Branch(function, line, to) for line, to in ways)


_VERSION = "if ofproto.OFP_VERSION == ofproto_v1_0.OFP_VERSION:"
_GROUP = "self._to_hosts[dpid][report.address]"
_PORT = f"if not {_GROUP}['ports']["
_REPLIED = f"if not {_GROUP}['replied']:"

_BASE = (
    Reason(
        "The apps derived from the learning switch leave buffers out of their flow entries.",
        NEVER,
        _in(
            "SimpleSwitch13.add_flow",
            ("if buffer_id:", "mod = parser.OFPFlowMod(datapath=datapath, buffer_id=buffer_id,"),
        ),
    ),
)

OUT_OF_REACH: Mapping[str, tuple[Reason, ...]] = {
    "rest_firewall": (),
    "simple_switch_13": (
        Reason(
            "The switch hands over all of a packet.",
            NEVER,
            _in(
                "SimpleSwitch13._packet_in_handler",
                (
                    "if ev.msg.msg_len < ev.msg.total_len:",
                    'self.logger.debug("packet truncated: only %s of %s bytes",',
                ),
            ),
        ),
        Reason(
            "The switch keeps no packet in a buffer.",
            NEVER,
            (
                *_in(
                    "SimpleSwitch13._packet_in_handler",
                    (
                        "if msg.buffer_id != ofproto.OFP_NO_BUFFER:",
                        "self.add_flow(datapath, 1, match, actions, msg.buffer_id)",
                    ),
                    (
                        "if msg.buffer_id == ofproto.OFP_NO_BUFFER:",
                        "out = parser.OFPPacketOut(datapath=datapath, buffer_id=msg.buffer_id,",
                    ),
                ),
                *_BASE[0].branches,
            ),
        ),
    ),
    "simple_switch_igmp_13": (
        *_BASE,
        Reason(
            "The app speaks OpenFlow 1.3 only.",
            NEVER,
            (
                *_in("IgmpQuerier.packet_in_handler", (_VERSION, "in_port = msg.in_port")),
                *_in("IgmpQuerier._do_report", (_VERSION, "size = 65535")),
                *_in("IgmpSnooper.packet_in_handler", (_VERSION, "in_port = msg.in_port")),
                *_in("IgmpSnooper._do_report", (_VERSION, "size = 65535")),
            ),
        ),
        Reason(
            "Nobody calls it with a source.",
            NEVER,
            tuple(
                Branch(
                    f"IgmpBase.{function}",
                    "if src is not None:",
                    "match.append_field(ofproto.OXM_OF_IPV4_SRC, src)",
                )
                for function in ("_set_flow_entry_v1_2", "_del_flow_entry_v1_2")
            ),
        ),
        Reason(
            "It happens when time has passed, not when a packet comes.",
            NEVER,
            (
                *_in(
                    "IgmpSnooper._do_timeout_for_query",
                    ("for dst in self._to_hosts[dpid]:", "if not self._to_hosts[dpid][dst]['replied']:"),
                    ("for dst in self._to_hosts[dpid]:", "for dst in remove_dsts:"),
                    (
                        "if not self._to_hosts[dpid][dst]['replied']:",
                        "self._remove_multicast_group(datapath, outport, dst)",
                    ),
                    ("if not self._to_hosts[dpid][dst]['replied']:", "for dst in self._to_hosts[dpid]:"),
                    ("for dst in remove_dsts:", "del self._to_hosts[dpid][dst]"),
                    ("for dst in remove_dsts:", EXIT),
                ),
                *_in(
                    "IgmpSnooper._do_timeout_for_leave",
                    ("if self._to_hosts[dpid][dst]['ports'][in_port]['out']:", "return"),
                    (
                        "if self._to_hosts[dpid][dst]['ports'][in_port]['out']:",
                        "del self._to_hosts[dpid][dst]['ports'][in_port]",
                    ),
                    (
                        "for port in self._to_hosts[dpid][dst]['ports']:",
                        "actions.append(parser.OFPActionOutput(port))",
                    ),
                    ("for port in self._to_hosts[dpid][dst]['ports']:", "if len(actions):"),
                    ("if len(actions):", "self._send_event("),
                    ("if len(actions):", "self._remove_multicast_group(datapath, outport, dst)"),
                ),
            ),
        ),
        Reason(
            "It needs a group that was joined at the querier before.",
            2,
            (
                *_in(
                    "IgmpQuerier._do_report",
                    (
                        "if in_port not in self._mcast[report.address]:",
                        "self._mcast[report.address][in_port] = True",
                    ),
                    ("if update:", EXIT),
                ),
                *_in(
                    "IgmpQuerier._do_leave",
                    ("if in_port in self._mcast[leave.address]:", "self._del_flow_entry("),
                    ("for port in self._mcast[leave.address]:", "if len(actions):"),
                    ("if len(actions):", "self._del_flow_entry("),
                ),
            ),
        ),
        Reason(
            "It needs a group that was joined at two ports of the querier before.",
            3,
            _in(
                "IgmpQuerier._do_leave",
                (
                    "for port in self._mcast[leave.address]:",
                    "actions.append(parser.OFPActionOutput(port))",
                ),
                ("if len(actions):", "self._set_flow_entry("),
            ),
        ),
        Reason(
            "It needs a querier that was heard before.",
            2,
            (
                *_in(
                    "IgmpSnooper._do_report",
                    ("if value:", "outport = value['port']"),
                    ("if not outport:", _PORT),
                    (_PORT, "actions = []"),
                    (f"for port in {_GROUP}['ports']:", "actions.append(parser.OFPActionOutput(port))"),
                    (f"for port in {_GROUP}['ports']:", "self._send_event("),
                    (_REPLIED, "actions = [parser.OFPActionOutput(outport, size)]"),
                ),
                *_in(
                    "IgmpSnooper._do_leave",
                    ("if not self._to_querier.get(dpid):", "self._to_hosts.setdefault(dpid, {})"),
                ),
            ),
        ),
        Reason(
            "It needs a group that was joined behind the snooping switch before.",
            2,
            (
                *_in(
                    "IgmpSnooper._do_query",
                    ("for group in self._to_hosts[dpid].values():", "group['replied'] = False"),
                    ("if group:", "group['replied'] = False"),
                ),
                *_in(
                    "IgmpSnooper._do_report",
                    (
                        "if not self._to_hosts[dpid].get(report.address):",
                        f"if not {_GROUP}['ports'].get(",
                    ),
                    (f"if not {_GROUP}['ports'].get(", _PORT),
                    (_PORT, "if not outport:"),
                ),
            ),
        ),
        Reason(
            "It needs a group that was joined behind the snooping switch after a querier was heard.",
            3,
            _in("IgmpSnooper._do_report", (_PORT, _REPLIED), (_REPLIED, EXIT)),
        ),
    ),
    "simple_switch_lacp_13": (
        *_BASE,
        Reason(
            "The app speaks OpenFlow 1.3 only.",
            NEVER,
            _in("LacpLib._do_lacp", (_VERSION, "port = msg.in_port")),
        ),
        Reason(
            "It needs LACP at the same port before.",
            2,
            _in(
                "LacpLib._do_lacp",
                (
                    "if not self._get_slave_enabled(dpid, port):",
                    "if req_lacp.LACP_STATE_SHORT_TIMEOUT == \\",
                ),
                (
                    "if idle_timeout != self._get_slave_timeout(dpid, port):",
                    "res_pkt = self._create_response(datapath, port, req_lacp)",
                ),
            ),
        ),
        Reason(
            "It needs a switch from which a packet came before.",
            2,
            _in(
                "SimpleSwitchLacp13._slave_state_changed_handler",
                ("if dpid in self.mac_to_port:", "for mac in self.mac_to_port[dpid]:"),
                (
                    "for mac in self.mac_to_port[dpid]:",
                    "match = datapath.ofproto_parser.OFPMatch(eth_dst=mac)",
                ),
                ("for mac in self.mac_to_port[dpid]:", "del self.mac_to_port[dpid]"),
            ),
        ),
    ),
}


def out_of_reach(reasons: Collection[Reason], packets: int) -> dict[Branch, str]:
    """Return the branches that are out of reach of so many packets, with why."""
    return {
        branch: reason.why
        for reason in reasons
        if reason.packets is NEVER or reason.packets > packets
        for branch in reason.branches
    }


def wrong(taken: Taken, beyond: Mapping[Branch, str], by: str) -> Iterator[str]:
    """Say in sentences which branches are listed wrongly, and which are missed by packets of one name."""
    for name, branches in taken.by.items():
        for branch in sorted(branches & beyond.keys()):
            yield f"{branch} is taken by {name}, but said to be out of reach: {beyond[branch]}"
    for branch in sorted(taken.branches - taken.by[by] - beyond.keys()):
        yield f"{branch} is missed by {by}."


def unknown(reasons: Collection[Reason], branches: Collection[Branch]) -> Iterator[str]:
    """Say in sentences which listed branches do not exist."""
    for reason in reasons:
        for branch in reason.branches:
            if branch not in branches:
                yield f"{branch} is listed as out of reach, but there is no such branch."
