"""The run that a person steers, without a terminal."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cli.stepper.stepper_lab import EXAMPLES, balancer_run, loop_run, loop_scenario

from penstock._check.check import check, walk
from penstock._cli.stepper.model import (
    Looking,
    PacketBreak,
    PropertyBreak,
    Run,
    breakpoint_of,
    is_trace,
    run_of_trace,
)
from penstock._replay.replaying import replay
from penstock._scenario.scenario import load_scenario
from penstock._trace.consent import consent_given
from penstock._trace.trace import read_header, read_trace
from penstock.errors import PenstockError


def texts(run: Run) -> list[str]:
    return [str(record.transition) for record in run.records]


# Going back and forth.


def test_what_was_undone_can_be_redone(tmp_path: Path) -> None:
    run = loop_run(tmp_path)
    for _ in range(4):
        run.go_on()
    taken, state = texts(run), run.world.snapshot()
    run.undo(3)
    assert texts(run) == taken[:1]
    for _ in range(3):
        run.redo()
    assert texts(run) == taken
    assert run.world.snapshot() == state


def test_another_step_gives_up_what_was_undone_but_the_same_step_does_not(tmp_path: Path) -> None:
    run = loop_run(tmp_path)
    for _ in range(4):
        run.go_on()
    run.undo(3)
    following = run.following()
    assert following is not None
    run.take(following)
    assert len(run.moments) == 5
    run.undo()
    run.take("drop h1:0")
    assert len(run.moments) == 3
    with pytest.raises(PenstockError, match="nothing to redo"):
        run.redo()


def test_going_further_than_the_run_goes_is_refused_in_one_sentence(tmp_path: Path) -> None:
    run = loop_run(tmp_path)
    with pytest.raises(PenstockError, match="Cannot go back 1 steps: 0 were taken"):
        run.undo()
    with pytest.raises(PenstockError, match="no step 3: the run has 0"):
        run.go_to(3)


@settings(max_examples=25)
@given(st.lists(st.one_of(st.integers(0, 30), st.sampled_from(["undo", "redo"])), max_size=30))
def test_wherever_somebody_goes_each_moment_is_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, moves: list[int | str]
) -> None:
    run = loop_run(tmp_path_factory.getbasetemp())
    for move in moves:
        if isinstance(move, int):
            choices = run.choices()
            run.take(choices[move % len(choices)].transition) if choices else None
        elif move == "undo" and run.at:
            run.undo()
        elif move == "redo" and run.following() is not None:
            run.redo()
        assert run.world.snapshot() == run.now.state
    again = Run(run.scenario)
    for text in texts(run):
        again.take(text)
    assert again.world.snapshot() == run.world.snapshot()
    assert again.broken == run.broken


def test_a_step_that_cannot_happen_changes_nothing(tmp_path: Path) -> None:
    run = loop_run(tmp_path)
    run.go_on()
    before = run.world.snapshot()
    with pytest.raises(PenstockError, match="cannot happen now"):
        run.take("deliver s1:2")
    assert run.world.snapshot() == before
    assert run.at == 1


# What is judged.


def test_a_broken_property_holds_again_before_it_was_broken(tmp_path: Path) -> None:
    run = loop_run(tmp_path)
    assert run.run_on() == "NoForwardingLoops is violated"
    assert list(run.broken) == ["NoForwardingLoops"]
    run.undo()
    assert not run.broken
    run.redo()
    assert list(run.broken) == ["NoForwardingLoops"]


def test_a_controller_that_raises_is_a_violation_even_if_no_property_watches(tmp_path: Path) -> None:
    run = loop_run(tmp_path, ("hub.py:Hub", "hub.py:Faulty"))
    assert run.run_on() == "ControllerCrash is violated"
    assert "KeyError" in run.broken["ControllerCrash"]
    assert any("raise KeyError(switch)" in line for line in run.now.told)


def test_a_host_that_raises_is_said_and_nothing_has_happened(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from penstock._world.hosts import Host\n\n\n"
        "class Broken(Host):\n"
        "    def offers(self, memory):\n        return ('jump',)\n\n"
        "    def perform(self, memory, action):\n        raise ValueError('no')\n"
    )
    run = loop_run(tmp_path, ('kind = "client"\nto = "h2"', 'kind = "mine.py:Broken"'))
    with pytest.raises(PenstockError, match=r"h1 raised ValueError: no at \S+mine.py:9, on 'h1 jump'\."):
        run.take("h1 jump")
    assert run.at == 0
    assert [str(choice.transition) for choice in run.choices()] == ["h1 jump"]


# Breakpoints.


def test_a_run_goes_on_to_a_packet_that_reaches_a_component(tmp_path: Path) -> None:
    run = loop_run(tmp_path)
    run.breakpoints = [PacketBreak("h1#1", "s3")]
    assert run.run_on() == "h1#1 reached s3"
    assert run.records[-1].node == "s3"
    assert all(record.node != "s3" for record in run.records[:-1])


def test_a_packet_is_also_found_by_what_it_is_and_inside_what_a_switch_tells(tmp_path: Path) -> None:
    run = loop_run(tmp_path)
    run.breakpoints = [PacketBreak("udp", "h2")]
    assert run.run_on() == "udp reached h2"
    run.go_to(0)
    run.breakpoints = [PacketBreak("h1#1", "c0")]
    assert run.run_on() == "h1#1 reached c0"
    assert type(run.records[-1].message).__name__ == "PacketIn"


def test_a_run_stops_after_so_many_steps_and_where_nothing_can_happen(tmp_path: Path) -> None:
    run = loop_run(tmp_path)
    run.breakpoints = []
    assert run.run_on(most=5) == "5 steps were taken"
    quiet = loop_run(tmp_path, ("ring,3", "linear,2"))
    assert quiet.run_on() == "no transition is enabled any more"
    assert not quiet.broken


def test_a_random_run_is_decided_by_its_seed_and_has_no_misfortunes(tmp_path: Path) -> None:
    runs = []
    for seed in (1, 1, 2):
        run = loop_run(tmp_path)
        run.run_on(Random(seed))
        runs.append(texts(run))
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]
    assert not any(text.startswith("drop ") for text in runs[0] + runs[2])


def test_breakpoints_are_what_somebody_types(tmp_path: Path) -> None:
    known = {"properties": ["NoForwardingLoops"], "components": ["h1", "s1"]}
    assert breakpoint_of("broken", **known) == PropertyBreak()
    assert breakpoint_of(" NoForwardingLoops ", **known) == PropertyBreak("NoForwardingLoops")
    assert breakpoint_of("ARP who has 10.0.0.1 at s1", **known) == PacketBreak("ARP who has 10.0.0.1", "s1")
    assert breakpoint_of("h1#1", **known) == PacketBreak("h1#1")
    with pytest.raises(PenstockError, match=r"no 's9' to stop at: the components are h1, s1\."):
        breakpoint_of("h1#1 at s9", **known)
    with pytest.raises(PenstockError, match="Nothing says where to stop"):
        breakpoint_of("  ", **known)


def test_a_breakpoint_on_one_property_lets_others_pass(tmp_path: Path) -> None:
    both = ('["NoForwardingLoops"]', '["NoForwardingLoops", "ControllerCrash"]')
    run = loop_run(tmp_path, both)
    assert not run.toggle(PropertyBreak())
    assert run.toggle(PropertyBreak("ControllerCrash"))
    assert run.run_on(most=60) == "60 steps were taken"
    assert "NoForwardingLoops" in run.broken


# What is shown.


def test_choices_are_in_words_and_by_component(tmp_path: Path) -> None:
    run = loop_run(tmp_path)
    run.go_on()
    found = [(choice.node, choice.words) for choice in run.choices()]
    assert ("s1", "gets h1#1 at port 1, from h1") in found
    assert ("fabric", "The link out of h1:0 loses h1#1") in found
    assert [choice.node for choice in run.choices() if choice.fits(["loses", "h1"])] == ["fabric"]


def test_a_packet_is_described_where_it_is_told_of_first(tmp_path: Path) -> None:
    run = loop_run(tmp_path)
    run.go_on()
    run.go_on()
    assert run.moments[1].told == ("h1 sends h1#1 [UDP 10.0.0.1:7 > 10.0.0.2:7 1 byte].",)
    assert run.moments[2].told[0] == "s1 gets h1#1 at port 1, from h1."


def test_what_a_step_changed_is_known_for_tables_queues_and_controllers(tmp_path: Path) -> None:
    run = loop_run(tmp_path, ("[faults]\ndrops = 1", '[search]\nstart = "cold"'))
    looking = Looking(run)
    run.breakpoints = [PacketBreak("FlowMod", "s1")]
    run.run_on()
    found = {(change.component, change.section): change for change in looking.changes()}
    assert found["s1", "flow table 0"].added == ("priority=0 any -> output:controller",)
    assert found["c0", "in flight to s1"].removed == ("FlowMod(add priority=0 any -> output:controller)",)
    run.breakpoints = [PacketBreak("PacketIn", "c0")]
    run.run_on()
    found = {(change.component, change.section): change for change in looking.changes()}
    assert found["c0", "state"].removed == ("seen = 0",)
    assert found["c0", "state"].added == ("seen = 1",)


# Traces.


def test_a_saved_run_is_replayed_with_its_violation(tmp_path: Path) -> None:
    run = loop_run(tmp_path)
    run.run_on(Random(3))
    path = run.save(tmp_path / "out" / "mine.jsonl")
    again = replay(path)
    assert again.reproduced
    assert again.property == "NoForwardingLoops"
    assert read_trace(path).details["engine"] == "step"


def test_a_run_saved_before_its_violation_has_no_verdict(tmp_path: Path) -> None:
    run = loop_run(tmp_path)
    run.run_on()
    run.undo(2)
    path = run.save(tmp_path / "mine.jsonl")
    assert read_trace(path).verdict is None
    assert len(read_trace(path).lines) == run.at
    assert replay(path).diverged is None


def test_what_broke_at_rest_is_no_verdict_of_a_run_that_went_on(tmp_path: Path) -> None:
    """Taken again, such a run is not looked at while it rests in between."""
    (tmp_path / "mine.py").write_text(
        "from penstock._properties.base import at_rest\n\n\n@at_rest\ndef never(states):\n    return False\n"
    )
    changes = (
        ("ring,3", "linear,2"),
        ('"NoForwardingLoops"', '"mine.py:never"'),
        ("drops = 1", "link_failures = 1"),
    )
    run = loop_run(tmp_path, *changes)
    assert run.run_on() == "never is violated"
    assert replay(run.save(tmp_path / "rest.jsonl")).reproduced
    run.take("fabric fail s1-s2")
    assert list(run.broken) == ["never"]
    assert read_trace(run.save(tmp_path / "on.jsonl")).verdict is None


def test_a_run_that_cannot_be_written_is_said_in_one_sentence(tmp_path: Path) -> None:
    run = loop_run(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(PenstockError, match="The trace cannot be written to"):
        run.save(tmp_path / "file" / "trace.jsonl")


def test_a_trace_of_a_search_is_opened_at_its_end_and_can_be_left_anywhere(tmp_path: Path) -> None:
    (finding,) = check(load_scenario(loop_scenario(tmp_path)), output=tmp_path).findings
    assert finding.trace is not None
    assert is_trace(finding.trace)
    run = run_of_trace(finding.trace)
    assert run.at == len(finding.records)
    assert run.broken == {finding.property: finding.message}
    assert run.remarks == []
    run.go_to(1)
    assert run.following() == finding.records[1].transition
    run.take("drop h1:0")
    assert run.run_on() == "no transition is enabled any more"
    assert not run.broken


def test_a_trace_of_a_random_walk_is_opened_too(tmp_path: Path) -> None:
    (finding,) = walk(load_scenario(loop_scenario(tmp_path)), seed=4, output=tmp_path).findings
    assert finding.trace is not None
    assert run_of_trace(finding.trace).broken == {finding.property: finding.message}


def test_a_trace_of_another_controller_is_loaded_as_far_as_it_goes(tmp_path: Path) -> None:
    (finding,) = check(load_scenario(loop_scenario(tmp_path)), output=tmp_path).findings
    assert finding.trace is not None
    finding.trace.write_text(finding.trace.read_text().replace("hub.py:Hub", "hub.py:Faulty"))
    run = run_of_trace(finding.trace, consent_given(read_header(finding.trace)))
    assert run.at == 3
    assert run.remarks[0].startswith("The replay diverges at step 3:")


def test_a_trace_of_a_fuzzing_run_is_refused_with_what_to_use(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text(
        '{"format": "penstock-trace", "version": 2, "scenario": {}, "folder": ".", "engine": "fuzz"}\n'
        '{"end": 1}\n'
    )
    assert is_trace(tmp_path)
    with pytest.raises(PenstockError, match="penstock openflow --interactive"):
        run_of_trace(tmp_path)
    assert not is_trace(EXAMPLES / "scenarios" / "loop.toml")


def test_an_example_goes_on_to_its_bug() -> None:
    run = balancer_run()
    assert run.run_on() == "NoForgottenPackets is violated"
    assert run.at == 8
