"""Traces in Apalache's format have the state of everything after each step, and only what ADR 15 allows."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.report.export.export_lab import EXAMPLES, exported, fuzzed, proved, refused, rewritten, searched

from penstock._report.export.itf import TYPES
from penstock._scenario.scenario import load_scenario
from penstock._trace.trace import read_trace, trace_file
from penstock._verify.proof import prove

_ONE = {"type": "object", "minProperties": 1, "maxProperties": 1, "additionalProperties": False}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["vars", "states"],
    "additionalProperties": False,
    "properties": {
        "#meta": {"type": "object"},
        "params": {"type": "array", "items": {"type": "string"}},
        "vars": {"type": "array", "items": {"type": "string", "pattern": "^[^#]"}, "uniqueItems": True},
        "states": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/state"}},
        "loop": {"type": "integer", "minimum": 0},
    },
    "$defs": {
        "state": {
            "type": "object",
            "required": list(TYPES),
            "properties": {"#meta": {"type": "object"}},
            "additionalProperties": {"$ref": "#/$defs/expression"},
        },
        "expressions": {"type": "array", "items": {"$ref": "#/$defs/expression"}},
        "expression": {
            "oneOf": [
                {"type": ["boolean", "string"]},
                {"type": "integer", "minimum": -(2**53) + 1, "maximum": 2**53 - 1},
                {"$ref": "#/$defs/expressions"},
                {**_ONE, "properties": {"#bigint": {"type": "string", "pattern": "^-?[0-9]+$"}}},
                {**_ONE, "properties": {"#tup": {"$ref": "#/$defs/expressions"}}},
                {**_ONE, "properties": {"#set": {"$ref": "#/$defs/expressions"}}},
                {**_ONE, "properties": {"#map": {"$ref": "#/$defs/pairs"}}},
                {
                    "type": "object",
                    "propertyNames": {"pattern": "^[^#]"},
                    "additionalProperties": {"$ref": "#/$defs/expression"},
                },
            ]
        },
        "pairs": {
            "type": "array",
            "items": {
                "type": "array",
                "minItems": 2,
                "maxItems": 2,
                "items": {"$ref": "#/$defs/expression"},
            },
        },
    },
}
"""What ADR 15 of Apalache says of the format."""

VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def valid(text: bytes) -> dict[str, Any]:
    """Read a trace in the format, and hold it against the rules."""
    found: dict[str, Any] = json.loads(text)
    VALIDATOR.validate(found)
    for state in found["states"]:
        assert set(state) == {"#meta", *found["vars"]}
    assert found.get("loop", 0) < len(found["states"])
    return found


def mapped(expression: dict[str, Any]) -> dict[str, Any]:
    """Return a function as a dictionary."""
    pairs = dict(map(tuple, expression["#map"]))
    assert len(pairs) == len(expression["#map"])
    return pairs


@pytest.mark.parametrize("make", [searched, proved, fuzzed])
def test_there_is_a_state_before_the_first_step_and_after_each(
    make: object, tmp_path: Path, ryu_sources: Path
) -> None:
    assert callable(make) and ryu_sources.is_dir()
    path = make(tmp_path)
    lines = read_trace(trace_file(path)).lines
    text, remark = exported("itf", path, "--run", "-o", "-")
    states = valid(text)["states"]
    assert remark.startswith("Running ") and remark.count("\n") == 1
    assert [state["step"]["#bigint"] for state in states] == ["0", *(str(line.number) for line in lines)]
    assert [state["action"] for state in states[1:]] == [line.transition for line in lines]
    assert [state["#meta"]["index"] for state in states] == list(range(len(lines) + 1))


def test_states_are_those_of_the_run(tmp_path: Path) -> None:
    trace = searched(tmp_path)
    text, _ = exported("itf", trace, "--run", "-o", "-")
    found = valid(text)
    first, last = found["states"][0], found["states"][-1]
    miss = "priority=0 any -> output:controller"
    learnt = "priority=1 in_port=2,eth_dst=00:00:00:00:00:01,eth_src=00:00:00:00:00:02 -> output:1"
    assert mapped(mapped(first["switches"])["s1"])["flow table 0"] == [miss]
    assert mapped(mapped(last["switches"])["s1"])["flow table 0"] == [miss, learnt]
    assert mapped(mapped(last["controllers"])["c0"])["state"] == [
        "mac_to_port[1]['00:00:00:00:00:01'] = 1",
        "mac_to_port[1]['00:00:00:00:00:02'] = 2",
    ]
    assert mapped(first["channels"]) == {name: [] for name in ("c0", "s1", "h1", "h2", "fabric")}
    assert mapped(last["channels"])["s1"] == ["to c0: PacketIn(port=1, no_match)"]
    assert set(mapped(last["hosts"])) == {"h1", "h2"}
    assert "StrictDirectPaths is violated" in found["#meta"]["description"]
    looked, remark = exported("itf", trace, "-o", "-")
    assert "The controller's state is not shown" in remark
    assert mapped(mapped(valid(looked)["states"][-1]["switches"])["s1"]) == mapped(
        mapped(last["switches"])["s1"]
    )


def test_a_run_that_goes_on_for_ever_says_where_it_begins_anew(tmp_path: Path) -> None:
    scenario = load_scenario(EXAMPLES / "mocs" / "bug_update.toml")
    claims = {**scenario.verify, "properties": ["F exists p in h2.rcvq: true"]}
    proof = prove(replace(scenario, verify=claims), output=tmp_path)
    finding = next(found for found in proof.findings if found.loop)
    assert finding.trace is not None
    text, _ = exported("itf", finding.trace, "--run", "-o", "-")
    found = valid(text)
    loop, states = found["loop"], found["states"]
    assert len(states) - loop == finding.loop

    def stripped(state: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in state.items() if name in ("switches", "hosts", "channels")}

    # What comes before the loop's first state is what the last state is.
    assert stripped(states[loop - 1]) == stripped(states[-1])


def test_states_end_where_the_run_goes_another_way(tmp_path: Path) -> None:
    def change(line: dict[str, object]) -> None:
        if line.get("step") == 8:
            line["transition"] = "deliver #map:{"

    strange = rewritten(searched(tmp_path), tmp_path / "strange.jsonl", change)
    text, remark = exported("itf", strange, "-o", "-")
    assert len(valid(text)["states"]) == 8
    assert "step 8" in remark


def test_a_run_that_cannot_be_taken_again_is_refused_in_one_sentence(tmp_path: Path) -> None:
    def change(line: dict[str, Any]) -> None:
        if "scenario" in line:
            line["scenario"]["controller"] = {"apps": ["nowhere.py"]}

    orphan = rewritten(searched(tmp_path), tmp_path / "orphan.jsonl", change)
    assert exported("itf", orphan, "-o", "-")[0], "what is looked at needs no controller"
    assert "nowhere.py" in refused("itf", orphan, "--run", "-o", tmp_path / "x.itf.json")
    assert not list(tmp_path.glob("x.itf*"))
