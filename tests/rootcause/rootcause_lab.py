"""Recorded runs for tests of the tools that find out why."""

import asyncio
import sys
from functools import partial
from pathlib import Path
from typing import Any

from penstock._controllers.tcp import ports
from penstock._fuzz.fuzzing import Fuzzing, fuzz
from penstock._fuzz.inputs import input_of
from penstock._fuzz.invariants import invariants_of
from penstock._scenario.scenario import Scenario

EXAMPLES = Path(__file__).parents[2] / "examples"
RYU = {"apps": ["ryu.app.simple_switch_13"]}


async def _give(fuzzing: Fuzzing, *, texts: tuple[str, ...]) -> None:
    for text in texts:
        await fuzzing.perform(input_of(text))


def recorded(
    folder: Path, *texts: str, controller: Any = None, topology: str = "linear,2", **options: Any
) -> Path:
    """Return the folder of a run with just these inputs; nobody has spare ports to move to."""
    scenario = Scenario(
        controller=RYU if controller is None else controller,
        topology=topology,
        folder=EXAMPLES,
        fuzz={"rates": {"migration": 0}, **options},
    )
    return asyncio.run(
        fuzz(scenario, folder, invariants=invariants_of, conduct=partial(_give, texts=texts))
    ).folder


def process() -> dict[str, Any]:
    """Return Ryu's learning switch as a process of its own."""
    command = [sys.executable, "-m", "penstock.launch", *RYU["apps"], "--port", "{port}"]
    return {"cmd": command, "port": ports.free_port()}
