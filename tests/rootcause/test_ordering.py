"""Two runs are compared by what happens in them and in which order."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock._rootcause import ordering
from penstock._rootcause.ordering import Happening, compare, happenings
from penstock._trace.trace import FindingLine, FuzzTrace, InputLine, Line, LogLine, SearchTrace, Trace


def run(*texts: str) -> list[Happening]:
    """Return a run of events; `s1 x` happens at s1."""
    return [Happening(number, text.split()[0], text) for number, text in enumerate(texts, 1)]


def test_alike_runs_are_alike() -> None:
    found = compare(run("s1 a", "s2 b"), run("s1 a", "s2 b"))
    assert found.is_alike and found.common == 2


def test_what_only_one_has_is_told() -> None:
    found = compare(run("s1 a", "s1 b", "s1 c"), run("s1 a", "s1 c", "s1 d"))
    assert [event.text for event in found.only_first] == ["s1 b"]
    assert [str(event) for event in found.only_second] == ["line 3: s1 d"]
    assert found.inversion is None and not found.is_alike


def test_the_first_pair_in_another_order_is_told() -> None:
    found = compare(run("s1 a", "s1 b", "s2 c"), run("s1 b", "s1 a", "s2 c"))
    assert found.inversion is not None and found.at_one_place == found.inversion
    assert (found.inversion.before.text, found.inversion.after.text) == ("s1 a", "s1 b")
    assert (found.inversion.there_first.line, found.inversion.there_second.line) == (1, 2)
    assert found.common == 3 and not found.only_first


def test_another_order_at_different_places_is_not_one_that_anybody_saw() -> None:
    found = compare(run("s1 a", "s2 b"), run("s2 b", "s1 a"))
    assert found.inversion is not None
    assert found.at_one_place is None


def test_leaving_out_an_early_event_puts_no_later_one_out_of_order() -> None:
    found = compare(run("s1 a", "s1 b", "s1 x", "s1 a", "s1 c"), run("s1 x", "s1 a", "s1 c"))
    assert found.inversion is None
    assert [event.line for event in found.only_first] == [1, 2]


def test_too_many_alike_events_are_paired_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    many = run(*["s1 a"] * 60)
    monkeypatch.setattr(ordering, "MOST_PAIRS", 10)
    found = compare(many, many[:50])
    assert found.common == 50 and len(found.only_first) == 10 and found.inversion is None


texts = st.lists(st.sampled_from(["s1 a", "s1 b", "s2 c", "s2 d"]), max_size=8)


def longest_common(first: list[str], second: list[str]) -> int:
    """Return the length of the longest common subsequence, worked out the slow way."""
    table = [[0] * (len(second) + 1) for _ in range(len(first) + 1)]
    for i, one in enumerate(first):
        for j, other in enumerate(second):
            table[i + 1][j + 1] = table[i][j] + 1 if one == other else max(table[i][j + 1], table[i + 1][j])
    return table[-1][-1]


@settings(derandomize=True, deadline=None, max_examples=200)
@given(texts, texts)
def test_every_event_is_common_or_only_in_one(first: list[str], second: list[str]) -> None:
    one, other = run(*first), run(*second)
    found = compare(one, other)
    assert found.common + len(found.only_first) == len(one)
    assert found.common + len(found.only_second) == len(other)
    assert not {event.text for event in found.only_first} & {event.text for event in found.only_second}
    # There is something in another order just where not all that is common is so in order.
    assert (found.inversion is None) == (longest_common(first, second) == found.common)


def test_numbers_that_a_run_gives_out_do_not_count() -> None:
    def trace(tag: str, xid: int) -> Trace:
        line = Line(2, "deliver h1:0", "s1", f"{tag} [ARP]", lost=(f"s1:1 Echo(xid={xid})",))
        inputs = (InputLine(1, "fail s1-s2", 5),)
        finding = FindingLine(4, "violated", "Loops", f"{tag} goes round", 9)
        return FuzzTrace(
            scenario={},
            folder="",
            lines=(line,),
            inputs=inputs,
            logs=(LogLine(3, "c0", tag, 7),),
            findings=(finding,),
        )

    one, other = happenings(trace("h1#1", 7)), happenings(trace("h1#2", 8))
    assert len(one) == 3 and one[0].text == "input fail s1-s2"
    assert compare(one, other).is_alike


def test_what_came_from_outside_is_told_by_what_it_was() -> None:
    put = [
        SearchTrace(
            scenario={}, folder="", lines=(Line(1, "inject c0:s1", "c0", sends=(f"c0:s1 {message}",)),)
        )
        for message in ("Hello", "FeaturesRequest")
    ]
    assert not compare(*map(happenings, put)).is_alike
