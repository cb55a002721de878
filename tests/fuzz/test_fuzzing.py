"""A whole run: the same from the same seed, with what it found, in a folder of its own."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from bench.fuzz_speed import measure, one_run
from tests.fuzz.fuzz_lab import (
    EXAMPLES,
    Flooder,
    fuzz_trace,
    fuzzing,
    opened,
    perform,
    run,
    scenario,
    written,
)
from tests.hash_seeds import printed_under_hash_seeds

from penstock._fuzz.fuzzing import with_options
from penstock._fuzz.inputs import input_of
from penstock._fuzz.judging import Finding
from penstock._scenario.scenario import Scenario, load_scenario
from penstock._world.transition import Record
from penstock.errors import PenstockError
from penstock.openflow.messages import PacketIn

APPS = Path(__file__).parent


class Fragile(Flooder):
    """Knows no switch but those that joined in the session that it remembers."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {}

    def switch_join(self, switch: str) -> None:
        super().switch_join(switch)
        self.known[switch] = 0

    def switch_leave(self, switch: str) -> None:
        del self.known[switch]

    def packet_in(self, switch: str, message: PacketIn) -> None:
        self.known[switch] += 1
        super().packet_in(switch, message)


class Endless(Flooder):
    """Never comes back from a packet of one type."""

    def packet_in(self, switch: str, message: PacketIn) -> None:
        while message.data[12:14] == b"\x90\x01":
            pass
        super().packet_in(switch, message)


ODD = "inject h1:0 ffffffffffff0000000000019001"


@pytest.mark.parametrize("order", ["fifo", "random"])
def test_the_same_seed_gives_the_same_trace_byte_for_byte(tmp_path: Path, order: str) -> None:
    def trace(seed: int) -> bytes:
        fuzz = {"events": 300, "seed": seed, "order": order}
        return run(tmp_path, scenario(topology="linear,3", fuzz=fuzz)).trace.read_bytes()

    assert trace(1) == trace(1)
    assert trace(1).splitlines()[1:] != trace(2).splitlines()[1:]


@pytest.mark.parametrize("controller", ["native", "os-ken"])
def test_the_trace_does_not_depend_on_how_python_hashes(controller: str) -> None:
    program = f"""
import asyncio, tempfile
from hashlib import blake2b
from pathlib import Path
import sys
sys.path.insert(0, {str(APPS)!r})
from tests.fuzz.fuzz_lab import LEARNING, EXAMPLES
from penstock._fuzz.fuzzing import fuzz
from penstock._scenario.scenario import Scenario
native = {controller == "native"}
given = Scenario(
    controller=LEARNING if native else {{"apps": ["apps_monitor.py"]}},
    topology="linear,3" if native else "linear,2",
    folder=EXAMPLES if native else Path({str(APPS)!r}),
    fuzz={{"events": 250 if native else 80, "order": "random"}},
)
with tempfile.TemporaryDirectory() as folder:
    text = asyncio.run(fuzz(given, Path(folder))).trace.read_text().partition("\\n")[2]
print(len(text), blake2b(text.encode()).hexdigest())
"""
    printed = printed_under_hash_seeds(program)
    assert len(printed) == 1
    assert int(printed.pop().split()[0]) > 10_000


def test_a_run_ends_after_its_events_and_leaves_trace_and_scenario(tmp_path: Path) -> None:
    report = run(tmp_path, scenario(name="little", fuzz={"events": 40, "seed": 9}))
    assert report.folder == tmp_path / "little-9"
    assert report.outcome.inputs == 40 and report.outcome.stopped_by == "the number of events"
    trace = fuzz_trace(report.trace)
    assert len(trace.inputs) == 40 and trace.details == {"engine": "fuzz", "seed": 9}
    assert len(trace.lines) == report.outcome.internal
    assert sum(report.outcome.by_verb.values()) == 40
    for line in trace.inputs:
        assert str(input_of(line.text)) == line.text
    kept = json.loads((report.folder / "scenario.json").read_text())
    assert kept == trace.scenario and kept["fuzz"] == {"events": 40, "seed": 9}
    again = run(tmp_path, scenario(name="little", fuzz={"events": 40, "seed": 9}))
    assert again.folder == tmp_path / "little-9.2"
    assert again.trace.read_bytes() == report.trace.read_bytes()


def test_a_run_stops_when_its_time_is_over_or_somebody_says_so(tmp_path: Path) -> None:
    report = run(tmp_path, scenario(fuzz={"events": None, "seconds": 0.2}))
    assert report.outcome.stopped_by == "the time limit" and report.outcome.inputs > 0
    stage = opened(tmp_path, scenario(fuzz={"events": 50}))
    going = fuzzing(stage)

    def stop_at_ten(run: Any) -> None:
        run.stopping = run.outcome.inputs == 10

    asyncio.run(going.run(stop_at_ten))
    assert (going.outcome.inputs, going.outcome.stopped_by) == (10, "the user")
    asyncio.run(going.perform(input_of("check")))
    asyncio.run(going.run())
    assert (going.outcome.inputs, going.outcome.stopped_by) == (50, "the number of events")


def test_an_early_packet_crashes_an_app_that_assumes_the_switch_is_known(tmp_path: Path) -> None:
    report = run(tmp_path, scenario(Fragile(), topology="linear,3", fuzz={"events": 2000, "seed": 1}))
    crashes = [found for found in report.outcome.violations if found.finding.invariant == "ControllerCrash"]
    assert any("KeyError" in found.finding.message for found in crashes)
    line = next(line for line in fuzz_trace(report.trace).findings if "KeyError" in line.message)
    assert line.verdict == "violated" and line.number == crashes[0].step and line.persistent


def test_each_way_to_crash_is_told_once_and_the_program_goes_on(tmp_path: Path) -> None:
    stage = opened(tmp_path, Scenario({"apps": ["apps_monitor.py"]}, topology="linear,2", folder=APPS))
    going = fuzzing(stage)
    for text in (ODD, "wait 10", ODD, "wait 10", "send h1 to h2 ping 1", "wait 10"):
        asyncio.run(going.perform(input_of(text)))
    assert [found.finding.invariant for found in going.outcome.findings] == ["ControllerCrash"]
    assert "nobody has told me" in going.outcome.findings[0].finding.message
    assert any("received h1" in event for line in written(stage).lines for event in line.events)


@pytest.mark.parametrize(("after", "stopped", "restarted"), [("stop", True, False), ("restart", False, True)])
def test_what_follows_on_a_crash_is_the_scenarios_choice(
    tmp_path: Path, after: str, stopped: bool, restarted: bool
) -> None:
    given = Scenario({"apps": ["apps_monitor.py"]}, folder=APPS, fuzz={"after_crash": after})
    stage = opened(tmp_path, given)
    going = fuzzing(stage)
    for text in (ODD, "wait 10"):
        asyncio.run(going.perform(input_of(text)))
    assert (going.outcome.stopped_by == "a crash of the controller") is stopped
    assert ("restart c0" in [line.text for line in written(stage).inputs]) is restarted


def test_a_handler_that_hangs_is_a_finding_and_the_controller_is_restarted(tmp_path: Path) -> None:
    stage = opened(tmp_path, scenario(Endless(), topology="single,2"))
    going = fuzzing(stage)
    for text in (ODD, "wait 10", "send h1 to h2 ping 1", "wait 10"):
        asyncio.run(going.perform(input_of(text)))
    assert [found.finding.invariant for found in going.outcome.findings] == ["ControllerHang"]
    texts = [line.text for line in written(stage).inputs]
    assert texts[texts.index("crash c0") :][:2] == ["crash c0", "restart c0"]
    assert any("received h2" in event for line in written(stage).lines for event in line.events)


def test_apps_that_poll_do_so_as_virtual_time_passes(tmp_path: Path) -> None:
    stage = opened(tmp_path, Scenario({"apps": ["apps_monitor.py"]}, topology="linear,2", folder=APPS))
    perform(stage, "wait 10000")
    asked = [line for line in written(stage).lines if line.message and "StatsRequest" in line.message]
    answered = [line for line in written(stage).lines if line.message and "StatsReply" in line.message]
    assert 18 <= len(asked) <= 22 and len(answered) >= 18
    assert len({line.at for line in asked}) >= 9


class EveryTenth:
    """An invariant that is violated by every tenth record, and told when it is looked at."""

    is_undecided = False

    def __init__(self) -> None:
        self.records = 0
        self.looks: list[tuple[int, bool]] = []

    def observe(self, record: Record) -> None:
        self.records += 1

    def check(self, now: int, *, at_rest: bool = False) -> list[Finding]:
        self.looks.append((now, at_rest))
        return [Finding("EveryTenth", "ten more")] if self.records and self.records % 10 == 0 else []

    def remarks(self) -> tuple[str, ...]:
        return ()


def test_invariants_see_every_record_and_are_asked_at_checks_and_every_so_often(tmp_path: Path) -> None:
    given = scenario(fuzz={"check_every": 3})
    stage = opened(tmp_path, given)
    mine = EveryTenth()
    going = fuzzing(stage, invariants=[mine])
    for text in ("wait 1", "wait 1", "wait 1", "wait 1", "check"):
        asyncio.run(going.perform(input_of(text)))
    assert [now for now, _ in mine.looks] == [3, 4]
    assert [at_rest for _, at_rest in mine.looks] == [False, True]
    asyncio.run(going.perform(input_of("send h1 to h2 ping 1")))
    transitions = [line.transition for line in written(stage).lines]
    assert mine.records >= len(transitions[transitions.index("inject fabric:h1") :]) > 1


def test_properties_of_the_scenario_are_watched_along_the_run(tmp_path: Path) -> None:
    given = scenario(
        Flooder(),
        topology="ring,3",
        properties=["NoForwardingLoops"],
        fuzz={"events": 60, "profile": "traffic"},
    )
    report = run(tmp_path, given)
    [found] = report.outcome.violations
    assert found.finding.invariant == "NoForwardingLoops"
    calm = run(tmp_path, with_options(given, invariants=["NoForwardingLoops"], events=5))
    assert calm.outcome.inputs == 5


def test_a_property_that_holds_is_no_finding(tmp_path: Path) -> None:
    given = scenario(
        topology="linear,2", properties=["NoForwardingLoops"], fuzz={"events": 60, "profile": "traffic"}
    )
    assert not run(tmp_path, given).outcome.violations


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PenstockError, match="cannot be written"):
        run(tmp_path / "file", scenario(fuzz={"events": 1}))


def test_the_benchmark_tells_how_much_was_done_and_that_it_can_be_repeated() -> None:
    row = measure("linear,3", "everything", 60, seed=2)
    assert row["inputs"] == 60 and row["internal"] > 60 and row["repeatable"]
    assert row["digest"] == one_run("linear,3", "everything", 60, 2)["digest"]


def test_a_scenario_file_is_fuzzed_as_it_says(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(
        f"""
        topology = "linear,2"
        [controller]
        native = "{EXAMPLES / "controllers" / "learning_switch.py"}:LearningSwitch"
        [fuzz]
        events = 10
        profile = "links"
        rates = {{link_failure = 0.5}}
        """
    )
    report = run(tmp_path, load_scenario(tmp_path / "mine.toml"))
    assert report.folder.name == "mine-1" and report.outcome.inputs == 10
