"""Folders with small apps in them, and campaigns over these as a person or a script runs them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

MENDED = """
from penstock import FLOOD, Controller
from penstock.openflow.actions import Output
from penstock.openflow.messages import NO_MAX_LEN, PortNo


class Hub(Controller):
    def switch_join(self, switch):
        self.install(switch, actions=(Output(PortNo.CONTROLLER, NO_MAX_LEN),), priority=0)

    def packet_in(self, switch, message):
        self.packet_out(switch, message, FLOOD)
"""
"""Sends everything everywhere."""
CRASHING = MENDED.replace(
    "        self.packet_out(switch, message, FLOOD)\n", "        raise ValueError(switch)\n"
)
"""Fails at the first packet."""
SCENARIO = """
topology = "single,2"
properties = ["ControllerCrash"]
controller = {native = "PROGRAM"}

[hosts.h1]
kind = "ping"
to = "h2"

[fuzz]
events = 20
invariants = ["ControllerCrash"]
"""


def scenario(folder: Path, name: str, code: str, more: str = "") -> Path:
    """Write a scenario with its controller into a folder; return its file."""
    folder.mkdir(parents=True, exist_ok=True)
    # The controller is for the scenario alone: by this name it is not found as an app of its own.
    (folder / f"{name}_program.py").write_text(code.replace("class Hub", "class _Hub"))
    file = folder / f"{name}.toml"
    file.write_text(SCENARIO.replace("PROGRAM", f"{name}_program.py:_Hub") + more)
    return file


def started(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """Begin a campaign in a folder."""
    return subprocess.Popen(
        [sys.executable, "-m", "penstock", "campaign", *arguments],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def campaign(folder: Path, *arguments: str, status: int) -> dict[str, Any]:
    """Run a campaign and return its JSON object."""
    process = started(folder, *arguments, "--json")
    out, err = process.communicate(timeout=240)
    assert process.returncode == status, out + err
    found: dict[str, Any] = json.loads(out)
    return found


def answer(told: dict[str, Any]) -> Any:
    """Return what two campaigns of the same have in common: all but times."""
    jobs = [{key: value for key, value in job.items() if key != "seconds"} for job in told["jobs"]]
    keys = ("result", "campaign", "compared_with", "complete", "bugs", "counts", "left_out")
    return jobs, {key: told[key] for key in keys}
