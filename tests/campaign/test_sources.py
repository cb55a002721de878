"""What a campaign runs is found by reading, and what is left out is told with the reason."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from penstock._campaign.sources import LeftOut, sources_in, sources_listed
from penstock.errors import PenstockError

APP = "from os_ken.base import app_manager\n\nclass App(app_manager.OSKenApp):\n    pass\n"
NO_APP = "no class in it derives from an os-ken or Ryu app or from penstock.Controller"


def names(folder: Path) -> list[str]:
    return [source.name for source in sources_in(folder).found]


@pytest.mark.parametrize(
    "text",
    [
        APP,
        "import ryu.base.app_manager\n\nclass App(ryu.base.app_manager.RyuApp):\n    pass\n",
        "from ryu.base.app_manager import RyuApp as Base\n\nclass App(Base):\n    pass\n",
        "from ryu.app import simple_switch_13 as s\n\nclass App(s.SimpleSwitch13):\n    pass\n",
        f"{APP}\nclass Other(App):\n    pass\n",
        "def f(:\n",
    ],
    ids=["os-ken", "dotted", "renamed", "of an app", "of one's own", "no Python"],
)
def test_an_app_is_found_by_what_it_derives_from(tmp_path: Path, text: str) -> None:
    (tmp_path / "app.py").write_text(text)
    assert names(tmp_path) == ["app.py"]


@pytest.mark.parametrize(
    "text",
    [
        "x = 1\n",
        "from os_ken.base import app_manager\n",
        "from ryu.controller import event\n\nclass Moved(event.EventBase):\n    pass\n",
        "from ryu.app.wsgi import ControllerBase\n\nclass Web(ControllerBase):\n    pass\n",
        "class App(RyuApp):\n    pass\n",
    ],
    ids=["nothing", "an import", "an event", "a web page", "somebody's"],
)
def test_what_is_no_app_is_left_out_with_the_reason(tmp_path: Path, text: str) -> None:
    (tmp_path / "other.py").write_text(text)
    assert names(tmp_path) == []
    assert sources_in(tmp_path).left_out == (LeftOut("other.py", NO_APP),)


def test_native_controllers_are_found_by_class_and_those_that_want_something_are_not(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import penstock\n\n"
        "class One(penstock.Controller):\n    pass\n\n"
        "class Two(One):\n    def __init__(self, depth=3):\n        pass\n\n"
        "class Three(One):\n    def __init__(self, hosts, *, port):\n        pass\n\n"
        "class _Hidden(One):\n    pass\n"
    )
    assert names(tmp_path) == ["mine.py:One", "mine.py:Two"]
    assert sources_in(tmp_path).left_out == (
        LeftOut("mine.py", "Three wants hosts, port: give it in a scenario"),
    )


def test_scenarios_are_toml_files_with_a_controller_and_those_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("[controller]\napps = ['x.py']\n")
    (tmp_path / "b.toml").write_text("topology = 'ring,3'\n[controllers.c0]\ncmd = 'x'\n")
    (tmp_path / "broken.toml").write_text("[controller\n")
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    found = sources_in(tmp_path)
    assert [(source.name, source.has_topology) for source in found.found] == [
        ("a.toml", False),
        ("b.toml", True),
        ("broken.toml", False),
    ]
    assert found.left_out == (LeftOut("pyproject.toml", "it is not a scenario: it has no [controller]"),)


def test_folders_below_are_looked_into_but_not_hidden_ones_nor_what_penstock_wrote(tmp_path: Path) -> None:
    for place in ("below/deep", ".hidden", "penstock-runs/x/minimal", "__pycache__", "mine/runs/1"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "app.py").write_text(APP)
    (tmp_path / "mine" / "campaign.sqlite").touch()
    assert names(tmp_path) == ["below/deep/app.py"]
    listed = sources_listed(tmp_path, ["**/*.py"])
    assert [source.name for source in listed.found] == ["below/deep/app.py"]


def test_a_list_names_files_patterns_and_modules(tmp_path: Path) -> None:
    for name in ("one.py", "two.py", "helper.py"):
        (tmp_path / name).write_text("x = 1\n" if name == "helper.py" else APP)
    found = sources_listed(tmp_path, ["helper.py", "ryu.app.simple_switch_13", "*.py"], ["two.*"])
    assert [source.name for source in found.found] == ["helper.py", "ryu.app.simple_switch_13", "one.py"]
    assert found.left_out == (LeftOut("helper.py", NO_APP), LeftOut("two.py", "leave_out names it"))


@pytest.mark.parametrize(
    ("named", "told"),
    [
        ("missing.py", "There is no file"),
        ("missing/*.py", "Nothing fits 'missing/\\*.py'"),
        ("notes.txt", "is not a scenario"),
    ],
)
def test_what_a_list_names_must_be_there(tmp_path: Path, named: str, told: str) -> None:
    (tmp_path / "notes.txt").write_text("")
    with pytest.raises(PenstockError, match=told):
        sources_listed(tmp_path, [named])


def test_what_is_no_regular_file_is_left_out_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "endless.py").symlink_to("/dev/zero")
    (tmp_path / "app.py").write_text(APP)
    assert names(tmp_path) == ["app.py"]


def test_a_name_that_is_no_text_is_spelt_out(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9.py")).write_text(APP)
    assert names(tmp_path) == ["caf\\udce9.py"]
