"""Minimised runs are put together by the bug that they show."""

import json
import math
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from penstock._cli.main import commands
from penstock._minimize.writing import bugs_of, minimised_in, others_like, read
from penstock.errors import PenstockError

GOOD = {
    "bug": "NoBlackHoles-1",
    "property": "NoBlackHoles",
    "message": "h1 does not reach h2",
    "sequence": ["send h1 to h2 ping 1", "move h2 to s3:4"],
    "inputs": 40,
    "controllers": {"apps": ["app.py"]},
}


def minimised(folder: Path, name: str, **changes: Any) -> Path:
    """Return the folder of a run that was minimised."""
    into = folder / name / "minimal"
    into.mkdir(parents=True)
    (into / "summary.json").write_text(json.dumps(GOOD | changes))
    (into / "trace.jsonl").touch()
    return folder / name


def names(folder: Path) -> list[list[str]]:
    return [[run.run.name for run in runs] for runs in bugs_of(minimised_in(folder))]


def test_runs_with_equal_sequences_are_one_bug(tmp_path: Path) -> None:
    minimised(tmp_path, "a", bug="NoForwardingLoops-2", property="NoForwardingLoops")
    minimised(tmp_path, "b")
    minimised(tmp_path, "c", message="h7 does not reach h8")
    (tmp_path / "not minimised").mkdir()
    assert names(tmp_path) == [["b", "c"], ["a"]]


def test_under_another_controller_it_is_another_bug(tmp_path: Path) -> None:
    one, other = minimised(tmp_path, "a"), minimised(tmp_path, "b", controllers={"apps": ["other.py"]})
    assert len(names(tmp_path)) == 2
    assert not read(one / "minimal").is_same(read(other / "minimal"))


def test_a_run_is_named_by_its_folder_or_by_that_of_its_minimum(tmp_path: Path) -> None:
    run = minimised(tmp_path, "a")
    assert [*minimised_in(run)] == [*minimised_in(run / "minimal")] == [*minimised_in(tmp_path)]


def test_a_run_that_is_named_twice_counts_once(tmp_path: Path) -> None:
    run = minimised(tmp_path, "a")
    assert [found.run for found in minimised_in(run, tmp_path, run / "minimal")] == [run]


def test_who_stands_in_a_folder_need_not_name_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, other = minimised(tmp_path, "a"), minimised(tmp_path, "b")
    for folder, here in ((run, "."), (run / "minimal", "."), (run / "minimal", "..")):
        monkeypatch.chdir(folder)
        assert [found.run for found in minimised_in(Path(here))] == [run]
    monkeypatch.chdir(run)
    assert [found.resolve() for found in others_like(Path("minimal"))] == [other]


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    summary = minimised(tmp_path, "a") / "minimal" / "summary.json"
    summary.unlink()
    os.mkfifo(summary)
    assert list(minimised_in(tmp_path)) == []


def test_the_runs_beside_one_that_show_the_same(tmp_path: Path) -> None:
    run, other = minimised(tmp_path, "a"), minimised(tmp_path, "b")
    minimised(tmp_path, "c", bug="NoForwardingLoops-2")
    (minimised(tmp_path, "broken") / "minimal" / "summary.json").write_text("{")
    assert others_like(run / "minimal") == [other]


@pytest.mark.parametrize(
    "text",
    [
        *("", "[1]", "{}", "[" * 100_000, "\0"),
        *(json.dumps(GOOD | {key: 7}) for key in ("bug", "sequence")),
        *(json.dumps(GOOD | {"inputs": number}) for number in (math.inf, 1.5, "40")),
        json.dumps(GOOD | {"sequence": "send h1 to h2 ping 1"}),
        json.dumps(GOOD | {"controllers": [math.nan]}),
    ],
)
def test_a_damaged_summary_is_said_to_be_one(tmp_path: Path, text: str) -> None:
    run = minimised(tmp_path, "a")
    (run / "minimal" / "summary.json").write_text(text)
    with pytest.raises(PenstockError, match="is not a summary of a minimisation: minimise the run again"):
        list(minimised_in(tmp_path))


def test_the_command(tmp_path: Path) -> None:
    run = CliRunner().invoke
    minimised(tmp_path, "a", message="h1 does not\nreach h2")
    minimised(tmp_path, "b")
    told = run(commands, ["bugs", str(tmp_path)], standalone_mode=False)
    assert told.return_value == 1
    assert told.output.startswith("2 minimised runs, 1 bug.\n\n  ✗  NoBlackHoles-1: h1 does not reach h2\n")
    assert "    2. move h2 to s3:4\n" in told.output and f"{tmp_path / 'b'} (40 inputs → 2)" in told.output
    (found,) = json.loads(run(commands, ["bugs", str(tmp_path), "--json"], standalone_mode=False).output)[
        "bugs"
    ]
    assert (found["bug"], found["controllers"]) == (GOOD["bug"], GOOD["controllers"])
    assert found["runs"] == [str(tmp_path / "a"), str(tmp_path / "b")]
    assert found["sequence"] == GOOD["sequence"]


def test_where_there_are_none(tmp_path: Path) -> None:
    told = CliRunner().invoke(commands, ["bugs", str(tmp_path)], standalone_mode=False)
    assert (told.return_value, told.output) == (
        0,
        "There are no minimised runs there: minimise some with penstock minimize.\n",
    )
    missing = CliRunner().invoke(commands, ["bugs", str(tmp_path / "none")], standalone_mode=False)
    assert isinstance(missing.exception, PenstockError)
