"""A minimisation that is killed goes on where it was, and ends with the same answer."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from minimize_lab import long_walk

from penstock.errors import PenstockError
from penstock.minimize.check_replay import CheckReproducer
from penstock.minimize.ddmin import minimise
from penstock.minimize.progress import FILE, Progress
from penstock.minimize.reproducing import Attempt
from penstock.minimize.script import load_script

LIMIT_S = 60


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return long_walk(tmp_path_factory.mktemp("walk"), 16)


def command(trace: Path, folder: Path) -> list[str]:
    return [sys.executable, "-m", "penstock", "minimize", str(trace), "-o", str(folder), "--json"]


def answer(trace: Path, folder: Path) -> dict[str, Any]:
    """Minimise to the end; return what does not depend on how fast that was."""
    done = subprocess.run(
        command(trace, folder), capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert done.returncode == 1, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return {key: value for key, value in found.items() if key not in ("seconds", "folder")}


def killed_after(trace: Path, folder: Path, lines: int) -> int:
    """Kill a minimisation without warning once its file has so many lines; return how many it has then."""
    process = subprocess.Popen(command(trace, folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    progress, limit = folder / FILE, time.monotonic() + LIMIT_S
    try:
        while process.poll() is None and time.monotonic() < limit:
            if progress.exists() and progress.read_bytes().count(b"\n") >= lines:
                break
            time.sleep(0.002)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    return progress.read_bytes().count(b"\n")


def test_killed_at_several_points_it_ends_the_same(trace: Path, tmp_path: Path) -> None:
    whole = answer(trace, tmp_path / "whole")
    assert whole["size"] == 1
    folder = tmp_path / "killed"
    before = 0
    for lines in (1, 4, 20, 45):
        reached = killed_after(trace, folder, lines)
        assert reached >= before
        before = reached
    assert not (folder / "minimal" / "summary.json").exists()
    assert answer(trace, folder) == whole


def test_every_prefix_of_the_answers_leads_to_the_same_end(trace: Path, tmp_path: Path) -> None:
    """Also one that was cut in the middle of a line."""
    script = load_script(trace)
    reproducer = CheckReproducer(script)
    whole = minimise(script, reproducer, folder=tmp_path)
    written = (tmp_path / FILE).read_bytes()
    for share in (0.0, 0.1, 0.37, 0.8, 1.0):
        folder = tmp_path / str(share)
        folder.mkdir()
        (folder / FILE).write_bytes(written[: int(len(written) * share)])
        again = minimise(script, reproducer, folder=folder)
        assert (again.inputs, again.script, again.replays) == (whole.inputs, whole.script, whole.replays)
        assert again.resumed <= whole.replays
        assert (folder / FILE).read_bytes().count(b"\n") == written.count(b"\n")
    assert again.resumed == whole.replays


def test_answers_about_another_trace_are_not_used(tmp_path: Path) -> None:
    asked: list[str] = []

    def ask() -> Attempt:
        asked.append("asked")
        return Attempt(reproduced=True)

    Progress("one", tmp_path).answer("key", 3, ask)
    assert Progress("one", tmp_path).answer("key", 3, ask).reproduced
    assert len(asked) == 1
    Progress("other", tmp_path).answer("key", 3, ask)
    assert len(asked) == 2


def test_a_damaged_file_is_said_to_be(tmp_path: Path) -> None:
    Progress("one", tmp_path).answer("key", 3, lambda: Attempt(reproduced=True))
    with (tmp_path / FILE).open("a") as file:
        file.write('{"key": "something"}\n')
    with pytest.raises(PenstockError, match="is damaged: delete it"):
        Progress("one", tmp_path)
