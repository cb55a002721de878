"""`penstock doctor`: what it prints, and the status that says whether Penstock can work."""

import json

import pytest
from click.testing import CliRunner, Result

from penstock._cli import doctor
from penstock._cli.main import commands
from penstock._doctor import Package, Part

GOOD = Part("click", Package("click", "import click"), "the command line", "required")
BROKEN = Part("Z3", Package("z3-solver", "raise OSError('no libz3')"), "solving", "required")
MISSING = Part("Dask", Package("no-such-distribution", "import nothing"), "clusters")
FOR_TESTS = Part("a linter", Package("no-such-linter", "import nothing"), "lint", "development")


def run(monkeypatch: pytest.MonkeyPatch, *parts: Part, options: tuple[str, ...] = ()) -> Result:
    monkeypatch.setattr(doctor, "PARTS", parts)
    return CliRunner().invoke(commands, ["doctor", *options], standalone_mode=False)


def test_with_all_that_is_required_it_is_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    done = run(monkeypatch, GOOD, MISSING)
    assert done.return_value == 0
    assert "  ✓ click " in done.stdout and "  - Dask               missing\n      for clusters" in done.stdout
    assert "install it: " in done.stdout
    assert done.stdout.endswith("Penstock is ready; 1 optional part is not there.\n")


def test_a_required_part_that_is_broken_is_named_and_the_status_is_1(monkeypatch: pytest.MonkeyPatch) -> None:
    done = run(monkeypatch, GOOD, BROKEN)
    assert done.return_value == 1
    assert "  ✗ Z3                 broken: OSError: no libz3" in done.stdout
    assert "Penstock cannot run here" in done.stdout


def test_with_everything_nothing_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, GOOD).stdout.endswith("Penstock is ready, and nothing is missing.\n")


def test_what_only_developers_need_is_left_out_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "checkout", lambda: None)
    assert "a linter" not in run(monkeypatch, GOOD, FOR_TESTS).stdout
    assert "a linter" in run(monkeypatch, GOOD, FOR_TESTS, options=("--all",)).stdout


def test_as_json_it_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    done = run(monkeypatch, GOOD, BROKEN, MISSING, options=("--json",))
    found = json.loads(done.stdout)
    assert done.return_value == 1 and found["ready"] is False
    assert [part["state"] for part in found["parts"]] == ["working", "broken", "missing"]
    assert found["parts"][1]["reason"] == "OSError: no libz3"
    assert all(part["get"] and part["gives"] for part in found["parts"])
