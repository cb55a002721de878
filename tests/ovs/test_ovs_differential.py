"""The switch model and Open vSwitch cannot be told apart by random programs; a faulty model can.

`python -m bench.ovs_diff` is the whole run; this is a smaller one.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest
from bench.ovs.comparison import view
from bench.ovs.difftest import DifferentialTest, Disagreement
from bench.ovs.generator import generate, is_about_meters
from bench.ovs.instance import OpenVSwitch
from bench.ovs.on_model import MakeSwitch, model_switch
from bench.ovs.on_ovs import run_on_ovs
from bench.ovs.programs import Program, Tell

from bench import ovs_diff
from penstock._world.component import Port, Send, Step
from penstock._world.frame import Frame
from penstock._world.switch import FlowEntry, FlowTable, Switch, meters
from penstock.openflow.messages import Error, FlowRemoved, MeterMod, PacketIn
from penstock.openflow.stats import Flows, StatsReply

pytestmark = pytest.mark.ovs

PROGRAMS = 60
PROGRAMS_FOR_FAULTS = ovs_diff.program_seeds(2, 40)
METER_PROGRAMS = [*filter(is_about_meters, ovs_diff.program_seeds(2, 200))]

SEEN_OFTEN = ("packet_in no_match", "packet_in action", "flow_removed delete", "PortStatus", "frames")


@pytest.fixture(scope="module")
def finished(ovs: OpenVSwitch) -> DifferentialTest:
    test = DifferentialTest(ovs)
    for seed in ovs_diff.program_seeds(1, PROGRAMS):
        test.run(generate(seed))
    return test


class TestAgreement:
    """The right model."""

    def test_no_program_tells_the_two_apart(self, finished: DifferentialTest) -> None:
        stories = [str(finished.shrink(found)) for found in finished.tally.disagreements[:3]]
        assert not stories, "\n\n".join(stories)
        assert finished.tally.programs == PROGRAMS
        assert finished.tally.steps > 20 * PROGRAMS

    def test_packets_really_met_rules_and_were_forwarded(self, finished: DifferentialTest) -> None:
        seen = finished.tally.exercise.seen
        assert seen["arrivals"] > 3 * PROGRAMS
        assert seen["arrivals matched"] > 0.5 * seen["arrivals"]
        assert seen["arrivals forwarded"] > 0.2 * seen["arrivals"]

    def test_what_switches_say_of_their_own_accord_was_seen(self, finished: DifferentialTest) -> None:
        seen = finished.tally.exercise.seen
        assert [name for name in SEEN_OFTEN if not seen[name]] == []
        assert seen["flow_removed idle_timeout"] + seen["flow_removed hard_timeout"] > 0
        assert len([name for name in seen if name.startswith("error ")]) > 10
        assert seen["packets over a rate"] > PROGRAMS / 2

    def test_the_same_program_shows_the_same_on_open_vswitch_each_time(self, ovs: OpenVSwitch) -> None:
        for seed in range(6):
            program = generate(seed)
            assert [*map(view, run_on_ovs(ovs, program))] == [*map(view, run_on_ovs(ovs, program))]


Change = Callable[[Any], Any]


class Mutant(Switch):
    """A switch that does everything right and then tells or sends something else."""

    change: Change

    def receive(self, state: Any, port: Port, message: Any) -> Step:
        return self._changed(super().receive(state, port, message))

    def advance(self, state: Any, now: int) -> Step:
        return self._changed(super().advance(state, now))

    def _changed(self, step: Step) -> Step:
        sends = [Send(port, self.change(message)) for port, message in step.sends]
        return step._replace(sends=tuple(send for send in sends if send.message is not None))


def mutant(change: Change) -> MakeSwitch:
    def make(program: Program) -> Switch:
        right = model_switch(program).chassis
        wrong = Mutant(right.name, right.dpid, right.ports, right.options, right.controllers)
        wrong.change = change
        return wrong

    return make


def counts_too_much(message: Any) -> Any:
    if isinstance(message, StatsReply) and isinstance(message.body, Flows):
        flows = [replace(flow, packet_count=flow.packet_count * 2) for flow in message.body.flows]
        return replace(message, body=Flows(tuple(flows)))
    return message


def forgets_removals(message: Any) -> Any:
    return None if isinstance(message, FlowRemoved) else message


def mistakes_its_errors(message: Any) -> Any:
    return replace(message, code=message.code + 1) if isinstance(message, Error) else message


def cuts_packet_ins(message: Any) -> Any:
    return replace(message, data=message.data[:20]) if isinstance(message, PacketIn) else message


def pads_frames(message: Any) -> Any:
    return Frame(message.data + b"\0") if isinstance(message, Frame) else message


def first_disagreement(test: DifferentialTest, seeds: Iterable[int] = PROGRAMS_FOR_FAULTS) -> Disagreement:
    for seed in seeds:
        found = test.run(generate(seed))
        if found is not None:
            return test.shrink(found)
    raise AssertionError("the programs did not notice the fault")


class TestFaults:
    """Control: a model with a fault in it is told from Open vSwitch, where the fault is, in few steps."""

    @pytest.mark.parametrize(
        ("fault", "place", "steps"),
        [
            (counts_too_much, "answer", 2),
            (forgets_removals, "flow_removed", 2),
            (mistakes_its_errors, "answer", 2),
            (cuts_packet_ins, "packet_in", 2),
            (pads_frames, "port", 2),
        ],
    )
    def test_a_wrong_word_is_noticed(self, ovs: OpenVSwitch, fault: Change, place: str, steps: int) -> None:
        found = first_disagreement(DifferentialTest(ovs, mutant(fault)))
        assert all(place in where for where in found.places)
        assert len(found.program.steps) <= steps

    @pytest.mark.parametrize(
        ("attribute", "wrong"),
        [
            ("_levels", lambda turn, number, meter: tuple(10**9 for _ in meter.bands)),
            ("_capacity", lambda band: band.burst_size * 1000 + band.rate),
            ("_highest", lambda number, meter, found: meters.Exceeded(number, found[0], meter.bands[0])),
        ],
        ids=["never empty", "too large", "not the highest"],
    )
    def test_a_meter_that_counts_otherwise_is_noticed(
        self, ovs: OpenVSwitch, monkeypatch: pytest.MonkeyPatch, attribute: str, wrong: Any
    ) -> None:
        monkeypatch.setattr(meters, attribute, wrong)
        found = first_disagreement(DifferentialTest(ovs), METER_PROGRAMS)
        assert any(
            isinstance(step, Tell) and isinstance(step.message, MeterMod) for step in found.program.steps
        )

    def test_a_wrong_order_of_priorities_is_noticed(
        self, ovs: OpenVSwitch, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def lowest(table: FlowTable, fields: dict[str, int]) -> FlowEntry | None:
            full = {"in_port": 0, **fields}
            met = [e for e in table if all(full.get(f, 0) & mask == v for f, v, mask in e.match.terms)]
            return met[-1] if met else None

        monkeypatch.setattr(FlowTable, "lookup", lowest)
        found = first_disagreement(DifferentialTest(ovs))
        assert len(found.program.steps) <= 4


class TestCommand:
    """`python -m bench.ovs_diff`."""

    def test_json_is_one_object_with_the_promised_names(
        self, ovs: OpenVSwitch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert ovs_diff.main(["--programs", "4", "--seed", "3", "--json"]) == 0
        printed = json.loads(capsys.readouterr().out)
        assert printed["programs"] == 4
        assert printed["steps"] > 40
        assert printed["disagreements"] == 0
        assert all({"name", "count", "reason"} <= set(deviation) for deviation in printed["deviations"])

    def test_one_program_can_be_run_again_and_read(
        self, ovs: OpenVSwitch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert ovs_diff.main(["--program-seed", "5"]) == 0
        shown = capsys.readouterr().out
        assert "program 5, version 1" in shown
        assert "No disagreement." in shown

    def test_a_disagreement_is_told_as_a_story_and_the_status_is_1(
        self, ovs: OpenVSwitch, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(FlowTable, "lookup", lambda table, fields: None)
        assert ovs_diff.main(["--programs", "2", "--seed", "1"]) == 1
        shown = capsys.readouterr().out
        assert "model:" in shown
        assert "OVS:" in shown
        assert "2 programs" in shown
