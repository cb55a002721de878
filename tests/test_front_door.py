"""The front door: what `import penstock` gives, and that the documents teach nothing else."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from tests.quick import HERE, MEASURING, SLOW, marks_of

import penstock

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "howto").glob("*.md"))
TAUGHT = (*PAGES, *(ROOT / "examples").rglob("*.py"))
PUBLIC = frozenset(
    {"penstock", "penstock.addresses", "penstock.errors", "penstock.openflow", "penstock.packet"}
)


def test_every_name_of_the_front_door_is_there_and_documented() -> None:
    for name in penstock.__all__:
        value = getattr(penstock, name)
        if callable(value):
            assert value.__doc__, name
    assert set(penstock.__all__) <= set(dir(penstock))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'penstock' has no attribute 'chekc'"):
        _ = penstock.chekc


def test_no_module_takes_the_name_of_a_function() -> None:
    for name in ("check", "verify", "fuzz", "replay", "minimize"):
        with pytest.raises(ModuleNotFoundError):
            import_module(f"penstock.{name}")


def test_what_is_not_public_looks_so() -> None:
    entries = {path.stem for path in Path(penstock.__file__).parent.iterdir() if path.suffix in ("", ".py")}
    public = {name for name in entries if not name.startswith("_")}
    assert public == {"addresses", "errors", "launch", "openflow", "packet", "pytest_plugin"}


def imports_in(text: str) -> Iterator[tuple[str, str]]:
    """Yield what Python code imports from Penstock: module and name."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "penstock":
            yield from ((node.module or "", each.name) for each in node.names)
        elif isinstance(node, ast.Import):
            yield from ((each.name, "") for each in node.names if each.name.split(".")[0] == "penstock")


def code_in(path: Path) -> Iterator[str]:
    """Yield the Python code of a page or a file."""
    text = path.read_text()
    if path.suffix == ".py":
        yield text
    else:
        yield from re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("path", TAUGHT, ids=lambda path: str(path.relative_to(ROOT)))
def test_documents_and_examples_use_the_front_door_alone(path: Path) -> None:
    for code in code_in(path):
        for module, name in imports_in(code):
            parents = {module.rsplit(".", depth)[0] for depth in range(module.count(".") + 1)}
            assert parents & (PUBLIC - {"penstock"}) or module == "penstock", (module, name)
            if module == "penstock" and name:
                assert name in penstock.__all__ or name in ("addresses", "openflow", "packet")


def test_a_scenario_brings_no_engine_along() -> None:
    loaded = subprocess.run(
        [sys.executable, "-c", "import penstock, sys; penstock.Scenario; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    engines = ("_check", "_verify", "_fuzz", "_minimize", "_explore", "_symbolic", "_engine", "_report")
    assert not [name for name in loaded if name.startswith(tuple(f"penstock.{each}" for each in engines))]
    assert not {"os_ken", "z3", "textual", "rich"} & set(loaded)


def test_the_package_alone_brings_nothing_along() -> None:
    loaded = subprocess.run(
        [sys.executable, "-c", "import penstock, sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    ours = {name for name in loaded if name.startswith("penstock")}
    below = ("errors", "_base", "_base.version", "_old_names")
    assert ours == {"penstock", *(f"penstock.{name}" for name in below)}


def test_the_page_on_architecture_has_the_floors_of_the_contract() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = [layer.split(" | ") for layer in contracts[0]["layers"]]
    page = (ROOT / "docs" / "architecture.md").read_text()
    rows = re.findall(r"^\| (`[^|]+`) \|", page.partition("| floor |")[2].partition("\n\n")[0], re.MULTILINE)
    assert [re.findall(r"`(\w+)`", row) for row in rows] == layers


def test_the_picture_of_the_floors_is_that_of_the_contract() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    page = (ROOT / "docs" / "architecture.md").read_text()
    (picture,) = re.findall(r"^(    what people and CI call.*?)\n\n", page, re.DOTALL | re.MULTILINE)
    lines = [re.split(r"\s{2,}", line.strip())[1] for line in picture.splitlines()]
    assert [floor.split(" | ") for line in lines for floor in line.split(" > ")] == [
        layer.split(" | ") for layer in contracts[0]["layers"]
    ]


def test_a_walk_through_the_code_names_at_most_twelve_files() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    walks = re.split(r"^## ", page, flags=re.MULTILINE)[1:]
    assert len(walks) > 12
    for walk in walks:
        named = {
            name for name in re.findall(r"`([\w/]+\.py)`", walk) if not name.startswith(("bench/", "test"))
        }
        assert len(named) <= 12, (walk.splitlines()[0], sorted(named))


def test_files_that_the_page_on_architecture_names_are_there() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    here = {
        path.relative_to(ROOT).as_posix()
        for top in ("src", "bench", "tests")
        for path in (ROOT / top).rglob("*.py")
    }
    for name in re.findall(r"`([\w/]+\.py)`", page):
        assert any(each.endswith(f"/{name}") or each == name for each in here), name


def test_what_the_quick_loop_leaves_out_is_there_and_marked(request: pytest.FixtureRequest) -> None:
    assert [name for name in (*SLOW, MEASURING) if not (HERE / name).exists()] == []
    assert marks_of(HERE / "bench" / "test_peers.py") == ["measuring"]
    assert marks_of(HERE / "docs" / "test_pages.py") == marks_of(HERE / "cli" / "test_inert.py") == ["slow"]
    assert marks_of(Path(__file__)) == []
    for item in request.session.items:
        marks = {mark.name for mark in item.iter_markers()} & {"slow", "measuring"}
        assert sorted(marks) == marks_of(item.path), item.nodeid


OLD = """
from penstock.controllers.native import FLOOD, Controller
from penstock.openflow.actions import Output
from penstock.properties.base import Property, Violated
from penstock.properties.functions import at_rest, invariant
from penstock.scenario import Scenario, load_scenario
from penstock.world.component import Event
from penstock.world.hosts import ASK, Host, Turn, host
from penstock.world.hosts.host import Address
from penstock.world.packet import TCP, IPv4, parse
from penstock.world.topology import TopologyBuilder, topology
from penstock.api import check
import penstock
assert Controller is penstock.Controller and Host is penstock.Host and check is penstock.check
assert parse is penstock.packet.parse and Controller.__module__ == "penstock._controllers.controller"
"""


def test_what_earlier_versions_documented_is_still_found() -> None:
    subprocess.run([sys.executable, "-c", OLD], check=True)
    asked = [sys.executable, "-m", "penstock.controllers.launch", "--help"]
    assert (
        "Run os-ken and Ryu apps" in subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    )
