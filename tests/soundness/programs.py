"""What programs for soundness tests are made of: the app around a few lines, the scenario, the truth.

`bug`: a run within the scenario breaks a property, so an all-clear is wrong; `safe`: none does, so a
violation is a false alarm.  A result that is bounded is honest for both, if it names the reason.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import dedent, indent
from typing import Any, Final, NamedTuple

IMPORTS: Final = """\
import array, collections, contextvars, copy, ctypes, dataclasses, decimal, enum, functools, gc, io, itertools
import logging, mmap, os, queue, random, socket, sqlite3, subprocess, sys, tempfile, threading, time, types
import warnings, weakref
"""

OSKEN: Final = """\
from os_ken import cfg
from os_ken.base import app_manager
from os_ken.controller import ofp_event
from os_ken.controller.handler import CONFIG_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from os_ken.lib import hub
from os_ken.ofproto import ofproto_v1_3

{before}

class App(app_manager.OSKenApp):
    OFP_VERSIONS = [ofproto_v1_3.OFP_VERSION]
{inside}
    def __init__(self, *a, **k):
        super().__init__(*a, **k)
{setup}

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def joined(self, ev):
        dp = ev.msg.datapath; p = dp.ofproto_parser; o = dp.ofproto
        actions = [p.OFPActionOutput(o.OFPP_CONTROLLER, o.OFPCML_NO_BUFFER)]
        inst = [p.OFPInstructionActions(o.OFPIT_APPLY_ACTIONS, actions)]
        dp.send_msg(p.OFPFlowMod(datapath=dp, priority=0, match=p.OFPMatch(), instructions=inst))

    def flood(self, msg):
        dp = msg.datapath; p = dp.ofproto_parser
        dp.send_msg(p.OFPPacketOut(datapath=dp, buffer_id=msg.buffer_id, in_port=msg.match['in_port'],
                                   actions=[p.OFPActionOutput(dp.ofproto.OFPP_FLOOD)], data=msg.data))

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, ev):
        msg = ev.msg; dp = msg.datapath
        port = msg.match['in_port']
{body}
        self.flood(msg)
"""

NATIVE: Final = """\
from penstock._controllers.controller import FLOOD, Controller
from penstock.openflow.actions import Output
from penstock.openflow.messages import NO_MAX_LEN, PortNo

{before}

class App(Controller):
{inside}
    def __init__(self):
        pass
{setup}

    def switch_join(self, switch):
        self.install(switch, actions=(Output(PortNo.CONTROLLER, NO_MAX_LEN),), priority=0)

    def packet_in(self, switch, message):
        port = message.in_port
{body}
        self.packet_out(switch, message, FLOOD)
"""


class Program(NamedTuple):
    """A program with its scenario, and whether it has a bug that each engine should find."""

    name: str
    kind: str
    files: Mapping[str, str]
    scenario: Mapping[str, Any]
    check: str
    verify: str
    reason: str = ""
    """A word that the reason names if the result may be bounded; without one it must not be."""


class Lines(NamedTuple):
    """The lines of a program that are its own: before its class, in it, when it is made, in its handler."""

    before: str = ""
    inside: str = ""
    setup: str = ""
    body: str = ""


def app(lines: Lines, *, native: bool = False) -> str:
    """Return the source of an app."""
    text = NATIVE if native else OSKEN
    return IMPORTS + text.format(
        before=dedent(lines.before),
        inside=indent(dedent(lines.inside), " " * 4),
        setup=indent(dedent(lines.setup), " " * 8),
        body=indent(dedent(lines.body), " " * 8),
    )


def scenario(file: str, *properties: str, native: bool = False) -> dict[str, Any]:
    """Return a scenario of two hosts on a switch, each of which sends one packet and an answer."""
    controller = {"native": f"{file}:App"} if native else {"apps": [file]}
    given = list(properties or ("ControllerCrash",))
    return {
        "topology": "single,2",
        "properties": given,
        "controller": controller,
        "hosts": {"h1": {"count": 1}, "h2": {"count": 1}},
        "verify": {"properties": [name for name in given if name.startswith("Controller")]},
    }


def table_of(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table, each with its name."""
    for name, row in tomllib.loads(path.read_text()).items():
        yield {"name": name, **row}
