"""What docs/fuzz.md shows is so: its commands run, its scenarios fit together, its tables are complete."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.fuzz.fuzz_lab import LEARNING
from tests.fuzz.live_lab import ROOT

from penstock._fuzz.building import PROFILES, build_setting
from penstock._fuzz.fuzzing import run_folder, stage_of
from penstock._fuzz.invariants import DEFAULT, invariants_of
from penstock._scenario.scenario import scenario_of

PAGE = (ROOT / "docs" / "fuzz.md").read_text()
COMMANDS = re.findall(r"^\$ penstock (.*)$", PAGE, re.MULTILINE)
TABLES = [tomllib.loads(block) for block in re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)]
TYPED = re.findall(r"^fuzz> (.*)$", PAGE, re.MULTILINE)
FOUND = re.findall(r"^  ✗  .*$", PAGE, re.MULTILINE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder in which the examples are where the page says."""
    found = tmp_path_factory.mktemp("page")
    (found / "examples").symlink_to(ROOT / "examples")
    return found


def penstock(folder: Path, arguments: str, typed: str = "") -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "penstock", *shlex.split(arguments)],
        cwd=folder,
        input=typed,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("arguments", COMMANDS)
def test_a_command_shown_runs(arguments: str, folder: Path, ryu_sources: Path) -> None:
    run = folder / "penstock-runs" / "host_moves-1"
    if arguments.startswith("show") and not run.exists():
        penstock(folder, "fuzz examples/fuzz/host_moves.toml")
    typed = "\n".join(TYPED) if "--interactive" in arguments else ""
    status, printed = penstock(folder, arguments, typed)
    assert status in ((0,) if arguments.startswith("show") else (1, 3)), printed
    assert "neither a command nor an input" not in printed and len(printed.splitlines()) > 0


def test_the_bug_shown_is_what_is_found(folder: Path, ryu_sources: Path) -> None:
    _, printed = penstock(folder, COMMANDS[0])
    (shown,) = FOUND
    what = re.sub(r"after \d+ inputs, at [\d.]+ s", "", shown)
    assert what in re.sub(r"after \d+ inputs, at [\d.]+ s", "", printed)


def test_what_is_typed_at_the_console_is_all_understood(folder: Path, ryu_sources: Path) -> None:
    _, printed = penstock(folder, "fuzz examples/fuzz/host_moves.toml --interactive", "\n".join(TYPED))
    assert printed.count("fuzz> ") == len(TYPED) > 5
    assert "cannot happen" not in printed and "see help" not in printed


@pytest.mark.parametrize("table", TABLES, ids=lambda table: ",".join(table["fuzz"]))
def test_a_scenario_shown_fits_together(table: dict[str, object], tmp_path: Path) -> None:
    (tmp_path / "no_flooding.py").write_text("def no_flooding(model):\n    return []\n")
    base = {"topology": "linear,3", "controller": {"native": f"{ROOT}/examples/{LEARNING['native']}"}}
    if "controller" in table:
        (tmp_path / "inventory_switch.py").symlink_to(ROOT / "examples" / "fuzz" / "inventory_switch.py")
    given = scenario_of({**base, **table}, tmp_path)
    stage = stage_of(build_setting(given), run_folder(tmp_path / "runs", given))
    assert invariants_of(stage)


def test_every_profile_and_every_invariant_is_told_of() -> None:
    told = set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE))
    assert told == {*PROFILES, *DEFAULT, "AllPairsReachability", "Isolation"}
