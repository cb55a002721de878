"""Programs that install rules when switches join and hear no packet afterwards: truth by construction.

`proactive_rules.toml` has the rules, which are installed by an os-ken app and by a native program alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent, indent
from typing import Any, Final

from tests.soundness.programs import Program, table_of

KIND: Final = "proactive"
PROPERTIES: Final = ("NoForwardingLoops", "NoBlackHoles", "ControllerCrash", "ControllerHang")

_HOSTS: Final = """\
M1, M2, M3, M4 = (f"00:00:00:00:00:0{n}" for n in (1, 2, 3, 4))
I1, I2, I3, I4 = (f"10.0.0.{n}" for n in (1, 2, 3, 4))
BROADCAST = "ff:ff:ff:ff:ff:ff"
ARP, IPV4, IPV6 = 0x0806, 0x0800, 0x86DD
ALL, SELECT, INDIRECT, FAILOVER = 0, 1, 2, 3
"""

_OSKEN: Final = """\
from os_ken.base import app_manager
from os_ken.controller import ofp_event
from os_ken.controller.handler import CONFIG_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from os_ken.lib import hub
from os_ken.ofproto import ofproto_v1_3 as o, ofproto_v1_3_parser as p

{hosts}
FLOOD, CONTROLLER, IN_PORT, ALL_PORTS = o.OFPP_FLOOD, o.OFPP_CONTROLLER, o.OFPP_IN_PORT, o.OFPP_ALL
NORMAL = o.OFPP_NORMAL

def out(port):
    return p.OFPActionOutput(port, o.OFPCML_NO_BUFFER)

def group(number):
    return p.OFPActionGroup(number)

def put(**fields):
    return p.OFPActionSetField(**fields)

def push():
    return p.OFPActionPushVlan(0x8100)

def pop():
    return p.OFPActionPopVlan()

def ttl():
    return p.OFPActionDecNwTtl()


class App(app_manager.OSKenApp):
    OFP_VERSIONS = [o.OFP_VERSION]

    def rule(self, sw, priority, match, actions=(), table=0, goto=None, metadata=None, write=False):
        kind = o.OFPIT_WRITE_ACTIONS if write else o.OFPIT_APPLY_ACTIONS
        steps = [p.OFPInstructionActions(kind, list(actions))] if actions else []
        steps += [p.OFPInstructionWriteMetadata(metadata, 0xFFFF)] if metadata is not None else []
        steps += [p.OFPInstructionGotoTable(goto)] if goto is not None else []
        sw.send_msg(p.OFPFlowMod(datapath=sw, table_id=table, priority=priority,
                                 match=p.OFPMatch(**match), instructions=steps))

    def make_group(self, sw, kind, number, *buckets, watch=()):
        made = [p.OFPBucket(weight=int(kind == SELECT), actions=actions,
                            watch_port=watch[at] if watch else o.OFPP_ANY)
                for at, actions in enumerate(buckets)]
        sw.send_msg(p.OFPGroupMod(sw, o.OFPGC_ADD, kind, number, made))

    def later(self, seconds, work):
        def wait():
            hub.sleep(seconds)
            work()
        hub.spawn(wait)

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def joined(self, ev):
        sw = ev.msg.datapath
        n = sw.id
{rules}

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, ev):
        msg = ev.msg
        sw, port, data = msg.datapath, msg.match["in_port"], msg.data
        def send(*actions):
            sw.send_msg(p.OFPPacketOut(datapath=sw, buffer_id=msg.buffer_id, in_port=port,
                                       actions=list(actions), data=data))
{handler}
"""

_NATIVE: Final = """\
from penstock.addresses import ipv4, ipv6, mac
from penstock._controllers.controller import Controller
from penstock.openflow.actions import (ApplyActions, DecNwTtl, GotoTable, Group, Output, PopVlan, PushVlan,
                                       SetField, WriteActions, WriteMetadata)
from penstock.openflow.match import Match, Term
from penstock.openflow.messages import (NO_MAX_LEN, Bucket, FlowCommand, FlowMod, GroupCommand, GroupMod,
                                        PortNo)

{hosts}
FLOOD, CONTROLLER, IN_PORT = PortNo.FLOOD, PortNo.CONTROLLER, PortNo.IN_PORT
ALL_PORTS, NORMAL = PortNo.ALL, PortNo.NORMAL

def number(value):
    if not isinstance(value, str):
        return value
    kinds = [mac] if value.count(":") == 5 and "::" not in value else [ipv6] if ":" in value else [ipv4]
    return kinds[0](value)

def out(port):
    return Output(port, NO_MAX_LEN)

def group(number):
    return Group(number)

def put(**fields):
    ((name, value),) = fields.items()
    return SetField(name, number(value))

def push():
    return PushVlan(0x8100)

def pop():
    return PopVlan()

def ttl():
    return DecNwTtl()


class App(Controller):
    def rule(self, sw, priority, match, actions=(), table=0, goto=None, metadata=None, write=False):
        steps = ((WriteActions if write else ApplyActions)(tuple(actions)),) if actions else ()
        steps += (WriteMetadata(metadata, 0xFFFF),) if metadata is not None else ()
        steps += (GotoTable(goto),) if goto is not None else ()
        plain = {{name: number(value) for name, value in match.items() if not isinstance(value, tuple)}}
        masked = [Term(name, number(value[0]), number(value[1])) for name, value in match.items()
                  if isinstance(value, tuple)]
        wanted = Match(tuple(sorted((*Match.of(**plain).terms, *masked))))
        self.send(sw, FlowMod(FlowCommand.ADD, wanted, steps, priority=priority, table_id=table))

    def make_group(self, sw, kind, number, *buckets, watch=()):
        made = tuple(Bucket(tuple(actions), int(kind == SELECT), watch[at] if watch else PortNo.ANY)
                     for at, actions in enumerate(buckets))
        self.send(sw, GroupMod(GroupCommand.ADD, kind, number, made))

    def switch_join(self, sw):
        n = int(sw.removeprefix("s"))
{rules}

    def packet_in(self, sw, message):
        port = message.in_port
        def send(*actions):
            self.packet_out(sw, message, actions)
{handler}
"""


def programs() -> Iterator[Program]:
    """Yield the programs of the table, each for os-ken and, unless it says otherwise, as a native one."""
    for row in table_of(Path(__file__).with_name("proactive_rules.toml")):
        yield _program(row, native=False)
        if row.get("native", True):
            yield _program(row, native=True)


def _program(row: dict[str, Any], *, native: bool) -> Program:
    name = f"{'native' if native else 'osken'}_{row['name']}"
    file = f"{name}.py"
    controller = {"native": f"{file}:App"} if native else {"apps": [file]}
    scenario = {
        "topology": row.get("topology", "single,2"),
        "properties": list(PROPERTIES),
        "controller": controller,
        "verify": {"properties": ["NoForwardingLoops"]},
        **({"hosts": {f"h{n}": {"count": row["counts"]} for n in (1, 2, 3)}} if "counts" in row else {}),
    }
    source = _source(row, _NATIVE if native else _OSKEN)
    return Program(
        name, KIND, {file: source}, scenario, row["check"], row.get("verify", "safe"), row.get("reason", "")
    )


def _source(row: dict[str, Any], text: str) -> str:
    lines = {key: indent(dedent(row.get(key, "pass")), " " * 8) for key in ("rules", "handler")}
    return text.format(hosts=_HOSTS, **lines)
