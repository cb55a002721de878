"""Switches that rewrite, choose, refuse and answer: what a proof cannot follow it does not call proved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock._scenario.scenario import scenario_of
from penstock._verify import verification
from penstock._verify.proof import Proof, prove
from penstock.errors import PenstockError

HERE = Path(__file__).parent
NOTHING_COMES = "G not exists p in h2.rcvq: true"
UNHURT = "ControllerCrash"


def _proof(program: str, claim: str, **more: Any) -> Proof:
    how = more.pop("verify", {})
    table = {
        "topology": "single,2",
        "openflow": "1.3",
        "controller": {"native": f"unsteady_programs.py:{program}"},
        "verify": {"properties": [claim], **how},
        "search": {"states": 5_000},
        **more,
    }
    return prove(scenario_of(table, HERE))


@pytest.mark.parametrize(
    ("program", "topology", "reason"),
    [
        ("Rewriting", "linear,2", "rewritten on their way"),
        ("RewritingBetweenTables", "single,2", "rewritten on their way"),
        ("Spreading", "single,3", "choose a bucket"),
        ("Labelling", "single,2", "mpls_label=46"),
    ],
)
def test_where_packets_of_one_class_may_fare_differently_nothing_is_proved(
    program: str, topology: str, reason: str
) -> None:
    proof = _proof(program, NOTHING_COMES, topology=topology)
    assert proof.result == "bounded"
    assert any(reason in said for said in proof.bounds)


@pytest.mark.parametrize("mode", ["penstock", "ample", "mocs", "off"])
@pytest.mark.parametrize("program", ["SendingByTable", "ChangingGroups", "OpeningPorts"])
def test_a_packet_that_is_sent_on_later_may_go_elsewhere(program: str, mode: str) -> None:
    openflow = "1.3" if program == "ChangingGroups" else "1.0"
    proof = _proof(program, NOTHING_COMES, openflow=openflow, verify={"mode": mode})
    assert proof.result == "violated"
    assert all(found.confirmed for found in proof.findings)


def test_a_program_that_sends_packets_round_through_the_tables_comes_to_an_end() -> None:
    assert _proof("Circling", NOTHING_COMES, openflow="1.0").result == "proved"


def test_a_program_whose_rules_both_ask_and_send_comes_to_an_end() -> None:
    claim = "G forall p in h2.rcvq: p.src != h2"
    assert _proof("CopyingAndDeleting", claim).result == "proved"


@pytest.mark.parametrize("mode", ["penstock", "off"])
def test_rules_that_are_sent_upon_an_answer_tell_packets_apart(mode: str) -> None:
    proof = _proof("RulesAfterAnswers", NOTHING_COMES, openflow="1.0", verify={"mode": mode})
    assert proof.result == "violated"


@pytest.mark.parametrize("program", ["Counting", "CountingAtTheEnd"])
def test_a_program_that_goes_by_counters_is_not_proved(program: str) -> None:
    openflow = "1.3" if program == "Counting" else "1.0"
    proof = _proof(program, UNHURT, openflow=openflow, verify={"timeouts": True})
    assert proof.result == "bounded"
    assert any("counts nothing" in said for said in proof.bounds)


def test_a_program_knows_its_messages_by_number_when_they_are_refused() -> None:
    assert _proof("KnowingNumbers", UNHURT, openflow="1.0").result == "violated"


@pytest.mark.parametrize("program", ["TwoRules", "TwoRulesTheOtherWay"])
def test_either_of_two_rules_may_be_the_one_for_which_there_is_no_room(program: str) -> None:
    proof = _proof(program, UNHURT, openflow="1.0", switches={"table_size": 1})
    assert proof.result == "violated"


def test_a_packet_that_is_handed_over_and_sent_out_is_a_match_too() -> None:
    assert _proof("Copying", "G not <match(s, p, ports)> 2 in ports").result == "violated"


def test_switches_that_keep_packets_are_refused() -> None:
    with pytest.raises(PenstockError, match="buffers = 0"):
        _proof("Copying", NOTHING_COMES, switches={"buffers": 2})


def test_a_program_that_raised_while_switches_joined_is_told_of() -> None:
    proof = _proof("RaisingAtFirst", NOTHING_COMES)
    assert any("raised exceptions" in remark for remark in proof.remarks)


@pytest.mark.parametrize("claim", [UNHURT, "F exists p in h2.rcvq: true"])
def test_a_program_with_ever_more_states_is_not_searched_for_ever(
    claim: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verification, "MOST_PROGRAMS", 100)
    proof = _proof("CountingForEver", claim, openflow="1.0", search={"seconds": 60})
    assert proof.result == "bounded"
    assert any("states of the program" in said for said in proof.bounds)


def _proof_of_app(app: str) -> Proof:
    return _proof("", UNHURT, controller={"apps": [f"unsteady_apps.py:{app}"]})


def test_an_app_knows_its_messages_by_number_when_they_are_refused() -> None:
    assert _proof_of_app("Numbers").result == "violated"


@pytest.mark.parametrize(
    ("app", "reason"), [("Clock", "no time passes"), ("Generator", "an object of type generator")]
)
def test_an_app_that_knows_what_no_state_tells_is_not_proved(app: str, reason: str) -> None:
    proof = _proof_of_app(app)
    assert proof.result == "bounded"
    assert any(reason in said for said in proof.bounds)
