"""`penstock verify`: what it prints, its exit status, and traces that come again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from penstock._cli.main import commands
from penstock._replay.replaying import replay
from penstock._scenario.scenario import PROOF_SECONDS, scenario_of
from penstock._verify.proof import prove
from penstock.errors import PenstockError

EXAMPLES = Path(__file__).parents[2] / "examples" / "mocs"
PROVED = ("cp1_firewall", "cp2_stateful", "cp3_learning", "cp4_policy", "cp5_update")
LONGEST = 10
"""How many steps a bug's story has at most."""
VIOLATED = ("bug_reordering", "bug_nesting", "bug_update")


def _run(name: str, folder: Path, *options: str) -> Result:
    arguments = ["verify", str(EXAMPLES / f"{name}.toml"), "-o", str(folder), *options]
    return CliRunner().invoke(commands, arguments, standalone_mode=False)


def _json(name: str, folder: Path, *options: str) -> dict[str, Any]:
    ran = _run(name, folder, "--json", *options)
    assert ran.exception is None, ran.exception
    found: dict[str, Any] = json.loads(ran.stdout)
    assert ran.return_value == {"proved": 0, "violated": 1, "bounded": 3}[found["result"]]
    return found


@pytest.mark.parametrize("name", PROVED)
def test_a_program_without_bugs_is_proved(name: str, tmp_path: Path) -> None:
    found = _json(name, tmp_path)
    assert (found["result"], found["bounded_by"]) == ("proved", [])
    assert found["classes"] == sum(found["classes_by_host"].values()) > 2
    assert found["reductions"] and found["assumptions"]


@pytest.mark.parametrize("name", VIOLATED)
def test_a_bug_is_told_and_its_trace_replayed(name: str, tmp_path: Path) -> None:
    found = _json(name, tmp_path)
    assert found["result"] == "violated"
    (violation,) = found["violations"]
    assert violation["confirmed"] and 2 < violation["steps"] <= LONGEST
    again = replay(Path(violation["trace"]))
    assert again.reproduced and len(again.records) == violation["steps"]


@pytest.mark.parametrize("name", VIOLATED)
def test_a_bug_is_invisible_in_kuais_model(name: str, tmp_path: Path) -> None:
    assert _json(name, tmp_path, "--mode", "kuai")["result"] == "proved"


def test_ryus_switch_has_no_loops_on_a_line(ryu_sources: Path, tmp_path: Path) -> None:
    found = _json("ryu_line", tmp_path)
    assert (found["result"], found["bounded_by"]) == ("proved", [])


def test_ryus_switch_loops_on_a_ring(ryu_sources: Path, tmp_path: Path) -> None:
    ran = _run("ryu_ring", tmp_path)
    assert ran.return_value == 1
    assert "comes back to s1" in ran.stdout and "output:flood" in ran.stdout


def test_a_bound_is_no_proof(tmp_path: Path) -> None:
    found = _json("cp4_policy", tmp_path, "--mode", "off", "--states", "10")
    assert found["result"] == "bounded"
    assert "10 states" in found["bounded_by"][0]


def test_time_that_is_up_is_no_proof(tmp_path: Path) -> None:
    found = _json("cp3_learning", tmp_path, "--seconds", "0.000001")
    assert found["result"] == "bounded"
    assert any("seconds" in reason or "Time was up" in reason for reason in found["bounded_by"])


def test_a_proof_of_a_program_that_counts_packets_ends_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "counting.py").write_text(
        "from penstock import Controller\n"
        "from penstock.openflow.actions import Output\n"
        "class Counting(Controller):\n"
        "    def __init__(self): self.packets = 0\n"
        "    def switch_join(self, switch): self.install(switch, actions=(Output(0xFFFFFFFD),))\n"
        "    def packet_in(self, switch, message): self.packets += 1\n"
    )
    table = {"topology": "single,2", "controller": {"native": "counting.py:Counting"}}
    assert scenario_of(table, tmp_path).limits_of_proof().seconds == PROOF_SECONDS
    assert scenario_of({**table, "search": {"states": 9}}, tmp_path).limits_of_proof().seconds is None
    monkeypatch.setattr("penstock._scenario.scenario.PROOF_SECONDS", 1.0)
    table["verify"] = {"properties": ["ControllerCrash"]}
    proof = prove(scenario_of(table, tmp_path))
    assert proof.result == "bounded" and any("--seconds" in reason for reason in proof.bounds)
    assert any(step.options == ("--seconds", "10") for step in proof.next_steps)


@pytest.mark.parametrize(
    ("formula", "sentence"),
    [
        ("G forall p in h9.rcvq: p.ssh", "Column 15: h9 is no name"),
        ("G forall p in h2.rcvq: p.shh", "shh is no field of a packet, did you mean ssh"),
        ("G [match(s)] true", "match has 3 arguments"),
        ("NoBlackHoles", "A proof does not decide NoBlackHoles, which penstock check does"),
        ("", "The formula is empty"),
        ("G forall p in h1: true", "h1 is a host, not a set"),
        ("X true", "There is no next"),
    ],
)
def test_a_formula_that_means_nothing_is_refused(formula: str, sentence: str, tmp_path: Path) -> None:
    refused = _run("cp3_learning", tmp_path, "-p", formula)
    assert isinstance(refused.exception, PenstockError)
    assert sentence in str(refused.exception)


@pytest.mark.parametrize(
    "damage",
    [
        {"verify": {"mode": "penstock"}},
        {"verify": [1]},
        {"traffic": {"h1": 5}},
        {"traffic": {"h1": ["no hex"]}},
        {"loop": -1},
    ],
    ids=str,
)
def test_a_damaged_trace_is_refused(damage: dict[str, Any], tmp_path: Path) -> None:
    (violation,) = _json("bug_nesting", tmp_path)["violations"]
    path = Path(violation["trace"])
    header, *rest = path.read_text().splitlines(keepends=True)
    sound = json.loads(header)
    damaged = {**sound, "verify": damage.get("verify", {**sound["verify"], **damage})}
    path.write_text("".join([json.dumps(damaged) + "\n", *rest]))
    with pytest.raises(PenstockError, match="damaged"):
        replay(path)


def test_what_the_property_of_a_search_means_here_is_said(tmp_path: Path) -> None:
    said = "NoForwardingLoops is decided in a weaker form"
    found = _json("cp1_firewall", tmp_path, "--property", "NoForwardingLoops")
    assert found["result"] == "proved"
    assert any(remark.startswith(said) for remark in found["remarks"])
    other = _json("cp1_firewall", tmp_path, "--property", "ControllerCrash")
    assert not any("weaker form" in remark for remark in other["remarks"])
