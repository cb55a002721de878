"""The bench of looking ahead: both ways are measured on one run, and a worse result is said."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from bench import peeking


def test_a_run_is_minimised_in_both_ways(capsys: pytest.CaptureFixture[str]) -> None:
    assert peeking.main(["--only", "in_flight_black_hole", "--json"]) == 0
    plain, looking = json.loads(capsys.readouterr().out)["rows"]
    assert (plain["peek"], looking["peek"]) == (False, True)
    assert plain["inputs"] == looking["inputs"] > 100
    assert plain["size"] == looking["size"] == 3
    assert (plain["scouts"], looking["scouts"]) == (0, looking["replays"])


def test_a_look_that_leads_to_more_inputs_is_a_fault() -> None:
    plain = peeking.Row("leak", False, 30, 4, 20, 0, 1.0)
    assert list(peeking.faults([plain, replace(plain, peek=True)])) == []
    (fault,) = peeking.faults([plain, replace(plain, peek=True, size=5)])
    assert fault == "leak: 5 inputs are left with a look ahead, 4 without."
