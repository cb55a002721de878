"""`penstock replay` and `penstock minimize`, as a user types them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from minimize_lab import fuzzed, moving_hosts

from penstock.cli.main import commands


def penstock(*words: str) -> tuple[int, str]:
    """Run a command; return its exit status and what it printed."""
    result = CliRunner().invoke(commands, words, standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    assert isinstance(result.return_value, int)
    return result.return_value, result.stdout


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return moving_hosts(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def minimal(run: Path) -> Path:
    status, printed = penstock("minimize", str(run))
    assert status == 1
    assert "  1. send" in printed and "  2. move" in printed
    assert "inputs became 2, of which none can be left out" in printed
    return run / "minimal"


def test_a_run_is_replayed_by_its_folder(run: Path) -> None:
    status, printed = penstock("replay", str(run))
    assert status == 1
    assert "lines came out the same" in printed
    assert "BlackHoleFreedom is broken again" in printed
    status, printed = penstock("replay", str(run / "trace.jsonl"), "--json")
    found = json.loads(printed)
    assert (status, found["reproduced"], found["diverged_at"]) == (1, True, None)


def test_a_run_without_a_violation_goes_alike(tmp_path: Path) -> None:
    status, printed = penstock("replay", str(fuzzed(tmp_path, events=5, rates={"migration": 0})))
    assert status == 0
    assert "lines came out the same" in printed


def test_the_minimal_sequence_is_written_to_be_read_and_replayed(minimal: Path) -> None:
    assert len((minimal / "inputs.txt").read_text().splitlines()) == 2
    again = str(minimal / "again")
    status, printed = penstock("fuzz", str(minimal / "scenario.toml"), "-o", again, "--json")
    found = json.loads(printed)
    assert (status, found["stopped_by"]) == (1, "the first violation that lasts")
    summary = json.loads((minimal / "summary.json").read_text())
    assert summary["size"] == 2 and summary["property"] == "BlackHoleFreedom"
    status, printed = penstock("replay", str(minimal))
    assert status == 1
    assert "lines came out the same, after 2 inputs" in printed


def test_the_written_test_fails_until_the_controller_is_mended(minimal: Path, tmp_path: Path) -> None:
    (test,) = minimal.glob("test_*.py")
    words = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(minimal),
        str(test),
    ]
    broken = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert broken.returncode == 1
    assert "does not reach" in broken.stdout
    # A controller that forgets nobody, because it learns nothing: it floods whatever comes.
    mended = tmp_path / "mended"
    mended.mkdir()
    (mended / "flood.py").write_text(FLOODING)
    lines = (minimal / "trace.jsonl").read_text().splitlines()
    header = json.loads(lines[0])
    header["scenario"]["controller"] = {"native": "flood.py:Flooding"}
    header["folder"] = "."
    (mended / "trace.jsonl").write_text("\n".join([json.dumps(header), *lines[1:]]) + "\n")
    (mended / test.name).write_text(test.read_text())
    words[-2:] = [str(mended), str(mended / test.name)]
    fixed = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert fixed.returncode == 0, fixed.stdout


FLOODING = """
from penstock.controllers.native import FLOOD, Controller
from penstock.openflow.actions import Output
from penstock.openflow.messages import PortNo


class Flooding(Controller):
    def switch_join(self, switch):
        self.install(switch, actions=(Output(PortNo.FLOOD),), priority=0)
"""


def test_what_cannot_be_reproduced_is_said(minimal: Path, tmp_path: Path) -> None:
    lines = (minimal / "trace.jsonl").read_text().splitlines()
    header = json.loads(lines[0])
    header["scenario"]["topology"] = "linear,1"
    header["folder"] = "."
    (tmp_path / "trace.jsonl").write_text("\n".join([json.dumps(header), *lines[1:]]) + "\n")
    status, printed = penstock("minimize", str(tmp_path))
    assert status == 3
    assert "does not lead to the violation again. The first difference is at line" in printed
    status, printed = penstock("minimize", str(tmp_path), "--json")
    assert (status, json.loads(printed)["result"]) == (3, "not reproduced")
