"""The index of rules answers as a flow table does, whatever came and went."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock._forwarding.header_space import Cube, cube_of, header_of, overlap
from penstock._forwarding.rules import RuleTable
from penstock._world.switch.flow_table import FlowEntry, FlowTable
from penstock.openflow.match import Match

SETTINGS = settings(max_examples=100, deadline=None, derandomize=True)
low = st.integers(0, 15)
fields = st.fixed_dictionaries(
    {}, optional={"eth_src": st.tuples(low, low), "eth_dst": st.tuples(low, low), "vlan_vid": low}
)


def match_of(given: dict[str, Any]) -> Match:
    return Match.of(**given)


matches = fields.map(match_of)
entries = st.builds(FlowEntry, st.integers(0, 3), matches)
packets = st.fixed_dictionaries({"eth_src": low, "eth_dst": low, "vlan_vid": low})


def tables(drawn: list[FlowEntry], leaving: int) -> tuple[RuleTable, FlowTable]:
    """Return the same entries in both, after the first few have come and gone."""
    rules = RuleTable("s1 table 0")
    kept = {(entry.priority, entry.match): entry for entry in drawn}
    for entry in kept.values():
        rules.add(entry)
    for entry in list(kept.values())[:4]:
        # Projections are made by asking, and have to be kept up from then on.
        rules.overlapping(cube_of(entry.match))
    for key in list(kept)[:leaving]:
        rule = rules.find(*key)
        assert rule is not None
        rules.remove(rule)
        del kept[key]
    return rules, FlowTable(kept.values())


@SETTINGS
@given(st.lists(entries, max_size=40), st.integers(0, 20), st.lists(packets, min_size=1, max_size=10))
def test_a_header_meets_the_entry_that_a_switch_finds(
    drawn: list[FlowEntry], leaving: int, headers: list[dict[str, int]]
) -> None:
    rules, table = tables(drawn, leaving)
    assert len(rules) == len(table)
    for one in headers:
        found = rules.lookup(header_of(one))
        assert (found.entry if found else None) == table.lookup(one)


@SETTINGS
@given(st.lists(entries, max_size=40), st.integers(0, 20), matches)
def test_a_cube_meets_every_entry_that_it_shares_a_header_with(
    drawn: list[FlowEntry], leaving: int, asked: Match
) -> None:
    rules, table = tables(drawn, leaving)
    cube: Cube = cube_of(asked)
    expected = [entry for entry in table if overlap(cube_of(entry.match), cube)]
    assert [rule.entry for rule in rules.overlapping(cube)] == expected
