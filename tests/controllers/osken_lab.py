"""What the tests of os-ken programs share: small apps, networks to run them in, Ryu's sources."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

from tests.required_tools import do_without

from penstock._base.ryu_names import source_folders
from penstock._controllers.osken.binding import OsKenController, OsKenState
from penstock._world.assembly import build_network
from penstock._world.component import Event, Step
from penstock._world.faults import NO_FAULTS, Faults
from penstock._world.hosts import HostMaker
from penstock._world.network import Network
from penstock._world.switch import SwitchOptions
from penstock._world.topology import topology
from penstock.openflow.match import Match
from penstock.openflow.messages import NO_BUFFER, FeaturesReply, PacketIn
from penstock.openflow.stats import PortDescs, StatsReply

HEADER = """\
import itertools, random, time, uuid
from datetime import datetime
from os_ken.base import app_manager
from os_ken.controller import event, ofp_event
from os_ken.controller.handler import CONFIG_DISPATCHER, DEAD_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from os_ken.lib import hub
"""


def need_ryu() -> None:
    """Skip a test where Ryu's sources are missing; in CI fail it, as for any real part."""
    if not source_folders():
        do_without("The sources of Ryu are missing: make setup fetches them.")


def write_app(folder: Path, body: str, name: str = "little_app", before: str = "") -> str:
    """Write an app with this packet_in handler (or these methods), and return its file's name."""
    body = dedent(body)
    if not re.search(r"def \w+\(self", body):
        body = (
            "@set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)\ndef packet_in(self, ev):\n"
            + indent(body, "    ")
        )
    file = folder / f"{name}.py"
    made = "".join(part.capitalize() for part in name.split("_"))
    file.write_text(
        f"{HEADER}\n{dedent(before)}\nclass {made}(app_manager.OSKenApp):\n{indent(body, '    ')}\n"
    )
    return str(file)


def control(*apps: str, shape: str = "single,2", **options: Any) -> OsKenController:
    """Return a controller that runs apps for the switches of a shape."""
    switches = {switch.name: switch.dpid for switch in topology(shape).switches}
    return OsKenController(apps, switches, **options)


def network_of(
    controller: OsKenController,
    shape: str,
    hosts: Mapping[str, HostMaker] | None = None,
    faults: Faults = NO_FAULTS,
) -> Network:
    """Return a network that a controller controls, in the version that it speaks."""
    options = SwitchOptions(version=controller.version)
    return build_network(
        topology(shape), hosts=hosts, controllers=controller, switches=options, faults=faults
    )


def joined(controller: OsKenController) -> OsKenState:
    """Return the state in which s1 has joined and said what it is and that it has no ports."""
    state = controller.act(controller.initial(), "join s1").state
    state = controller.receive(state, "s1", FeaturesReply(1, 0, 1, 0)).state
    ready: OsKenState = controller.receive(state, "s1", StatsReply(PortDescs(()))).state
    return ready


def packet(data: bytes = b"hello", *, buffer_id: int = NO_BUFFER, tag: str = "p1") -> PacketIn:
    """Return a packet that came in by port 1."""
    return PacketIn(buffer_id, len(data), 0, Match.of(in_port=1), data, tag=tag)


def handle(controller: OsKenController, *packets: bytes, state: OsKenState | None = None) -> Step:
    """Return the last of several steps, in each of which a packet is handed over."""
    step = Step(state or joined(controller))
    for data in packets:
        step = controller.receive(step.state, "s1", packet(data))
    return step


def lines(events: tuple[Event, ...]) -> list[str]:
    """Return what was logged or printed."""
    texts: list[Any] = [event.detail[1] for event in events if event.kind == "log"]
    return texts
