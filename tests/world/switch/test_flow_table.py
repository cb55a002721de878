"""A flow table is one value however it came about, and finds what a plain scan would find."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import ClassVar

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock._world.switch import FlowEntry, FlowTable
from penstock.openflow.actions import ApplyActions, Output
from penstock.openflow.match import Match, Term

FIELDS = {"in_port": 0xFFFFFFFF, "eth_dst": 0xFFFFFFFFFFFF, "eth_type": 0xFFFF, "ipv4_dst": 0xFFFFFFFF}
values = st.integers(0, 3)


@st.composite
def matches(draw: st.DrawFn) -> Match:
    terms = []
    for field in draw(st.sets(st.sampled_from(sorted(FIELDS)))):
        mask = draw(st.sampled_from([FIELDS[field], 1, 2, 0]))
        terms.append(Term(field, draw(values), mask))
    return Match.normal(terms)


@st.composite
def entries(draw: st.DrawFn) -> FlowEntry:
    out = Output(draw(st.integers(1, 3)))
    return FlowEntry(draw(st.integers(0, 3)), draw(matches()), (ApplyActions((out,)),))


packets = st.fixed_dictionaries(dict.fromkeys(FIELDS, values))


@settings(deadline=None, derandomize=True)
@given(st.lists(entries(), max_size=12), packets)
def test_looking_up_agrees_with_scanning_the_entries_in_order(
    rules: list[FlowEntry], packet: dict[str, int]
) -> None:
    table = FlowTable()
    for rule in rules:
        table = table.put(rule)
    scanned = next((entry for entry in table if entry.match.accepts(packet)), None)
    assert table.lookup(packet) == scanned


@settings(deadline=None, derandomize=True)
@given(st.lists(entries(), max_size=8, unique_by=lambda e: (e.priority, e.match)), st.randoms())
def test_the_order_of_adding_leaves_no_trace(rules: list[FlowEntry], random: Random) -> None:
    shuffled = list(rules)
    random.shuffle(shuffled)
    one, other = FlowTable(), FlowTable()
    for rule in rules:
        one = one.put(rule)
    for rule in shuffled:
        other = other.put(rule)
    assert one == other
    assert hash(one) == hash(other)
    assert one.entries == other.entries


@settings(deadline=None, derandomize=True)
@given(matches(), matches(), packets)
def test_overlap_and_inclusion_agree_with_the_packets(
    one: Match, other: Match, packet: dict[str, int]
) -> None:
    if one.accepts(packet) and other.accepts(packet):
        assert one.overlaps(other)
        assert other.overlaps(one)
    if one.within(other) and one.accepts(packet):
        assert other.accepts(packet)


def test_bits_outside_the_mask_do_not_make_another_match() -> None:
    assert Match.of(ipv4_dst=("10.1.2.3", "255.0.0.0")) == Match.of(ipv4_dst="10.0.0.0/8")
    assert Match.of(ipv4_dst=("10.1.2.3", 0)) == Match()


def test_an_entry_of_the_same_priority_and_match_is_replaced() -> None:
    match = Match.of(in_port=1)
    table = FlowTable().put(FlowEntry(5, match)).put(FlowEntry(5, match, (ApplyActions((Output(2),)),)))
    assert [str(entry) for entry in table] == ["priority=5 in_port=1 -> output:2"]


class TestChoices:
    """Entries of equal priority that overlap: the first in order is met, unless another is preferred."""

    FIRST, SECOND = (
        FlowEntry(5, Match.of(**fields), (ApplyActions((Output(port),)),))
        for fields, port in (({"eth_dst": 3}, 4), ({"in_port": 1}, 2))
    )
    BOTH: ClassVar = {"in_port": 1, "eth_dst": 3}

    def test_a_rival_says_otherwise_at_the_same_priority(self) -> None:
        table = FlowTable([self.FIRST, self.SECOND])
        met = table.lookup(self.BOTH)
        assert met == self.FIRST
        assert table.rival(self.BOTH, met) == self.SECOND
        assert table.rival({"in_port": 9, "eth_dst": 3}, met) is None
        alike = replace(self.SECOND, instructions=self.FIRST.instructions)
        assert FlowTable([self.FIRST, alike]).rival(self.BOTH, met) is None
        higher = replace(self.SECOND, priority=6)
        assert FlowTable([self.FIRST, higher]).rival(self.BOTH, higher) is None

    def test_the_one_that_gives_way_can_be_preferred_and_the_other_again(self) -> None:
        table = FlowTable([self.FIRST, self.SECOND])
        assert table.contested == (self.SECOND,)
        turned = table.preferring(self.SECOND)
        assert turned != table
        met = turned.lookup(self.BOTH)
        assert met is not None
        assert met.match == self.SECOND.match
        (other,) = turned.contested
        assert turned.preferring(other).lookup(self.BOTH) == replace(self.FIRST, preferred=True)
        assert not any(
            entry.preferred for entry in turned.preferring(other) if entry.match == self.SECOND.match
        )

    def test_a_preferred_entry_is_found_and_replaced(self) -> None:
        turned = FlowTable([self.FIRST, self.SECOND]).preferring(self.SECOND)
        found = turned.find(5, self.SECOND.match)
        assert found is not None
        assert found.preferred
        assert len(turned.put(replace(found, instructions=()))) == 2
        assert turned.find(5, self.FIRST.match) == self.FIRST
        assert turned.find(6, self.FIRST.match) is None


@settings(deadline=None, derandomize=True)
@given(st.lists(entries(), max_size=8, unique_by=lambda e: (e.priority, e.match)), packets)
def test_rivals_are_those_that_a_scan_finds(rules: list[FlowEntry], packet: dict[str, int]) -> None:
    table = FlowTable(rules)
    met = table.lookup(packet)
    if met is not None:
        others = [e for e in table if e.priority == met.priority and e.match.accepts(packet)]
        assert (table.rival(packet, met) is not None) == any(
            e.instructions != met.instructions for e in others
        )


def numbered(number: int, port: int = 1) -> FlowEntry:
    return FlowEntry(number % 7, Match.of(eth_dst=number), (ApplyActions((Output(port),)),))


@settings(deadline=None, derandomize=True, max_examples=25)
@given(st.randoms(use_true_random=False), st.integers(1, 1500))
def test_a_large_table_is_what_a_small_one_is(random: Random, size: int) -> None:
    """Entries are added, replaced and taken out in any order, and looked up in between."""
    table = FlowTable()
    plain: dict[int, FlowEntry] = {}
    for _ in range(size):
        number = random.randrange(size)
        if random.random() < 0.3 and number in plain:
            table, _ = table.without_entry(plain.pop(number)), table.lookup({"eth_dst": number})
        else:
            plain[number] = numbered(number, random.randrange(3))
            table = table.put(plain[number])
        asked = random.randrange(size)
        assert table.find(asked % 7, Match.of(eth_dst=asked)) == plain.get(asked)
        assert table.lookup({"eth_dst": asked}) == plain.get(asked)
    at_once = FlowTable(plain.values())
    assert (len(table), table, hash(table)) == (len(plain), at_once, hash(at_once))
    assert table.entries == at_once.entries == tuple(table)
    assert table.without(lambda entry: entry.priority == 3) == FlowTable(
        entry for entry in plain.values() if entry.priority != 3
    )


def test_the_table_before_a_change_is_still_what_it_was() -> None:
    before = FlowTable(map(numbered, range(1000)))
    assert before.lookup({"eth_dst": 5}) == numbered(5)
    after = before.put(numbered(5, port=9)).put(numbered(1000)).without_entry(numbered(7))
    assert [after.lookup({"eth_dst": number}) for number in (5, 7, 1000)] == [
        numbered(5, port=9),
        None,
        numbered(1000),
    ]
    assert before == FlowTable(map(numbered, range(1000)))
    assert [before.lookup({"eth_dst": number}) for number in (5, 7, 1000)] == [numbered(5), numbered(7), None]


def test_a_large_table_that_shrinks_is_the_small_one() -> None:
    table = FlowTable(map(numbered, range(300)))
    for number in range(299, 1, -1):
        table = table.without_entry(numbered(number))
    assert table == FlowTable([numbered(0), numbered(1)])
    assert table.without_entry(numbered(0)).without_entry(numbered(1)) == FlowTable()


def test_an_entry_of_another_priority_above_or_below_is_taken_in_where_packets_are_looked_up() -> None:
    table = FlowTable(map(numbered, range(200)))
    assert table.lookup({"eth_dst": 3}) == numbered(3)
    lower, higher = (FlowEntry(priority, Match.of(eth_dst=3)) for priority in (1, 9))
    wide = FlowEntry(8, Match.of(in_port=1))
    table = table.put(lower)
    assert table.lookup({"eth_dst": 3}) == numbered(3)
    table = table.put(wide)
    assert table.lookup({"eth_dst": 3, "in_port": 1}) == wide
    table = table.put(higher)
    assert table.lookup({"eth_dst": 3, "in_port": 1}) == higher
    rival = FlowEntry(9, Match.of(in_port=1), (ApplyActions((Output(2),)),))
    assert table.put(rival).rival({"eth_dst": 3, "in_port": 1}, higher) == rival
