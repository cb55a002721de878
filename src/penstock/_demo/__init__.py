"""What `penstock demo` checks: a learning switch, and a scenario for each of three bugs in it.

The scenarios name Penstock's own switch, so that they need nothing but Penstock.  With Ryu's sources,
Ryu's switch takes its place: it has the same bugs, and was published.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

from penstock._base import ryu_names
from penstock._scenario.scenario import Scenario, load_scenario

FOLDER: Final = Path(__file__).parent
OWN_APP: Final = "learning_switch.py"
RYU_APP: Final = "ryu.app.simple_switch_13"


def demo_app() -> str:
    """Return the learning switch to check: Ryu's if it is here, else our own."""
    module = Path("app", "simple_switch_13.py")
    return RYU_APP if any((folder / module).is_file() for folder in ryu_names.source_folders()) else OWN_APP


def demo_scenario(name: str, app: str = OWN_APP) -> Scenario:
    """Return one of the scenarios, with that app in it."""
    return replace(load_scenario(FOLDER / f"{name}.toml"), controller={"apps": [app]})
