"""Strategies in scenarios and on the command line: how they are named, and what a result says of them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from shutil import copy
from typing import Any

import pytest
from click.testing import CliRunner

from penstock._check.check import check, walk
from penstock._cli.main import commands
from penstock._explore.strategies.base import Strategy
from penstock._explore.strategies.no_delay import NoDelay
from penstock._explore.strategies.pkt_seq import PacketSequences
from penstock._explore.strategies.plan import STRATEGIES, plan_of
from penstock._replay.replaying import replay
from penstock._scenario.scenario import Scenario
from penstock._world.hosts import host
from penstock.errors import PenstockError

HERE = Path()
CONTROLLERS = Path(__file__).parents[2] / "examples" / "controllers"


def scenario(*strategies: Any, **changes: Any) -> Scenario:
    """Return a hub with two hosts of which one sends to the other."""
    made = Scenario(
        controller={"native": "hub.py:Hub"},
        topology="single,2",
        hosts={"h1": {"kind": "client", "to": "h2", "count": 3}, "h2": {"kind": "server"}},
        properties=["NoBlackHoles"],
        search={"strategies": strategies},
        folder=CONTROLLERS,
    )
    return replace(made, **changes)


def test_every_strategy_can_be_named_and_narrowing_ones_say_what_they_may_miss() -> None:
    assert list(STRATEGIES) == [
        "pkt-seq", "no-delay", "unusual", "flow-ir", "delay-bounded", "random-walk", "races",
    ]  # fmt: skip
    for name in STRATEGIES:
        (made,) = plan_of([name], HERE).strategies
        assert made == plan_of([{"name": name}], HERE).strategies[0]
        assert made.remark.startswith(f"{name}: ") or name in ("delay-bounded", "races")


def test_a_strategy_that_left_something_out_makes_a_result_bounded_and_says_so() -> None:
    full, narrow = check(scenario()).outcome, check(scenario("no-delay")).outcome
    assert (full.result, full.remarks) == ("exhausted", [])
    assert (narrow.result, narrow.stopped_by) == ("bounded", "the limits of no-delay")
    assert narrow.remarks == [NoDelay().remark]
    assert narrow.states < full.states


def test_a_strategy_that_left_nothing_out_has_searched_everything() -> None:
    one_flow = {"name": "flow-ir", "is_same_flow": lambda packet, other: True}
    full, same = check(scenario()).outcome, check(scenario(one_flow)).outcome
    assert (same.result, same.states) == ("exhausted", full.states)
    assert same.remarks == ["flow-ir: it left nothing out."]


def test_what_a_strategy_remembers_is_no_property_of_the_scenario() -> None:
    outcome = check(scenario("unusual", "no-delay")).outcome
    assert list(outcome.exercised) == ["NoBlackHoles"]
    assert outcome.stopped_by == "the limits of unusual and no-delay"


@pytest.mark.parametrize("order", ["breadth-first", "depth-first"])
@pytest.mark.parametrize("compact", [False, True])
def test_strategies_go_with_every_order_and_with_fingerprints(order: str, compact: bool) -> None:
    search = {"order": order, "compact": compact}
    for name in STRATEGIES:
        outcome = check(scenario(search={**search, "strategies": [name]})).outcome
        assert outcome.states > 5 and not outcome.violations


def test_packet_sequences_set_the_bounds_of_all_hosts_that_have_some() -> None:
    once = check(scenario("pkt-seq:count=1"))
    assert once.scenario.hosts == {
        "h1": {"kind": "client", "to": "h2", "count": 1, "burst": 1},
        "h2": {"kind": "server"},
    }
    assert once.outcome.states < check(scenario()).outcome.states
    assert once.outcome.result == "bounded"
    assert once.outcome.remarks == [PacketSequences(1, 1).remark]
    assert "sent up to 1, with at most 1 of them unanswered" in once.outcome.remarks[0]


def test_hosts_made_in_python_are_bounded_too() -> None:
    clients = {"h1": host("client", to="h2", count=3), "h2": host("client", to="h1", count=3)}
    assert check(scenario("pkt-seq:count=0,burst=2", hosts=clients)).outcome.states == 1


def test_hosts_that_find_out_what_to_send_are_bounded_too() -> None:
    found = check(scenario("pkt-seq:count=1", hosts={})).scenario.hosts
    assert found == {"h1": {"count": 1, "burst": 1}, "h2": {"count": 1, "burst": 1}}


def test_a_violation_found_by_strategies_is_replayed_like_any_other(tmp_path: Path) -> None:
    loop = scenario(
        "races", "no-delay", "pkt-seq:count=1", topology="ring,3", properties=["NoForwardingLoops"]
    )
    (finding,) = check(loop, output=tmp_path).findings
    assert finding.confirmed and finding.trace is not None
    assert replay(finding.trace).reproduced


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (["no-dely"], "unknown strategy 'no-dely': did you mean 'no-delay'?"),
        (["x"], f"unknown strategy 'x': the strategies are {', '.join(STRATEGIES)}, or file.py:Name."),
        ([{"delays": 1}], "The strategy {'delays': 1} has no name: write name = \"…\" into its table."),
        (
            [{"name": 3}],
            f"unknown strategy 3: the strategies are {', '.join(STRATEGIES)}, or file.py:Name.",
        ),
        ([3], "3 is not a strategy: write its name, or a table with name and options."),
        ([["no-delay"]], "['no-delay'] is not a strategy: write its name, or a table with name and options."),
        (
            ["pkt-seq:count=1,count=2"],
            "The option 'count' stands twice in the strategy 'pkt-seq:count=1,count=2': give it once.",
        ),
        (["no-delay", {"name": "no-delay"}], "The strategy no-delay is named twice: name it once."),
        (
            ["races", "random-walk"],
            "The strategies races and random-walk each have an order of their own: use one of them.",
        ),
        (["races:swift"], "'swift' in the strategy 'races:swift' is not an option: write races:key=value."),
        (
            ["no-delay:late=1"],
            "unknown key 'late' in the strategy no-delay: it may have nothing more.",
        ),
        (
            ["pkt-seq:count=-1"],
            "invalid count = -1 in the strategy pkt-seq: must be an integer of at least 0.",
        ),
        (["pkt-seq:burst=0"], "invalid burst = 0 in the strategy pkt-seq: must be an integer of at least 1."),
    ],
)
def test_a_strategy_that_cannot_be_meant_is_refused(given: list[Any], sentence: str) -> None:
    with pytest.raises(PenstockError) as refused:
        plan_of(given, HERE)
    assert str(refused.value) == sentence


def test_one_strategy_stands_for_a_list_of_one() -> None:
    assert scenario(search={"strategies": "no-delay"}).limits().strategies == ("no-delay",)


def test_the_command_line_names_strategies_and_tells_by_its_status_that_there_is_more(tmp_path: Path) -> None:
    file = tmp_path / "hub.toml"
    file.write_text(
        'topology = "single,2"\nproperties = ["NoBlackHoles"]\n'
        '[controller]\nnative = "hub.py:Hub"\n[search]\nstrategies = ["unusual"]\n'
    )
    copy(CONTROLLERS / "hub.py", tmp_path)
    named = ["--strategy", "no-delay", "--strategy", "delay-bounded:delays=40"]
    arguments = ["check", str(file), "--ping", "h1,h2", "--ping", "h2,h1", "--json", *named]
    done = CliRunner().invoke(commands, [*arguments, "-o", str(tmp_path)], standalone_mode=False)
    result = json.loads(done.output)
    assert done.return_value == 3
    assert result["result"] == "bounded" and result["stopped_by"] == "the limits of no-delay"
    assert result["remarks"] == [NoDelay().remark]


@pytest.mark.parametrize("command", ["check", "walk"])
def test_every_command_that_searches_refuses_a_strategy_that_there_is_not(command: str) -> None:
    arguments = [command, str(CONTROLLERS / "hub.py"), "--strategy", "nonsense"]
    done = CliRunner().invoke(commands, arguments, standalone_mode=False)
    assert isinstance(done.exception, PenstockError)
    assert str(done.exception).startswith("unknown strategy 'nonsense'")


def test_a_walk_keeps_to_the_strategies_that_narrow() -> None:
    quick = walk(scenario("no-delay", "races"), 1, walks=5).outcome
    assert (quick.result, quick.stopped_by) == ("bounded", "5 walks")
    assert [remark.partition(":")[0] for remark in quick.remarks] == ["no-delay", "random-walk"]


def test_a_strategy_of_ones_own_may_be_given_in_python() -> None:
    class Nothing(Strategy):
        name = "nothing"

    assert plan_of([Nothing()], HERE).strategies[0].remark == ""


OWN = """
from penstock import Narrowing, TransitionKind

class OneAtATime(Narrowing):
    name = "one-at-a-time"
    def pick(self, cells):
        return lambda state, options: options.every & ~options.of(TransitionKind.SEND) or options.every

class Faulty(Narrowing):
    name = "faulty"
    def pick(self, cells):
        return lambda state, options: 1 // 0

class Blind(Narrowing):
    name = "blind"
    def pick(self, cells):
        return lambda state, options: 0

class Nameless(Narrowing):
    pass

nothing = 1
"""


def in_file(tmp_path: Path, name: str) -> Scenario:
    (tmp_path / "own.py").write_text(OWN)
    copy(CONTROLLERS / "hub.py", tmp_path)
    return scenario(f"own.py:{name}", folder=tmp_path)


def test_a_strategy_in_a_file_of_the_users_narrows_a_search_and_says_so(tmp_path: Path) -> None:
    full, narrow = check(scenario()).outcome, check(in_file(tmp_path, "OneAtATime")).outcome
    assert (narrow.result, narrow.stopped_by) == ("bounded", "the limits of one-at-a-time")
    assert narrow.remarks == [
        "one-at-a-time: it left transitions out, so what they lead to may have been missed."
    ]
    assert narrow.states < full.states


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("Faulty", "The strategy faulty raised ZeroDivisionError: .* at .*own.py:"),
        ("Blind", "The strategy blind picked 0, which is no set of options that has any in it"),
        ("Nameless", 'own.py:Nameless has no name: write name = "…" into the class'),
        ("nothing", "own.py:nothing is not a strategy: name a subclass of Narrowing or Ordering"),
        ("Missing", "own.py has no 'Missing'"),
    ],
)
def test_what_is_wrong_with_a_strategy_of_the_users_is_one_sentence(
    tmp_path: Path, name: str, told: str
) -> None:
    with pytest.raises(PenstockError, match=told):
        check(in_file(tmp_path, name))
