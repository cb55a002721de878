"""Which code a scenario leads to is found by reading it, wherever it is named."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from penstock._base.code_files import describe_code, digest_code


def written(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = folder / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


TABLES: tuple[tuple[dict[str, Any], tuple[str, ...]], ...] = (
    ({"controller": {"apps": ["app.py"]}}, ("app.py",)),
    ({"controller": {"apps": "app.py:Class"}}, ("app.py",)),
    ({"controller": {"native": "app.py:Class"}}, ("app.py",)),
    ({"controllers": {"c0": {"apps": ["app.py"]}, "c1": {"native": "other.py:C"}}}, ("app.py", "other.py")),
    ({"topology": {"mininet": "app.py"}}, ("app.py",)),
    ({"hosts": {"h1": {"kind": "app.py:Host"}}}, ("app.py",)),
    ({"properties": [{"name": "other.py:P", "option": "app.py:function"}]}, ("app.py", "other.py")),
    ({"search": {"strategies": ["flow-ir:is_same_flow=app.py:same"]}}, ("app.py",)),
    ({"fuzz": {"policy": "app.py:change", "invariants": ["other.py:i"]}}, ("app.py", "other.py")),
    ({"controller": {"cmd": "python3 app.py --port {port}"}}, ("app.py",)),
    ({"controller": {"cmd": ["python3", "-m", "app"]}}, ("app.py",)),
    ({"controller": {"cmd": "python3 x.py", "cwd": "deep"}}, ("deep/x.py",)),
    ({"a field of tomorrow": [{"that": "app.py:Object"}]}, ("app.py",)),
    ({"topology": "linear,2", "name": "app"}, ()),
)


@pytest.mark.parametrize(("table", "files"), TABLES)
def test_a_file_counts_wherever_it_is_named(
    table: dict[str, Any], files: tuple[str, ...], tmp_path: Path
) -> None:
    written(tmp_path, dict.fromkeys(("app", "other", "unnamed", "deep/x"), ""))
    assert tuple(digest_code(table, tmp_path)) == files


def test_what_a_file_imports_from_beside_it_counts_too(tmp_path: Path) -> None:
    written(
        tmp_path,
        {
            "app": "import one, json\nfrom package import two\ndef f():\n    from package.three import x\n",
            "one": "from . import never",
            "package/__init__": "",
            "package/two": "from .four import y\nfrom .. import one",
            "package/three": "",
            "package/four": "",
            "package/five": "",
        },
    )
    found = digest_code({"controller": {"apps": ["app.py"]}}, tmp_path)
    parts = ("__init__", "four", "three", "two")
    assert list(found) == ["app.py", "one.py", *(f"package/{name}.py" for name in parts)]


def test_another_content_is_another_digest_and_no_file_is_none(tmp_path: Path) -> None:
    table = {"controller": {"native": "app.py:A"}}
    before = digest_code(table, written(tmp_path, {"app": "x = 1"}))
    after = digest_code(table, written(tmp_path, {"app": "x = 22"}))
    assert before["app.py"] != after["app.py"]
    (tmp_path / "app.py").unlink()
    assert digest_code(table, tmp_path, before) == {"app.py": ""}


def test_a_pipe_is_no_file_and_keeps_nobody_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "app.py")
    table = {"controller": {"native": "app.py:A"}}
    assert digest_code(table, tmp_path) == {}
    assert digest_code(table, tmp_path, ["app.py"]) == {"app.py": ""}


def test_a_module_that_is_named_counts_and_is_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path, {"mine/__init__": "raise SystemExit", "mine/app": "raise SystemExit"})
    monkeypatch.syspath_prepend(tmp_path)
    table = {"controller": {"apps": ["mine.app:Class"]}}
    found = digest_code(table, tmp_path)
    assert list(found) == ["mine/__init__.py", "mine/app.py", "module mine.app"]
    assert describe_code(table) == ("the module mine.app",)


def test_what_would_run_is_told_from_the_table_alone() -> None:
    table = {
        "controllers": {"c0": {"cmd": ["touch", "x y"]}, "c1": {"apps": ["app.py:A", "ryu.app.hub"]}},
        "topology": {"mininet": "../topo.py"},
        "hosts": {"h1": {"kind": "ping"}},
    }
    assert describe_code(table) == (
        "the command 'touch x y'",
        "the module ryu.app.hub",
        "app.py",
        "../topo.py",
    )


@pytest.mark.parametrize(
    "table", [{"controller": 5}, {"controllers": [1]}, {"controller": {"cmd": 7, "apps": {}}}]
)
def test_nonsense_names_nothing(table: dict[str, Any], tmp_path: Path) -> None:
    assert digest_code(table, tmp_path) == {}
    assert isinstance(describe_code(table), tuple)
