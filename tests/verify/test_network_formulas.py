"""Formulas over lifted networks: what they mean, and by what they are decided."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from penstock._controllers.controller import FLOOD, Controller
from penstock._replay.replaying import replay
from penstock._scenario.options import VerifyOptions
from penstock._scenario.scenario import Scenario
from penstock._verify import verification
from penstock._verify.formulas import read
from penstock._verify.proof import Proof, Proving, prove
from penstock.openflow.actions import Output
from penstock.openflow.match import Match
from penstock.openflow.messages import FlowRemoved, PacketIn


class Hub(Controller):
    """Floods each packet, and has no state."""

    def packet_in(self, switch: str, message: PacketIn) -> None:
        self.packet_out(switch, message, FLOOD)


class OneWay(Controller):
    """Installs a rule that expires, and notes that it has."""

    def __init__(self) -> None:
        self.installed = False
        self.expired = False

    def packet_in(self, switch: str, message: PacketIn) -> None:
        if message.in_port == 1 and not self.installed:
            self.installed = True
            self.install(switch, Match.of(in_port=1), (Output(2),), idle_timeout=5, flags=1)

    def flow_removed(self, switch: str, message: FlowRemoved) -> None:
        self.expired = True


class Failing(Controller):
    """Raises an exception, whatever it is asked."""

    def packet_in(self, switch: str, message: PacketIn) -> None:
        raise ValueError("no such packet")


class Counting(Controller):
    """Has a new state after each packet, without end."""

    def __init__(self) -> None:
        self.count = 0

    def packet_in(self, switch: str, message: PacketIn) -> None:
        self.count += 1


def scenario(controller: type[Controller]) -> Scenario:
    file = Path(__file__)
    return Scenario(
        controller={"native": f"{file.name}:{controller.__name__}"},
        topology="single,2",
        openflow="1.0",
        search={"seconds": 60},
        folder=file.parent,
    )


def proof_of(controller: type[Controller], text: str, *, output: Path | None = None, **options: Any) -> Proof:
    return prove(scenario(controller), VerifyOptions((text,), **options), output=output)


@pytest.mark.parametrize(
    ("text", "invariant"),
    [
        ("G forall h in hosts, p in h.rcvq: p.dst == h", True),
        ("forall h in hosts: G forall p in h.rcvq: p.dst == h", True),
        ("G not exists p in s1.pktq: p.ssh", True),
        ("G exists p in s1.pktq: true", False),
        ("G forall p in s1.fq: p.ssh", False),
        ("G (p1 implies F p1)".replace("p1", "h1.name == h2.name"), False),
        ("G [drop(s, p)] p.ssh", True),
        ("G [drop(s, p)] exists q in h1.rcvq: q.ssh", False),
        ("G (<recv(h, p)> h == h2 implies G not <recv(h, p)> h == h1)", True),
        ("G (<recv(h, p)> h == h2 implies F <recv(h, p)> h == h1)", False),
        ("(G h1.name != h2.name) and G [recv(h, p)] p.dst == h", True),
    ],
)
def test_what_must_never_be_is_decided_with_reductions(text: str, invariant: bool) -> None:
    proving = Proving(scenario(Hub), VerifyOptions((text,)))
    claims = proving.claims(proving.lifted({}))
    assert bool(claims.invariants) == invariant
    assert bool(claims.temporal) != invariant


@pytest.mark.parametrize(
    ("text", "packets"),
    [
        ("G forall p in h1.rcvq: p.ssh", 1),
        ("G forall p in h1.rcvq, q in h2.rcvq: not (p.ssh and q.ssh)", 2),
        ("G ((forall p in h1.rcvq: p.ssh) or (forall p in h2.rcvq: p.ssh))", 2),
        ("G ((exists p in h1.rcvq: p.ssh) implies h1.name == h2.name)", 1),
        ("G exists p in h1.rcvq: p.ssh", None),
    ],
)
def test_how_many_packets_break_a_formula(text: str, packets: int | None) -> None:
    proving = Proving(scenario(Hub), VerifyOptions(("NoForwardingLoops",)))
    vocabulary = proving.claims(proving.lifted({})).vocabulary
    assert read(text, vocabulary).packets == packets


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("G forall p in h2.rcvq: p.src == h1", "proved"),
        ("G forall p in h2.rcvq: p.dst == h2", "violated"),
        ("G [drop(s, p)] false", "proved"),
        ("G not <fwd(s, p, ports)> 2 in ports", "violated"),
        ("G (<recv(h, p)> h == h2 implies G not <recv(h, p)> h == h1)", "violated"),
        ("G [ctrl(s, p)] p.port in {1, 2}", "proved"),
        ("G not <send(h, p)> p.src == h1", "violated"),
        ("G not exists p in s1.pktq: p.src == h1", "violated"),
        ("true", "proved"),
    ],
)
def test_a_hub_is_judged(text: str, result: str) -> None:
    found = proof_of(Hub, text)
    assert (found.result, found.bounds) == (result, [])
    assert all(finding.confirmed for finding in found.findings)


def test_what_should_happen_happens_only_under_fairness(tmp_path: Path) -> None:
    text = "F exists p in h2.rcvq: p.src == h1"
    unfair = proof_of(Hub, text, output=tmp_path)
    assert unfair.result == "violated"
    (lasso,) = unfair.findings
    assert lasso.loop and lasso.confirmed and lasso.trace is not None
    assert replay(lasso.trace).reproduced
    assert proof_of(Hub, text, fair=True).result == "proved"


def test_a_rule_may_vanish_if_timeouts_count() -> None:
    text = "G not controller.expired"
    assert proof_of(OneWay, text).result == "proved"
    gone = proof_of(OneWay, text, timeouts=True)
    assert gone.result == "violated"
    told = [str(record.transition) for record in gone.findings[0].records]
    assert any(" expire " in step for step in told) and " gone " in told[-1]


def test_what_is_sent_need_not_be_sent() -> None:
    assert proof_of(Hub, "F exists p in s1.pktq: p.src == h1").result == "violated"


def test_a_program_that_raises_is_told_of() -> None:
    found = proof_of(Failing, "NoForwardingLoops")
    assert any("raised exceptions" in remark for remark in found.remarks)
    assert proof_of(Failing, "ControllerCrash").result == "violated"


def test_a_program_with_ever_more_states_is_not_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verification, "MOST_PROGRAMS", 30)
    found = proof_of(Counting, "NoForwardingLoops")
    assert found.result == "bounded"
    assert any("states of the program, which may have ever more" in reason for reason in found.bounds)


def test_a_proof_begins_when_all_switches_have_joined() -> None:
    cold = replace(scenario(Hub), search={"start": "cold"})
    assert prove(cold, VerifyOptions(("G not <nomatch(s, p)> true",))).result == "violated"
