"""In a space small enough to go through, the model's classes are all there is: nothing found, nothing missed.

Rules look at two bits of each MAC address.  Each of these packets is sent in a world, and what became of them
all is what the model says of the class.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.forwarding.flow_lab import Lab, out

from penstock._forwarding.header_space import header_of
from penstock._forwarding.journeys import Outcome
from penstock.openflow.actions import Action, ApplyActions, GotoTable, Instruction, Output, SetField
from penstock.openflow.match import Match
from penstock.openflow.messages import PortNo

SMALL = Match.of(eth_dst=(0, (1 << 48) - 4), eth_src=(0, (1 << 48) - 4), eth_type=0x9000, vlan_vid=0)
"""The packets of the small space: two bits of either address are open."""


def space() -> Iterator[int]:
    for dst, src in product(range(4), range(4)):
        yield header_of({"eth_dst": dst, "eth_src": src, "eth_type": 0x9000})


def a_match(random: Random) -> Match:
    fields = {name: (random.randrange(4), random.randrange(4)) for name in ("eth_dst", "eth_src")}
    return Match.of(**{name: given for name, given in fields.items() if random.random() < 0.7})


def instructions(random: Random, table: int) -> list[Instruction]:
    actions: list[Action] = []
    for _ in range(random.randint(0, 3)):
        if random.random() < 0.3:
            actions.append(SetField(random.choice(("eth_dst", "eth_src")), random.randrange(4)))
        else:
            actions.append(Output(random.choice((1, 2, 3, PortNo.IN_PORT, PortNo.FLOOD))))
    found: list[Instruction] = [ApplyActions(tuple(actions))] if actions else []
    return [*found, GotoTable(1)] if table == 0 and random.random() < 0.3 else found


def small_network(random: Random) -> Lab:
    lab = Lab(random.choice(("linear,2", "ring,3", "single,3")))
    for switch in lab.switches:
        for _ in range(random.randint(1, 7)):
            table = random.randrange(2)
            chosen = instructions(random, table)
            lab.rule(switch, a_match(random), *chosen, priority=random.randint(1, 4), table_id=table)
        if random.random() < 0.5:
            lab.rule(switch, Match(), out(PortNo.FLOOD), priority=0)
    return lab


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.integers(0, 1 << 32).map(Random))
def test_the_classes_of_a_small_space_are_what_its_packets_do(random: Random) -> None:
    lab = small_network(random)
    told = lab.model.outcomes("h1", SMALL)
    sent = [lab.send("h1", header) for header in space()]
    hosts = {host for seen in sent for host, _ in seen.delivered}
    at_rest = all(seen.at_rest for seen in sent)
    assert any(one.fate == "loop" for one in told) == (not at_rest)
    assert hosts <= {one.node for one in told if one.fate == "delivered"}
    traced = [one for header in space() for one in lab.model.trace("h1", header)]
    if at_rest:
        assert {one.node for one in told if one.fate == "delivered"} == hosts
        delivered = {(one.node, one.at_end) for one in traced if one.fate == "delivered"}
        assert delivered == {pair for seen in sent for pair in seen.delivered}
    assert ends(told) == ends(traced)


def ends(outcomes: list[Outcome]) -> set[tuple[str, str, str]]:
    """Return how packets end; where on a loop one is first as it was before is its own matter."""
    return {(one.fate, "" if one.fate == "loop" else one.node, one.why) for one in outcomes}
