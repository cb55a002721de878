"""Penstock from Python: the functions do what the commands do, and say it in small values."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from penstock._api import (
    Broken,
    CheckFields,
    FuzzFields,
    PenstockError,
    Scenario,
    ScenarioFields,
    VerifyFields,
    check,
    fuzz,
    minimize,
    replay,
    verify,
)
from penstock._base.files import nearest
from penstock._results import MOST_LINES, Result, Violation
from penstock._scenario.options import FuzzOptions, Limits, VerifyOptions

EXAMPLES = Path(__file__).parents[1] / "examples"
FORGETFUL = EXAMPLES / "nice" / "bug_04.toml"
HUB = {"native": "hub.py:Hub"}


def hub(**more: Any) -> Scenario:
    """Return a hub between two hosts, one of which pings the other."""
    given = {
        "topology": "single,2",
        "hosts": {"h1": {"kind": "ping", "to": "h2"}},
        "properties": ["NoForwardingLoops", "NoBlackHoles"],
        **more,
    }
    return Scenario(controller=HUB, folder=EXAMPLES / "controllers", name="hub", **given)


def test_a_check_that_finds_nothing_is_true_and_conclusive(tmp_path: Path) -> None:
    result = check(hub(), output=tmp_path)
    assert result and result.ok and result.conclusive
    assert (result.engine, result.scenario, result.result) == ("check", "hub", "exhausted")
    assert result.details.outcome.states > 10
    result.assert_holds(conclusive=True)


def test_a_violation_is_a_result_with_its_story_and_its_trace(tmp_path: Path) -> None:
    result = check(FORGETFUL, output=tmp_path)
    assert not result and result.result == "violation" and not result.conclusive
    (found,) = result.violations
    assert found.property == "NoForgottenPackets" and found.confirmed
    assert found.trace == tmp_path / "bug_04-1.jsonl" and found.trace.is_file()
    first, *rest = found.story.splitlines()
    assert first.startswith("  1. h1 sends h1#1 [ARP")
    assert f"  ✗  NoForgottenPackets is violated: {found.message}" in rest
    assert rest[-1] == "     Needed: nothing but step 1 (h1 sends h1#1)."
    assert found.report_command == f"penstock report {found.trace}"


def test_what_does_not_hold_is_an_assertion_with_the_story(tmp_path: Path) -> None:
    result = check(FORGETFUL, output=tmp_path)
    with pytest.raises(AssertionError) as raised:
        result.assert_holds()
    assert str(raised.value) == str(result)
    assert str(result).startswith(
        "penstock check of bug_04: violation of NoForgottenPackets\n\n  1. h1 sends"
    )
    assert str(result).endswith(f"See it with: penstock report {tmp_path / 'bug_04-1.jsonl'}")


def test_keywords_take_the_place_of_what_a_scenario_says(tmp_path: Path) -> None:
    looping = check(hub(), topology="ring,3", properties=["NoForwardingLoops"], output=tmp_path)
    assert [found.property for found in looping.violations] == ["NoForwardingLoops"]
    stopped = check(hub(), depth=3, output=tmp_path)
    assert stopped.ok and stopped.result == "bounded"
    assert stopped.details.scenario.search == {"depth": 3}
    with pytest.raises(Broken, match="not conclusive"):
        stopped.assert_holds(conclusive=True)
    stopped.assert_holds()


def test_a_keyword_adds_to_the_table_that_a_scenario_has(tmp_path: Path) -> None:
    result = check(hub(search={"order": "depth-first"}), depth=3, output=tmp_path)
    assert result.details.scenario.search == {"order": "depth-first", "depth": 3}


def test_a_result_in_which_nothing_was_judged_does_not_hold(tmp_path: Path) -> None:
    result = check(hub(), properties=["NoForgottenPackets"], output=tmp_path)
    assert not result.ok and not result.violations and result.result == "bounded"
    (reason,) = result.left_out
    assert reason.startswith("NoForgottenPackets was never exercised: it needs switches with buffers")
    with pytest.raises(Broken, match="nothing was judged"):
        result.assert_holds()


def test_a_property_that_had_nothing_to_judge_leaves_the_others_inconclusive(tmp_path: Path) -> None:
    result = check(hub(), properties=["NoForwardingLoops", "NoForgottenPackets"], output=tmp_path)
    assert result.ok and not result.conclusive and len(result.left_out) == 1
    result.assert_holds()
    with pytest.raises(Broken, match="this is not conclusive"):
        result.assert_holds(conclusive=True)


def test_no_properties_on_purpose_are_bad_input_and_none_given_are_the_usual_ones(tmp_path: Path) -> None:
    with pytest.raises(PenstockError, match=r"properties = \[\] leaves nothing to check"):
        check(hub(), properties=[], output=tmp_path)
    assert check(replace(hub(), properties=Scenario().properties), output=tmp_path).details.verdict.judged


def test_a_proof_is_conclusive(tmp_path: Path) -> None:
    result = verify(hub(), properties=["NoForwardingLoops"], output=tmp_path)
    assert result.ok and result.conclusive and result.result == "proved"
    assert list(result.details.methods) == ["NoForwardingLoops"]


def test_a_refutation_is_told_and_can_be_replayed(tmp_path: Path) -> None:
    result = verify(EXAMPLES / "mocs" / "bug_nesting.toml", output=tmp_path)
    assert not result.ok and result.result == "violated"
    (found,) = result.violations
    assert "\n  ✗  " in found.story and "\n     Why: in the last step s2 went by its rule " in found.story
    assert found.trace is not None
    for exact in (True, False):
        again = replay(found.trace, exact=exact)
        assert again.result == "reproduced" and again.violations[0].message == found.message


def test_a_run_is_fuzzed_up_to_its_first_lasting_violation(tmp_path: Path) -> None:
    result = fuzz(EXAMPLES / "fuzz" / "premature.toml", output=tmp_path, events=500)
    assert not result.ok and result.result == "violation" and not result.conclusive
    assert result.details.outcome.stopped_by == "the first persistent violation"
    (found,) = result.violations
    assert found.property == "ControllerCrash" and "Input: " in found.story
    assert "--whole" not in found.story and found.trace is not None
    summary = json.loads((found.trace.parent / "summary.json").read_text())
    assert summary["violations"][0]["message"] == found.message

    assert replay(found.trace).result == replay(found.trace.parent, exact=False).result == "reproduced"


def test_a_trace_is_minimised_and_the_few_inputs_are_written_with_a_test(tmp_path: Path) -> None:
    looping = hub(topology="ring,3", hosts={name: {"kind": "ping", "to": "h3"} for name in ("h1", "h2")})
    (found,) = check(looping, order="depth-first", output=tmp_path).violations
    assert found.trace == tmp_path / "hub-1.jsonl"
    few = minimize(found.trace)
    assert few.property == "NoForwardingLoops" and len(few.inputs) == 1 == few.before
    assert few.trace == tmp_path / "hub-1" / "minimal" / "trace.jsonl"
    assert list(few.folder.glob("test_noforwardingloops_*.py"))
    assert replay(few.trace, exact=False).result == "reproduced"
    assert minimize(found.trace, output=tmp_path / "there").folder == tmp_path / "there" / "minimal"


def test_a_run_of_some_seconds_needs_no_number_of_events(tmp_path: Path) -> None:
    result = fuzz(EXAMPLES / "fuzz" / "host_routes.py", output=tmp_path, seconds=0.05)
    assert result.details.scenario.fuzz == {"seconds": 0.05, "events": None}
    # How far it comes in that time, and what it finds by then, is the machine's affair.
    assert result.engine == "fuzz" and result.details.trace.is_file()


def test_a_loop_that_runs_already_is_in_the_way_of_real_processes_alone(tmp_path: Path) -> None:
    async def call(scenario: Scenario | Path) -> Result[Any]:
        return fuzz(scenario, output=tmp_path, events=1)

    assert asyncio.run(call(EXAMPLES / "fuzz" / "host_routes.py")).engine == "fuzz"
    process = Scenario(controller={"cmd": ["true"]}, topology="single,2")
    with pytest.raises(PenstockError, match=r"asyncio\.to_thread"):
        asyncio.run(call(process))


def test_a_trace_of_a_controller_that_was_mended_is_not_reproduced(tmp_path: Path) -> None:
    source = (EXAMPLES / "controllers" / "hub.py").read_text()
    mended = source.replace("self.packet_out", "if message.in_port == 1:\n            self.packet_out")
    for name, text in (("broken", source), ("mended", mended)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "hub.py").write_text(text)
    broken = replace(hub(topology="ring,3"), folder=tmp_path / "broken")
    (found,) = check(broken, output=tmp_path / "broken").violations
    assert found.trace is not None
    assert not replay(found.trace, exact=False).ok

    # The trace says where the controller is, from where it is itself.
    there = tmp_path / "mended" / found.trace.name
    there.write_bytes(found.trace.read_bytes())
    again = replay(there, exact=False, trust=True)
    assert again.ok and again.result == "not reproduced" and again.remarks
    assert replay(there, trust=True).result == "diverged"


def test_a_trace_without_a_violation_has_nothing_to_come_again(tmp_path: Path) -> None:
    run = fuzz(hub(), output=tmp_path, events=3, profile="traffic").details
    with pytest.raises(PenstockError, match="no violation to reproduce"):
        replay(run.folder, exact=False)
    assert replay(run.folder).ok


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: check("missing.py"), "There is no file missing.py"),
        (lambda: check("missing"), "missing is not a scenario"),
        (lambda: check(hub(), topologie="ring,3"), "'topologie' is no field of a scenario, nor of search"),  # type: ignore[call-arg]
        (lambda: check(hub(), seconds=-1), "seconds = -1"),
        (lambda: verify(hub(), properties=["NoBlackHoles"]), "A proof does not decide NoBlackHoles"),
        (lambda: fuzz(hub(), events=0), "events = 0"),
        (lambda: replay("missing.jsonl"), "missing.jsonl cannot be read"),
    ],
)
def test_bad_input_is_one_sentence(
    call: Callable[[], object], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PenstockError, match=sentence.replace(".", r"\.")):
        call()


@pytest.mark.parametrize(
    ("typed", "tables"),
    [(CheckFields, [Limits]), (FuzzFields, [FuzzOptions]), (VerifyFields, [VerifyOptions])],
)
def test_keywords_are_the_fields_of_scenarios_and_of_tables(typed: Any, tables: list[type]) -> None:
    own = {item.name for item in fields(Scenario)}
    assert set(ScenarioFields.__annotations__) == own
    wanted = own | {item.name for table in tables for item in fields(table)}
    bounds = {"states", "seconds", "memory_mb", "network"} if typed is VerifyFields else set()
    assert set(typed.__annotations__) == wanted | bounds


@pytest.mark.parametrize(
    ("typed", "kind"),
    [
        (ScenarioFields, Scenario),
        (CheckFields, Limits),
        (FuzzFields, FuzzOptions),
        (VerifyFields, VerifyOptions),
        (VerifyFields, Limits),
    ],
)
def test_keywords_have_the_types_of_the_fields(typed: Any, kind: type) -> None:
    keywords, described = get_type_hints(typed), get_type_hints(kind)
    # A proof's properties are formulas; that they are strings is found out when it is asked for.
    shared = (keywords.keys() & described.keys()) - ({"properties"} if typed is VerifyFields else set())
    assert shared
    assert {name: keywords[name] for name in shared} == {name: described[name] for name in shared}


def test_every_function_has_a_docstring_and_its_types() -> None:
    for function in (check, verify, fuzz, replay, minimize):
        assert function.__doc__
        signature = inspect.signature(function)
        assert signature.return_annotation is not inspect.Signature.empty
        assert all(made.annotation is not made.empty for made in signature.parameters.values())


def test_a_long_story_is_shortened_in_the_middle() -> None:
    lines = [f"line {number}" for number in range(200)]
    told = str(Violation("P", "m", "\n".join(lines))).splitlines()
    assert len(told) == MOST_LINES + 1
    assert told[0] == "line 0" and told[-1] == "line 199"
    assert "… 140 lines are left out here" in told[12]


def test_a_trace_below_the_current_folder_is_named_from_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert nearest(tmp_path / "a b" / "x.jsonl") == "a b/x.jsonl"
    assert Violation("P", "m", "s", tmp_path / "a b" / "x.jsonl").report_command.endswith(" 'a b/x.jsonl'")
    assert nearest(tmp_path.parent / "x.jsonl") == str(tmp_path.parent / "x.jsonl")
