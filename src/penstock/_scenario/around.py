"""The scenario that somebody means who names a file or a module.

A `.toml` file is a scenario.  An app, by its `.py` file or its module's name, is put into a small network in
which hosts send whatever makes a difference to it, and what can go wrong with any controller is looked for.
"""

from __future__ import annotations

from pathlib import Path

from penstock._base.files import absolute
from penstock._scenario.scenario import Scenario, load_scenario
from penstock.errors import PenstockError


def scenario_at(path: Path) -> Scenario:
    """Return the scenario of a file: a TOML scenario, or an app put into a small network."""
    if path.suffix == ".toml":
        return load_scenario(path)
    if path.suffix == ".py" or (not path.exists() and "." in path.name and path.name == str(path)):
        return _around(path)
    raise PenstockError(f"{path} is no scenario: give a .toml file, an app's .py file or its module's name.")


def _around(app: Path) -> Scenario:
    """Return a scenario around an app: two switches, and hosts that send whatever makes a difference."""
    if app.suffix == ".py" and not app.is_file():
        raise PenstockError(f"There is no file {app}: give the path of an app.")
    file = app.suffix == ".py"
    return Scenario(
        name=app.stem if file else app.name.rpartition(".")[2],
        controller={"apps": [app.name if file else str(app)]},
        topology="linear,2",
        folder=absolute(app.parent if file else Path()),
    )
