"""No proof rests on one packet of a class whose packets are told apart by something, however indirectly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock._scenario.scenario import scenario_of
from penstock._verify.proof import Proof, prove
from penstock.errors import PenstockError

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
def test_what_is_kept_and_decides_later_is_found(program: str) -> None:
    assert _proof(program, "ControllerCrash").result == "violated"


def test_a_packet_that_is_kept_whole_and_sent_on_is_no_hindrance() -> None:
    proof = _proof("Holding", "ControllerCrash")
    assert (proof.result, proof.bounds) == ("proved", [])


def test_what_is_sent_of_a_packet_bounds_a_proof_if_there_is_no_end_of_it() -> None:
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
def test_whatever_a_formula_asks_of_one_packet_tells_packets_apart(formula: str) -> None:
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
def test_comparisons_that_may_tell_any_two_packets_apart_bound_a_proof(formula: str) -> None:
    proof = _proof("Wire", formula)
    assert proof.result == "violated" or any("tell any two packets apart" in said for said in proof.bounds)
    assert proof.result != "proved"


def test_a_proof_says_what_of_the_scenario_plays_no_part() -> None:
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
def test_a_proof_says_what_its_options_take_for_granted(options: dict[str, Any], words: str) -> None:
    table = {"properties": ["ControllerCrash"], **options}
    proof = _proof("Wire", verify=table)
    assert any(words in sentence for sentence in proof.assumptions)


@pytest.mark.parametrize(
    ("formula", "hint", "column"),
    [
        ('G forall p in h2.rcvq: p.eth_dst != "FF:FF:FF:FF:FF:FF"', "ff:ff:ff:ff:ff:ff", 37),
        ('G forall p in h2.rcvq: p.dst.mac != "0:0:0:0:0:2"', "00:00:00:00:00:02", 37),
        ('G forall p in h2.rcvq, x in {"10.0.0.02"}: p.ipv4_dst != x', "no address", 30),
        ("G forall p in h2.rcvq: p.vlan_vid != 5", "4101", 38),
    ],
)
def test_a_value_that_a_field_never_has_as_it_is_written_is_refused(
    formula: str, hint: str, column: int
) -> None:
    with pytest.raises(PenstockError, match=f"^Column {column}: .*{hint}"):
        _proof("Wire", formula)


@pytest.mark.parametrize(
    "formula",
    ['G forall p in h2.rcvq: p.ipv4_dst != ""', "G forall p in h2.rcvq: p.arp_tpa != p.ipv4_dst"],
)
def test_packets_that_have_a_field_are_told_from_those_that_have_not(formula: str) -> None:
    assert _proof("Wire", formula).result == "violated"


def test_a_variable_of_the_program_is_no_address_of_a_host_whatever_its_name() -> None:
    proof = _proof("Wire", "G forall p in h2.rcvq: p.arp_tpa != controller.ip")
    assert any("tell any two packets apart" in said for said in proof.bounds) or proof.findings
    assert _proof("Wire", 'G controller.ip != "Nobody"').result == "proved"
