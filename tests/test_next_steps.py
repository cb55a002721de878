"""Every bounded result says how to go further, and what it says can be done and does go further."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pytest

from penstock import _api as api
from penstock._check.check import check, walk
from penstock._cli.main import commands
from penstock._engine.building import build, plan
from penstock._engine.next_steps import Ran, Suggestion, advice, next_steps
from penstock._fuzz.building import build_setting
from penstock._properties.registry import PROPERTIES
from penstock._results import Broken
from penstock._scenario.options import options_of
from penstock._scenario.scenario import Scenario, load_scenario, scenario_of
from penstock._verdict.verdict import Bound, Why
from penstock.errors import PenstockError

ROOT = Path(__file__).parent.parent
HUB = {"native": f"{ROOT}/examples/controllers/hub.py:Hub"}
SEARCHES = {
    *(Why.STATES, Why.SECONDS, Why.MEMORY, Why.FULL, Why.INTERRUPTED, Why.FAULT, Why.WORKER, Why.NETWORK),
    Why.LIMITS,
}
BY_ENGINE = {
    "check": SEARCHES
    | {Why.DEPTH, Why.DELAYS, Why.NARROWED, Why.UNFOUND, Why.UNSEEN_STATE, Why.METERS, Why.CHOSEN}
    | {Why.SPREAD, Why.UNTOLD},
    "walk": SEARCHES | {Why.WALKS},
    "verify": SEARCHES
    | {Why.PROGRAM_STATES, Why.TIMERS, Why.UNFOLLOWED, Why.UNFOUND, Why.UNSEEN_STATE, Why.SCOPE},
    "fuzz": {
        Why.SECONDS, Why.EVENTS, Why.TRACE_SIZE, Why.INPUTS, Why.INTERRUPTED, Why.CRASH, Why.FAULT,
        Why.UNSENT, Why.UNCONNECTED, Why.NO_TABLE_MISS, Why.UNANSWERED, Why.EMPTY_PACKET_OUTS,
        Why.WITHOUT_ACTIONS, Why.REFUSED, Why.HOLDING_DOWN, Why.LOST, Why.LIMITS,
    },
}  # fmt: skip
CASES = [(engine, why) for engine, reasons in BY_ENGINE.items() for why in sorted(reasons)]


def ran(engine: str, **details: Any) -> Ran:
    walked = {"seed": 1, "walks": 100, "longest": 50} if engine == "walk" else {}
    search = {"seconds": 5, "states": 100, "memory_mb": 100, "depth": 3}
    scenario = Scenario(HUB, topology="linear,3", search=search)
    return Ran(engine, scenario, walk=walked, depth=50, **details)


def changed(scenario: Scenario, suggestion: Suggestion) -> Scenario:
    """Return a scenario as somebody changes it who follows a suggestion."""
    for table, key, value in suggestion.changes:
        outer, _, inner = table.partition(".")
        if not outer:
            scenario = replace(scenario, **{key: value})
            continue
        before = dict(getattr(scenario, outer))
        if inner:
            before[inner] = {**before.get(inner, {}), key: value}
        else:
            before[key] = value
        tables: dict[str, Any] = {outer: before}
        scenario = replace(scenario, **tables)
    return scenario


def test_every_bound_belongs_to_an_engine() -> None:
    # Properties with nothing to judge have suggestions of their own, and a replay has its trace.
    others = {Why.FIRST_VIOLATION, Why.UNJUDGED, Why.DIVERGED}
    assert {why for reasons in BY_ENGINE.values() for why in reasons} == {*Why} - others


@pytest.mark.parametrize(("engine", "why"), CASES)
def test_every_bound_of_every_engine_has_a_next_step(engine: str, why: Why) -> None:
    steps = next_steps(ran(engine), [Bound("here", why, 3)])
    assert steps and all(step.why and str(step).endswith(".") for step in steps)
    assert [*advice(steps)][1].startswith("  1. ")


@pytest.mark.parametrize(("engine", "why"), CASES)
def test_what_is_suggested_is_accepted(engine: str, why: Why) -> None:
    given = ran(engine, lost=["app.py, line 7"], passing=2, unexercised=[*PROPERTIES, "Mine"])
    for step in next_steps(given, [Bound("here", why, 3)]):
        accepted_by_the_command_line(step)
        accepted_in_the_scenario(step)
        assert json.loads(json.dumps(step.plain()))["why"] == step.why


def accepted_by_the_command_line(step: Suggestion) -> None:
    group = click.Context(commands)
    command = commands.get_command(group, step.command)
    assert command is not None
    context = command.make_context(step.command, ["scenario.toml", *step.options])
    for word in (word for word in step.options if word.startswith("--")):
        assert any(word in option.opts for option in command.params)
    assert context.params["scenario"] == Path("scenario.toml")


def accepted_in_the_scenario(step: Suggestion) -> None:
    table = tomllib.loads(step.lines)
    controller = {**HUB} if "timers" not in table.get("controller", {}) else {"apps": ["x.py"], "timers": 2}
    scenario = scenario_of(
        {**table, "controller": controller, "topology": table.get("topology", "linear,2")}, Path()
    )
    plan(scenario)
    options_of(scenario.verify)
    if "apps" not in controller:
        build(scenario)
        build_setting(scenario)


def test_a_result_without_bounds_needs_no_next_step() -> None:
    assert next_steps(ran("check"), []) == ()
    assert next_steps(ran("check"), [Bound("x", Why.FIRST_VIOLATION)]) == ()


def test_a_strategy_in_use_is_not_suggested_again() -> None:
    search = {"strategies": ["races", "no-delay", "pkt-seq:count=1"], "reductions": ["ample"]}
    steps = next_steps(Ran("check", Scenario(HUB, search=search)), [Bound("5 seconds", Why.SECONDS, 5)])
    assert [step.options for step in steps] == [("--seconds", "100")]


# Real searches: the first suggestion goes further.


def test_following_the_first_suggestion_finds_the_bug_that_the_search_did_not_reach() -> None:
    bug = load_scenario(ROOT / "examples/nice/bug_03.toml")
    bounded = replace(bug, hosts={}, search={"states": 1000})
    report = check(bounded)
    assert report.outcome.result == "bounded"
    assert report.next_steps[0].options == ("--strategy", "races")
    assert check(changed(bounded, report.next_steps[0])).outcome.result == "violation"


def test_a_deeper_search_finds_what_lies_deeper() -> None:
    loop = load_scenario(ROOT / "examples/nice/bug_04.toml")
    found = check(loop)
    steps = len(found.findings[0].records)
    shallow = replace(loop, search={**loop.search, "depth": steps - 1})
    report = check(shallow)
    assert report.outcome.result == "bounded" and report.next_steps[0].options == (
        "--depth",
        str(2 * (steps - 1)),
    )
    assert check(changed(shallow, report.next_steps[0])).outcome.result == "violation"


def test_a_property_that_had_nothing_to_judge_has_after_the_suggestion() -> None:
    quiet = Scenario(HUB, hosts={"h1": {"kind": "server"}}, properties=["NoForwardingLoops"])
    report = check(quiet)
    assert report.unexercised == ["NoForwardingLoops"]
    (step,) = report.next_steps
    assert str(step).startswith('in the scenario, [hosts.h1] kind = "ping" and to = "h2": ')
    assert not check(changed(quiet, step)).unexercised


def test_walks_search_and_fuzz_say_it_to_python_json_and_pytest(tmp_path: Path) -> None:
    hub = Scenario(HUB, topology="single,3", properties=["NoForwardingLoops"], name="hub")
    result = api.check(hub, depth=2, output=tmp_path)
    assert result.next_steps[0].command == "check"
    with pytest.raises(Broken, match=r"Next steps, in this order:\n1\. penstock check SCENARIO --depth 4"):
        result.assert_holds(conclusive=True)
    assert walk(hub, 1, walks=1).next_steps[0].options == ("--strategy", "races")
    run = api.fuzz(hub, events=30, output=tmp_path)
    assert run.next_steps[0].options == ("--seed", "2")
    summary = json.loads((run.details.folder / "summary.json").read_text())
    assert summary["next_steps"][0]["options"] == ["--seed", "2"]
    proof = api.verify(hub, properties=["NoForwardingLoops"], seconds=1e-6, output=tmp_path)
    assert proof.result == "bounded" and proof.next_steps[0].options == ("--topo", "single,2")


def test_no_suggestion_is_a_topology_that_there_is_not() -> None:
    for shape in ("single,2", "linear,2", "ring,3", "tree,1,2", "fattree,2", "minimal"):
        given = Ran("check", Scenario(HUB, topology=shape, search={"seconds": 1}))
        for step in next_steps(given, [Bound("1 seconds", Why.SECONDS, 1)]):
            try:
                build(changed(given.scenario, step))
            except PenstockError as error:
                raise AssertionError(f"{shape}: {step}") from error
