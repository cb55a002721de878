"""ShiViz's log says of any two steps what the trace says: which came first, or that neither did."""

import json
import re
from pathlib import Path

import pytest
from tests.report.export.export_lab import exported, fuzzed, proved, rewritten, searched

from penstock._report.export.shiviz import PARSER
from penstock._trace.trace import InputLine, Trace, read_trace, trace_file

Clock = dict[str, int]
Event = tuple[str, Clock, str]


def parsed(log: str) -> list[Event]:
    """Read a log as ShiViz documents it: an expression, a delimiter, and events that cover the rest."""
    expression, delimiter, rest = log.split("\n", 2)
    assert delimiter == ""
    # JavaScript writes named groups without the P.
    pattern = re.compile(re.sub(r"\(\?<(?=\w)", "(?P<", expression))
    assert set(pattern.groupindex) == {"host", "clock", "event"}
    events: list[Event] = []
    at = 0
    while at < len(rest):
        found = pattern.match(rest, at)
        assert found is not None, f"nothing can be read at {rest[at : at + 80]!r}"
        clock = json.loads(found["clock"])
        assert all(isinstance(time, int) and time > 0 for time in clock.values())
        events.append((found["host"], clock, found["event"]))
        assert rest[found.end()] == "\n"
        at = found.end() + 1
    check_clocks(events)
    return events


def check_clocks(events: list[Event]) -> None:
    """Hold a log against the rules of vector clocks that ShiViz refuses a log by."""
    before: dict[str, Clock] = {}
    hosts = {host for host, _, _ in events}
    for host, clock, text in events:
        last = before.get(host, {})
        assert set(clock) <= hosts, text
        assert clock[host] == last.get(host, 0) + 1, text
        assert all(clock.get(other, 0) >= time for other, time in last.items()), text
        for other, time in clock.items():
            if other != host:
                assert before[other][other] >= time, f"{text} is after something that did not happen yet"
        before[host] = clock


def is_before(one: Event, other: Event) -> bool:
    host, clock, _ = one
    return one is not other and other[1].get(host, 0) >= clock[host]


def caused(trace: Trace) -> dict[int, set[int]]:
    """Return all the steps that each step was caused by, directly or not."""
    inputs = [line.number for line in trace.items if isinstance(line, InputLine)]
    found: dict[int, set[int]] = {number: set() for number in inputs}
    for place, number in enumerate(inputs):
        found[number] = set(inputs[:place])
    for line in trace.lines:
        found[line.number] = set(line.causes).union(*(found[cause] for cause in line.causes))
    return found


@pytest.mark.parametrize("make", [searched, proved, fuzzed])
def test_what_came_before_what_is_what_the_causes_say(
    make: object, tmp_path: Path, ryu_sources: Path
) -> None:
    assert callable(make) and ryu_sources.is_dir()
    path = make(tmp_path)
    trace = read_trace(trace_file(path))
    log, _ = exported("shiviz", path, "-o", "-")
    events = {}
    for event in parsed(log.decode()):
        number = re.match(r"(\d+)\. ", event[2])
        if number is not None:
            events[int(number[1])] = event
    causes = caused(trace)
    assert set(causes) <= set(events)
    for later in causes:
        told = {earlier for earlier in causes if is_before(events[earlier], events[later])}
        assert told == causes[later]


def test_a_log_ends_with_the_verdict(tmp_path: Path) -> None:
    log, _ = exported("shiviz", searched(tmp_path), "-o", "-")
    host, _, text = parsed(log.decode())[-1]
    assert host == "verdicts" and text.startswith("StrictDirectPaths violated: s1 handed h1#2 ")


def test_names_that_mean_something_to_the_format_are_told_apart_and_tamed(tmp_path: Path) -> None:
    names = {"s1": 'a {"b": 1}\nc', "h1": "a _b___1_\nc", "h2": "fuzzer", "c0": "verdicts"}

    def change(line: dict[str, object]) -> None:
        if "node" in line:
            line["node"] = names[str(line["node"])]
            line["told"] = ['x {"y": 1}\nz {"q": 9}\r\u2028']

    hostile = rewritten(searched(tmp_path), tmp_path / "hostile.jsonl", change)
    log, _ = exported("shiviz", hostile, "-o", "-")
    events = parsed(log.decode())
    assert len({host for host, _, _ in events}) == 5
    assert len(events) == len(read_trace(hostile).lines) + 1


def test_causes_that_are_nowhere_are_passed_over(tmp_path: Path) -> None:
    def change(line: dict[str, object]) -> None:
        if "node" in line:
            line["causes"] = [10**30, -5, 999]

    log, _ = exported("shiviz", rewritten(searched(tmp_path), tmp_path / "odd.jsonl", change), "-o", "-")
    assert len(parsed(log.decode())) == 14


def test_the_expression_is_the_documented_one_for_a_host_a_clock_and_an_event() -> None:
    assert PARSER == r"(?<host>\S+) (?<clock>\{.*\})\n(?<event>.*)"
