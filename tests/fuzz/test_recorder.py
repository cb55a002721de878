"""The trace of a run tells every input and step, its moment and its causes."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.fuzz.fuzz_lab import fuzz_trace, opened, perform, scenario, written

from penstock._fuzz.harness import Harness
from penstock._fuzz.judging import Finding
from penstock._trace.trace import Line
from penstock._world.component import Endpoint
from penstock.openflow.messages import V13, EchoRequest, FlowCommand, FlowMod
from penstock.openflow.wire import decode, encode


@pytest.fixture
def stage(tmp_path: Path) -> Harness:
    return opened(tmp_path, scenario(fuzz={"deliveries": 0}))


def by_number(stage: Harness) -> dict[int, Line]:
    return {line.number: line for line in written(stage).lines}


def test_all_lines_are_numbered_together_without_gaps(stage: Harness) -> None:
    perform(stage, "send h1 to h2 ping 1", "wait 10", "fail s1-s2", "check")
    stage.recorder.log("c0", "hello", 12)
    stage.recorder.finding(Finding("Loops", "there is one", persistent=True), 13)
    trace = written(stage)
    kinds = (trace.lines, trace.inputs, trace.logs, trace.findings)
    numbers = [line.number for lines in kinds for line in lines]
    assert sorted(numbers) == list(range(1, stage.recorder.step + 1))
    assert (trace.logs[0].source, trace.logs[0].text, trace.logs[0].at) == ("c0", "hello", 12)
    assert (trace.findings[0].verdict, trace.findings[0].persistent) == ("violated", True)


def test_what_an_input_did_has_it_among_its_causes(stage: Harness) -> None:
    perform(stage, "wait 10", "fail s1-s2", "wait 10")
    trace = written(stage)
    cut = next(line for line in trace.inputs if line.text == "fail s1-s2")
    done = next(line for line in trace.lines if line.transition == "fabric fail s1-s2")
    assert cut.number in done.causes and (cut.at, done.at) == (10, 10)
    noticed = [line for line in trace.lines if line.message and "Carrier" in line.message]
    assert noticed and all(done.number in line.causes and cut.number not in line.causes for line in noticed)


def test_every_delivery_is_caused_by_what_sent_it(stage: Harness) -> None:
    perform(stage, "send h1 to h2 ping 1", "wait 10", "send h2 to h1 tcp 1", "wait 10")
    lines = by_number(stage)
    delivered = [line for line in lines.values() if line.transition.startswith("deliver ")]
    assert len(delivered) > 20
    for line in delivered:
        channel = line.transition.removeprefix("deliver ")
        sends = [send for cause in line.causes if cause in lines for send in lines[cause].sends]
        assert f"{channel} {line.message}" in sends, line


def test_releasing_a_channel_is_a_cause_of_what_then_arrives(stage: Harness) -> None:
    perform(stage, "hold h1:0", "send h1 to h2 arp 1", "wait 10", "release h1:0", "wait 10")
    trace = written(stage)
    released = next(line for line in trace.inputs if line.text == "release h1:0")
    arrived = next(line for line in trace.lines if line.transition == "deliver h1:0")
    assert released.number in arrived.causes


def test_messages_from_outside_keep_their_bytes(stage: Harness) -> None:
    order = FlowMod(FlowCommand.ADD, priority=7)
    stage.inject(Endpoint("c0", "s1"), order)
    raw = encode(EchoRequest(b"raw", xid=9), V13)
    stage.inject(Endpoint("c0", "s1"), EchoRequest(b"raw", xid=9), raw)
    ordered, asked = [line for line in written(stage).lines if line.transition == "inject c0:s1"]
    assert ordered.wire is not None and decode(ordered.wire) == order and ordered.version == V13
    assert asked.wire == raw and asked.version == V13


def test_lines_are_in_the_file_once_they_are_flushed(stage: Harness) -> None:
    perform(stage, "check")
    path = stage.recorder.writer.path
    assert not path.read_bytes()
    stage.recorder.flush()
    assert [line.text for line in fuzz_trace(path).inputs] == ["check"]
    stage.recorder.close()
    stage.recorder.close()


def test_a_run_that_was_killed_leaves_a_trace_that_can_be_read(stage: Harness) -> None:
    perform(stage, "send h1 to h2 ping 1", "wait 10")
    path = stage.recorder.writer.path
    whole = written(stage)
    path.write_bytes(path.read_bytes()[:-20])
    trace = fuzz_trace(path)
    assert trace.cut_short and whole.cut_short, "neither has come to its end"
    assert trace.lines == whole.lines and trace.inputs == whole.inputs[:-1]


def test_the_passing_of_time_alone_is_not_written(stage: Harness) -> None:
    perform(stage, "wait 10", "wait 10", "send h1 to h2 arp 1", "wait 10")
    assert not [line for line in written(stage).lines if line.transition.startswith("time ")]
