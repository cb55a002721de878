"""The benchmark of symbolic packets counts paths and branches right, and notices when it does not."""

from __future__ import annotations

import json
from itertools import islice

import pytest
from bench.separately import separately
from bench.symbolic import explored, formula, measured, off_formula
from bench.symbolic_apps import APPS, App, Delivery, History, Inlet, learning
from bench.symbolic_coverage import Branch, Taken, watched
from bench.symbolic_random import random_histories
from bench.symbolic_reach import OUT_OF_REACH, Reason, out_of_reach, unknown, wrong
from bench.symbolic_search import both_ways

from bench import symbolic

pytestmark = pytest.mark.usefixtures("ryu_sources")

FIREWALL, MULTICAST, AGGREGATION = APPS
LEFT, RIGHT = Branch("App.handle", "if known:", "reply()"), Branch("App.handle", "if known:", "exit")
IGMP, QUERY, REPORT, LEAVE = 2, 0x11, 0x16, 0x17


def test_the_learning_switch_has_as_many_paths_as_worked_out() -> None:
    app, before = learning(2)
    found = explored(app, [before])
    assert len(found.histories) == formula(2) == 11
    assert not found.remarks


def test_too_many_paths_or_seconds_are_noticed() -> None:
    row = {"app": "simple_switch_13", "known_macs": 10, "paths": 123, "seconds": 1.4}
    assert not list(off_formula([row]))
    assert list(off_formula([{**row, "paths": 124}])) == [
        "simple_switch_13 with 10 known addresses has 124 paths, not 123."
    ]
    assert len(list(off_formula([{**row, "seconds": 1.5}]))) == 1


@pytest.mark.parametrize(("app", "branches"), [(FIREWALL, 0), (AGGREGATION, 29)])
def test_every_branch_in_reach_is_taken(app: App, branches: int) -> None:
    row = measured(app, separately(explored, app, [()]), packets=1)
    assert not row.wrong
    assert row.figures["covered"] == row.figures["branches"] == branches
    assert row.figures["random_packets"] > 0
    assert row.figures["random_covered"] <= branches


def test_a_branch_that_is_missed_is_named() -> None:
    taken = Taken(frozenset({LEFT, RIGHT}), {"ours": frozenset({LEFT})})
    assert list(wrong(taken, {}, "ours")) == ["App.handle: 'if known:' to 'exit' is missed by ours."]
    assert not list(wrong(taken, {RIGHT: "It needs a friend."}, "ours"))


def test_a_branch_that_is_out_of_reach_but_taken_is_named() -> None:
    taken = Taken(frozenset({LEFT, RIGHT}), {"ours": frozenset({RIGHT}), "random": frozenset({LEFT})})
    assert list(wrong(taken, {LEFT: "It needs a friend."}, "ours")) == [
        "App.handle: 'if known:' to 'reply()' is taken by random, but said to be out of reach: "
        "It needs a friend."
    ]


def test_a_branch_that_does_not_exist_is_named() -> None:
    reason = Reason("It needs a friend.", 2, (LEFT, RIGHT))
    (fault,) = unknown([reason], {LEFT})
    assert "'if known:' to 'exit'" in fault and "no such branch" in fault


def test_a_branch_is_out_of_reach_only_of_fewer_packets() -> None:
    reasons = [Reason("It needs a friend.", 2, (LEFT,)), Reason("It cannot be.", None, (RIGHT,))]
    assert out_of_reach(reasons, 1).keys() == {LEFT, RIGHT}
    assert out_of_reach(reasons, 2).keys() == {RIGHT}


def igmp(app: App, inlet: Inlet, kind: int) -> Delivery:
    inputs = {**app.frames.usual, "ip_proto": IGMP, "igmp_type": kind}
    return Delivery(inlet, app.frames.data(inputs))


def test_what_is_said_to_take_three_packets_is_reached_by_three() -> None:
    def history(*packets: tuple[str, int, int]) -> History:
        return tuple(igmp(MULTICAST, Inlet(switch, port), kind) for switch, port, kind in packets)

    three = [
        history(("s1", 1, REPORT), ("s1", 2, REPORT), ("s1", 1, LEAVE)),
        history(("s2", 1, QUERY), ("s2", 2, REPORT), ("s2", 2, REPORT)),
    ]
    taken = separately(watched, MULTICAST, {"three": three})
    reasons = OUT_OF_REACH[MULTICAST.name]
    assert out_of_reach(reasons, 2).keys() - out_of_reach(reasons, 3).keys() <= taken.by["three"]
    assert not out_of_reach(reasons, 3).keys() & taken.by["three"]


def test_random_packets_depend_on_the_seed_alone() -> None:
    def drawn(seed: int) -> list[History]:
        return list(islice(random_histories(MULTICAST, [()], seed), 20))

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)
    assert len({history[-1].inlet for history in drawn(1)}) > 1


def test_a_search_with_its_packets_given_by_hand_is_the_same() -> None:
    discovered, by_hand = both_ways("single,2", 2000)
    assert discovered[:-1] == by_hand[:-1]
    assert discovered.states >= 2000


def test_a_search_that_takes_too_long_or_differs_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"topology": "single,2", "same": False, "ratio": 2.1}
    monkeypatch.setattr(symbolic, "compare", lambda *_: row)
    monkeypatch.setattr(symbolic, "SEARCHES", [("single,2", 10)])
    figures, faults = symbolic.searches()
    assert figures["ratio"] == 2.1
    assert len(faults) == 2 and "did not do the same" in faults[0] and "2.1 times as long" in faults[1]


@pytest.mark.parametrize(("faults", "status"), [([], 0), (["One branch is missed."], 1)])
def test_what_is_wrong_decides_the_exit_status(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], faults: list[str], status: int
) -> None:
    monkeypatch.setattr(symbolic, "table", lambda: ([], faults))
    monkeypatch.setattr(symbolic, "searches", lambda: ({"ratio": 1.0, "rows": []}, []))
    assert symbolic.main(["--json"]) == status
    printed = capsys.readouterr()
    assert json.loads(printed.out) == {"rows": [], "search": {"ratio": 1.0, "rows": []}}
    assert printed.err.splitlines() == faults
