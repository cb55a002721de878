"""A minimisation that is killed goes on where it was, and ends with the same answer."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from errno import ENOSPC
from pathlib import Path
from typing import Any

import pytest
from tests.minimize.minimize_lab import long_walk, moving_hosts

from penstock._base.files import UnwritableError, append
from penstock._fuzz.building import build_setting
from penstock._minimize.ddmin import NotReproducedError, minimise, shortest
from penstock._minimize.progress import FILE, Progress
from penstock._minimize.writing import write_minimal
from penstock._replay.guided import Attempt
from penstock._replay.in_process import CheckReproducer
from penstock._replay.live import LiveReproducer
from penstock._replay.recording import RecordedInput, load_script
from penstock._trace.consent import consent_to
from penstock.errors import PenstockError

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
    again = answer(trace, folder)
    assert (whole.pop("same_bug_in"), again.pop("same_bug_in")) == ([], [str(tmp_path / "whole")])
    assert again == whole


def test_two_at_once_in_one_folder_do_not_disturb_each_other(trace: Path, tmp_path: Path) -> None:
    both = [subprocess.Popen(command(trace, tmp_path), stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = [process.communicate(timeout=LIMIT_S)[0] for process in both]
    assert [process.returncode for process in both] == [1, 1]
    one, other = (json.loads(text)["sequence"] for text in said)
    assert one == other
    assert not list((tmp_path / "minimal").glob("*.part"))


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


class Timed(LiveReproducer):
    """Stands for processes whose violation comes with two of the inputs, and only if silence is kept."""

    def play_noting_missing(
        self, inputs: Sequence[RecordedInput], recorder: Any, *, short: bool | None = None, **how: Any
    ) -> tuple[Attempt, set[int]]:
        needed = {cue.line for cue in self.script.inputs[3:30:20]}
        cut = self._is_short() if short is None else short
        return Attempt(reproduced=not cut and needed <= {cue.line for cue in inputs}), set()


def test_what_was_learnt_about_time_is_learnt_again(tmp_path: Path) -> None:
    script = load_script(moving_hosts(tmp_path / "run"))
    setting = build_setting(script.scenario)
    whole = minimise(script, Timed(script, setting=setting), folder=tmp_path, simplify=False)
    assert whole.size == 2
    written = (tmp_path / FILE).read_bytes().splitlines(keepends=True)
    (tmp_path / FILE).write_bytes(b"".join(written[:5]))
    again = minimise(script, Timed(script, setting=setting), folder=tmp_path, simplify=False)
    assert again.resumed == 4
    assert again.inputs == whole.inputs


class Fickle(Timed):
    """Stands for processes that do not show their violation the first time."""

    shows = False

    def play_noting_missing(
        self, inputs: Sequence[RecordedInput], recorder: Any, **how: Any
    ) -> tuple[Attempt, set[int]]:
        attempt, missed = super().play_noting_missing(inputs, recorder, **how)
        return (attempt if self.shows else replace(attempt, reproduced=False)), missed


def test_what_was_not_reproduced_may_be_when_it_is_tried_again(tmp_path: Path) -> None:
    script = load_script(moving_hosts(tmp_path / "run"))
    reproducer = Fickle(script, setting=build_setting(script.scenario))
    with pytest.raises(NotReproducedError):
        minimise(script, reproducer, folder=tmp_path, simplify=False)
    reproducer.shows = True
    assert minimise(script, reproducer, folder=tmp_path, simplify=False).size == 2


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
    whole = (tmp_path / FILE).read_text()
    for line in ('{"key": "something"}', whole.splitlines()[1].replace("null", "1e999"), "[" * 100_000):
        (tmp_path / FILE).write_text(f"{whole}{line}\n")
        with pytest.raises(PenstockError, match="is damaged: delete it"):
            Progress("one", tmp_path)


def test_what_is_no_file_is_not_read(tmp_path: Path) -> None:
    (tmp_path / FILE).symlink_to("/dev/zero")
    with pytest.raises(PenstockError, match="it is not a regular file"):
        Progress("one", tmp_path)


NO_SPACE = r"The progress cannot be written to .*progress.jsonl: No space left on device; make room"


def filled(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Have the disk be full after two answers; return what was opened to be added to."""
    opened: list[Path] = []

    def append_to_full(path: Path, data: bytes, what: str = "") -> None:
        opened.append(path)
        if len(opened) > 2:
            raise UnwritableError(what, path, OSError(ENOSPC, os.strerror(ENOSPC)))
        append(path, data, what)

    monkeypatch.setattr("penstock._minimize.progress.append", append_to_full)
    return opened


def test_a_full_disk_is_not_taken_for_an_answer(
    trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = load_script(trace)
    opened = filled(monkeypatch)
    with pytest.raises(PenstockError, match=NO_SPACE):
        minimise(script, CheckReproducer(script), folder=tmp_path)
    assert len(opened) == 3


def test_nor_is_it_for_a_proof(trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = load_script(trace)
    reproducer = CheckReproducer(script)
    minimal = minimise(script, reproducer, simplify=False)
    opened = filled(monkeypatch)
    with pytest.raises(PenstockError, match=NO_SPACE):
        shortest(minimal, reproducer, progress=Progress(script.digest(), tmp_path))
    assert len(opened) == 3


def test_answers_about_another_controller_are_not_used(tmp_path: Path) -> None:
    """The trace is the same, and the program that it names was mended."""
    header = {"format": "penstock-trace", "version": 2, "folder": ".", "engine": "fuzz"}
    scenario = {"controller": {"native": "app.py:App"}, "topology": "linear,2"}
    (tmp_path / "trace.jsonl").write_text(
        json.dumps({**header, "scenario": scenario}) + "\n" + '{"end": 1}\n'
    )
    (tmp_path / "app.py").write_text("broken")
    consent = consent_to(tmp_path / "trace.jsonl", trust=True)
    broken = load_script(tmp_path, consent).digest()
    assert load_script(tmp_path, consent).digest() == broken
    (tmp_path / "app.py").write_text("was mended")
    assert load_script(tmp_path, consent).digest() != broken


def test_what_no_longer_leads_to_the_violation_is_not_written(trace: Path, tmp_path: Path) -> None:
    script = load_script(trace)
    reproducer = CheckReproducer(script)
    found = minimise(script, reproducer)
    where = write_minimal(tmp_path, found, reproducer)
    before = (where / "trace.jsonl").read_bytes()
    stale = replace(found, inputs=())
    with pytest.raises(PenstockError, match=r"does not reproduce the violation: .* delete it"):
        write_minimal(tmp_path, stale, reproducer)
    assert (where / "trace.jsonl").read_bytes() == before
    assert not list(where.glob("*.part"))
