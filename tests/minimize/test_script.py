"""A trace as a script: its inputs, what is expected around them, and what it violates."""

import json
from pathlib import Path

import pytest
from tests.fuzz.fuzz_lab import fuzz_trace
from tests.minimize.minimize_lab import fuzzed, long_walk, moving_hosts

from penstock._replay.recording import LOOK, Violation, load_script
from penstock._trace.consent import consent_to
from penstock._trace.trace import recorded_for
from penstock.errors import PenstockError


def test_all_steps_of_a_run_are_inputs_their_doing_or_expected(tmp_path: Path) -> None:
    folder = fuzzed(tmp_path, events=60)
    trace, script = fuzz_trace(folder / "trace.jsonl"), load_script(folder)
    assert [str(cue) for cue in script.inputs] == [line.text for line in trace.inputs]
    assert script.internal() + sum(map(len, script.doings.values())) == len(trace.lines)
    assert {event.transition.split()[0] for events in script.expected for event in events} >= {
        "deliver",
        "c0",
    }
    doing = {event.transition.split()[0] for events in script.doings.values() for event in events}
    assert "deliver" not in doing


def test_a_script_ends_with_its_violation(tmp_path: Path) -> None:
    folder = moving_hosts(tmp_path)
    script = load_script(folder)
    violation = script.violation
    assert violation is not None
    assert violation.invariant == "NoBlackHoles"
    assert violation.what == "h1 does not reach h2"
    assert max(cue.line for cue in script.inputs) < violation.line
    assert script.expected[-1][-1].transition == LOOK


def test_of_a_search_hosts_and_fabric_give_the_inputs(tmp_path: Path) -> None:
    script = load_script(long_walk(tmp_path))
    assert script.engine == "check"
    assert {str(cue).split()[0] for cue in script.inputs} == {"h1"}
    assert len(script.inputs) + script.internal() > 300


def test_a_script_with_fewer_inputs_expects_what_the_others_did(tmp_path: Path) -> None:
    script = load_script(fuzzed(tmp_path, events=20))
    half = script.only(script.inputs[::2])
    assert half.inputs == script.inputs[::2]
    assert half.internal() == script.internal()
    assert half.digest() != script.digest()


def test_the_same_violation_says_the_same_before_the_colon() -> None:
    violation = Violation("NoBlackHoles", "h1 does not reach h2: lost at s1.")
    assert violation.is_same("NoBlackHoles", "h1 does not reach h2: lost at s2.")
    assert not violation.is_same("NoBlackHoles", "h1 does not reach h3: lost at s1.")
    assert violation.is_same("NoBlackHoles", "h1 does not reach h3: lost at s1.", wide=True)
    assert not violation.is_same("NoForwardingLoops", "h1 does not reach h2: lost at s1.", wide=True)


def test_a_violation_that_is_not_there_cannot_be_chosen(tmp_path: Path) -> None:
    folder = moving_hosts(tmp_path)
    with pytest.raises(PenstockError, match="The trace has no persistent violation of NoForwardingLoops"):
        load_script(folder, invariant="NoForwardingLoops")
    with pytest.raises(PenstockError, match="Line 1 of the trace is not a violation"):
        load_script(folder, line=1)
    with pytest.raises(PenstockError, match=r"There is no trace\.jsonl"):
        load_script(tmp_path)


def test_a_trace_that_was_recorded_for_an_invariant_is_about_that(tmp_path: Path) -> None:
    """A minimal run may break others on the way, and its test is to be about the one in question."""
    header = {"format": "penstock-trace", "version": 2, "folder": ".", "engine": "fuzz"}
    scenario = {"controller": {"native": "app.py:App"}, "topology": "linear,2"}
    broken = [
        {"step": number, "violated": name, "message": "no", "at": 0, "persistent": True}
        for number, name in enumerate(("ControllerCrash", "NoBlackHoles"), 1)
    ]
    lines = ({**header, "scenario": scenario, **recorded_for("NoBlackHoles")}, *broken, {"end": 3})
    (tmp_path / "trace.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    consent = consent_to(tmp_path / "trace.jsonl", trust=True)
    meant = load_script(tmp_path, consent).violation
    other = load_script(tmp_path, consent, invariant="ControllerCrash").violation
    assert meant is not None and other is not None
    assert (meant.invariant, other.invariant) == ("NoBlackHoles", "ControllerCrash")
