"""The case studies of STS: each bug is found by its seed, and not in the app that does without it.

What is left of it when it is minimised is no more than what STS had left.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest
from bench.sts_cases import CASES, LIVE, fuzzed, given_inputs, live_scenario, minimised, scenario_of

from penstock.fuzz.fuzzing import Report, with_options
from penstock.fuzz.summary import lasting
from penstock.minimize.script import load_script

BROKEN = {
    "loop_after_recovery": ("LoopFreedom", "goes round for ever"),
    "premature_packet_in": ("ControllerCrash", "KeyError"),
    "in_flight_black_hole": ("BlackHoleFreedom", "sent back where it came from"),
    "migration_black_hole": ("BlackHoleFreedom", "leads nowhere"),
    "discovery_loop": ("LoopFreedom", "goes round for ever"),
    "failover": ("LedRulesLeadSomewhere", "is led but sends packets to a dead port"),
    "master_election": ("BlackHoleFreedom", "is down"),
    "balancer_errors": ("FlowAffinity", "earlier packets of that connection reached"),
    "rare_path": ("ControllerCrash", "AttributeError: 'NoneType' object has no attribute 'relieved'"),
    "overlapping_entries": ("ShieldsHold", "forwards what it is to drop"),
    "timer_interleaving": ("ControllerCrash", "KeyError"),
    "wrong_algorithm": ("LoopFreedom", "goes round for ever"),
    "thread_race": ("ControllerCrash", "KeyError"),
    "memory_leak": ("ControllerCrash", "MemoryError: all 30 records are taken"),
    "memory_corruption": ("ControllerCrash", "TypeError"),
}
"""What each case breaks, and what is said of it."""

SMALL = {
    "loop_after_recovery": {"fail": 1, "recover": 1},
    "premature_packet_in": {"disconnect": 1, "reconnect": 1},
    "in_flight_black_hole": {"fail": 1, "recover": 1, "send": 1},
    "migration_black_hole": {"send": 1, "move": 1},
    "discovery_loop": {"fail": 1, "recover": 1, "send": 1},
    "master_election": {"crash": 1, "restart": 1, "fail": 1},
    "overlapping_entries": {"send": 2},
    "timer_interleaving": {"send": 1, "fail": 1},
}
"""How often each kind of input is in the minimal sequences, of those cases that take a few seconds."""

Runs = Callable[[str], Report]


@pytest.fixture(scope="module")
def run_of(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Return what fuzzes a case, each once."""
    return cache(lambda case: fuzzed(scenario_of(case), tmp_path_factory.mktemp(case)))


def test_every_case_has_an_expectation() -> None:
    assert CASES.keys() == BROKEN.keys()


@pytest.mark.parametrize("case", CASES)
def test_the_bug_is_found_after_as_many_inputs_as_in_the_paper(case: str, run_of: Runs) -> None:
    report = run_of(case)
    invariant, said = BROKEN[case]
    first = lasting(report)[0].finding
    assert first.invariant == invariant
    assert said in first.message
    assert given_inputs(load_script(report.folder)) >= CASES[case].inputs


@pytest.mark.parametrize("case", CASES)
def test_nothing_is_found_without_the_bug_in_as_many_inputs(
    case: str, run_of: Runs, tmp_path_factory: pytest.TempPathFactory
) -> None:
    events = run_of(case).outcome.inputs
    report = fuzzed(
        with_options(scenario_of(case, mended=True), events=events), tmp_path_factory.mktemp(case)
    )
    assert report.outcome.inputs >= events
    assert [found.finding.message for found in lasting(report)] == []


@pytest.mark.parametrize("case", SMALL)
def test_the_minimal_sequence_is_no_larger_than_the_papers(case: str, run_of: Runs) -> None:
    _, minimal = minimised(run_of(case))
    kinds: dict[str, int] = {}
    for cue in minimal.inputs:
        kinds[cue.what.verb] = kinds.get(cue.what.verb, 0) + 1
    assert kinds == SMALL[case]
    assert minimal.size <= CASES[case].size


@pytest.mark.parametrize("case", LIVE)
def test_a_live_case_starts_a_process_for_each_controller(case: str) -> None:
    scenario = live_scenario(case)
    tables = list(scenario.controllers.values()) or [scenario.controller]
    commands = [table["cmd"] for table in tables]
    assert all("penstock.controllers.launch" in command for command in commands)
    assert len({table["port"] for table in tables}) == len(commands)
