"""Known bugs that fuzzing must find from its default settings, each by its scenario's seed (1 unless given).

The bugs of our own apps must be gone when the apps are told to do without them.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from tests.required_tools import find_tool

from penstock._controllers.tcp import ports
from penstock._fuzz.fuzzing import Found, Fuzzing, Report, fuzz, with_options
from penstock._fuzz.invariants import invariants_of
from penstock._fuzz.summary import lasting
from penstock._scenario.scenario import Scenario, load_scenario

EXAMPLES = Path(__file__).parents[2] / "examples" / "fuzz"
SECONDS = 60


async def _until(fuzzing: Fuzzing, *, invariant: str) -> None:
    """Go on until an invariant is found to be broken for good, or to the end."""

    def stop_when_found(fuzzing: Fuzzing) -> None:
        found = [one.finding for one in fuzzing.outcome.violations]
        fuzzing.stopping = any(one.persistent and one.invariant == invariant for one in found)

    await fuzzing.run(stop_when_found)


def fuzzed(scenario: Scenario, invariant: str, folder: Path) -> tuple[Report, list[Found]]:
    """Return a run that looks for one bug, and what it found of it."""
    report = asyncio.run(
        fuzz(scenario, folder, invariants=invariants_of, conduct=partial(_until, invariant=invariant))
    )
    return report, [found for found in lasting(report) if found.finding.invariant == invariant]


def example(name: str, **options: Any) -> Scenario:
    """Return one of the examples, its app with options."""
    scenario = load_scenario(EXAMPLES / f"{name}.toml")
    assert isinstance(scenario.controller, dict)
    controller = {**scenario.controller, **({"options": options} if options else {})}
    return replace(scenario, controller=controller)


def test_a_host_that_moved_is_not_reached_by_those_who_knew_it(ryu_sources: Path, tmp_path: Path) -> None:
    report, (first, *_) = fuzzed(example("host_moves"), "NoBlackHoles", tmp_path)
    assert "does not reach h2" in first.finding.message
    assert "is lost at s2: port 1 leads nowhere" in first.finding.message
    assert first.inputs <= 200 and report.outcome.seconds < SECONDS
    assert report.outcome.by_verb["move"] >= 1


def test_a_packet_before_its_time_makes_an_app_fail(tmp_path: Path) -> None:
    report, (first, *_) = fuzzed(example("premature"), "ControllerCrash", tmp_path)
    assert "c0 raised KeyError" in first.finding.message
    assert "while it handled PacketIn" in first.finding.message
    assert first.inputs <= 2000 and report.outcome.seconds < SECONDS


def test_an_app_that_waits_for_the_answer_does_not_fail(tmp_path: Path) -> None:
    mended = with_options(example("premature", patient=True), events=2000)
    report, found = fuzzed(mended, "ControllerCrash", tmp_path)
    assert found == [] and report.outcome.inputs >= 2000


def test_a_table_that_is_full_goes_unnoticed(tmp_path: Path) -> None:
    report, (first, *_) = fuzzed(example("table_overflow"), "TablesAsOrdered", tmp_path)
    assert "was sent the rule priority=10" in first.finding.message
    assert first.finding.message.endswith("for table 0, and does not have it.")
    assert first.inputs <= 500 and report.outcome.seconds < SECONDS
    assert lasting(report)[0] == first, "the command would have stopped at something else"


def test_an_app_that_reads_errors_has_the_rules_that_it_believes_in(tmp_path: Path) -> None:
    report, found = fuzzed(example("table_overflow", reads_errors=True), "TablesAsOrdered", tmp_path)
    assert found == [] and report.outcome.inputs >= 1000
    refusals = report.trace.read_text().count("refused flow-table-full FlowMod")
    assert refusals > 0, "no table was ever full, so nothing was tried"


def test_frames_go_round_a_ring_for_ever_under_a_controller_in_c(tmp_path: Path) -> None:
    find_tool("ovs-testcontroller")
    ring = load_scenario(EXAMPLES / "ring_loop.toml")
    assert isinstance(ring.controller, dict)
    ring = replace(ring, controller={**ring.controller, "port": ports.free_port()})
    # What goes round never comes to rest, so there is nothing to wait for in the end.
    report, (first, *_) = fuzzed(with_options(ring, seed=5, settle_ms=500), "NoForwardingLoops", tmp_path)
    assert "goes round for ever" in first.finding.message
    assert {"s1", "s2", "s3"} <= {word.partition(":")[0] for word in first.finding.message.split()}
    assert report.outcome.seconds < SECONDS
