"""A violation is told only if the program, read from its files again, does what it did."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.soundness.programs import Lines, app, scenario

from penstock._check.check import Report, check
from penstock._scenario.scenario import Scenario, scenario_of
from penstock._verify.proof import prove
from penstock.errors import PenstockError

_COUNTED = """\
class Kind: pass
KINDS = [type(f"Kind{n}", (Kind,), {"n": n}) for n in range(99)]
class Counter(KINDS[0]): pass
"""
"""A count in a place that nobody saves: which class another one derives from."""

_COUNT = """\
n = Counter.n + 1
Counter.__bases__ = (KINDS[n],)
if n >= 6:
    raise RuntimeError("six packets")
"""


def checked(folder: Path, lines: Lines, **more: Any) -> Report:
    (folder / "counting.py").write_text(app(lines, native=True))
    return check(scenario_of({**scenario("counting.py", native=True), **more}, folder))


def test_what_other_runs_have_left_behind_is_no_violation(tmp_path: Path) -> None:
    report = checked(tmp_path, Lines(before=_COUNTED, body=_COUNT))
    assert report.findings == []
    assert [found.property for found in report.unconfirmed] == ["ControllerCrash"]
    assert report.verdict.result == "bounded"
    assert any("loaded anew" in reason for reason in report.verdict.reasons)


def test_what_the_program_does_every_time_is_one(tmp_path: Path) -> None:
    body = "self.n = getattr(self, 'n', 0) + 1\nif self.n == 2:\n    raise RuntimeError('two packets')"
    report = checked(tmp_path, Lines(body=body))
    assert [(found.property, found.confirmed) for found in report.findings] == [("ControllerCrash", True)]


def test_modules_beside_the_program_are_read_again_too(tmp_path: Path) -> None:
    (tmp_path / "beside_counting.py").write_text(_COUNTED)
    lines = Lines(before="from beside_counting import Counter, KINDS", body=_COUNT)
    assert checked(tmp_path, lines).verdict.result == "bounded"


def test_a_program_that_cannot_be_loaded_a_second_time_is_not_confirmed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_scenario: Scenario) -> None:
        raise PenstockError("There are too many open files.")

    monkeypatch.setattr("penstock._engine.fresh_program._program", refuse)
    report = checked(tmp_path, Lines(body='raise RuntimeError("the bug")'))
    assert report.findings == [] and report.verdict.result == "bounded"
    assert any(
        "cannot be loaded a second time. There are too many" in each for each in report.verdict.reasons
    )


_DECIDED_ONCE = """\
if Counter.n == 0:
    Counter.__bases__ = (KINDS[port],)
if Counter.n == 2 and port == 1:
    raise RuntimeError("the first packet was the other host's")
"""
"""A bug that no second run in one process can show: what the first one leaves behind decides for all."""


@pytest.mark.parametrize("native", [True, False], ids=["native", "osken"])
@pytest.mark.parametrize("engine", [check, prove], ids=["check", "verify"])
def test_what_the_first_run_decides_for_all_is_noticed_by_programs_that_have_never_run(
    tmp_path: Path, engine: Any, native: bool
) -> None:
    (tmp_path / "decided.py").write_text(app(Lines(before=_COUNTED, body=_DECIDED_ONCE), native=native))
    found = engine(scenario_of(scenario("decided.py", native=native), tmp_path))
    assert found.verdict.result in ("bounded", "violated")
    if found.verdict.result == "bounded":
        assert any(
            "loaded anew" in reason or "did not come again" in reason for reason in found.verdict.reasons
        )


def test_a_program_whose_state_is_all_seen_is_cleared_by_them_too(tmp_path: Path) -> None:
    body = "self.ports = {*getattr(self, 'ports', ()), port}\nif len(self.ports) > 2: raise RuntimeError"
    assert checked(tmp_path, Lines(body=body)).verdict.result == "exhausted"
