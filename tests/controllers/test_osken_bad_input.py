"""Programs that cannot be run: one sentence each, with what to do about it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from tests.controllers.osken_lab import control, handle, lines, write_app

from penstock._base import ryu_names
from penstock.errors import PenstockError


def refusal(*apps: str, **options: Any) -> str:
    """Return the sentence with which a program is refused."""
    with pytest.raises(PenstockError) as refused:
        control(*apps, **options)
    sentence = str(refused.value)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    return sentence


def test_no_app_and_the_same_app_twice(tmp_path: Path) -> None:
    assert refusal() == "A program needs at least one app: name its file or module."
    app = write_app(tmp_path, "pass")
    assert refusal(app, app) == f"The app {app!r} is named twice: name each app once."


def test_two_apps_whose_classes_have_one_name(tmp_path: Path) -> None:
    one = write_app(tmp_path, "pass")
    other = tmp_path / "other.py"
    other.write_text(Path(one).read_text())
    assert refusal(one, str(other)) == (
        f"{one} and {other} both have a class LittleApp, by which os-ken knows an app: rename one of them."
    )


def test_a_file_that_is_not_there() -> None:
    assert refusal("nowhere/app.py") == "There is no file nowhere/app.py: check the path of the app."


def test_a_folder_and_a_file_that_is_not_python(tmp_path: Path) -> None:
    assert refusal(f"{tmp_path}/") == f"{tmp_path}/ is a folder: check the path of the app."
    trace = tmp_path / "some.jsonl"
    trace.write_text("{}\n")
    for name in (str(trace), ".", "s.toml x", ""):
        assert refusal(name) == f"{name} is no Python file: name the app's, as in app.py, or its module."


@pytest.mark.parametrize("name", ["no_such_module", "os_ken.no_such_module", "os_ken.lib.no.such"])
def test_a_module_that_is_not_there(name: str) -> None:
    assert refusal(name) == f"There is no module {name!r}: check its name, or name the app's file."


def test_an_app_of_ryus_without_the_sources_of_ryu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ryu_names, "source_folders", tuple)
    needs = "needs the sources of Ryu 4.34, not found here: run penstock fetch-ryu to fetch them."
    assert refusal("ryu.app.simple_switch_13") == f"ryu.app.simple_switch_13 {needs}"


def test_a_file_without_an_app_in_it(tmp_path: Path) -> None:
    file = tmp_path / "empty_handed.py"
    file.write_text("from os_ken.base.app_manager import OSKenApp\n")
    assert refusal(str(file)) == (
        f"{file} has no app in it: define a class that derives from OSKenApp or RyuApp."
    )


def test_a_class_that_is_not_there(tmp_path: Path) -> None:
    app = write_app(tmp_path, "pass")
    assert refusal(f"{app}:Other") == f"{app} has no app 'Other': choose LittleApp."
    assert lines(handle(control(f"{app}:LittleApp"), b"x").events) == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "import no_such_library",
            "ModuleNotFoundError: No module named 'no_such_library' at {file}:1",
        ),
        ("x = 1\ny = z\n", "NameError: name 'z' is not defined at {file}:2"),
        ("raise SystemExit(3)", "SystemExit: 3 at {file}:1"),
    ],
)
def test_an_app_that_fails_to_import(tmp_path: Path, text: str, reason: str) -> None:
    file = tmp_path / "broken.py"
    file.write_text(text)
    assert refusal(str(file)) == (
        f"{file} failed to import: {reason.format(file=file)}; fix it, or install what it needs."
    )
    assert "broken" not in sys.modules


def test_an_app_with_a_syntax_error(tmp_path: Path) -> None:
    file = tmp_path / "broken.py"
    file.write_text("def f(:\n")
    assert f"failed to import: SyntaxError: invalid syntax at {file}:1" in refusal(str(file))


def test_an_app_that_imports_a_part_of_ryu_that_nobody_has(tmp_path: Path) -> None:
    file = tmp_path / "lost.py"
    file.write_text("from ryu.lib import no_such_thing\n")
    assert "failed to import: ImportError: cannot import name 'no_such_thing'" in refusal(str(file))


def test_an_app_that_fails_to_start(tmp_path: Path) -> None:
    failing = "def __init__(self, *args, **kwargs):\n    super().__init__(*args, **kwargs)\n    "
    app = write_app(tmp_path, failing + "kwargs['wsgi']")
    assert refusal(app) == (
        f"{app} failed to start: KeyError: 'wsgi' at {app}:12; fix it, or give it the options it needs."
    )
    app = write_app(tmp_path, failing + "hub.Event().wait()")
    assert refusal(app) == (
        f"{app} failed to start: little_app.__init__ waits while the apps are made; wait in a task instead."
    )
    app = write_app(tmp_path, failing + "hub.spawn(self.nothing, 1)\ndef nothing(self): pass")
    assert refusal(app).startswith(
        f"{app} failed to start: TypeError: LittleApp.nothing() takes 1 positional"
    )


def test_an_app_that_never_stops_starting(tmp_path: Path) -> None:
    app = write_app(
        tmp_path, "def start(self):\n    hub.spawn(self.spin)\ndef spin(self):\n    while True: hub.sleep()"
    )
    assert refusal(app) == (f"{app} failed to start: its tasks took more than 10000 turns.")


def test_a_file_named_like_a_module_of_pythons(tmp_path: Path) -> None:
    app = write_app(tmp_path, "pass", "random")
    assert refusal(app) == (
        f"{app} cannot be loaded, since Python has another module 'random': rename the file."
    )


def test_apps_without_a_version_in_common(tmp_path: Path) -> None:
    old = write_app(tmp_path, "OFP_VERSIONS = [1]\ndef f(self): pass", "old")
    new = write_app(tmp_path, "OFP_VERSIONS = [4]\ndef f(self): pass", "new")
    assert refusal(old, new) == (
        f"{old} and {new} have no OpenFlow version in common: run them in separate programs."
    )


def test_an_unknown_option_and_a_senseless_budget(tmp_path: Path) -> None:
    app = write_app(tmp_path, "pass")
    assert "NoSuchOptError: no such option colour" in refusal(app, options={"colour": "red"})
    assert refusal(app, timers=-1) == "-1 timers cannot go off: give a number from 0 up, or None."


def test_a_refused_program_leaves_the_last_one_as_it_was(tmp_path: Path) -> None:
    controller = control(write_app(tmp_path, "import helper\nprint(helper.WORD)", "good"))
    (tmp_path / "helper.py").write_text("WORD = 'fine'\n")
    sys.path.append(str(tmp_path))
    try:
        refusal("nowhere/app.py")
        assert lines(handle(controller, b"x").events) == ["fine"]
    finally:
        sys.path.remove(str(tmp_path))
        sys.modules.pop("helper", None)
