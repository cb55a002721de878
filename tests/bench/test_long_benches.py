"""What `bench.kills`, `bench.mutated_sessions` and `bench.long_fuzz` demand holds for a short run of each."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.containment import Case, figures_of
from bench.hostile.attack import Done, NotHeld, attempt

from bench import kills, long_fuzz, mutated_sessions
from penstock.openflow.messages import V10, V13

SEED, EACH = 9, 2


@pytest.mark.parametrize("command", kills.COMMANDS, ids=lambda command: command.name)
def test_a_command_that_is_killed_leaves_and_loses_nothing(command: kills.Command, tmp_path: Path) -> None:
    for number, attack in enumerate(kills.kills([command], EACH, SEED, tmp_path)):
        tried = attempt(attack, tmp_path / str(number))
        assert tried.held, tried.happened


def test_a_file_that_is_not_whole_is_noticed(tmp_path: Path) -> None:
    done = Done(0, "", "", 0.0)
    kills._look_at_what_was_told(tmp_path, done)
    (tmp_path / "summary.json").write_text('{"result": ')
    with pytest.raises(NotHeld, match=r"summary\.json is not whole"):
        kills._look_at_what_was_told(tmp_path, done)


@pytest.mark.parametrize("version", [V10, V13])
def test_damaged_messages_are_taken_or_refused(version: int) -> None:
    row = mutated_sessions.measure(version, 10_000, seed=2)
    assert mutated_sessions.held(row, 10_000), row
    assert row["errors"] > 1000
    assert not mutated_sessions.held({**row, "failure": "KeyError"}, 10_000)


def test_memory_is_printed_ten_times(capsys: pytest.CaptureFixture[str]) -> None:
    row = long_fuzz.in_process(400)
    assert len(row["memory_mb"]) == 10
    assert row["inputs"] >= 400
    assert capsys.readouterr().err.count(" MB\n") == 10


@pytest.mark.parametrize("case", [Case("check", "nice/bug_04"), Case("verify", "mocs/cp1_firewall")])
def test_a_worker_comes_to_the_same_figures(case: Case) -> None:
    assert figures_of(case, contained=True) == figures_of(case, contained=False)
