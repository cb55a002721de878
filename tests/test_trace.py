"""A trace says of each step what caused it, also where wires misbehave, and is read with suspicion."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from tests.disk_lab import file_limit

from penstock._controllers.static import StaticController
from penstock._trace.trace import (
    ECHO_KEPT,
    FEW_TEXTS_KEPT,
    MOST_KEPT,
    Causality,
    FindingLine,
    FuzzTrace,
    InputLine,
    Line,
    LogLine,
    ProofSetup,
    ProofTrace,
    SearchTrace,
    TraceWriter,
    Verdict,
    lines_of,
    read_trace,
    write_trace,
)
from penstock._world.assembly import build_network
from penstock._world.component import Endpoint
from penstock._world.faults import Faults
from penstock._world.hosts import host
from penstock._world.topology import topology
from penstock._world.transition import InFlight, Record, Transition
from penstock._world.world import World
from penstock.errors import PenstockError, TraceCutShort
from penstock.openflow.messages import EchoRequest
from penstock.openflow.wire import encode


@pytest.mark.parametrize("seed", range(6))
def test_a_delivery_is_caused_by_the_step_that_sent_what_it_delivers(seed: int) -> None:
    drawing = topology("linear,2")
    network = build_network(
        drawing,
        hosts={name: host("client", to=to, count=4) for name, to in (("h1", "h2"), ("h2", "h1"))},
        controllers=StaticController(drawing),
        faults=Faults(drops=2, duplicates=2, reorders=2, link_failures=1),
    )
    records: list[Record] = []
    World(network, [records.append]).run(Random(seed), limit=300, faults=True)
    lines = list(lines_of(records))
    delivered = [line for line in lines if line.message is not None]
    assert delivered
    for line in delivered:
        channel = line.transition.removeprefix("deliver ")
        sent = [send for cause in line.causes for send in lines[cause - 1].sends]
        assert f"{channel} {line.message}" in sent, line
    assert any(line.transition.startswith(("drop", "duplicate", "reorder")) for line in lines)


HEADER = {"format": "penstock-trace", "version": 2, "scenario": {}, "folder": "."}


FRAME = {"wire": "00ff", "version": 0}


def trace_of(folder: Path, *lines: object) -> Path:
    path = folder / "some.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in (HEADER, *lines, {"end": len(lines) + 1})))
    return path


def test_all_kinds_of_lines_are_read(tmp_path: Path) -> None:
    path = trace_of(
        tmp_path,
        {"step": 1, "input": "fail s1", "at": 5},
        {
            "step": 2,
            "transition": "inject h1:0",
            "node": "h1",
            "at": 6,
            "causes": [1],
            "wire": "00ff",
            "version": 0,
        },
        {"step": 3, "log": "c0", "text": "oops", "at": 7},
        {"step": 4, "violated": "Loops", "message": "round", "at": 8, "persistent": True},
        {"step": 5, "healed": "Loops", "message": "no more", "at": 9},
        {"violated": "Loops", "message": "in the end"},
    )
    trace = read_trace(path)
    assert isinstance(trace, FuzzTrace)
    assert trace.inputs == (InputLine(1, "fail s1", 5),)
    assert trace.logs == (LogLine(3, "c0", "oops", 7),)
    assert trace.findings == (
        FindingLine(4, "violated", "Loops", "round", 8, persistent=True),
        FindingLine(5, "healed", "Loops", "no more", 9),
    )
    assert trace.verdict == Verdict("Loops", "in the end")
    [line] = trace.lines
    assert (line.at, line.wire, line.version, line.causes) == (6, b"\0\xff", 0, (1,))


@pytest.mark.parametrize(
    "line",
    [
        {"step": 1, "input": 5, "at": 0},
        {"step": 1, "input": "fail s1"},
        {"step": True, "input": "fail s1", "at": 0},
        {"step": 1, "input": "fail s1", "at": -3},
        {"step": 1, "log": "c0", "at": 0},
        {"step": 1, "violated": "Loops", "at": 0},
        {"step": 1, "violated": "Loops", "message": "m", "at": 0, "persistent": "yes"},
        {"step": 1, "healed": [], "message": "m", "at": 0},
        {"step": 1, "transition": "x", "node": "h1", "wire": "0", "version": 1},
        {"step": 1, "transition": "x", "node": "h1", "wire": "zz", "version": 1},
        {"step": 1, "transition": "x", "node": "h1", "wire": "00", "version": "1"},
        {"step": 1, "transition": "x", "node": "h1", "at": "now"},
        {"step": 1, "transition": "x", "node": "h1", "causes": [True]},
        {"step": 1, "node": "h1"},
        {},
        [],
    ],
)
def test_a_damaged_line_is_named_in_one_sentence(tmp_path: Path, line: object) -> None:
    with pytest.raises(PenstockError, match=r"Line 2 of some.jsonl .*damaged"):
        read_trace(trace_of(tmp_path, line))


def injected(data: bytes) -> Record:
    message = EchoRequest(data, xid=5)
    channel = Endpoint("c0", "s1")
    return Record(Transition("inject", *channel), "c0", sends=(InFlight(channel, message),))


def test_a_disk_that_is_full_is_one_sentence_and_not_told_twice(tmp_path: Path) -> None:
    path = tmp_path / "some.jsonl"
    writer = TraceWriter(path, {}, tmp_path)
    told = r"^The trace cannot be written to .*some\.jsonl: File too large; make room"
    with file_limit(0):
        for number in (1, 2):
            writer.input(number, "fail s1", 5)
            with pytest.raises(PenstockError, match=told):
                writer.flush()
        writer.input(3, "fail s1", 5)
        writer.close()
        first_heard_of = TraceWriter(path, {}, tmp_path)
        with pytest.raises(PenstockError, match=told):
            first_heard_of.close()
        first_heard_of.close()
    assert writer.size == first_heard_of.size == 0


def test_a_disk_that_takes_only_a_part_is_full(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path / "some.jsonl", {}, tmp_path)
    writer.flush()
    writer.input(1, "fail s1" * 10_000, 5)
    with file_limit(writer.size + 5_000), pytest.raises(PenstockError, match="File too large"):
        writer.flush()
    writer.close()
    trace = read_trace(tmp_path / "some.jsonl")
    assert isinstance(trace, FuzzTrace)
    assert trace.cut_short and not trace.inputs
    assert (tmp_path / "some.jsonl").stat().st_size == writer.size + 5_000


def test_a_trace_that_cannot_be_begun_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(PenstockError, match=r"The trace cannot be written to .*: (Not a dir|File exists)"):
        TraceWriter(tmp_path / "file" / "some.jsonl", {}, tmp_path)


def test_of_a_long_echo_only_the_beginning_is_written(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path / "some.jsonl", {}, tmp_path)
    frame = b"f" * 60_000
    for number, (data, version) in enumerate([(b"y" * 60_000, 4), (b"y" * 9, 4), (frame, 0)], 1):
        record = injected(data)
        message = record.sends[0].message
        assert isinstance(message, EchoRequest)
        wire = encode(message, version) if version else data
        writer.step(number, record, [], 0, wire, version)
    writer.close()
    long, short, other = (line.wire for line in read_trace(tmp_path / "some.jsonl").lines)
    assert long is not None and long == encode(EchoRequest(b"y" * 60_000, xid=5), 4)[:ECHO_KEPT]
    assert int.from_bytes(long[2:4]) == 60_008
    assert short == encode(EchoRequest(b"y" * 9, xid=5), 4)
    assert other == frame


def test_a_writer_does_not_keep_all_that_ever_was_said(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path / "some.jsonl", {}, tmp_path)
    for number in range(1, 400):
        writer.step(number, injected(b"y" * 60_000), [], 0, None, 0)
        kept = sum(len(value.data) for value, _ in writer._texts.values() if isinstance(value, EchoRequest))
        assert 0 < kept <= MOST_KEPT
    writer.close()


def test_a_writer_of_what_is_new_each_time_keeps_few_texts(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path / "some.jsonl", {}, tmp_path, texts=FEW_TEXTS_KEPT)
    kept = []
    for number in range(1, 2 * FEW_TEXTS_KEPT):
        writer.step(number, injected(b"%d" % number), [], 0, None, 0)
        kept.append(len(writer._texts))
    writer.close()
    assert 0 < max(kept) <= FEW_TEXTS_KEPT
    assert kept[-1] < max(kept), "it began anew"
    assert len(read_trace(tmp_path / "some.jsonl").lines) == len(kept)


def test_what_a_writer_writes_is_what_the_records_say(tmp_path: Path) -> None:
    drawing = topology("linear,2")
    network = build_network(
        drawing,
        hosts={"h1": host("client", to="h2", count=4)},
        controllers=StaticController(drawing),
        faults=Faults(drops=2, link_failures=1),
    )
    records: list[Record] = []
    World(network, [records.append]).run(Random(3), limit=200, faults=True)
    writer = TraceWriter(tmp_path / "some.jsonl", {}, tmp_path)
    causality = Causality()
    for number, record in enumerate(records, 1):
        writer.step(number, record, causality.causes(number, record), 0, None, 0)
    writer.close()
    again = read_trace(tmp_path / "some.jsonl").lines
    for told, line in zip(again, lines_of(records), strict=True):
        assert replace(told, at=None) == replace(line, told=())


def test_a_trace_that_is_cut_at_any_byte_is_known_for_it(tmp_path: Path) -> None:
    whole = a_trace(tmp_path / "whole.jsonl").read_bytes()
    assert not read_trace(tmp_path / "whole.jsonl").cut_short
    cut = tmp_path / "cut.jsonl"
    for end in range(len(whole)):
        cut.write_bytes(whole[:end])
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                trace = read_trace(cut)
            except PenstockError as refusal:
                assert "cut.jsonl" in str(refusal)
                continue
        assert trace.cut_short, whole[:end][-40:]
        assert [each.category for each in warned] == [TraceCutShort]
        assert "cut.jsonl was cut short" in str(warned[0].message)


def test_a_trace_that_lost_a_line_in_the_middle_is_known_for_it(tmp_path: Path) -> None:
    lines = a_trace(tmp_path / "whole.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "gap.jsonl").write_text("".join([*lines[:2], *lines[3:]]))
    assert read_trace(tmp_path / "gap.jsonl", warn=False).cut_short


def test_nothing_comes_after_the_end(tmp_path: Path) -> None:
    path = a_trace(tmp_path / "whole.jsonl")
    path.write_text(path.read_text() + '{"end": 3}\n')
    with pytest.raises(PenstockError, match=r"comes after the end: the trace is damaged"):
        read_trace(path)


def test_a_trace_of_another_version_is_refused(tmp_path: Path) -> None:
    header, *lines = a_trace(tmp_path / "whole.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "old.jsonl").write_text("".join([header.replace('"version": 2', '"version": 1', 1), *lines]))
    with pytest.raises(PenstockError, match="trace of version 1: this Penstock reads version 2"):
        read_trace(tmp_path / "old.jsonl")


def test_an_echo_of_which_only_the_first_bytes_are_written_has_its_length_again() -> None:
    whole = encode(EchoRequest(b"y" * 1000, xid=5), 4)
    kept = Line(1, "inject c0:s1", "c0", wire=whole[:ECHO_KEPT], version=4).octets
    assert kept is not None and len(kept) == len(whole) and kept[:ECHO_KEPT] == whole[:ECHO_KEPT]
    assert Line(1, "inject h1:0", "h1", wire=b"\0\2", version=0).octets is None


def test_the_header_says_of_which_engine_a_trace_is(tmp_path: Path) -> None:
    setup = ProofSetup(("NoForwardingLoops",), "penstock", False, {"h1": (b"\0\xff",)}, 0)
    path = write_trace(tmp_path / "some.jsonl", {}, tmp_path, (), None, None, home=None, **setup.header())
    proof = read_trace(path)
    assert isinstance(proof, ProofTrace) and (proof.setup, proof.engine) == (setup, "verify")
    TraceWriter(path, {}, tmp_path).close()
    run = read_trace(path)
    assert isinstance(run, FuzzTrace) and run.engine == "fuzz"
    for details, engine in (({}, "check"), ({"seed": 3}, "walk"), ({"engine": "step"}, "step")):
        trace = read_trace(write_trace(path, {}, tmp_path, (), **details))
        assert isinstance(trace, SearchTrace) and trace.engine == engine


def test_a_proof_has_no_lines_of_a_fuzzing_run(tmp_path: Path) -> None:
    setup = ProofSetup(("NoForwardingLoops",), "penstock", False, {}, 0)
    path = write_trace(tmp_path / "some.jsonl", {}, tmp_path, (), None, None, home=None, **setup.header())
    header, _end = path.read_text().splitlines()
    path.write_text(f'{header}\n{{"step": 1, "input": "fail s1", "at": 0}}\n')
    with pytest.raises(PenstockError, match=r"Line 2 of some.jsonl is of a fuzzing run .*damaged"):
        read_trace(path)


def a_trace(path: Path) -> Path:
    """Write a short trace of a search."""
    drawing = topology("single,2")
    network = build_network(
        drawing, hosts={"h1": host("ping", to="h2")}, controllers=StaticController(drawing)
    )
    world = World(network)
    records = [world.take(world.enabled()[0]) for _ in range(3)]
    return write_trace(path, {"topology": "single,2"}, path.parent, records, Verdict("P", "It broke."))
