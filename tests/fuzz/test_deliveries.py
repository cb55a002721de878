"""A run in which no packet of any host arrives says so, and why, and what to try."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.fuzz.fuzz_lab import Flooder, scenario

from penstock._controllers.controller import Controller
from penstock._fuzz.fuzzing import Report, fuzz
from penstock._fuzz.invariants import invariants_of
from penstock._fuzz.summary import next_steps_of, run_verdict
from penstock._verdict.verdict import Why
from penstock.openflow.actions import Output
from penstock.openflow.messages import PacketIn, PacketOut, PortNo

SEND = ("send h1 to h2 ping 1", "wait 100")
FLOOD = (Output(PortNo.FLOOD),)


class Silent(Flooder):
    """Has packets sent to it, and answers none."""

    def packet_in(self, switch: str, message: PacketIn) -> None:
        pass


class Deaf(Controller):
    """Installs nothing at all."""


class Empty(Flooder):
    """Relies on buffers that switches do not have."""

    def packet_in(self, switch: str, message: PacketIn) -> None:
        self.send(switch, PacketOut(message.buffer_id, message.in_port, FLOOD))


class Idle(Flooder):
    """Answers with packet-outs that do nothing."""

    def packet_in(self, switch: str, message: PacketIn) -> None:
        self.send(switch, PacketOut(message.buffer_id, message.in_port, (), message.data))


class Refused(Flooder):
    """Names a buffer that is none."""

    def packet_in(self, switch: str, message: PacketIn) -> None:
        self.send(switch, PacketOut(77, message.in_port, FLOOD))


class Prober(Silent):
    """Sends LLDP as if it were to find links first."""

    def switch_join(self, switch: str) -> None:
        super().switch_join(switch)
        frame = bytes.fromhex("0180c200000e 020000000001 88cc") + bytes(50)
        self.send(switch, PacketOut(0xFFFFFFFF, PortNo.CONTROLLER, (Output(1),), frame))


def run(folder: Path, controller: Any, *inputs: str, **details: Any) -> Report:
    # Where the model's own invariants are judged, some of these controllers break them.
    usual = {"inputs": list(inputs or SEND), "invariants": ["ControllerLiveness"]}
    table = {**usual, **details.pop("fuzz", {})}
    given = scenario(controller, openflow="1.3", fuzz=table, **details)
    return asyncio.run(fuzz(given, folder, invariants=invariants_of))


def steps(report: Report) -> str:
    return "\n".join(map(str, next_steps_of(report)))


@pytest.mark.parametrize(
    ("controller", "why", "said", "step"),
    [
        (Silent, Why.UNANSWERED, "the controller answered none of 1 packet_in", "interval_ms = 1000"),
        (Deaf, Why.NO_TABLE_MISS, "installed no table-miss rule", "--invariant AllPairsReachability"),
        (Empty, Why.EMPTY_PACKET_OUTS, "and the switches have no buffers", "[switches] buffers = 256"),
        (Idle, Why.WITHOUT_ACTIONS, "1 of 1 packet-out had no actions", "--invariant AllPairsReachability"),
        (Refused, Why.REFUSED, "1 of them with buffer-", "--invariant AllPairsReachability"),
    ],
)
def test_the_cause_is_told_with_what_to_try(
    tmp_path: Path, controller: type[Controller], why: Why, said: str, step: str
) -> None:
    report = run(tmp_path, controller())
    verdict = run_verdict(report)
    assert (verdict.status, verdict.judged) == (3, False)
    first = verdict.reasons[0]
    assert first.why is why and first.startswith("no packet of any host arrived: ") and said in first
    assert step in steps(report)


def test_a_controller_that_probes_may_still_hold_ports_down(tmp_path: Path) -> None:
    whys = [reason.why for reason in run_verdict(run(tmp_path, Prober())).reasons]
    assert Why.HOLDING_DOWN in whys
    later = run(tmp_path, Prober(), *SEND, "wait 60000")
    assert Why.HOLDING_DOWN not in [reason.why for reason in run_verdict(later).reasons]


def test_one_packet_that_arrives_is_enough(tmp_path: Path) -> None:
    report = run(tmp_path, Flooder())
    verdict = run_verdict(report)
    assert verdict.judged and [reason.why for reason in verdict.reasons] == [Why.INPUTS]


@pytest.mark.parametrize(
    ("details", "said", "step"),
    [
        ({"topology": "single,1"}, "fewer than two hosts", "--topo linear,2"),
        (
            {"fuzz": {"inputs": [], "events": 5, "profile": "links", "rates": {"packet": 0, "broadcast": 0}}},
            "the rates draw no packets",
            "profile",
        ),
        ({"hosts": {"h1": {"kind": "server"}, "h2": {"kind": "server"}}}, "kinds of their own", "hosts"),
    ],
)
def test_hosts_that_have_nothing_to_send(
    tmp_path: Path, details: dict[str, Any], said: str, step: str
) -> None:
    report = run(tmp_path, Flooder(), "wait 10", **details)
    (first, *_) = run_verdict(report).reasons
    assert first.why is Why.UNSENT and said in first
    assert step in steps(report)


def test_inputs_without_packets_on_purpose_are_judged_and_it_is_said(tmp_path: Path) -> None:
    report = run(tmp_path, Flooder(), "fail s1-s2", "wait 10")
    verdict = run_verdict(report)
    assert verdict.judged and verdict.reasons[0].why is Why.UNSENT
    assert "send h1 to h2 ping 1" in steps(report)


def test_what_the_controller_itself_sends_to_hosts_is_no_packet_of_a_host(tmp_path: Path) -> None:
    class Greeter(Silent):
        def packet_in(self, switch: str, message: PacketIn) -> None:
            # An ARP request of a router's, to everybody.
            request = bytes.fromhex(
                "ffffffffffff 0200000000fe 0806 0001 0800 06 04 0001"
                "0200000000fe 0a0000fe 000000000000 0a000002"
            )
            self.send(switch, PacketOut(0xFFFFFFFF, PortNo.CONTROLLER, FLOOD, request))

    verdict = run_verdict(run(tmp_path, Greeter()))
    assert not verdict.judged
