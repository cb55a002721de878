"""No proof rests on one packet of a class whose packets are told apart by something, however indirectly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.scenario import scenario_of
from penstock.verify.proof import Proof, prove

HERE = Path(__file__).parent


def _proof(program: str, *properties: str, **more: Any) -> Proof:
    table = {
        "topology": "single,2",
        "openflow": "1.0",
        "controller": {"native": f"keeping_programs.py:{program}"},
        "verify": {"properties": list(properties)},
        **more,
    }
    return prove(scenario_of(table, HERE))


@pytest.mark.parametrize("program", ["Comparing", "Peeking", "Impatient"])
def test_what_is_kept_and_decides_later_is_found(program: str):
    assert _proof(program, "ControllerCrash").result == "violated"


def test_a_packet_that_is_kept_whole_and_sent_on_is_no_hindrance():
    proof = _proof("Holding", "ControllerCrash")
    assert (proof.result, proof.bounds) == ("proved", [])


def test_what_is_sent_of_a_packet_bounds_a_proof_if_there_is_no_end_of_it():
    proof = _proof("Dispatching", "G forall p in h2.rcvq: p.src == h2")
    assert proof.result in ("violated", "bounded")
    assert proof.findings or any("keeps or sends tcp_dst" in reason for reason in proof.bounds)


@pytest.mark.parametrize(
    "formula",
    [
        "G forall p in h2.rcvq, x in {22, 23}: p.tcp_dst != x",
        "G not <fwd(s, p, ports)> (s == s1 and p.tcp_dst in {7, 23})",
        'G forall p in h2.rcvq: p.src.name != "h1"',
        "G forall p in h2.rcvq: 23 != p.tcp_dst",
        "G forall p in h2.rcvq: p.tcp_src != p.tcp_dst or p.tcp_src == 0",
    ],
)
def test_whatever_a_formula_asks_of_one_packet_tells_packets_apart(formula: str):
    assert _proof("Wire", formula).result == "violated"


@pytest.mark.parametrize(
    "formula",
    [
        "G forall p in h2.rcvq, q in h2.rcvq: p.tcp_dst == q.tcp_dst",
        "G forall p in h2.rcvq, q in h2.rcvq: p == q",
        "G forall p in h2.rcvq: p.tcp_dst != controller.blocked",
        "G forall p in s1.pktq: p.tcp_dst != p.port",
    ],
)
def test_comparisons_that_may_tell_any_two_packets_apart_bound_a_proof(formula: str):
    proof = _proof("Wire", formula)
    assert proof.result == "violated" or any("tell any two packets apart" in said for said in proof.bounds)
    assert proof.result != "proved"


def test_a_proof_says_what_of_the_scenario_plays_no_part():
    proof = _proof(
        "Wire",
        "ControllerCrash",
        faults={"link_failures": 1},
        hosts={"h1": {"mobility": {"places": ["s1:3"]}}},
    )
    assert proof.result == "proved"
    assert any("faults play no part" in remark for remark in proof.remarks)
    assert any("h1 may move" in remark for remark in proof.remarks)


@pytest.mark.parametrize(
    ("options", "words"), [({"fair": True}, "again and again"), ({"mode": "mocs"}, "'mocs'")]
)
def test_a_proof_says_what_its_options_take_for_granted(options: dict[str, Any], words: str):
    table = {"properties": ["ControllerCrash"], **options}
    proof = _proof("Wire", verify=table)
    assert any(words in sentence for sentence in proof.assumptions)
