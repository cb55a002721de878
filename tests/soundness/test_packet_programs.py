"""Programs whose one bad packet is told apart, or kept, in unusual ways: found, or named as not followed."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest
from tests.soundness import answer_programs, hidden_programs
from tests.soundness.judging import by_check, is_right, written
from tests.soundness.packet_programs import TABLE, programs
from tests.soundness.programs import Program

from penstock._check.check import check
from penstock._scenario.scenario import Scenario, scenario_of
from penstock._verify.proof import prove

ALL = {program.name: program for program in programs()}
NOT_FOLLOWED = {
    "classes_chained_is",
    "classes_evaluated_text",
    "classes_executed",
    "classes_ctypes_fields",
    "kept_attribute",
    *(f"classes_{row['name']}" for row in TABLE if row.get("not_followed")),
}
"""Programs with a bug that `check` only says it may have missed."""

SLICE = sorted(
    {
        *list(ALL)[::14],
        *NOT_FOLLOWED,
        "kept_bool",
        "kept_message",
        "kept_histogram",
        "kept_source",
        "kept_moved_list",
    }
)
PROVED = ("classes_is_true", "classes_mac_prefix", "kept_bool", "kept_mac", "kept_text", "kept_too_large")


@pytest.fixture
def scenario(request: pytest.FixtureRequest, tmp_path: Path) -> Scenario:
    program: Program = ALL[request.param]
    return scenario_of(dict(program.scenario), written(program, tmp_path))


def test_there_are_many_programs_and_their_sources_compile() -> None:
    assert len(ALL) >= 400
    assert sum(program.check == "bug" for program in ALL.values()) >= 390
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        for program in ALL.values():
            for name, text in program.files.items():
                compile(text, name, "exec")


@pytest.mark.filterwarnings("ignore:.is. with a literal:SyntaxWarning")
@pytest.mark.parametrize(
    ("name", "scenario"), [(name, name) for name in SLICE], indirect=["scenario"], ids=SLICE
)
def test_check_finds_the_packet_or_says_what_it_did_not_follow(name: str, scenario: Scenario) -> None:
    report = check(scenario)
    if ALL[name].check == "safe":
        assert (report.findings, report.outcome.result) == ([], "exhausted")
    elif name in NOT_FOLLOWED:
        # What is lost is told, whether or not the packet was found by trying the program's own constants.
        assert report.outcome.result == ("violation" if report.findings else "bounded")
        assert any(
            re.search(rf"{name}\.py, line \d+|line \d+ of {name}\.py", said)
            for said in report.outcome.remarks
        )
    else:
        assert [(found.property, found.confirmed) for found in report.findings] == [("ControllerCrash", True)]


HIDDEN = [*hidden_programs.programs()]


@pytest.mark.parametrize("program", HIDDEN[::8], ids=[each.name for each in HIDDEN[::8]])
def test_check_finds_what_is_met_with_a_value_that_stands_nowhere(program: Program, tmp_path: Path) -> None:
    assert by_check(program, tmp_path).word == "found"


ANSWERED = [each for each in answer_programs.programs() if each.check != "bug-out-of-scope"]


@pytest.mark.parametrize("program", ANSWERED[::3], ids=[each.name for each in ANSWERED[::3]])
def test_check_follows_what_switches_answer(program: Program, tmp_path: Path) -> None:
    judged = by_check(program, tmp_path)
    assert is_right(judged, program.check, program.reason), judged


@pytest.mark.parametrize(
    ("name", "scenario"), [(name, name) for name in PROVED], indirect=["scenario"], ids=PROVED
)
def test_verify_finds_the_packet_too(name: str, scenario: Scenario) -> None:
    proof = prove(scenario)
    assert proof.result == ("violated" if ALL[name].verify == "bug" else "proved")
