"""The tables of STS: the paper's figures are read right, ours are measured, and what is amiss is said."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bench.sts_cases import CASES, LIVE

from bench import sts_cases, sts_dice, sts_retries
from penstock._replay.in_process import VirtualReproducer
from penstock.errors import PenstockError


def row(case: str, **changes: Any) -> sts_cases.Row:
    """Return a row that is just good enough."""
    paper = CASES[case]
    good = sts_cases.Row(
        case,
        "app.py",
        sts_cases.VIRTUAL,
        paper.inputs,
        paper.size,
        10,
        59.9,
        30.0,
        paper.inputs,
        paper.size,
        paper.seconds,
        "it is broken",
        ("fail s1-s2",),
        is_minimal=True,
        is_clean=True,
    )
    return replace(good, **changes)


# Table 6.1.


def test_every_case_has_a_scenario_with_a_seed_and_each_scenario_is_a_case() -> None:
    assert {path.stem for path in sts_cases.EXAMPLES.glob("*.toml")} == set(CASES)
    assert all("seed" in sts_cases.scenario_of(case).fuzz for case in CASES)


def test_a_mended_scenario_differs_by_an_option_of_its_controllers_only() -> None:
    for case in CASES:
        scenario, mended = sts_cases.scenario_of(case), sts_cases.scenario_of(case, mended=True)
        assert mended != scenario
        assert replace(mended, controller=scenario.controller, controllers=scenario.controllers) == scenario


def test_rows_as_good_as_the_papers_are_right() -> None:
    assert list(sts_cases.faults([row(case) for case in CASES])) == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"size": 3}, "3 inputs are more than the paper's 2"),
        ({"inputs": 35}, "35 inputs, fewer than the paper's 36"),
        ({"seconds": 60.0}, "60.0 s to minimise (30.0 s on the processor)"),
        ({"is_minimal": False}, "can be left out too"),
        ({"is_clean": False}, "without the bug there is a violation all the same"),
    ],
)
def test_what_is_worse_than_it_must_be_is_said(changes: dict[str, Any], said: str) -> None:
    (fault,) = sts_cases.faults([row("loop_after_recovery", **changes)])
    assert said in fault


def live_row(case: str, **changes: Any) -> sts_cases.Row:
    """Return a row of real processes that is just good enough."""
    good = {"mode": sts_cases.OVER_TCP, "is_minimal": None, "is_clean": None, "is_confirmed": True}
    return row(case, **{**good, **changes})


def test_real_processes_may_take_their_time() -> None:
    assert list(sts_cases.faults([live_row(case, seconds=500.0) for case in LIVE])) == []
    assert len(LIVE) == 5


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"size": 3}, "3 inputs are more than the paper's 2"),
        ({"inputs": 35}, "35 inputs, fewer than the paper's 36"),
        ({"is_confirmed": False}, "does not lead to the violation when it is played once more"),
    ],
)
def test_what_is_amiss_with_real_processes_is_said_too(changes: dict[str, Any], said: str) -> None:
    (fault,) = sts_cases.faults([live_row("loop_after_recovery", **changes)])
    assert fault.startswith("loop_after_recovery (live): ")
    assert said in fault


def test_a_case_without_a_live_run_cannot_be_asked_for_one(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        sts_cases.main(["--live", "--only", "memory_leak"])
    assert "memory_leak is not among the live cases" in capsys.readouterr().err


def test_a_case_that_cannot_be_minimised_does_not_hide_the_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def measured(_: object, case: str, **__: object) -> sts_cases.Row:
        if case == "failover":
            raise PenstockError("It was not reproduced.")
        return row(case)

    monkeypatch.setattr(sts_cases, "separately", measured)
    assert sts_cases.main(["--json"]) == 1
    printed = capsys.readouterr()
    assert len(json.loads(printed.out)["rows"]) == len(CASES) - 1
    assert printed.err == "failover: It was not reproduced.\n"


def test_a_sequence_with_an_idle_input_is_not_minimal(tmp_path: Path) -> None:
    script, minimal = sts_cases.minimised(
        "overlapping_entries", sts_cases.fuzzed(sts_cases.scenario_of("overlapping_entries"), tmp_path)
    )
    assert sts_cases.is_minimal("overlapping_entries", minimal)
    assert not sts_cases.is_minimal(
        "overlapping_entries", replace(minimal, script=script, inputs=script.inputs)
    )


def test_a_case_is_measured_and_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert sts_cases.main(["--only", "overlapping_entries", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["rows"]
    assert found["case"] == "overlapping_entries"
    assert (found["size"], found["paper_size"]) == (2, 2)
    assert found["inputs"] >= found["paper_inputs"] == 27
    assert found["replays"] > 2
    assert (found["mode"], found["is_minimal"], found["is_clean"]) == ("virtual", True, True)
    assert found["controller"] == "switching.py:LearningApp + overlapping_entries.py"
    assert [text.split()[0] for text in found["sequence"]] == ["send", "send"]


# Table 6.2.


def retried(tries: int, misses: int, size: float = 6.0) -> sts_retries.Row:
    """Return what was measured of a bug that shows in two replays of five."""
    return sts_retries.Row(tries, size, 50.0, 1.0, misses / 100, 0.6**tries, 100, sts_retries.PAPER[tries])


def test_misses_as_the_formula_has_them_are_right_and_others_are_not() -> None:
    assert list(sts_retries.faults([retried(1, 60), retried(2, 36), retried(3, 20)])) == []
    (fault,) = sts_retries.faults([retried(1, 60), retried(2, 60)])
    assert "With 2 replays 60.0% were missed where 36.0% are expected" in fault


def test_more_replays_must_not_make_the_result_larger() -> None:
    (fault,) = sts_retries.faults([retried(1, 60, size=20.0), retried(2, 36, size=30.0)])
    assert "20.0 inputs with up to 1 of each subsequence, 30.0 with up to 2" in fault


def test_the_controller_fails_by_chance_and_more_replays_miss_it_less_often(tmp_path: Path) -> None:
    script = sts_retries.recorded(tmp_path)
    fewest = sts_retries.shortest(script)
    assert [cue.what.verb for cue in fewest].count("recover") == 3 == len(fewest) / 2
    reproducer = sts_retries.Retrying(VirtualReproducer(script))
    sts_dice.load(0.5, 1)
    seen = {tries: sum(reproducer.run(fewest, tries=tries).reproduced for _ in range(30)) for tries in (1, 4)}
    assert 0 < seen[1] < 30
    assert seen[1] < seen[4]
