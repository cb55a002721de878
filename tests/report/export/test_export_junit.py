"""Results come out as JUnit's XML that CI servers take: counted rightly, and clean of what XML cannot say."""

import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.report.export.export_lab import EXAMPLES, exported, fuzzed, rewritten, searched

from penstock._base.text import visible
from penstock._check.check import check
from penstock._controllers.controller import Controller
from penstock._engine.conclusion import Conclusion
from penstock._report.export.formats import NEVER_JUDGED, held_by, write_ci_files
from penstock._report.export.junit import Results, write_junit
from penstock._report.export.violations import Source
from penstock._scenario.scenario import Scenario
from penstock._trace.trace import (
    AnyTrace,
    FindingLine,
    FuzzTrace,
    InputLine,
    Line,
    SearchTrace,
    TraceWriter,
    Verdict,
)
from penstock._verdict.verdict import Result
from penstock.openflow.messages import PacketIn

TIME = re.compile(r"\d+(\.\d+)?")
NUMBER = re.compile(r"\d+")


def valid(text: bytes) -> ElementTree.Element:
    """Read a report, and hold it against what the schemas of Ant, Jenkins and pytest have in common."""
    # Entities and document types are how XML attacks its readers; a report has no use for them.
    assert b"<!" not in text
    assert text.startswith(b'<?xml version="1.0" encoding="UTF-8"?>\n')
    root = ElementTree.fromstring(text)
    assert root.tag == "testsuites"
    counts = ("tests", "failures", "errors", "skipped")
    for total in counts:
        assert root.get(total) == str(sum(int(suite.get(total, "")) for suite in root))
    for suite in root:
        assert suite.tag == "testsuite" and suite.get("name")
        assert TIME.fullmatch(suite.get("time", ""))
        assert all(NUMBER.fullmatch(suite.get(total, "")) for total in counts)
        assert suite.get("tests") == str(len(suite.findall("testcase")))
        assert all(child.tag == "testcase" for child in suite[1:])
        assert suite.get("failures") == str(len(suite.findall("testcase/failure")))
        assert suite.get("errors") == str(len(suite.findall("testcase/error")))
        assert suite.get("skipped") == str(len(suite.findall("testcase/skipped")))
        for case in suite.findall("testcase"):
            assert set(case.attrib) == {"classname", "name", "time"}
            assert case.get("name") and TIME.fullmatch(case.get("time", ""))
            tags = [child.tag for child in case]
            assert set(tags) <= {"failure", "error", "skipped", "system-out"} and len(set(tags)) == len(tags)
            for failure in case.findall("failure"):
                assert set(failure.attrib) == {"message", "type"}
    return root


def test_a_violation_is_a_failure_with_its_story(tmp_path: Path) -> None:
    text, _ = exported("junit", searched(tmp_path), "-o", "-")
    (case,) = valid(text).iter("testcase")
    failure = case.find("failure")
    assert case.get("name") == "StrictDirectPaths" and case.get("classname") == "penstock.bug_02"
    assert failure is not None and failure.text is not None
    lines = failure.text.splitlines()
    assert lines[0].startswith("  1. h1 sends h1#1 ") and " 13. s1 gets h1#2 at port 1, from h1." in lines
    broken = next(place for place, line in enumerate(lines) if line.startswith("  ✗  "))
    assert lines[broken].startswith("  ✗  StrictDirectPaths is violated: ")
    assert lines[broken + 1].startswith("     Why: s1's rule priority=0 any -> output:controller ")
    assert failure.get("message", "").startswith("s1 handed h1#2 ")


def test_several_runs_are_several_suites_and_a_run_without_violation_passes(
    tmp_path: Path, ryu_sources: Path
) -> None:
    assert ryu_sources.is_dir()
    calm = fuzzed(tmp_path / "calm", "send h1 to h2 ping 1", "wait 200")
    text, _ = exported("junit", searched(tmp_path), calm, "-o", "-")
    root = valid(text)
    assert [suite.get("name") for suite in root] == ["bug_02", "scenario"]
    assert (root.get("tests"), root.get("failures")) == ("2", "1")


def _fuzz_trace(*findings: FindingLine) -> FuzzTrace:
    steps = (
        Line(2, "inject fabric:h1", "h1", causes=(1,), at=5),
        Line(
            3, "deliver c0:s1", "s1", message="FlowMod(x)", events=("rule-added 0 loops",), causes=(2,), at=6
        ),
        Line(4, "deliver h9:0", "h9", message="[ARP]", at=7),
    )
    return FuzzTrace(
        scenario={"name": "run"},
        folder=".",
        lines=steps,
        inputs=(InputLine(1, "send h1 to h2 ping 1", 5),),
        findings=findings,
        details={"engine": "fuzz"},
    )


def written(*traces: AnyTrace, **more: Any) -> ElementTree.Element:
    file = io.StringIO()
    write_junit(Results([Source(Path("t.jsonl"), trace) for trace in traces], **more), file)
    return valid(file.getvalue().encode(errors="replace"))


def test_of_alike_findings_the_first_is_told_with_what_led_to_it() -> None:
    found = [
        FindingLine(n, "violated", "NoForwardingLoops", f"s1 loops: try {n}", n, True) for n in (5, 6, 7)
    ]
    passing = FindingLine(8, "violated", "NoForwardingLoops", "s2 loops: a moment", 8)
    healed = FindingLine(9, "healed", "NoForwardingLoops", "s1 loops: try 5", 9, True)
    (case,) = written(_fuzz_trace(*found, passing, healed)).iter("testcase")
    failure = case.find("failure")
    assert failure is not None and failure.text is not None
    told = failure.text
    assert "Input: send h1 to h2 ping 1" in told and "new rule in table 0: loops" in told
    assert "h9" not in told and "try 6" not in told
    assert told.endswith("The same was found 2 times more.")


def test_an_error_that_was_counted_is_told_with_how_often_it_came() -> None:
    first = FindingLine(5, "violated", "ControllerErrors", "c0 raised KeyError: 3", 5, True)
    often = FindingLine(
        6, "repeated", "ControllerErrors", "c0 raised KeyError: 3", 9, True, since=5, times=42
    )
    (failure,) = written(_fuzz_trace(first, often)).iter("failure")
    assert (failure.text or "").endswith("The same was found 41 times more.")


def test_properties_that_held_pass_and_those_never_judged_are_skipped(tmp_path: Path) -> None:
    class Silent(Controller):
        def packet_in(self, switch: str, message: PacketIn) -> None:
            raise ValueError("a bug")

    scenario = Scenario(
        name="silent",
        controller=Silent(),
        hosts={"h1": {"kind": "ping", "to": "h2"}},
        properties=["ControllerCrash", "NoForwardingLoops", "ControllerHang"],
        openflow="1.0",
    )
    report = check(scenario, output=tmp_path)
    names = [finding.property for finding in report.findings]
    held = held_by({**report.outcome.exercised, "Never": 0}, names)
    target = tmp_path / "results.xml"
    write_ci_files(
        junit=target,
        sarif=None,
        name=scenario.name,
        traces=[finding.trace for finding in report.findings],
        held=held,
        seconds=1.5,
    )
    root = valid(target.read_bytes())
    assert [suite.get("name") for suite in root] == ["silent"] and root.get("time") == "1.500"
    states = {case.get("name"): [child.tag for child in case] for case in root.iter("testcase")}
    assert states.pop("ControllerCrash")[0] == "failure" and states.pop("Never") == ["skipped"]
    assert set(states) == {"NoForwardingLoops", "ControllerHang"}
    skipped = root.find(".//skipped")
    assert skipped is not None and skipped.get("message") == NEVER_JUDGED
    assert not list(tmp_path.glob("*.part"))


def test_without_files_asked_for_nothing_is_read_or_written(tmp_path: Path) -> None:
    write_ci_files(junit=None, sarif=None, name="x", traces=[tmp_path / "nowhere.jsonl"])
    assert list(tmp_path.iterdir()) == []


def test_a_search_that_found_nothing_is_a_suite_of_cases_that_passed(tmp_path: Path) -> None:
    write_ci_files(
        junit=tmp_path / "a.xml", sarif=None, name="calm", traces=[None], held={"NoForwardingLoops": ""}
    )
    root = valid((tmp_path / "a.xml").read_bytes())
    assert (root.get("tests"), root.get("failures"), root.get("skipped")) == ("1", "0", "0")


@given(st.text(), st.text())
def test_any_text_of_a_trace_can_be_told(name: str, message: str) -> None:
    line = Line(1, name, message, told=(message,))
    trace = SearchTrace(scenario={"name": name}, folder=".", lines=(line,), verdict=Verdict(name, message))
    (case,) = written(trace).iter("testcase")
    failure = case.find("failure")
    assert failure is not None
    if visible(message) == message:
        assert failure.get("message") == message
    if name and visible(name) == name:
        assert case.get("name") == name


def test_a_trace_that_was_cut_short_says_so(tmp_path: Path) -> None:
    whole = searched(tmp_path).read_bytes()
    cut = tmp_path / "cut.jsonl"
    cut.write_bytes(whole[: whole.rindex(b'{"end"') - 5])
    text, _ = exported("junit", cut, "-o", "-")
    (case,) = valid(text).iter("testcase")
    assert case.find("failure") is None
    assert "cut short" in (case.findtext("system-out") or "")


def test_control_characters_and_entities_of_a_stranger_are_spelt_out(tmp_path: Path) -> None:
    def change(line: dict[str, object]) -> None:
        if "violated" in line:
            line["message"] = "\0\x1b[2J]]>&lol;<!ENTITY\ud800 \ufffe"

    hostile = rewritten(searched(tmp_path), tmp_path / "hostile.jsonl", change)
    text, _ = exported("junit", hostile, "-o", "-")
    failure = valid(text).find(".//failure")
    assert failure is not None and failure.get("message") == r"\x00\x1b[2J]]>&lol;<!ENTITY\ud800 \ufffe"


@pytest.mark.parametrize("many", [1, 3])
def test_the_same_trace_again_is_told_once_by_commands(tmp_path: Path, many: int) -> None:
    trace = searched(tmp_path)
    write_ci_files(junit=tmp_path / "a.xml", sarif=None, name="bug_02", traces=[trace] * many)
    assert valid((tmp_path / "a.xml").read_bytes()).get("tests") == "1"


BOUNDED = Conclusion(Result.BOUNDED, "No violation found, but 5 seconds.", ("5 seconds",), ("more seconds",))


def cases(folder: Path, conclusion: Conclusion, held: dict[str, str]) -> dict[str, list[str]]:
    target = folder / "held.xml"
    write_ci_files(junit=target, sarif=None, name="calm", traces=[], held=held, conclusion=conclusion)
    root = valid(target.read_bytes())
    return {str(case.get("name")): [child.tag for child in case] for case in root.iter("testcase")}


def test_only_a_conclusive_verdict_lets_a_case_pass(tmp_path: Path) -> None:
    held = {"P": "", "Never": "It never exercised."}
    proved = Conclusion(Result.PROVED, "Proved.")
    assert cases(tmp_path, proved, held) == {"P": [], "Never": ["skipped"]}
    assert cases(tmp_path, BOUNDED, held) == {"P": ["skipped"], "Never": ["skipped"]}


def test_where_nothing_was_judged_cases_fail(tmp_path: Path) -> None:
    nothing = replace(BOUNDED, judged=False)
    assert cases(tmp_path, nothing, {"P": "", "Q": "why"}) == {"P": ["failure"], "Q": ["failure"]}


def test_the_suite_has_the_verdict_its_reasons_and_next_steps(tmp_path: Path) -> None:
    cases(tmp_path, BOUNDED, {"P": ""})
    found = ElementTree.fromstring((tmp_path / "held.xml").read_bytes()).iter("property")
    assert [(each.get("name"), each.get("value")) for each in found] == [
        ("verdict", "bounded"),
        ("told", "No violation found, but 5 seconds."),
        ("reason", "5 seconds"),
        ("next step", "more seconds"),
    ]


def test_a_trace_without_a_violation_is_judged_by_what_its_header_says(tmp_path: Path) -> None:
    scenario = Scenario(
        name="hub",
        controller={"native": str(EXAMPLES / "controllers/hub.py:Hub")},
        hosts={"h1": {"kind": "ping", "to": "h2"}},
        properties=["NoForwardingLoops"],
        openflow="1.0",
    )
    whole = check(scenario, output=tmp_path / "whole").covered
    part = check(replace(scenario, search={"depth": 3}), output=tmp_path / "part").covered
    text, _ = exported("junit", whole, part, "-o", "-")
    tags = [[child.tag for child in case] for case in valid(text).iter("testcase")]
    assert tags == [["system-out"], ["skipped", "system-out"]]


def test_a_fuzzing_run_is_judged_by_the_summary_beside_its_trace(tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    table: dict[str, Any] = {"name": "run"}
    TraceWriter(trace, table, tmp_path, engine="fuzz").close()
    verdict = {"result": "bounded", "judged": False, "reasons": [{"reason": "nobody sent one"}]}
    for said, tag in ((verdict, "failure"), ({**verdict, "judged": True}, "skipped"), (None, "skipped")):
        (tmp_path / "summary.json").write_text(json.dumps({"verdict": said}))
        text, _ = exported("junit", trace, "-o", "-")
        (case,) = valid(text).iter("testcase")
        assert [child.tag for child in case] == [tag, "system-out"]
