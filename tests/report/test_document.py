"""The document of a run has all that the page needs, and tells nothing of the machine that it was made on."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.report.report_lab import EXAMPLES, states

from penstock._check.check import check
from penstock._report.document import report_on
from penstock._scenario.options import options_of
from penstock._scenario.scenario import load_scenario
from penstock._trace.consent import consent_given
from penstock._trace.trace import read_header, read_trace, trace_file
from penstock._verify.proof import prove

KINDS = {
    *("host", "switch", "controller", "fabric", "input", "log", "fault", "violated", "healed", "time"),
}
STEP_KEYS = {
    *("n", "kind", "lane", "at", "title", "told", "packet", "message", "sends", "from", "causes", "events"),
    *("lost", "relevant", "changes"),
}
KEYS = {
    *("format", "version", "title", "engine", "source", "penstock", "verdict", "cut_short", "remarks"),
    *("topology", "lanes", "strings", "steps", "start", "states", "states_until", "loop", "story"),
    *("minimised", "coverage", "conclusion", "summary", "frames", "live"),
}


def document(path: Path, *, run: bool = True, states: bool = True) -> dict[str, Any]:
    consent = consent_given(read_header(trace_file(path))) if run else None
    found: dict[str, Any] = json.loads(report_on(path, consent, states=states).as_text())
    return found


@pytest.mark.parametrize("kind", ["search", "run", "live_run", "proof"])
@pytest.mark.parametrize("taken_again", [True, False])
def test_a_document_keeps_to_its_format(kind: str, taken_again: bool, request: pytest.FixtureRequest) -> None:
    path = request.getfixturevalue(kind)
    found = document(path, run=taken_again)
    assert set(found) == KEYS
    assert (found["format"], found["version"]) == ("penstock-report", 1)
    texts, lanes, steps = len(found["strings"]), len(found["lanes"]), found["steps"]
    numbers = [step["n"] for step in steps]
    trace = read_trace(trace_file(path))
    assert numbers == sorted(line.number for line in trace.items)
    earlier: set[int] = set()
    for step in steps:
        assert set(step) == STEP_KEYS and step["kind"] in KINDS
        assert -1 <= step["lane"] < lanes
        named = [step["title"], *step["told"], *step["events"], *step["lost"]]
        named += [text for _, text in step["sends"]]
        named += [text for text in (step["packet"], step["message"]) if text is not None]
        for component, section, removed, added in step["changes"]:
            named += [component, section, *removed, *added]
        assert all(type(text) is int and 0 <= text < texts for text in named)
        assert all(-1 <= lane < lanes for lane, _ in step["sends"])
        assert step["from"] is None or step["from"] in earlier
        earlier.add(step["n"])
    assert found["states"] is (taken_again or kind != "proof") and found["states_until"] is None
    assert len(list(states(found))) == len(steps) + 1
    places = [(node["x"], node["y"]) for node in found["topology"]["nodes"]]
    assert all(0 <= x <= 1 and 0 <= y <= 1 for x, y in places)
    assert len(set(places)) == len(places)


@pytest.mark.parametrize("kind", ["search", "run", "live_run", "proof"])
def test_no_place_of_this_machine_is_told(kind: str, request: pytest.FixtureRequest) -> None:
    path = request.getfixturevalue(kind)
    text = report_on(path).as_text()
    for place in (str(path.parent), str(EXAMPLES.parent), str(Path.home())):
        assert place not in text


def test_a_search_is_shown_from_its_start_to_its_violation(search: Path) -> None:
    found = document(search)
    assert found["engine"] == "check" and found["source"] == "bug_01-1.jsonl"
    assert found["title"] == "bug_01: NoBlackHolesMobile is violated"
    assert found["verdict"]["property"] == "NoBlackHolesMobile" and found["verdict"]["step"] == 20
    assert found["lanes"] == ["h1", "h2", "s1", "fabric", "c0"]
    assert all(step["relevant"] for step in found["steps"])
    assert found["strings"][found["story"][0]] == "  1. h2 sends h2#1 [UDP 10.0.0.2:7 > 10.0.0.1:7 1 byte]."
    assert found["coverage"]["states"] == 73
    *_, last = states(found)
    assert last["fabric", "wiring"] == ["h2 is at s1:3"]
    assert len(last["s1", "flow table 0"]) == 3


def test_a_message_leads_from_its_sender_to_its_receiver(search: Path) -> None:
    found = document(search)
    texts, lanes, steps = found["strings"], found["lanes"], {step["n"]: step for step in found["steps"]}
    asked, answered = steps[2], steps[3]
    assert [(lanes[lane], texts[text]) for lane, text in asked["sends"]] == [
        ("c0", "PacketIn(port=2, no_match)")
    ]
    assert answered["from"] == 2 and lanes[answered["lane"]] == "c0"
    assert texts[answered["packet"]] == "h2#1" and texts[answered["message"]] == "PacketIn(port=2, no_match)"
    assert texts[answered["title"]] == "Controller c0 handles s1's packet-in of step 2: h2#1."
    assert texts[answered["told"][-1]] == "sends to s1: PacketOut(h2#1 -> output:flood)"
    moved = next(step["n"] for step in found["steps"] if texts[step["title"]] == "h2 moves to s1:3.")
    later = [
        step for step in found["steps"] if step["n"] > moved and texts[step["title"]].startswith("h2 sends")
    ]
    assert [[lanes[lane] for lane, _ in step["sends"]] for step in later] == [["s1"]]


def test_of_a_fuzzing_run_what_led_to_the_violation_stands_out(run: Path) -> None:
    found = document(run)
    kinds = {step["kind"] for step in found["steps"]}
    assert kinds >= {"host", "switch", "controller", "fabric", "input", "violated"}
    telling = [step for step in found["steps"] if step["relevant"]]
    assert 0 < len(telling) < len(found["steps"])
    assert telling[-1]["n"] == found["verdict"]["step"] and telling[-1]["kind"] == "violated"
    assert found["summary"]["result"] == "violation" and "folder" not in found["summary"]
    assert all("trace" not in violation for violation in found["summary"]["violations"])
    first = found["strings"][found["story"][0]]
    assert first.startswith(f"What led to the first persistent violation, {len(telling)} of ")
    assert not any("--whole" in found["strings"][text] for text in found["story"])


def test_a_packet_without_a_name_is_followed_from_step_to_step(run: Path) -> None:
    found = document(run)
    texts = found["strings"]
    named: dict[str, list[dict[str, Any]]] = {}
    for step in found["steps"]:
        if step["packet"] is not None:
            named.setdefault(texts[step["packet"]], []).append(step)
    longest = max(named.values(), key=len)
    name = texts[longest[0]["packet"]]
    host, _, number = name.partition("@")
    assert host in found["lanes"] and len(longest) > 5
    assert {step["kind"] for step in longest} >= {"switch", "controller"}
    # One that is an answer was first sent in a step that is about the question.
    senders = {int(number), *(step["n"] for step in longest)}
    assert all(step["from"] in senders or step["n"] == int(number) for step in longest)


def test_a_minimised_run_tells_what_was_left_out(run: Path) -> None:
    found = document(run)
    small = document(run / "minimal")
    part = found["minimised"]
    assert part["before"]["inputs"] == len(part["inputs_before"]) == 35
    assert part["after"]["inputs"] == len(part["inputs_after"]) == 2
    assert part["after"]["steps"] < part["before"]["steps"]
    assert part["progress"][0][1] > part["progress"][-1][1] == 2
    assert part["progress"][-1][0] == part["replays"] and part["seconds"] > 0
    assert {key: small["minimised"][key] for key in ("before", "after", "replays")} == {
        key: part[key] for key in ("before", "after", "replays")
    }
    assert len(small["steps"]) < len(found["steps"])
    assert small["verdict"]["property"] == found["verdict"]["property"]


def test_a_run_that_goes_on_for_ever_tells_what_repeats(proof: Path) -> None:
    found = document(proof)
    assert found["engine"] == "verify" and 0 < found["loop"] <= len(found["steps"])
    told = [found["strings"][text] for text in found["story"]]
    assert "and then again and again:" in told
    assert found["coverage"]["result"] == "violated"


def test_without_running_the_network_is_drawn_from_what_is_written(search: Path) -> None:
    ran, read = document(search), document(search, run=False, states=False)
    assert read["remarks"] == ["States are left out, as --no-states asks."]
    assert {node["name"]: node["kind"] for node in read["topology"]["nodes"]} == {
        node["name"]: node["kind"] for node in ran["topology"]["nodes"]
    }
    without = [{**step, "changes": []} for step in ran["steps"]]
    assert [texts_of(ran, step) for step in without] == [texts_of(read, step) for step in read["steps"]]


def texts_of(found: dict[str, Any], step: dict[str, Any]) -> object:
    texts = found["strings"]
    return (
        *(step["n"], step["kind"], step["lane"], step["from"], texts[step["title"]]),
        *(texts[text] for text in (*step["told"], *step["events"], *step["lost"])),
        *((lane, texts[text]) for lane, text in step["sends"]),
    )


def test_a_network_that_no_scenario_names_is_drawn_from_the_lines(search: Path, tmp_path: Path) -> None:
    lines = search.read_text().splitlines()
    header = json.loads(lines[0])
    header["scenario"]["topology"] = {"mininet": "gone.py"}
    del header["network"]
    trace = tmp_path / "drawn.jsonl"
    trace.write_text("\n".join([json.dumps(header), *lines[1:]]) + "\n")
    found = document(trace, run=False)
    kinds = {node["name"]: node["kind"] for node in found["topology"]["nodes"]}
    assert kinds == {"h1": "host", "h2": "host", "s1": "switch", "c0": "controller"}
    ends = {frozenset((link["a"], link["b"])) for link in found["topology"]["links"]}
    assert ends == {frozenset(("h1", "s1")), frozenset(("h2", "s1"))}
    assert found["topology"]["control"] == [{"switch": "s1", "controller": "c0"}]


def test_a_search_that_found_nothing_is_a_report_on_what_it_covered(tmp_path: Path) -> None:
    scenario = load_scenario(EXAMPLES / "nice" / "bug_01.toml")
    limited = {"depth": 4, "strategies": ["no-delay"]}
    report = check(replace(scenario, search=limited), output=tmp_path)
    assert report.covered is not None
    found = document(report.covered)
    assert (found["verdict"], found["steps"], found["states"]) == (None, [], False)
    coverage = found["coverage"]
    assert coverage["result"] == "bounded" and coverage["strategies"] == ["no-delay"]
    assert "The search stopped at depth 4: there is more to search." in coverage["not_covered"]
    (judged,) = coverage["properties"]
    assert judged["exercised"] is False and "it needs a host that moves" in judged["why"]


def test_a_proof_is_a_report_on_what_it_took(tmp_path: Path) -> None:
    scenario = load_scenario(EXAMPLES / "mocs" / "cp1_firewall.toml")
    proof = prove(scenario, options_of(scenario.verify), output=tmp_path)
    assert proof.result == "proved" and proof.covered is not None
    found = document(proof.covered)
    assert found["engine"] == "verify"
    assert found["coverage"]["told"] == "Proved, for any number of packets."
    assert found["coverage"]["states"] == proof.states
    assert found["coverage"]["reductions"] == list(proof.reasons)


def test_a_trace_that_was_cut_short_says_so(run: Path, tmp_path: Path) -> None:
    text = (run / "trace.jsonl").read_text()
    trace = tmp_path / "cut.jsonl"
    trace.write_text(text[:-60])
    found = document(trace, run=False)
    assert found["cut_short"] is True
    assert "The trace was cut short: its end is missing." in found["remarks"]
