"""A fuzzing run told from its trace: readable, whole or only what led to what was found."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st
from tests.fuzz.fuzz_lab import fuzz_trace

from penstock._cli.main import commands
from penstock._fuzz.fuzzing import fuzz, with_options
from penstock._fuzz.invariants import invariants_of
from penstock._report.run_story import Choice, tell_run
from penstock._scenario.scenario import load_scenario
from penstock._story.story import sentences
from penstock._trace.causal_slice import what_led_to
from penstock._trace.retelling import record_of
from penstock._trace.trace import (
    FindingLine,
    FuzzTrace,
    InputLine,
    Line,
    LogLine,
    first_lasting,
)
from penstock._world.transition import Record
from penstock.errors import PenstockError

EXAMPLES = Path(__file__).parents[2] / "examples" / "fuzz"


def told(line: Line) -> list[str]:
    (found,) = sentences([record_of(line)])
    return list(found)


# Single steps.


@pytest.mark.parametrize(
    ("line", "story"),
    [
        (Line(1, "deliver h1:0", "s1", "h1#1 [ARP]"), ["s1 gets h1#1 [ARP], from h1."]),
        (Line(1, "deliver s1:2", "h2", "[ARP]", events=("received h2 [ARP]",)), ["h2 receives [ARP]."]),
        (
            Line(1, "deliver s1:c0", "c0", "PacketIn(port=1, no_match)", sends=("c0:s1 Hello",)),
            ["c0 handles s1's PacketIn(port=1, no_match).", "sends to s1: Hello"],
        ),
        (
            Line(1, "deliver h1:0", "s1", "[ARP]", events=("matched  1 0 priority=0 any -> output:2",)),
            ["s1 gets [ARP], from h1.", "rule: priority=0 any -> output:2"],
        ),
        (
            Line(1, "deliver c0:s1", "s1", "FlowMod", events=("rule-added 3 any -> drop",)),
            ["s1 handles c0's FlowMod.", "new rule in table 3: any -> drop"],
        ),
        (
            Line(1, "deliver fabric:s1", "s1", "EntryForgotten(1)", events=("rule-removed 0 any -> x gone",)),
            [
                "s1 silently loses its flow entry number 1.",
                "rule gone from table 0 (gone): any -> x",
            ],
        ),
        (
            Line(1, "deliver fabric:s1", "s1", "Carrier(port 2 down)"),
            ["s1 notices that its link at port 2 is down."],
        ),
        (
            Line(1, "deliver fabric:s1", "s1", "Carrier(port c0 up)"),
            ["s1 notices that its link at port c0 is up."],
        ),
        (Line(1, "deliver fabric:s1", "s1", "Power(off)"), ["s1 is off."]),
        (Line(1, "fabric fail s1-s2", "fabric"), ["The link s1-s2 fails."]),
        (
            Line(1, "inject c0:s1", "c0", sends=("c0:s1 BarrierRequest",)),
            ["c0 sends to s1: BarrierRequest."],
        ),
        (
            Line(1, "drop s1:2", "fabric", lost=("s1:2 h1#1 [ARP]",)),
            ["The link out of s1:2 loses h1#1 [ARP]."],
        ),
        (
            Line(1, "deliver s2:c0", "c0", "X", events=("crashed c0 KeyError: 2 Traceback (most\n  line",)),
            ["c0 handles s2's X.", "the handler of c0 raised KeyError: 2\n     Traceback (most\n       line"],
        ),
        (
            Line(1, "time s1:2500", "s1", events=("log c0 it is late",)),
            ["Time passes: it is 2.5 s at s1.", "log: it is late"],
        ),
    ],
)
def test_a_line_is_told_as_the_step_was(line: Line, story: list[str]) -> None:
    assert told(line) == story


ODD = """
deliver inject time drop s1 s1:2 fabric:s1 s1: Carrier(port Carrier(x) Power() down) TableLimit(9 [A] timer
TableLimit(99999999999999999999) crashed hung matched rule-removed log move to fail ->
"""
WORDS = st.lists(st.sampled_from(ODD.split()) | st.text(max_size=4), max_size=6).map(" ".join)


@given(WORDS, WORDS, st.none() | WORDS, st.lists(WORDS, max_size=2), st.lists(WORDS, max_size=2))
def test_whatever_a_strangers_trace_says_can_be_told(
    transition: str, node: str, message: str | None, sends: list[str], events: list[str]
) -> None:
    line = Line(1, transition, node, message, tuple(sends), tuple(events), tuple(sends))
    assert isinstance(record_of(line), Record) and told(line)


# A whole run.


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the trace of a run in which a controller fails."""
    scenario = load_scenario(EXAMPLES / "premature.toml")
    fuzzed = with_options(scenario, seed=1, events=1000, after_crash="stop")
    report = asyncio.run(fuzz(fuzzed, tmp_path_factory.mktemp("runs"), invariants=invariants_of))
    return report.trace


LITTLE = FuzzTrace(
    scenario={},
    folder=".",
    lines=(
        Line(3, "fabric fail s1-s2", "fabric", causes=(2,), at=5),
        Line(5, "deliver h1:0", "s1", "h1#1 [ARP]", at=6),
        Line(6, "deliver s1:2", "s2", "h1#1 [ARP]", at=6),
    ),
    inputs=(InputLine(2, "fail s1-s2", 5),),
    logs=(LogLine(4, "c0", "something is amiss", 6),),
    findings=(
        FindingLine(7, "violated", "Loops", "s1 loops.", 1500),
        FindingLine(8, "healed", "Loops", "s1 loops.", 1600),
    ),
)


def test_all_kinds_of_lines_are_told_in_their_order() -> None:
    assert list(tell_run(LITTLE, Choice())) == [
        "  2. [0.005 s] Input: fail s1-s2",
        "  3. The link s1-s2 fails.",
        "  4. c0 logs: something is amiss",
        "  5. s1 gets h1#1 [ARP], from h1.",
        "  6. s2 gets h1#1, from s1.",
        "  ✗  Loops is violated (not yet persistent) at 1.5 s: s1 loops.",
        "  ✓  Loops holds again at 1.6 s; it was: s1 loops.",
    ]


def test_a_part_can_be_chosen_by_the_numbers_of_lines() -> None:
    assert list(tell_run(LITTLE, Choice(first=4, last=5))) == [
        "  4. c0 logs: something is amiss",
        "  5. s1 gets h1#1 [ARP], from h1.",
    ]
    with pytest.raises(PenstockError, match="invalid range 5–4"):
        Choice(first=5, last=4)


def test_what_led_to_a_crash_is_few_of_many_lines_and_contains_the_input(run: Path) -> None:
    trace = fuzz_trace(run)
    finding = first_lasting(trace)
    assert finding is not None and finding.invariant == "ControllerCrash"
    numbers = what_led_to(trace, finding)
    assert 5 < len(numbers) < 100 < len(trace.lines)
    story = "\n".join(tell_run(trace, Choice()))
    assert f"{len(numbers) + 1} of " in story
    assert "] Input: " in story and "raised KeyError" in story
    assert (
        story.index("] Input: ") < story.index("raised KeyError") < story.index("ControllerCrash is violated")
    )


def test_every_line_told_was_brought_about_by_one_told_before_or_by_an_input(run: Path) -> None:
    trace = fuzz_trace(run)
    finding = first_lasting(trace)
    assert finding is not None
    numbers = what_led_to(trace, finding)
    known = {line.number for line in trace.lines} | {line.number for line in trace.inputs}
    assert numbers <= known
    delivered = [line for line in trace.lines if line.number in numbers and line.message is not None]
    for line in delivered:
        assert numbers & set(line.causes), line


def test_what_led_to_a_state_is_what_is_still_so() -> None:
    lines = (
        Line(1, "deliver c0:s1", "s1", "A", events=("rule-added 0 priority=1 any -> output:1",)),
        Line(2, "deliver c0:s1", "s1", "B", events=("rule-added 0 priority=2 any -> output:1",)),
        Line(3, "deliver c0:s1", "s1", "C", events=("rule-removed 0 priority=1 any -> output:1 delete",)),
        Line(4, "deliver c0:s2", "s2", "D", events=("rule-added 0 priority=2 any -> output:1",)),
        Line(5, "fabric fail h1-s1", "fabric"),
        Line(6, "fabric fail s1-s2", "fabric"),
        Line(7, "fabric recover s1-s2", "fabric", causes=(5, 6)),
        Line(8, "fabric move h1 to s2:3", "fabric"),
    )
    finding = FindingLine(9, "violated", "Holes", "h1 does not reach h3: lost at s1.", 0, persistent=True)
    trace = replace(LITTLE, lines=lines, inputs=(), logs=(), findings=(finding,))
    assert what_led_to(trace, finding) == {2, 5, 8}


# The command.


def show(*arguments: str) -> Result:
    return CliRunner().invoke(commands, ["show", *arguments], standalone_mode=False)


def test_show_tells_a_run_by_its_folder_or_its_trace(run: Path) -> None:
    short = show(str(run.parent)).output
    assert short == show(str(run)).output
    assert short.startswith("What led to the first persistent violation, ")
    assert short.endswith("--whole shows all lines, --from and --to some of them.\n")
    whole = show(str(run), "--whole").output
    assert len(whole.splitlines()) > 10 * len(short.splitlines())
    assert whole.startswith("  1. s1 connects to controller c0.\n")
    part = show(str(run), "--from", "3", "--to", "4").output
    assert [line[:4] for line in part.splitlines() if line[3] == "."] == ["  3.", "  4."]


def test_show_refuses_a_range_that_is_none(run: Path) -> None:
    with pytest.raises(PenstockError, match="invalid range 9–2"):
        raise show(str(run), "--from", "9", "--to", "2").exception or AssertionError


def test_show_spells_out_what_could_steer_a_terminal(tmp_path: Path) -> None:
    header = {"format": "penstock-trace", "version": 2, "scenario": {}, "folder": "."}
    line = {"step": 1, "input": "fail \x1b[2Js1", "at": 0}
    file = tmp_path / "trace.jsonl"
    file.write_text("".join(json.dumps(each) + "\n" for each in (header, line, {"end": 2})))
    assert "\x1b" not in show(str(file)).output and r"\x1b[2Js1" in show(str(file)).output
