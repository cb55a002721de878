"""No time passes in a search: what it says of meters, and what it does with them when asked to."""

from collections.abc import Mapping
from typing import Any

from penstock._check.check import Report, check
from penstock._controllers.controller import Controller
from penstock._properties.base import Property, Violated
from penstock._scenario.options import VerifyOptions
from penstock._scenario.scenario import Scenario
from penstock._verify.proof import prove
from penstock._world.transition import Record
from penstock.openflow.actions import ApplyActions, Output, UseMeter
from penstock.openflow.match import ANYTHING
from penstock.openflow.messages import Band, FlowCommand, FlowMod, MeterCommand, MeterMod, PortNo


class Policed(Controller):
    """Floods everything, through a meter."""

    def switch_join(self, switch: str) -> None:
        self.send(switch, MeterMod(MeterCommand.ADD, 2, 1, (Band(1, 1000, 0),)))
        flood = ApplyActions((Output(PortNo.FLOOD),))
        self.send(switch, FlowMod(FlowCommand.ADD, ANYTHING, (UseMeter(1), flood)))


class ArrivesAtAll(Property):
    """Something arrives."""

    def see(self, record: Record, /) -> bool | None:
        return True if any(event.kind == "received" for event in record.events) else None

    def next(self, _state: Any, _seen: Any, /) -> Any:
        return True

    def at_rest(self, state: Any, _states: Mapping[str, Any], /) -> bool:
        if not state:
            raise Violated("Nothing arrived.")
        return True


def scenario(**switches: Any) -> Scenario:
    return Scenario(
        controller=Policed(),
        topology="single,2",
        hosts={"h1": {"kind": "client", "to": "h2", "count": 1, "static_arp": True}},
        properties=(ArrivesAtAll(), "NoBlackHoles"),
        switches=switches,
        search={"all_violations": True},
    )


def broken(report: Report) -> list[str]:
    return [finding.property for finding in report.findings]


def test_meters_limit_nothing_and_the_result_says_so() -> None:
    report = check(scenario())
    assert broken(report) == []
    assert report.outcome.result == "bounded"
    assert any("exceed a rate" in reason for reason in report.verdict.reasons)
    assert "overruns = 1" in str(report.next_steps[0])


def test_one_packet_over_the_rate_is_tried_on_request_and_is_no_black_hole() -> None:
    report = check(scenario(overruns=1))
    assert broken(report) == ["ArrivesAtAll"]
    assert report.findings[0].confirmed
    assert "exceed meter 1" in [record.transition.what for record in report.findings[0].records]
    assert report.verdict.reasons == ()


def test_token_levels_make_no_states_unless_they_are_asked_for() -> None:
    states = {meters: check(scenario(meters=meters)).outcome.states for meters in ("pass", "limit")}
    without = check(Scenario(**{**vars(scenario()), "controller": Unpoliced()})).outcome.states
    assert states["pass"] == without
    assert states["limit"] >= without


class Unpoliced(Controller):
    """Floods everything."""

    def switch_join(self, switch: str) -> None:
        self.send(switch, FlowMod(FlowCommand.ADD, ANYTHING, (ApplyActions((Output(PortNo.FLOOD),)),)))


def test_a_proof_is_bounded_by_a_meter() -> None:
    proof = prove(scenario(), VerifyOptions(properties=("NoForwardingLoops",)))
    assert proof.result == "bounded"
    assert any("exceed a rate" in text for text in proof.bounds)
