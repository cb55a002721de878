"""The case studies of STS: each bug breaks what it should, and the app that does without it breaks nothing.

What is left of a run when it is minimised is no more than what STS had left, and all of it is needed.  Most
runs here are those of the benchmark, by the seed of each case.  Cases that take long are told as short
stories instead: the inputs that matter among others that do not; the benchmark minimises their long runs.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from bench.sts_cases import CASES, LIVE, is_clean, is_minimal, live_scenario, minimised, scenario_of
from tests.quality.sts_lab import STORIES, Runs, told

from penstock._controllers.tcp import ports
from penstock._fuzz.summary import lasting


class Expected(NamedTuple):
    """What a case breaks, what is said of it, and how often each kind of input is in what is left."""

    invariant: str
    said: str
    left: dict[str, int]


LOOP = "goes round for ever"
EXPECTED = {
    "loop_after_recovery": Expected("NoForwardingLoops", LOOP, {"fail": 1, "recover": 1}),
    "premature_packet_in": Expected("ControllerCrash", "KeyError", {"disconnect": 1, "reconnect": 1}),
    "in_flight_black_hole": Expected(
        "NoBlackHoles", "is the port that it came in by", {"fail": 1, "recover": 1, "send": 1}
    ),
    "migration_black_hole": Expected("NoBlackHoles", "leads nowhere", {"send": 1, "move": 1}),
    "discovery_loop": Expected("NoForwardingLoops", LOOP, {"fail": 1, "recover": 1, "send": 1}),
    "failover": Expected(
        "LedRulesLeadSomewhere", "is led but sends packets to a dead port", {"crash": 1, "fail": 1}
    ),
    "master_election": Expected("NoBlackHoles", "is down", {"crash": 1, "restart": 1, "fail": 1}),
    "balancer_errors": Expected("FlowAffinity", "earlier packets of that connection reached", {"send": 7}),
    "rare_path": Expected(
        "ControllerCrash", "'NoneType' object has no attribute 'relieved'", {"hold": 1, "release": 1}
    ),
    "overlapping_entries": Expected("ShieldsHold", "forwards what it is to drop", {"send": 2}),
    "timer_interleaving": Expected("ControllerCrash", "KeyError", {"send": 1, "fail": 1}),
    "wrong_algorithm": Expected("NoForwardingLoops", LOOP, {"send": 1, "fail": 4, "recover": 1}),
    "thread_race": Expected("ControllerCrash", "KeyError", {"fail": 1, "recover": 1}),
    "memory_leak": Expected(
        "ControllerCrash", "MemoryError: all 30 records are taken", {"disconnect": 9, "reconnect": 9}
    ),
    "memory_corruption": Expected("ControllerCrash", "TypeError", {"fail": 2}),
}


def test_every_case_has_an_expectation() -> None:
    assert CASES.keys() == EXPECTED.keys()


@pytest.mark.parametrize("case", CASES)
def test_the_bug_breaks_what_it_should(case: str, run_of: Runs) -> None:
    first = lasting(run_of(case))[0].finding
    assert first.invariant == EXPECTED[case].invariant
    assert EXPECTED[case].said in first.message


@pytest.mark.parametrize("case", CASES)
def test_without_the_bug_nothing_is_broken(case: str, run_of: Runs, tmp_path: Path) -> None:
    if case in STORIES:
        report = told(scenario_of(case, mended=True), tmp_path, STORIES[case])
        assert [found.finding.message for found in lasting(report)] == []
    else:
        assert is_clean(case, run_of(case).outcome.inputs, tmp_path)


@pytest.mark.parametrize("case", CASES)
def test_all_that_is_left_is_needed_and_it_is_no_more_than_in_the_paper(case: str, run_of: Runs) -> None:
    _, minimal = minimised(case, run_of(case))
    assert EXPECTED[case].said in minimal.message
    assert Counter(cue.what.verb for cue in minimal.inputs) == EXPECTED[case].left
    assert minimal.size <= CASES[case].size
    assert is_minimal(case, minimal)


@pytest.mark.parametrize("case", LIVE)
def test_a_live_case_starts_a_process_for_each_controller(case: str) -> None:
    scenario = live_scenario(case)
    tables: list[Any] = list(scenario.controllers.values()) or [scenario.controller]
    commands = [table["cmd"] for table in tables]
    assert all("penstock.launch" in command for command in commands)
    assert len({table["port"] for table in tables}) == len(commands)


def test_what_a_handler_raises_ends_a_live_controller(tmp_path: Path) -> None:
    scenario = live_scenario("memory_corruption", ports.free_port())
    report = told(scenario, tmp_path, ("fail h2-s2", "check", "fail s1-s4", "check"))
    (found,) = [found.finding for found in lasting(report)]
    assert found.invariant == "ControllerLiveness"
    assert found.message.startswith("c0 ended with status 1; its last lines were: ")
    assert EXPECTED["memory_corruption"].said in found.message
