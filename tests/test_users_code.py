"""Whatever code of the user's raises is told in one sentence with its file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock._engine.building import build
from penstock._fuzz.building import build_setting
from penstock._scenario.scenario import scenario_of
from penstock._world.network import ComponentRaised
from penstock.errors import PenstockError

FILE = """\
from penstock._controllers.controller import Controller
from penstock._properties.base import Property
from penstock._world.hosts import Host

class Silent(Controller):
    pass

class Refuses(Controller):
    def __init__(self):
        raise RuntimeError("no")  # line 10

class BadHost(Host):
    def __init__(self, **given):
        super().__init__(**given)
        raise RuntimeError("no")  # line 15

class Stillborn(Host):
    def start(self):
        raise RuntimeError("no")  # line 19

class BadProperty(Property):
    def __init__(self):
        raise RuntimeError("no")  # line 23

def helper():
    raise RuntimeError("no")  # line 26

class Indirect(Controller):
    def __init__(self):
        sorted([1, 2], key=lambda _: helper())
"""

APP = """\
from os_ken.base import app_manager

class App(app_manager.OSKenApp):
    def {method}(self, *args, **kwargs):
        super().{method}(*args, **kwargs)
        raise RuntimeError("no")
"""

TOPO = """\
from mininet.topo import Topo

class Broken(Topo):
    def build(self):
        raise RuntimeError("no")

topos = {"broken": Broken}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "mine.py").write_text(FILE)
    (tmp_path / "import_fails.py").write_text("import os\n\nraise RuntimeError('no')\n")
    (tmp_path / "syntax_fails.py").write_text("import os\nclass (:\n")
    (tmp_path / "init_fails.py").write_text(APP.format(method="__init__"))
    (tmp_path / "start_fails.py").write_text(APP.format(method="start"))
    (tmp_path / "topo_fails.py").write_text(TOPO)
    monkeypatch.chdir(tmp_path)
    return tmp_path


SILENT = {"controller": {"native": "mine.py:Silent"}}


@pytest.mark.parametrize(
    ("table", "place"),
    [
        ({"controller": {"native": "mine.py:Refuses"}}, "mine.py:10"),
        ({"controller": {"native": "mine.py:Indirect"}}, "mine.py:26"),
        ({"controller": {"native": "import_fails.py:Any"}}, "import_fails.py:3"),
        ({"controller": {"native": "syntax_fails.py:Any"}}, "syntax_fails.py:2"),
        ({"controller": {"apps": "import_fails.py"}}, "import_fails.py:3"),
        ({"controller": {"apps": "syntax_fails.py"}}, "syntax_fails.py:2"),
        ({"controller": {"apps": "init_fails.py"}}, "init_fails.py:6"),
        ({"controller": {"apps": "start_fails.py"}}, "start_fails.py:6"),
        ({**SILENT, "hosts": {"h1": {"kind": "mine.py:BadHost"}}}, "mine.py:15"),
        ({**SILENT, "hosts": {"h1": {"kind": "mine.py:Stillborn"}}}, "mine.py:19"),
        ({**SILENT, "hosts": {"h1": {"kind": "import_fails.py:Any"}}}, "import_fails.py:3"),
        ({**SILENT, "properties": ["mine.py:BadProperty"]}, "mine.py:23"),
        ({**SILENT, "properties": ["import_fails.py:Any"]}, "import_fails.py:3"),
        ({**SILENT, "topology": {"mininet": "topo_fails.py"}}, "topo_fails.py:5"),
        ({**SILENT, "topology": {"mininet": "import_fails.py"}}, "import_fails.py:3"),
    ],
)
def test_a_failure_names_file_and_line(table: dict[str, object], place: str, folder: Path) -> None:
    for made_of in (build, build_setting):
        if made_of is build_setting and "kind" in str(table.get("hosts")) and "Stillborn" in str(table):
            continue  # a fuzzing run begins its hosts later
        with pytest.raises((PenstockError, ComponentRaised)) as raised:
            made_of(scenario_of(table, folder))
        assert place in str(raised.value) and "\n" not in str(raised.value)
        assert "RuntimeError" in str(raised.value) or "SyntaxError" in str(raised.value)
