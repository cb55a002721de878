"""Programs that send packets on later, drop, forget, answer or rewrite them (`alarm_programs.toml`).

What is true of each follows from what it does with packets: `safe` if each arrives, is answered or is dropped
on purpose; `bug` if one is lost.  The lines of a program are written once and run in an os-ken app and in a
native program, which have the same few helpers: `out`, `flood`, `rule`, `ask_barrier`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import dedent, indent
from typing import Any, Final, NamedTuple

from tests.soundness.programs import IMPORTS, Program, table_of

KIND: Final = "packets sent on, dropped, lost"

OSKEN: Final = """\
from os_ken.base import app_manager
from os_ken.controller import event, ofp_event
from os_ken.controller.handler import CONFIG_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from os_ken.lib import hub
from os_ken.lib.packet import arp, ethernet, icmp, ipv4, packet, udp
from os_ken.ofproto import ofproto_v1_3

{before}

class App(app_manager.OSKenApp):
    OFP_VERSIONS = [ofproto_v1_3.OFP_VERSION]

    def __init__(self, *a, **k):
        super().__init__(*a, **k)
        self.switches = {{}}
{setup}

    def out(self, sw, data, port, actions=(), to=None, times=1):
        p = sw.ofproto_parser
        sent = [*actions, *[p.OFPActionOutput(self.special(sw, each)) for each in
                            ((to,) if not isinstance(to, (tuple, list)) else to)]]
        sw.send_msg(p.OFPPacketOut(datapath=sw, buffer_id=sw.ofproto.OFP_NO_BUFFER, in_port=port,
                                   actions=sent, data=data))

    def special(self, sw, port):
        named = {{'flood': sw.ofproto.OFPP_FLOOD, 'controller': sw.ofproto.OFPP_CONTROLLER,
                 'in_port': sw.ofproto.OFPP_IN_PORT}}
        return named.get(port, port)

    def flood(self, sw, data, port):
        self.out(sw, data, port, to='flood')

    def rule(self, sw, priority, *ports, table=0, actions=(), instructions=None, **match):
        p, o = sw.ofproto_parser, sw.ofproto
        outputs = [p.OFPActionOutput(self.special(sw, each), o.OFPCML_NO_BUFFER) for each in ports]
        inst = [p.OFPInstructionActions(o.OFPIT_APPLY_ACTIONS, [*actions, *outputs])]
        sw.send_msg(p.OFPFlowMod(datapath=sw, table_id=table, priority=priority, match=p.OFPMatch(**match),
                                 instructions=inst if instructions is None else instructions))

    def drop_rule(self, sw, priority, **match):
        self.rule(sw, priority, instructions=[], **match)

    def goto(self, sw, table):
        return [sw.ofproto_parser.OFPInstructionGotoTable(table)]

    def group(self, sw, number, *buckets):
        p, o = sw.ofproto_parser, sw.ofproto
        made = [p.OFPBucket(actions=[p.OFPActionOutput(port)] if port else []) for port in buckets]
        sw.send_msg(p.OFPGroupMod(sw, o.OFPGC_ADD, o.OFPGT_ALL, number, made))

    def to_group(self, sw, number):
        return [sw.ofproto_parser.OFPActionGroup(number)]

    def set_field(self, sw, **field):
        return [sw.ofproto_parser.OFPActionSetField(**field)]

    def push_vlan(self, sw, vid):
        p = sw.ofproto_parser
        return [p.OFPActionPushVlan(0x8100), p.OFPActionSetField(vlan_vid=0x1000 | vid)]

    def pop_vlan(self, sw):
        return [sw.ofproto_parser.OFPActionPopVlan()]

    def dec_ttl(self, sw):
        return [sw.ofproto_parser.OFPActionDecNwTtl()]

    def ask_barrier(self, sw):
        asked = sw.ofproto_parser.OFPBarrierRequest(sw)
        sw.set_xid(asked)
        sw.send_msg(asked)
        return asked.xid

    def number(self, sw):
        return sw.id

    def replied(self, sw, xid):
        pass

    def prepare(self, sw):
        self.rule(sw, 0, 'controller')

{inside}

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def joined(self, ev):
        self.switches[ev.msg.datapath.id] = ev.msg.datapath
        self.prepare(ev.msg.datapath)

    @set_ev_cls(ofp_event.EventOFPBarrierReply, MAIN_DISPATCHER)
    def barrier_replied(self, ev):
        self.replied(ev.msg.datapath, ev.msg.xid)

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, ev):
        msg = ev.msg; sw = msg.datapath
        port, data = msg.match['in_port'], msg.data
{body}
"""

NATIVE: Final = """\
from penstock._controllers.controller import Controller
from penstock.openflow.actions import (
    ApplyActions, DecNwTtl, GotoTable, Group, Output, PopVlan, PushVlan, SetField)
from penstock.openflow.match import Match
from penstock.openflow.messages import (
    NO_BUFFER, NO_MAX_LEN, BarrierReply, BarrierRequest, Bucket, FlowCommand, FlowMod, GroupCommand, GroupMod,
    GroupType, PacketOut, PortNo)

SPECIAL = {{'flood': PortNo.FLOOD, 'controller': PortNo.CONTROLLER, 'in_port': PortNo.IN_PORT}}

{before}

class App(Controller):
    def __init__(self):
        self.switches = {{}}
        self.asked = 0
{setup}

    def out(self, sw, data, port, actions=(), to=None):
        ports = (to,) if not isinstance(to, (tuple, list)) else to
        sent = (*actions, *(Output(SPECIAL.get(each, each)) for each in ports))
        self.send(sw, PacketOut(NO_BUFFER, port, sent, data))

    def flood(self, sw, data, port):
        self.out(sw, data, port, to='flood')

    def rule(self, sw, priority, *ports, table=0, actions=(), instructions=None, **match):
        outputs = tuple(Output(SPECIAL.get(each, each), NO_MAX_LEN) for each in ports)
        inst = (ApplyActions((*actions, *outputs)),) if instructions is None else tuple(instructions)
        self.send(sw, FlowMod(FlowCommand.ADD, Match.of(**match), inst, table_id=table, priority=priority))

    def drop_rule(self, sw, priority, **match):
        self.rule(sw, priority, instructions=(), **match)

    def goto(self, sw, table):
        return [GotoTable(table)]

    def group(self, sw, number, *buckets):
        made = tuple(Bucket((Output(port),) if port else ()) for port in buckets)
        self.send(sw, GroupMod(GroupCommand.ADD, GroupType.ALL, number, made))

    def to_group(self, sw, number):
        return [Group(number)]

    def set_field(self, sw, **field):
        return [SetField(name, int(mac.replace(":", ""), 16)) for name, mac in field.items()]

    def push_vlan(self, sw, vid):
        return [PushVlan(0x8100), SetField('vlan_vid', 0x1000 | vid)]

    def pop_vlan(self, sw):
        return [PopVlan()]

    def dec_ttl(self, sw):
        return [DecNwTtl()]

    def ask_barrier(self, sw):
        self.asked += 1
        self.send(sw, BarrierRequest(xid=self.asked))
        return self.asked

    def number(self, sw):
        return int(sw[1:])

    def replied(self, sw, xid):
        pass

    def prepare(self, sw):
        self.rule(sw, 0, 'controller')

{inside}

    def switch_join(self, switch):
        self.switches[int(switch[1:])] = switch
        self.prepare(switch)

    def other(self, switch, message):
        if isinstance(message, BarrierReply):
            self.replied(switch, message.xid)

    def packet_in(self, switch, message):
        sw, port, data = switch, message.in_port, message.data
{body}
"""

EVENT: Final = """\
from os_ken.controller import event

class Seen(event.EventBase):
    def __init__(self, sw, data, port):
        super().__init__()
        self.what = (sw, data, port)
"""

CLIENT: Final = {"h1": {"kind": "client", "to": "h2"}, "h2": {"kind": "server"}}
TWO: Final = {"h1": {"kind": "client", "to": "h2", "count": 2}, "h2": {"kind": "server"}}
BOTH: Final = {"h1": {"kind": "client", "to": "h2"}, "h2": {"kind": "client", "to": "h1"}}
PING: Final = {"h1": {"kind": "ping", "to": "h2"}, "h2": {"kind": "server"}}
PING_STATIC: Final = {"h1": {"kind": "ping", "to": "h2", "static_arp": True}, "h2": {"kind": "server"}}
TALK: Final = {
    "h1": {"kind": "client", "to": "h2", "count": 2},
    "h2": {"kind": "client", "to": "h1", "count": 1, "mobility": {"places": ["s1:3"], "moves": 1}},
}
HOSTS: Final[Mapping[str, Any]] = {
    "client": CLIENT,
    "two": TWO,
    "both": BOTH,
    "ping": PING,
    "ping_static": PING_STATIC,
    "moving": TALK,
    "any": {"h1": {"count": 1}, "h2": {"count": 1}},
}


class Case(NamedTuple):
    """What a program does and the truth about it; the fields are explained in the table."""

    name: str
    check: str
    body: str
    before: str = ""
    inside: str = ""
    setup: str = ""
    reason: str = ""
    hosts: str = "client"
    topology: str = "single,2"
    properties: tuple[Any, ...] = ("NoBlackHoles",)
    native: bool = True
    osken: bool = True
    search: Mapping[str, Any] = {}
    switches: Mapping[str, Any] = {}
    second: str = ""
    openflow: str = ""
    verify: str = "safe"


CASES: Final = tuple(Case(**row) for row in table_of(Path(__file__).with_suffix(".toml")))


def programs() -> Iterator[Program]:
    """Yield the programs, for both kinds of controllers where that makes sense."""
    for case in CASES:
        for native in (False, True):
            if case.native if native else case.osken:
                yield _program(case, native=native)


def _program(case: Case, *, native: bool) -> Program:
    name = f"{'native' if native else 'osken'}_{case.name}_{case.check}"
    files = {f"{name}.py": _source(case, native=native)}
    apps = [f"{name}.py"]
    if case.second:
        apps.append(f"second_of_{name}.py")
        files[apps[-1]] = dedent(case.second)
        files["seen_by_an_app.py"] = EVENT
    table: dict[str, Any] = {
        "topology": case.topology,
        "properties": list(case.properties),
        "controller": {"native": f"{name}.py:App"} if native else {"apps": apps},
        "hosts": HOSTS[case.hosts],
        "verify": {"properties": ["ControllerCrash"]},
    }
    extra = {"search": case.search, "switches": case.switches, "openflow": case.openflow}
    table.update((key, value) for key, value in extra.items() if value)
    # A proof judges what the program does, and not what becomes of packets.
    return Program(name, KIND, files, table, case.check, case.verify, case.reason)


def _source(case: Case, *, native: bool) -> str:
    text = NATIVE if native else OSKEN
    return IMPORTS + text.format(
        before=dedent(case.before),
        inside=indent(dedent(case.inside), " " * 4),
        setup=indent(dedent(case.setup), " " * 8),
        body=indent(dedent(case.body), " " * 8),
    )
