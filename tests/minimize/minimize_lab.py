"""Recorded runs for tests of replays: short fuzzing runs, and walks of a search."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from tests.required_tools import do_without

from penstock._base.ryu_names import source_folders
from penstock._base.typed import Table
from penstock._check.check import walk
from penstock._controllers.tcp import ports
from penstock._fuzz.fuzzing import Fuzzing, fuzz
from penstock._fuzz.inputs import input_of
from penstock._fuzz.invariants import invariants_of
from penstock._scenario.scenario import Scenario, load_scenario

EXAMPLES = Path(__file__).parents[2] / "examples"
LEARNING = {"native": "controllers/learning_switch.py:LearningSwitch"}
RYU = {"apps": ["ryu.app.simple_switch_13"]}


def fuzzed(folder: Path, controller: Any = None, topology: str = "linear,3", **options: Any) -> Path:
    """Return the folder of a fuzzing run; the options are those of [fuzz]."""
    scenario = Scenario(
        controller=LEARNING if controller is None else controller,
        topology=topology,
        folder=EXAMPLES,
        fuzz={"events": 80, **options},
    )
    return asyncio.run(fuzz(scenario, folder, invariants=invariants_of)).folder


def performed(folder: Path, scenario: Scenario, *texts: str) -> Path:
    """Return the folder of a run in which just these inputs were given; `{s1}` is the spare port of s1."""

    async def conduct(fuzzing: Fuzzing) -> None:
        spare = {place.node: str(place) for place in fuzzing.stage.setting.places}
        for text in texts:
            await fuzzing.perform(input_of(text.format(**spare)))

    return asyncio.run(fuzz(scenario, folder, invariants=invariants_of, conduct=conduct)).folder


NOISE = (
    *("send h1 to h3 tcp 1", "fail h3-s3", "send h3 to h1 udp 2", "recover h3-s3", "wait 10", "check"),
    *("fail s2-s3", "send h3 to h1 arp 1", "recover s2-s3", "wait 100", "send h3 to h1 ping 3"),
)


def moving_hosts(folder: Path) -> Path:
    """Return the folder of a run in which a host moved at last, and others no longer reach it."""
    scenario = Scenario(
        controller=RYU, topology="linear,3", folder=EXAMPLES, fuzz={"rates": {"migration": 1}, "seed": 1}
    )
    noise = NOISE * 5
    return performed(folder, scenario, *noise, "send h1 to h2 ping 1", "wait 10", "move h2 to {s3}")


LIVE_INPUTS = (
    *("send h1 to h3 ping 1", "send h1 to h2 ping 1", "wait 300"),
    *("fail s2-s3", "recover s2-s3", "move h2 to {s1}"),
)


def performed_live(folder: Path, *texts: str) -> Path:
    """Perform inputs on a network of a Ryu app in a process of its own; return the folder of the run."""
    if not source_folders():
        do_without("The sources of Ryu are missing: make setup fetches them.")
    words = [
        sys.executable,
        "-m",
        "penstock.launch",
        "ryu.app.simple_switch_13",
        "--port",
        "{port}",
    ]
    scenario = Scenario(
        controller={"cmd": words, "port": ports.free_port()},
        topology="linear,3",
        folder=EXAMPLES,
        fuzz={"persistent_ms": 300, "rates": {"migration": 1}, "invariants": ["NoBlackHoles"]},
    )
    return performed(folder, scenario, *texts)


def app_in_a_process(folder: Path, source: str, **options: Any) -> Scenario:
    """Return a switch with two hosts under an app, which is written down here; the options are of [fuzz]."""
    (folder / "app.py").write_text(source)
    words = [sys.executable, "-m", "penstock.launch", "app.py", "--port", "{port}"]
    return Scenario(
        controller={"cmd": words, "port": ports.free_port()},
        topology="single,2",
        folder=folder,
        fuzz={"invariants": ["NoBlackHoles"], **options},
    )


def long_walk(folder: Path, seed: int = 3) -> Path:
    """Return the trace of a random walk of more than 300 steps into NICE's bug VII.

    The client of the example repeats its first packet and sends sixty more, so that most steps do not matter.
    """
    scenario = load_scenario(EXAMPLES / "nice" / "bug_07.toml")
    client = {**cast("Table", scenario.hosts["h1"]), "segments": 60, "syn_retries": 6}
    busy = replace(scenario, hosts={**scenario.hosts, "h1": client}, switches={"buffers": 64})
    report = walk(busy, seed, walks=1, longest=2000, output=folder)
    trace = report.findings[0].trace
    assert trace is not None
    return trace
