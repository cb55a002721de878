"""Runs the handlers of the corpus: concolically for their paths, then plainly to see what they cover.

A handler is a file in `corpus/native` or `corpus/osken`, as its author would have written it.  Its
paths are found with a controller that is followed.  The packets that stand for them then go to a
fresh one that is not, while coverage.py watches the file.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

from coverage import Coverage

from penstock._concolic.packets.domain import Addresses
from penstock._concolic.packets.frames import FrameSpace
from penstock._concolic.packets.inputs import PacketQuestion
from penstock._concolic.paths import Exploration, explore
from penstock._controllers.controller import Controller
from penstock._controllers.native import NativeController
from penstock._controllers.osken.binding import OsKenController
from penstock._controllers.probing import Reaction
from penstock.addresses import ipv4
from penstock.openflow.match import Match
from penstock.openflow.messages import NO_BUFFER, FeaturesReply, PacketIn
from penstock.openflow.stats import PortDescs, StatsReply

FOLDER = Path(__file__).parent / "corpus"
SWITCHES = {"s1": 1, "s2": 2}
EXIT = "exit"
"""Where an arc leads that leaves a function."""

Arc = tuple[str, str]
"""A way from one line to another, both as they are written."""

QUESTION = PacketQuestion(
    PacketIn(NO_BUFFER, 0, 0, Match.of(in_port=1), b""),
    FrameSpace(
        Addresses(macs=(1, 2, 3), ipv4s=tuple(ipv4(f"10.0.0.{host}") for host in (1, 2, 3)), dpids=(1, 2))
    ),
)
"""A packet that comes in by port 1 of a switch, to a network of three hosts."""

_loaded = count()


def handlers() -> dict[str, Path]:
    """Return the files of the corpus by name, `native/talkers`."""
    return {
        f"{file.parent.name}/{file.stem}": file
        for file in sorted(FOLDER.glob("*/*.py"))
        if file.stem != "switch_app"
    }


@dataclass(frozen=True, slots=True)
class Ready:
    """A controller all of whose switches have joined."""

    controller: NativeController | OsKenController
    state: Any

    def explored(self, switch: str) -> Exploration[Reaction]:
        """Find the paths that a packet from a switch can take."""
        return explore(
            lambda inputs: self.controller.probe(self.state, switch, QUESTION, inputs), QUESTION.space
        )

    def given(self, switch: str, inputs: Mapping[str, int]) -> Reaction:
        """Hand a packet over for real, and return what comes of it."""
        step = self.controller.receive(self.state, switch, QUESTION.message(inputs))
        return Reaction(step.sends, step.events)


def ready(file: Path, *, followed: bool) -> Ready:
    """Load a handler, and have all switches join."""
    if file.parent.name == "native":
        native = NativeController(_program(file), tuple(SWITCHES), followed=followed)
        state: Any = native.initial()
        for switch in SWITCHES:
            state = native.act(state, f"join {switch}").state
        return Ready(native, state)
    return ready_app(str(file), followed=followed)


def ready_app(app: str, *, followed: bool) -> Ready:
    """Load an os-ken or Ryu app, and have all switches join."""
    controller = OsKenController((app,), SWITCHES, followed=followed)
    state = controller.initial()
    for switch, dpid in SWITCHES.items():
        state = controller.act(state, f"join {switch}").state
        state = controller.receive(state, switch, FeaturesReply(dpid, 0, 1, 0)).state
        state = controller.receive(state, switch, StatsReply(PortDescs(()))).state
    return Ready(controller, state)


def _program(file: Path) -> Controller:
    """Return the controller in a file, of a module of its own: following one changes its module."""
    name = f"corpus_{file.stem}_{next(_loaded)}"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return _controller_in(module)()


def _controller_in(module: ModuleType) -> type[Controller]:
    (found,) = (
        made
        for made in vars(module).values()
        if isinstance(made, type) and issubclass(made, Controller) and made.__module__ == module.__name__
    )
    return found


# Coverage.


def uncovered(file: Path, packets: Iterable[tuple[str, Mapping[str, int]]]) -> set[Arc]:
    """Return the ways through a handler that none of some packets takes, each for a switch."""
    watch = Coverage(
        branch=True, data_file=None, config_file=False, include=[str(file)], concurrency=["greenlet"]
    )
    watch.start()
    try:
        fresh = ready(file, followed=False)
        for switch, inputs in packets:
            fresh.given(switch, inputs)
    finally:
        watch.stop()
    with TemporaryDirectory() as folder:
        report = Path(folder) / "coverage.json"
        watch.json_report(outfile=str(report))
        (found,) = json.loads(report.read_text())["files"].values()
    lines = file.read_text().splitlines()
    return {(_line(lines, start), _line(lines, end)) for start, end in found["missing_branches"]}


def _line(lines: list[str], number: int) -> str:
    return lines[number - 1].strip() if number > 0 else EXIT
