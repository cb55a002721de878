"""Small fuzzing runs for tests: stages on virtual time, with their traces read back."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from penstock._controllers.controller import FLOOD, Controller
from penstock._fuzz.building import build_setting
from penstock._fuzz.fuzzing import Fuzzing, Report, fuzz, run_folder, stage_of
from penstock._fuzz.generator import Generator
from penstock._fuzz.harness import Harness
from penstock._fuzz.inputs import input_of
from penstock._fuzz.judging import Invariant
from penstock._scenario.scenario import Scenario
from penstock._trace.trace import FuzzTrace, read_trace
from penstock.openflow.actions import Output
from penstock.openflow.messages import PacketIn, PortNo

EXAMPLES = Path(__file__).parents[2] / "examples"
LEARNING = {"native": "controllers/learning_switch.py:LearningSwitch"}


class Flooder(Controller):
    """Floods whatever comes up."""

    def switch_join(self, switch: str) -> None:
        self.install(switch, actions=(Output(PortNo.CONTROLLER),), priority=0)

    def packet_in(self, switch: str, message: PacketIn) -> None:
        self.packet_out(switch, message, FLOOD)


def scenario(controller: Any = None, topology: str = "linear,2", **details: Any) -> Scenario:
    """Return a scenario beside the examples; `fuzz` is its table of that name."""
    return Scenario(
        controller=LEARNING if controller is None else controller,
        topology=topology,
        folder=EXAMPLES,
        **details,
    )


def opened(folder: Path, given: Scenario) -> Harness:
    """Return a stage on which all switches have joined."""
    stage = stage_of(build_setting(given), run_folder(folder, given))
    asyncio.run(stage.open())
    return stage


def perform(stage: Harness, *texts: str) -> None:
    """Perform inputs one after the other."""

    async def all_of_them() -> None:
        for text in texts:
            await stage.perform(input_of(text))

    asyncio.run(all_of_them())


def fuzz_trace(path: Path) -> FuzzTrace:
    """Read a trace that must be of a fuzzing run."""
    trace = read_trace(path)
    assert isinstance(trace, FuzzTrace)
    return trace


def written(stage: Harness) -> FuzzTrace:
    """Return what a stage has recorded so far."""
    stage.recorder.flush()
    return fuzz_trace(stage.recorder.writer.path)


def fuzzing(stage: Harness, seed: int = 1, invariants: Iterable[Invariant] = ()) -> Fuzzing:
    """Return a run on a stage."""
    return Fuzzing(stage, Generator(stage.setting, seed), tuple(invariants))


def run(folder: Path, given: Scenario) -> Report:
    """Fuzz a scenario from beginning to end."""
    return asyncio.run(fuzz(given, folder))
