"""NICE's Tables 4 and 5 are read right, ours are measured, and what is not as it must be is said."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from bench.nice_search import EXAMPLES, STRATEGIES, aligned, piped, put_into, searched
from bench.nice_table4 import (
    BROKEN,
    DEFAULT,
    MOST_SECONDS,
    NICE,
    OWN,
    SEARCHES,
    Cell,
    as_printed,
    best_of_nice,
)
from bench.nice_table5 import BALANCER, ENGINEERING, SWITCH, Pair, Row

from bench import nice_table4, nice_table5
from penstock._scenario.scenario import load_scenario
from penstock.errors import PenstockError

PAGE = Path(__file__).parents[2] / "docs" / "nice.md"

MISSED = {(bug, "NO-DELAY") for bug in ("VII", "XI", "XIII")} | {("IX", "FLOW-IR")}
"""The misses that the paper explains (section 9.4)."""


def cell(bug: str, strategy: str, reduction: bool = True, **changes: Any) -> Cell:
    """Return a cell that is as good as NICE's best."""
    paper = nice_table4.beside(bug, strategy, reduction)
    good = Cell(bug, strategy, reduction, True, best_of_nice(bug).transitions or 0, 0.1, paper)
    return replace(good, **changes)


def defaults(*worse: str) -> list[Cell]:
    """Return the default's cell of each bug, with more transitions than NICE's best for some."""
    cells = (cell(bug, DEFAULT) for bug in NICE)
    return [replace(each, transitions=each.transitions + (each.bug in worse)) for each in cells]


def row(app: str, strategy: str, reduction: bool, transitions: int, *, complete: bool = True) -> Row:
    paper = nice_table5.published(app, strategy, reduction)
    return Row(app, strategy, reduction, transitions, 50, 7, 1.5, complete, paper)


def pair(app: str, reduced: int, strategy: str = "PKT-SEQ", lost: int = 0, **changes: Any) -> Pair:
    """Return a search of 900 transitions beside a reduced one."""
    full = row(app, strategy, False, 900)
    return Pair(full, row(app, strategy, True, reduced, **changes), lost, 0)


# Table 4.


@pytest.mark.parametrize(
    ("text", "transitions", "seconds"),
    [
        ("2149/8.3", 2149, 8.3),
        ("12k/93.14", 12_000, 93.14),
        ("432.7k/66m", 432_700, 3960.0),
        ("Missed", None, None),
    ],
)
def test_a_printed_cell_is_read(text: str, transitions: int | None, seconds: float | None) -> None:
    read = as_printed(text, "PKT-SEQ", False)
    assert (read.transitions, read.seconds) == (transitions, seconds)


def test_nice_has_eight_cells_for_each_bug_and_misses_what_the_paper_explains() -> None:
    assert " ".join(NICE) == "I II III IV V VI VII VIII IX X XI XII XIII"
    assert {len(cells) for cells in NICE.values()} == {8}
    missed = [
        (bug, each.strategy) for bug, cells in NICE.items() for each in cells if each.transitions is None
    ]
    assert sorted(missed) == sorted([*MISSED, *MISSED])


def test_beside_a_strategy_that_nice_lacks_stands_its_best_cell() -> None:
    best = nice_table4.beside("VII", DEFAULT, False)
    assert (best.strategy, best.reduction, best.transitions) == ("UNUSUAL", True, 49)
    assert nice_table4.beside("VII", "PKT-SEQ", False).transitions == 12_000


@pytest.mark.parametrize("bug", NICE)
def test_every_bug_has_a_scenario_that_names_the_property_it_breaks(bug: str) -> None:
    text = (EXAMPLES / f"bug_{list(NICE).index(bug) + 1:02}.toml").read_text(encoding="utf-8")
    assert f"# Bug {bug} of the NICE paper" in text
    assert f'"{BROKEN[bug]}"' in text


def test_cells_like_nices_best_have_no_faults() -> None:
    assert not list(nice_table4.faults(defaults()))


def test_a_bug_may_be_missed_only_where_nice_misses_it() -> None:
    for strategy in STRATEGIES:
        for bug in NICE:
            said = list(nice_table4.faults([cell(bug, strategy, found=False)]))
            wanted = [f"Bug {bug} by {strategy} with reductions was not found."]
            assert said == ([] if (bug, strategy) in MISSED else wanted)


def test_the_default_and_our_own_strategy_must_find_every_bug() -> None:
    for strategy in (DEFAULT, OWN):
        said = list(nice_table4.faults([cell("XI", strategy, reduction=False, found=False)]))
        assert said == [f"Bug XI by {strategy} without reductions was not found."]


def test_a_cell_that_takes_too_long_is_named() -> None:
    assert not list(nice_table4.faults([cell("IX", "PKT-SEQ", seconds=MOST_SECONDS)]))
    assert list(nice_table4.faults([cell("IX", "PKT-SEQ", seconds=10.5)])) == [
        "Bug IX by PKT-SEQ with reductions took 10.5 s, more than 10 s."
    ]


def test_the_default_may_need_more_than_nices_best_for_three_bugs_only() -> None:
    assert not list(nice_table4.faults(defaults("I", "II", "III")))
    assert list(nice_table4.faults(defaults("I", "II", "III", "IX"))) == [
        "The default needs more transitions than NICE's best cell for 4 of 13 bugs, not for 3 at most: "
        "I (356 to 355), II (157 to 156), III (18 to 17), IX (13401 to 13400)."
    ]


@pytest.mark.parametrize(("strategy", "found"), [(DEFAULT, True), ("UNUSUAL", True), ("NO-DELAY", False)])
def test_a_race_is_found_unless_nothing_is_ever_delayed(strategy: str, found: bool) -> None:
    measured = nice_table4.measure("XI", strategy, True)
    assert measured.found is found
    assert measured.transitions <= 53 and measured.paper == nice_table4.beside("XI", strategy, True)


def test_ours_are_printed_beside_nices_figures_without_and_with_reductions_and_then_our_own() -> None:
    cells = [cell("VII", *way) for way in SEARCHES]
    without, reduced, own = nice_table4.tables(
        [replace(each, found=each.strategy != "NO-DELAY") for each in cells]
    ).values()
    assert without[0] == reduced[0] == ["bug", *STRATEGIES]
    assert without[1][:3] == ["VII", "49/0.10 (12000/93.14)", "missed (missed)"]
    assert reduced[1][:3] == ["VII", "49/0.10 (1782/13.26)", "missed (missed)"]
    assert own == [["bug", DEFAULT, OWN], ["VII", *["49/0.10 (49/0.38)"] * 2]]


def test_it_is_said_where_nice_takes_fewer_transitions() -> None:
    even = [cell(bug, *way) for bug in ("III", "XIII") for way in SEARCHES]
    assert {title.partition(". ")[2] for title in nice_table4.tables(even)} == {
        "NICE takes fewer transitions in none of these cells:"
    }
    worse = [
        replace(each, transitions=18) if each.bug == "III" else replace(each, found=False) for each in even
    ]
    assert [title.partition(". ")[2] for title in nice_table4.tables(worse)] == [
        "NICE takes fewer transitions in 1 of these 8 cells (III by NO-DELAY):",
        "NICE takes fewer transitions in 1 of these 8 cells (III by NO-DELAY):",
        "NICE takes fewer transitions in 2 of these 4 cells (III by default, RACES):",
    ]


# Table 5.


def test_the_papers_factors_are_those_its_text_names() -> None:
    factors = {app: pair(app, 900).paper_factor for app in (SWITCH, BALANCER, ENGINEERING)}
    assert {app: int(factor) for app, factor in factors.items()} == {SWITCH: 1, BALANCER: 9, ENGINEERING: 4}


def test_a_reduction_as_good_as_nices_that_loses_nothing_has_no_faults() -> None:
    assert not list(nice_table5.faults([pair(BALANCER, 100), pair(ENGINEERING, 225), pair(SWITCH, 900)]))


def test_a_reduction_that_cuts_less_than_nices_is_named_with_its_factor() -> None:
    cut = "by PKT-SEQ: the reductions cut the transitions by a factor of"
    assert list(nice_table5.faults([pair(BALANCER, 120), pair(ENGINEERING, 300)])) == [
        f"load balancer {cut} 7.5, less than NICE's 9.",
        f"traffic engineering {cut} 3.0, less than NICE's 4.",
    ]


def test_a_lost_state_at_rest_is_named() -> None:
    assert list(nice_table5.faults([pair(BALANCER, 90, "FLOW-IR", lost=2)])) == [
        "load balancer by FLOW-IR: of 7 states at rest 2 were lost with reductions, and 0 were met only with "
        "them."
    ]


def test_a_search_that_was_cut_short_is_named_and_has_no_factor() -> None:
    short = pair(BALANCER, 100, lost=3, complete=False)
    assert short.factor is None
    assert list(nice_table5.faults([short])) == [
        "load balancer by PKT-SEQ with reductions was not searched to the end, but stopped after 100 "
        "transitions and 1.5 s."
    ]


def test_the_reductions_keep_every_end_of_the_load_balancer() -> None:
    measured = nice_table5.compare(BALANCER, "PKT-SEQ", 60)
    assert (measured.lost, measured.gained) == (0, 0)
    assert measured.without.complete and measured.without.rest_states > 1
    assert measured.factor is not None and measured.factor >= nice_table5.FACTORS[BALANCER]


def test_the_factor_stands_beside_nices_and_a_search_that_was_cut_short_says_over() -> None:
    headings, without, reduced = nice_table5.table([pair(BALANCER, 100)])
    assert headings == nice_table5.HEADINGS
    assert without[:3] == ["load balancer, PKT-SEQ", "no", "900"] and without[6] == without[9] == ""
    assert reduced == [
        "",
        "sleep, ample, footprints",
        "100",
        "50",
        "7",
        "1.50",
        "9.0",
        "9,206",
        "47.59",
        "9.2",
    ]
    assert nice_table5.table([pair(BALANCER, 100, complete=False)])[2][2] == "over 100"


def test_beside_a_strategy_of_nices_stand_the_reductions_that_go_with_it() -> None:
    for strategy in ("NO-DELAY", "FLOW-IR", "UNUSUAL"):
        assert nice_table5.table([pair(BALANCER, 100, strategy)])[2][1] == "sleep"


def test_no_search_is_told_to_use_a_reduction_that_it_cannot_use() -> None:
    scenario = load_scenario(EXAMPLES / "bug_07.toml")
    for strategies in STRATEGIES.values():
        remarks = searched(scenario, strategies, reduced=True, seconds=60).outcome.remarks
        assert not [remark for remark in remarks if remark.startswith("The reduction ")]


def test_the_title_sums_up_what_became_of_states_at_rest() -> None:
    pairs = [pair(BALANCER, 90, lost=2), pair(SWITCH, 90, lost=1)]
    assert "3 lost with reductions, 0 met only with them." in nice_table5.title(pairs)


def test_the_title_says_how_often_nice_takes_fewer_transitions_or_has_the_larger_factor() -> None:
    pairs = [pair(BALANCER, 100), pair(BALANCER, 90), pair(ENGINEERING, 890, "NO-DELAY")]
    assert nice_table5.title(pairs).endswith(
        "Of 3 searches, NICE takes fewer transitions in 0 without reductions and in 1 with them, "
        "and its factor is larger in 2:"
    )


def test_a_search_by_a_strategy_comes_to_the_end_of_what_the_strategy_leaves() -> None:
    measured = nice_table5.compare(BALANCER, "NO-DELAY", 60)
    assert measured.without.complete and measured.reduced.complete
    assert (measured.lost, measured.gained) == (0, 0)


# Both.


@pytest.mark.parametrize(("found", "status"), [(True, 0), (False, 1)])
def test_a_bug_that_is_missed_makes_table_4_fail(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], found: bool, status: int
) -> None:
    monkeypatch.setattr(nice_table4, "measure", partial(cell, found=found))
    assert nice_table4.main(["--json", "--bug", "IV"]) == status
    printed = capsys.readouterr()
    rows = json.loads(printed.out)["rows"]
    assert len(rows) == len(SEARCHES) == 10 * found + len(printed.err.splitlines())
    assert rows[0] == {
        "bug": "IV",
        "strategy": "PKT-SEQ",
        "reduction": False,
        "found": found,
        "transitions": 30,
        "seconds": 0.1,
        "paper": {"strategy": "PKT-SEQ", "reduction": False, "transitions": 49, "seconds": 0.61},
    }


@pytest.mark.parametrize(("lost", "status"), [(0, 0), (1, 1)])
def test_a_lost_state_makes_table_5_fail(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], lost: int, status: int
) -> None:
    monkeypatch.setattr(
        nice_table5, "separately", lambda _work, app, strategy, _seconds: pair(app, 100, strategy, lost)
    )
    assert nice_table5.main(["--json", "--app", BALANCER]) == status
    printed = capsys.readouterr()
    figures = json.loads(printed.out)
    assert len(figures["rows"]) == 2 * len(STRATEGIES) == 8
    assert figures["factors"][0] == {
        "app": BALANCER,
        "strategy": "PKT-SEQ",
        "factor": 9.0,
        "paper": 9.21,
        "rest_states_lost": lost,
        "rest_states_gained": 0,
    }
    assert len(printed.err.splitlines()) == 4 * lost


def test_a_table_is_aligned_for_a_terminal() -> None:
    assert aligned([["bug", "ours"], ["VII", "9"], ["I", "1,000"]]) == "bug   ours\nVII      9\nI    1,000"


def test_a_table_takes_the_place_of_the_one_before_in_a_page(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Title\n<!-- bench.x -->\nold\n<!-- end of bench.x -->\nmore\n", encoding="utf-8")
    for count in ("1", "2"):
        put_into(page, "x", piped([["bug", "ours"], ["I", count]]))
        assert page.read_text(encoding="utf-8") == (
            f"# Title\n<!-- bench.x -->\n\n| bug | ours |\n| --- | ---: |\n| I | {count} |\n\n"
            "<!-- end of bench.x -->\nmore\n"
        )


def test_a_page_without_a_place_for_the_table_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    with pytest.raises(PenstockError, match="cannot be read"):
        put_into(page, "x", "table")
    page.write_text("<!-- bench.x -->\n", encoding="utf-8")
    with pytest.raises(PenstockError, match="has no place for the table"):
        put_into(page, "x", "table")


# The page.


def rows_of(first: str) -> list[list[str]]:
    """Return the rows of the page's tables whose first cell is this, as their other cells."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    return [line.strip("| ").split(" | ")[1:] for line in lines if line.startswith(f"| {first} | ")]


@pytest.mark.parametrize("bug", NICE)
def test_the_page_about_nice_has_what_is_measured_beside_nices_figures(bug: str, ryu_sources: Path) -> None:
    without, reduced, own = rows_of(bug)
    shown = [text for pair in zip(without, reduced, strict=True) for text in pair] + own
    for text, way in zip(shown, SEARCHES, strict=True):
        measured = nice_table4.measure(bug, *way)
        ours = f"{measured.transitions}/" if measured.found else "missed "
        paper = measured.paper
        figures = "missed" if paper.transitions is None else f"{paper.transitions}/{paper.seconds:g}"
        assert text.startswith(ours) and text.endswith(f" ({figures})")


def test_the_page_about_nice_has_every_full_search_beside_nices_figures() -> None:
    for app, strategy in product((SWITCH, BALANCER, ENGINEERING), STRATEGIES):
        (row,) = rows_of(f"{app}, {strategy}")
        assert row[6] == f"{nice_table5.published(app, strategy, False).transitions:,}"


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_page_about_nice_has_the_full_searches_of_the_load_balancer_as_measured(strategy: str) -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    place = next(at for at, line in enumerate(lines) if line.startswith(f"| {BALANCER}, {strategy} |"))
    _, *measured = nice_table5.table([nice_table5.compare(BALANCER, strategy, 60)])
    for line, cells in zip(lines[place : place + 2], measured, strict=True):
        shown = line[2:-2].split(" | ")
        # All but the seconds.
        assert [*shown[:5], *shown[6:]] == [*cells[:5], *cells[6:]]
