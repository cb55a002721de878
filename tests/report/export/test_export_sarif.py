"""Violations come out as SARIF 2.1.0, at the controller's code and with the steps that led there."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.report.export.export_lab import EXAMPLES, exported, fuzzed, proved, rewritten, searched

from penstock._base.ryu_names import source_folders
from penstock._engine.conclusion import Conclusion
from penstock._report.export import sarif
from penstock._report.export.formats import write_ci_files
from penstock._verdict.verdict import Result

_TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}}
_LEVELS = ["none", "note", "warning", "error"]
_URI = {"type": "string", "format": "uri-reference", "pattern": r"^[\w./~%:@!$&'()*+,;=-]+$"}
_LOCATION = {
    "type": "object",
    "additionalProperties": False,
    "required": ["physicalLocation"],
    "properties": {
        "physicalLocation": {
            "type": "object",
            "additionalProperties": False,
            "required": ["artifactLocation"],
            "properties": {
                "artifactLocation": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["uri"],
                    "properties": {"uri": _URI},
                },
                "region": {
                    "type": "object",
                    "additionalProperties": False,
                    "properties": {"startLine": {"type": "integer", "minimum": 1}},
                },
            },
        },
        "message": _TEXT,
        "logicalLocations": {
            "type": "array",
            "uniqueItems": True,
            "items": {
                "type": "object",
                "additionalProperties": False,
                "properties": {"name": {"type": "string"}, "kind": {"type": "string"}},
            },
        },
    },
}
_STEP = {
    "type": "object",
    "additionalProperties": False,
    "required": ["location"],
    "properties": {
        "location": _LOCATION,
        "executionOrder": {"type": "integer", "minimum": 0},
        "importance": {"enum": ["important", "essential", "unimportant"]},
    },
}
_FLOW = {
    "type": "object",
    "additionalProperties": False,
    "required": ["threadFlows"],
    "properties": {
        "threadFlows": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["locations"],
                "properties": {"locations": {"type": "array", "minItems": 1, "items": _STEP}},
            },
        }
    },
}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["version", "runs"],
    "properties": {
        "$schema": {"type": "string", "format": "uri"},
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["tool"],
                "properties": {
                    "tool": {
                        "type": "object",
                        "required": ["driver"],
                        "properties": {
                            "driver": {
                                "type": "object",
                                "required": ["name"],
                                "properties": {
                                    "name": {"type": "string"},
                                    "rules": {
                                        "type": "array",
                                        "uniqueItems": True,
                                        "items": {"type": "object", "required": ["id"]},
                                    },
                                },
                            }
                        },
                    },
                    "invocations": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "additionalProperties": False,
                            "required": ["executionSuccessful"],
                            "properties": {
                                "executionSuccessful": {"type": "boolean"},
                                "exitCode": {"type": "integer"},
                                "exitCodeDescription": {"type": "string"},
                                "toolExecutionNotifications": {
                                    "type": "array",
                                    "items": {
                                        "type": "object",
                                        "required": ["message"],
                                        "properties": {
                                            "level": {"enum": ["note", "warning"]},
                                            "message": _TEXT,
                                        },
                                    },
                                },
                            },
                        },
                    },
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "results": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "additionalProperties": False,
                            "required": ["message", "ruleId", "locations"],
                            "properties": {
                                "ruleId": {"type": "string"},
                                "ruleIndex": {"type": "integer", "minimum": 0},
                                "kind": {"enum": ["pass", "open", "fail", "notApplicable"]},
                                "level": {"enum": _LEVELS},
                                "message": _TEXT,
                                "locations": {"type": "array", "items": _LOCATION},
                                "partialFingerprints": {
                                    "type": "object",
                                    "additionalProperties": {"type": "string"},
                                },
                                "occurrenceCount": {"type": "integer", "minimum": 1},
                                "codeFlows": {"type": "array", "items": _FLOW},
                            },
                        },
                    },
                },
            },
        },
    },
}
"""The parts of SARIF 2.1.0 that are used, as its specification has them."""


def valid(text: bytes) -> list[dict[str, Any]]:
    """Read a file, hold it against the rules, and return its results."""
    found = json.loads(text)
    jsonschema.Draft202012Validator(SCHEMA).validate(found)
    (run,) = found["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(set(rules)) == len(rules)
    results: list[dict[str, Any]] = run["results"]
    for result in results:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        # By the specification, a level other than "none" is for failures only.
        assert (result["kind"] == "fail") == (result["level"] != "none")
    return results


def place(result: dict[str, Any]) -> tuple[str, int | None]:
    """Return the file and the line that a result is located at."""
    found = result["locations"][0]["physicalLocation"]
    return found["artifactLocation"]["uri"], found.get("region", {}).get("startLine")


def steps(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the steps of a result's code flow."""
    found: list[dict[str, Any]] = result["codeFlows"][0]["threadFlows"][0]["locations"]
    return found


def test_a_violation_has_its_rule_its_message_and_its_steps(tmp_path: Path) -> None:
    text, _ = exported("sarif", searched(tmp_path), "-o", "-")
    (result,) = valid(text)
    assert result["ruleId"] == "StrictDirectPaths" and result["message"]["text"].startswith("s1 handed h1#2 ")
    file, line = place(result)
    source = (Path(next(iter(source_folders()))) / "app" / "simple_switch_13.py").read_text().splitlines()
    assert line is not None and file == "ryu/app/simple_switch_13.py"
    assert source[line - 1].strip() == "datapath.send_msg(mod)"
    assert "\nWhy: s1's rule priority=0 any -> output:controller " in result["message"]["text"]
    flow = steps(result)
    assert len(flow) == 14 and flow[0]["location"]["message"]["text"].startswith("1. h1 sends h1#1 ")
    assert [step["location"]["physicalLocation"]["region"]["startLine"] for step in flow[:3]] == [2, 3, 4]
    assert flow[1]["location"]["logicalLocations"] == [{"name": "s1", "kind": "object"}]
    assert flow[-1]["location"]["message"]["text"].startswith("StrictDirectPaths is violated: ")


def test_a_native_controller_is_located_at_its_class(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES.parent)
    text, _ = exported("sarif", proved(tmp_path), "-o", "-")
    uri, line = place(valid(text)[0])
    assert uri == "examples/mocs/consistent_update.py" and line is not None
    assert (EXAMPLES.parent / uri).read_text().splitlines()[line - 1].startswith("class ")


APP = """\
from os_ken.base import app_manager
from os_ken.controller import ofp_event
from os_ken.controller.handler import MAIN_DISPATCHER, set_ev_cls


class Crashing(app_manager.OSKenApp):
    OFP_VERSIONS = [1]

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, event):
        self.look_up({}, event.msg.in_port)

    def look_up(self, table, port):
        return table[port]
"""
SCENARIO = """\
topology = "single,2"
openflow = "1.0"
properties = ["ControllerCrash"]
[controller]
apps = ["an app.py"]
[hosts.h1]
kind = "ping"
to = "h2"
"""


def test_a_handler_that_raised_is_located_at_the_line_that_did(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "an app.py").write_text(APP)
    (tmp_path / "crash.toml").write_text(SCENARIO)
    text, _ = exported("sarif", searched(tmp_path, str(tmp_path / "crash")), "-o", "-")
    uri, line = place(valid(text)[0])
    assert uri == "an%20app.py" and line is not None
    assert APP.splitlines()[line - 1].strip() == "return table[port]"


def test_nobody_is_told_of_folders_of_a_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    text, _ = exported("sarif", proved(tmp_path), "-o", "-")
    assert place(valid(text)[0])[0] == "consistent_update.py"
    assert str(tmp_path).encode() not in text and b'"/' not in text


def test_a_run_without_a_violation_has_no_results(tmp_path: Path, ryu_sources: Path) -> None:
    assert ryu_sources.is_dir()
    text, _ = exported("sarif", fuzzed(tmp_path, "send h1 to h2 ping 1"), "-o", "-")
    assert valid(text) == []


def test_several_traces_share_their_rules_and_have_fingerprints_of_their_own(tmp_path: Path) -> None:
    one, other = searched(tmp_path), proved(tmp_path)
    text, _ = exported("sarif", one, one, other, "-o", "-")
    first, again, last = valid(text)
    assert first["partialFingerprints"] == again["partialFingerprints"] != last["partialFingerprints"]
    assert (first["ruleIndex"], again["ruleIndex"], last["ruleIndex"]) == (0, 0, 1)


def test_texts_of_a_stranger_are_texts(tmp_path: Path) -> None:
    def change(line: dict[str, Any]) -> None:
        if "scenario" in line:
            line["scenario"]["controller"] = {"apps": ["../../etc/\ud800 <x>.py", 7], "native": ["?"]}
        if "node" in line:
            line["node"] = "\ud800\0"
        if "violated" in line:
            line["violated"] = "\0\ud800"

    hostile = rewritten(searched(tmp_path), tmp_path / "hostile.jsonl", change)
    text, _ = exported("sarif", hostile, "-o", "-")
    (result,) = valid(text)
    assert result["ruleId"] == r"\x00\ud800" and place(result)[1] is None


def test_a_long_run_has_its_last_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sarif, "MOST_STEPS", 40)
    header, *_, verdict, _end = searched(tmp_path).read_text().splitlines()
    lines = [f'{{"step": {n}, "transition": "h1 wave", "node": "h1"}}' for n in range(1, 48)]
    long = tmp_path / "long.jsonl"
    long.write_text("\n".join([header, *lines, verdict]) + "\n")
    text, _ = exported("sarif", long, "-o", "-")
    flow = steps(valid(text)[0])
    assert len(flow) == 41 and flow[0]["location"]["message"]["text"].startswith("8. ")


def test_commands_write_it_whole(tmp_path: Path) -> None:
    target = tmp_path / "found.sarif"
    write_ci_files(junit=None, sarif=target, name="bug_02", traces=[searched(tmp_path), None])
    assert len(valid(target.read_bytes())) == 1
    assert not list(tmp_path.glob("*.part"))


BOUNDED = Conclusion(Result.BOUNDED, "No violation found, but 5 seconds.", ("5 seconds",), ("more seconds",))


@pytest.mark.parametrize(
    ("conclusion", "kind", "status"),
    [
        (Conclusion(Result.PROVED, "Proved."), "pass", 0),
        (Conclusion(Result.EXHAUSTED, "None can be broken."), "pass", 0),
        (BOUNDED, "open", 3),
        (replace(BOUNDED, judged=False), "notApplicable", 3),
        (None, "open", None),
    ],
)
def test_a_property_that_was_not_broken_is_told_by_the_verdict(
    tmp_path: Path, conclusion: Conclusion | None, kind: str, status: int | None
) -> None:
    target = tmp_path / "held.sarif"
    held = {"NoForwardingLoops": "", "Never": "It never exercised."}
    write_ci_files(junit=None, sarif=target, name="x", traces=[], held=held, conclusion=conclusion)
    kinds = {result["ruleId"]: result["kind"] for result in valid(target.read_bytes())}
    assert kinds == {"NoForwardingLoops": kind, "Never": "notApplicable"}
    (run,) = json.loads(target.read_bytes())["runs"]
    assert [made["exitCode"] for made in run.get("invocations", [])] == ([] if status is None else [status])


def test_the_invocation_says_why_a_verdict_is_bounded_and_what_to_try(tmp_path: Path) -> None:
    target = tmp_path / "held.sarif"
    write_ci_files(junit=None, sarif=target, name="x", traces=[], held={"P": ""}, conclusion=BOUNDED)
    (made,) = json.loads(target.read_bytes())["runs"][0]["invocations"]
    assert made["executionSuccessful"] is True
    assert made["exitCodeDescription"] == "bounded: No violation found, but 5 seconds."
    notes = [(note["level"], note["message"]["text"]) for note in made["toolExecutionNotifications"]]
    assert notes == [("warning", "5 seconds"), ("note", "more seconds")]


def test_what_was_not_broken_is_located_at_the_controller(tmp_path: Path) -> None:
    target = tmp_path / "held.sarif"
    write_ci_files(junit=None, sarif=target, name="x", traces=[], held={"P": ""}, covered=searched(tmp_path))
    (result,) = valid(target.read_bytes())
    assert place(result)[0] == "ryu/app/simple_switch_13.py"
