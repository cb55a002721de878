"""No controller makes memory or disk grow without end, and a full disk is one sentence with nothing left."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.disk_lab import file_limit
from tests.fuzz.fuzz_lab import run, scenario
from tests.fuzz.live_lab import live_scenario, on_stage, scripted
from tests.tcp_lab import nothing_left, until

from penstock._fuzz.building import build_setting
from penstock._fuzz.fuzzing import fuzz
from penstock._fuzz.inputs import input_of
from penstock._fuzz.live_harness import LiveHarness
from penstock._scenario.scenario import Scenario
from penstock._trace.trace import ECHO_KEPT
from penstock._world.component import Endpoint
from penstock._world.transition import Record
from penstock.errors import PenstockError

ANSWER_S = 5.0
"""How soon an answer is due; long enough for a busy machine to take in all that is said to it."""
FULL = r"The trace cannot be written to .*trace\.jsonl: File too large"


def one_switch(folder: Path, *words: str, **more: Any) -> Scenario:
    return live_scenario(folder, scripted(*words), topology="single,2", **more)


def test_a_controller_that_talks_and_never_reads_is_hung_up_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock._controllers.tcp.session.MOST_UNREAD", 1_000_000)
    trace = tmp_path / "trace.jsonl"

    async def act(stage: LiveHarness, records: list[Record]) -> None:
        await stage.perform(input_of("fail h1-s1"))
        told = "s1-c0: the controller does not read what it is sent"
        await until(lambda: told in trace.read_text(), "the switch hung up")
        await until(lambda: stage.possible().sessions_up() == ["s1-c0"], "the switch called again")

    with nothing_left():
        on_stage(one_switch(tmp_path, "pours"), tmp_path, act)
    wires = [line["wire"] for line in map(json.loads, trace.read_text().splitlines()) if "wire" in line]
    assert max(map(len, wires)) == 2 * ECHO_KEPT


def test_a_controller_that_says_too_much_has_to_wait_and_loses_nothing(tmp_path: Path) -> None:
    count, there = 3000, Endpoint("c0", "s1")

    async def act(stage: LiveHarness, records: list[Record]) -> None:
        loop, session = asyncio.get_running_loop(), stage._lines["s1-c0"].session
        assert session is not None
        await stage.perform(input_of("hold c0:s1"))
        await stage.perform(input_of("fail h1-s1"))
        await until(lambda: session.is_paused, "the controller was not listened to")
        await stage.perform(input_of("check"))
        began = loop.time()
        await until(lambda: loop.time() > began + ANSWER_S + 0.5, "an answer would have been overdue")
        # One read from a socket may bring a quarter of a million bytes.
        assert session.is_paused and 500 < len(stage.world.queue(there)) < 800
        await stage.perform(input_of("release c0:s1"))
        await until(lambda: echoed(records) == count, "all was heard")
        assert not session.is_paused

    def echoed(records: list[Record]) -> int:
        return sum(
            record.transition.verb == "deliver"
            and record.node == "s1"
            and str(record.message) == "EchoRequest"
            for record in records
        )

    with nothing_left():
        stage = on_stage(one_switch(tmp_path, f"chatters={count}"), tmp_path, act, answer_s=ANSWER_S)
    assert stage.unanswered == []


@pytest.mark.parametrize("where", ["in process", "outside"])
def test_a_full_disk_is_one_sentence_and_leaves_nothing_running(tmp_path: Path, where: str) -> None:
    options = {"events": 3000, "rates": {"migration": 0}}
    given = scenario(fuzz=options) if where == "in process" else one_switch(tmp_path, fuzz=options)
    with nothing_left(), file_limit(20_000):
        report = run(tmp_path / "runs", given)
    assert re.match(FULL, report.outcome.unwritten)
    assert report.outcome.stopped_by == "a trace that cannot be written"
    (trace,) = (tmp_path / "runs").glob("*/trace.jsonl")
    assert trace.stat().st_size == 20_000


@pytest.mark.parametrize("where", ["in process", "outside"])
def test_a_run_ends_when_its_trace_is_as_long_as_it_may_be(tmp_path: Path, where: str) -> None:
    options = {"events": 5000, "trace_mb": 1, "rates": {"migration": 0}}
    outside = one_switch(tmp_path, "chatters=3000", fuzz={**options, "profile": "links"})
    report = asyncio.run(
        fuzz(scenario(fuzz=options) if where == "in process" else outside, tmp_path / "runs")
    )
    assert report.outcome.stopped_by == "the size of the trace"
    assert 0 < report.outcome.inputs < 5000
    assert 1_000_000 <= report.trace.stat().st_size < 4_000_000


@pytest.mark.parametrize(
    ("table", "hint"),
    [
        ({"trace_mb": 0}, r"invalid trace_mb = 0 in \[fuzz\]: must be an integer of at least 1"),
        ({"invariants": 3}, r"invalid invariants = 3 in \[fuzz\]: must be a list of"),
    ],
)
def test_what_makes_no_sense_is_refused_with_what_would(table: dict[str, Any], hint: str) -> None:
    with pytest.raises(PenstockError, match=hint):
        build_setting(scenario(fuzz=table))


def test_who_names_no_controller_is_told_of_all_three_ways() -> None:
    with pytest.raises(PenstockError, match=r"apps = .*, native = .* or, for penstock fuzz, cmd = "):
        build_setting(Scenario(controller={}))
