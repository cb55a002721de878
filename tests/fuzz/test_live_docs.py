"""The scenarios that docs/live.md shows are good ones, and those whose controllers are at hand run."""

import os
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.fuzz.live_lab import ROOT, live_scenario, on_stage, ovs_testcontroller, ryu

from penstock._fuzz.building import build_setting
from penstock._fuzz.live_harness import LiveHarness
from penstock._scenario.scenario import scenario_of
from penstock._world.transition import Record

BLOCK = re.compile(r"```toml\n(.*?)```", re.DOTALL)
SHOWN = [tomllib.loads(block) for block in BLOCK.findall((ROOT / "docs" / "live.md").read_text())]
NEEDED = {"ovs-testcontroller": ovs_testcontroller, "penstock.launch": ryu}


@pytest.mark.parametrize("table", SHOWN, ids=lambda table: table["controller"]["cmd"].split()[0])
def test_every_scenario_shown_fits_together(table: dict[str, Any], tmp_path: Path) -> None:
    setting = build_setting(scenario_of(table, tmp_path))
    assert "{port}" in " ".join(setting.commands["c0"].cmd)
    assert len(setting.sessions) == 3


@pytest.mark.parametrize("program", NEEDED)
def test_a_scenario_shown_runs(program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    NEEDED[program]()
    # An environment need not be activated.
    ours = Path(sys.executable).parent
    others = [folder for folder in os.environ["PATH"].split(os.pathsep) if Path(folder) != ours]
    monkeypatch.setenv("PATH", os.pathsep.join(others))
    (table,) = [shown for shown in SHOWN if program in shown["controller"]["cmd"]]
    more = {key: value for key, value in table.items() if key != "controller"}
    controller = {key: value for key, value in table["controller"].items() if key != "port"}

    async def act(stage: LiveHarness, records: list[Record]) -> None:
        assert stage.possible().sessions_up() == ["s1-c0", "s2-c0", "s3-c0"]

    on_stage(live_scenario(tmp_path, controller, **more), tmp_path, act)
