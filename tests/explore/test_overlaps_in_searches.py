"""Rules of equal priority that overlap: a property, a bound where not judged, both ways on request."""

from typing import Any

import pytest

from penstock._check.check import Report, check
from penstock._controllers.controller import Controller
from penstock._scenario.options import VerifyOptions
from penstock._scenario.scenario import Scenario
from penstock._verify.proof import prove
from penstock.openflow.actions import Action, Output
from penstock.openflow.match import Match

PORT, HOST = Match.of(in_port=1), Match.of(eth_dst=2)
AWAY: tuple[Action, ...] = (Output(9),)


class Proactive(Controller):
    """Installs two rules as a switch joins, which overlap."""

    openflow = "1.0"
    priorities = (10, 10)
    matches = (PORT, HOST)
    outputs: tuple[tuple[Action, ...], ...] = ((Output(2),), AWAY)

    def switch_join(self, switch: str) -> None:
        for match, priority, actions in zip(self.matches, self.priorities, self.outputs, strict=True):
            self.install(switch, match, actions, priority=priority)


class Reactive(Controller):
    """Installs the second rule once a packet comes in."""

    openflow = "1.0"

    def switch_join(self, switch: str) -> None:
        self.install(switch, PORT, (Output(2),), priority=10)

    def packet_in(self, switch: str, _message: Any) -> None:
        self.install(switch, HOST, AWAY, priority=10)


class Alike(Proactive):
    """Both rules do the same."""

    outputs = ((Output(2),), (Output(2),))


class Apart(Proactive):
    """One rule is above the other."""

    priorities = (10, 11)


class Elsewhere(Proactive):
    """No packet meets both rules."""

    matches = (PORT, Match.of(in_port=2))


def checked(program: Controller, *properties: str, **switches: Any) -> Report:
    hosts = {
        "h1": {"kind": "client", "to": "h2", "count": 1, "static_arp": True},
    }
    if isinstance(program, Reactive):
        hosts["h2"] = {"kind": "client", "to": "h1", "count": 1, "static_arp": True}
    return check(
        Scenario(
            controller=program, topology="single,2", hosts=hosts, properties=properties, switches=switches
        )
    )


def broken(report: Report) -> list[str]:
    assert all(finding.confirmed for finding in report.findings)
    return [finding.property for finding in report.findings]


@pytest.mark.parametrize("program", [Proactive(), Reactive()])
def test_a_packet_and_both_rules_are_told(program: Controller) -> None:
    report = checked(program, "NoAmbiguousRules")
    assert broken(report) == ["NoAmbiguousRules"]
    message = report.findings[0].message
    assert "priority=10 in_port=1 -> output:2" in message
    assert "priority=10 eth_dst=00:00:00:00:00:02 -> output:9" in message
    assert "from port 1" in message


@pytest.mark.parametrize("program", [Alike(), Apart(), Elsewhere()])
def test_harmless_rules_are_judged_and_pass(program: Controller) -> None:
    report = checked(program, "NoAmbiguousRules")
    assert (broken(report), report.outcome.result) == ([], "exhausted")
    assert report.outcome.exercised["NoAmbiguousRules"] > 0


def test_the_property_adds_no_transitions() -> None:
    without, with_it = (
        checked(Apart(), "NoForwardingLoops"),
        checked(Apart(), "NoForwardingLoops", "NoAmbiguousRules"),
    )
    assert without.outcome.transitions == with_it.outcome.transitions
    assert without.outcome.states == with_it.outcome.states


def test_one_choice_is_tried_and_that_is_told() -> None:
    """The switch's own order has the packet arrive, or not; whichever it is, the other is not tried."""
    report = checked(Proactive(), "NoForwardingLoops")
    assert report.outcome.result == "bounded"
    assert any("several rules of one priority" in reason for reason in report.verdict.reasons)
    assert any("overlaps = 1" in str(step) for step in report.next_steps)
    assert any("NoAmbiguousRules" in str(step) for step in report.next_steps)


def test_on_request_both_choices_are_tried() -> None:
    one_way = {
        broken(checked(program, "NoBlackHoles"))[:1] == ["NoBlackHoles"]
        for program in (Proactive(), Swapped())
    }
    assert one_way == {True, False}
    for program in (Proactive(), Swapped()):
        report = checked(program, "NoBlackHoles", overlaps=1)
        assert broken(report) == ["NoBlackHoles"]
        assert report.verdict.reasons == ()


class Swapped(Proactive):
    """The same, with what the two rules do exchanged."""

    outputs = (AWAY, (Output(2),))


def test_rules_that_do_not_overlap_leave_nothing_to_choose() -> None:
    plain, asked = (
        checked(Elsewhere(), "NoForwardingLoops"),
        checked(Elsewhere(), "NoForwardingLoops", overlaps=2),
    )
    assert asked.outcome.result == "exhausted"
    assert plain.outcome.transitions == asked.outcome.transitions


class TestProofs:
    def prove(self, program: Controller, name: str = "NoAmbiguousRules") -> Any:
        return prove(Scenario(controller=program, topology="single,2"), VerifyOptions(properties=(name,)))

    @pytest.mark.parametrize("program", [Proactive(), Reactive()])
    def test_a_clash_is_found(self, program: Controller) -> None:
        proof = self.prove(program)
        assert proof.result == "violated"
        assert "undefined" in proof.findings[0].message

    @pytest.mark.parametrize("program", [Alike(), Apart(), Elsewhere()])
    def test_rules_that_cannot_clash_are_proved_not_to(self, program: Controller) -> None:
        assert self.prove(program).result == "proved"

    def test_rules_that_take_turns_are_left_open(self) -> None:
        proof = self.prove(TakingTurns())
        assert proof.result in ("bounded", "violated")

    def test_another_property_is_bounded_where_packets_meet_both(self) -> None:
        proof = self.prove(Proactive(), "NoForwardingLoops")
        assert proof.result == "bounded"
        assert any("several rules of one priority" in bound for bound in proof.bounds)


class TakingTurns(Reactive):
    """Deletes the first rule before it installs the second."""

    def packet_in(self, switch: str, message: Any) -> None:
        from penstock.openflow.messages import FlowCommand, FlowMod

        self.send(switch, FlowMod(FlowCommand.DELETE_STRICT, PORT, priority=10))
        super().packet_in(switch, message)
