"""Runs of every engine for tests of exports, and `penstock export` without a process of its own."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from penstock._check.check import check
from penstock._cli.exporting import export_command
from penstock._controllers.tcp import ports
from penstock._fuzz.fuzzing import Fuzzing, fuzz
from penstock._fuzz.inputs import input_of
from penstock._fuzz.invariants import invariants_of
from penstock._scenario.scenario import Scenario, load_scenario
from penstock._trace.trace import Trace
from penstock._verify.proof import prove
from penstock.errors import PenstockError

EXAMPLES = Path(__file__).parents[3] / "examples"
SWITCH13 = "ryu.app.simple_switch_13"
SWITCH10 = "ryu.app.simple_switch"
INPUTS = (
    "send h1 to h2 ping 1",
    "wait 200",
    "fail s1-s2",
    "wait 50",
    "recover s1-s2",
    "limit s1 to 9",
    "disconnect s1-c0",
    "wait 100",
    "reconnect s1-c0",
    "send h2 to h1 tcp 1",
    "wait 300",
)


def searched(folder: Path, scenario: str = "nice/bug_02") -> Path:
    """Return the trace of what a search finds in an example."""
    report = check(load_scenario(EXAMPLES / f"{scenario}.toml"), output=folder)
    trace = report.findings[0].trace
    assert trace is not None
    return trace


def proved(folder: Path, scenario: str = "mocs/bug_update") -> Path:
    """Return the trace of what a proof of an example comes to."""
    trace = prove(load_scenario(EXAMPLES / f"{scenario}.toml"), output=folder).findings[0].trace
    assert trace is not None
    return trace


async def _give(fuzzing: Fuzzing, *, texts: tuple[str, ...]) -> None:
    for text in texts:
        await fuzzing.perform(input_of(text))


def fuzzed(folder: Path, *texts: str, controller: Any = None, **details: Any) -> Path:
    """Return the folder of a run with just these inputs."""
    scenario = Scenario(
        controller={"apps": [SWITCH13]} if controller is None else controller,
        topology="linear,2",
        folder=EXAMPLES,
        fuzz={"rates": {"migration": 0}},
        **details,
    )
    conduct = partial(_give, texts=texts or INPUTS)
    return asyncio.run(fuzz(scenario, folder, invariants=invariants_of, conduct=conduct)).folder


def process(app: str) -> dict[str, Any]:
    """Return one of Ryu's apps as a process of its own."""
    command = [sys.executable, "-m", "penstock.launch", app, "--port", "{port}"]
    return {"cmd": command, "port": ports.free_port()}


def control_messages(trace: Trace) -> int:
    """Return how many control messages were sent in a trace, by its texts alone."""
    channels = [send.partition(" ")[0] for line in trace.lines for send in line.sends]
    return sum(
        not channel.startswith("fabric:") and not channel.rpartition(":")[2].isdecimal()
        for channel in channels
    )


def exported(*arguments: object) -> tuple[bytes, str]:
    """Run `penstock export` and return what it printed: on the standard output, and remarks."""
    done = CliRunner().invoke(
        export_command, [str(argument) for argument in arguments], standalone_mode=False
    )
    if done.exception is not None:
        raise done.exception
    return done.stdout_bytes, done.stderr


def refused(*arguments: object) -> str:
    """Return the sentence with which `penstock export` refuses."""
    try:
        exported(*arguments)
    except PenstockError as error:
        return str(error)
    raise AssertionError("nothing was refused")


def rewritten(trace: Path, target: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """Return a copy of a trace of which each line was changed."""
    with target.open("w", encoding="utf-8") as file:
        for text in trace.read_text(encoding="utf-8").splitlines():
            line = json.loads(text)
            change(line)
            file.write(json.dumps(line) + "\n")
    return target
