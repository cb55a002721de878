"""The analysis says of random packets in random networks what really happens to them.

Packets and rules are drawn as for the comparison of our switch with Open vSwitch.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from bench.ovs.pool import Sample, sample
from bench.ovs.rules import GROUPS, draw_bucket, draw_instructions, draw_match
from tests.symbolic.forwarding_lab import (
    FIELDS,
    WITH_FRAGMENTS,
    Lab,
    Observed,
    holding,
    unconfirmed,
    uncovered,
    values_of,
)

from penstock._concolic.terms import Term, evaluate
from penstock._symbolic.forwarding.arrivals import Arrival
from penstock._world.signals import FABRIC, Carrier
from penstock._world.switch.headers import NOT_ETHERNET_II, read
from penstock.openflow.actions import ApplyActions, Instruction, Output
from penstock.openflow.match import Match
from penstock.openflow.match import Term as MatchTerm
from penstock.openflow.messages import (
    V10,
    V13,
    Bucket,
    FlowCommand,
    FlowMod,
    GroupCommand,
    GroupMod,
    GroupType,
    PortConfig,
    PortMod,
    PortNo,
    SetAsync,
    SetConfig,
)

SHAPES = ("single,3", "linear,2", "linear,3", "ring,3", "tree,2,2", "mesh,4")
CONFIGS = tuple(config for config in PortConfig if config != PortConfig.NO_STP)
TABLES = (0, 1, 2)
BATCHES, NETWORKS, FRAMES = 8, 10, 8

ONLY_ADDRESSES = {"eth_dst", "eth_src"}


def random_sample(random: Random, version: int) -> Sample:
    """Return a packet whose headers are complete; the analysis knows no others."""
    while True:
        drawn = sample(random, version == V10)
        headers = read(drawn.data)
        odd = set(drawn.fields) == ONLY_ADDRESSES
        if not odd or headers.fragment or headers.fields.get("eth_type") == NOT_ETHERNET_II:
            return drawn


def random_match(random: Random, version: int, table: int, samples: list[Sample]) -> Match:
    match = draw_match(random, random.choice(samples), version == V10, table)
    if version == V10 and match.terms and random.random() < 0.2:
        # A 1.0 switch does not ask for prerequisites, and takes what it did not read for zero.
        field, value, mask = random.choice(match.terms)
        return Match((MatchTerm(field, random.choice((0, value)), mask),))
    return match


def random_instructions(random: Random, version: int, match: Match, table: int) -> tuple[Instruction, ...]:
    drawn = draw_instructions(random, match, version == V10, table, list(GROUPS))
    again = (Output(PortNo.TABLE),) if random.random() < 0.02 else ()
    asking = (Output(PortNo.CONTROLLER),) if random.random() < 0.2 else ()
    return tuple(
        replace(one, actions=(*again, *one.actions, *asking)) if isinstance(one, ApplyActions) else one
        for one in drawn
    )


def random_lab(random: Random, version: int, samples: list[Sample]) -> Lab:
    lab = Lab(random.choice(SHAPES), version)
    for name in lab.network.names:
        if name.startswith("s"):
            _set_up(random, lab, name, version, samples)
    return lab


def _set_up(random: Random, lab: Lab, name: str, version: int, samples: list[Sample]) -> None:
    if version == V13:
        _fill_groups(random, lab, name)
        if random.random() < 0.5:
            everything = (0b111, 0b111)
            lab.tell(name, SetAsync(everything, everything, everything))
    if random.random() < 0.2:
        lab.tell(name, SetConfig(flags=random.choice((1, 3))))
    for table in TABLES if version == V13 else (0,):
        for _ in range(random.randint(0, 5)):
            match = random_match(random, version, table, samples)
            _add(random, lab, name, match, random_instructions(random, version, match, table), table)
        if version == V13 and random.random() < 0.8:
            miss: tuple[Instruction, ...] = (ApplyActions((Output(PortNo.CONTROLLER),)),)
            if random.random() < 0.5:
                miss = random_instructions(random, version, Match(), table)
            _add(random, lab, name, Match(), miss, table, priority=0)
    _disturb_ports(random, lab, name)


def _add(
    random: Random,
    lab: Lab,
    name: str,
    match: Match,
    instructions: tuple[Instruction, ...],
    table: int,
    priority: int | None = None,
) -> None:
    priority = random.randint(1, 4) if priority is None else priority
    cookie = random.randint(0, 1)
    lab.tell(
        name,
        FlowMod(FlowCommand.ADD, match, instructions, priority=priority, table_id=table, cookie=cookie),
    )


def _fill_groups(random: Random, lab: Lab, name: str) -> None:
    for group in GROUPS:
        kind = random.choice(tuple(GroupType))
        below = list(range(1, group)) if random.random() < 0.5 else []
        buckets = tuple(
            Bucket(
                draw_bucket(random, list(below)),
                weight=random.choice((0, 1, 2)) if kind == GroupType.SELECT else 0,
                watch_port=random.choice((1, 2)) if kind == GroupType.FAST_FAILOVER else PortNo.ANY,
            )
            for _ in range(1 if kind == GroupType.INDIRECT else random.randint(0, 3))
        )
        lab.tell(name, GroupMod(GroupCommand.ADD, kind, group, buckets))


def _disturb_ports(random: Random, lab: Lab, name: str) -> None:
    switch: Any = lab.network.components[lab.network.places[name]]
    for port in switch.chassis.ports:
        if random.random() < 0.15:
            config = random.choice(CONFIGS)
            lab.tell(name, PortMod(port.number, port.hw_addr, config, config))
        if random.random() < 0.03:
            lab.disturb(name, FABRIC, Carrier(port.number, up=False))


class Comparison:
    """What was compared, in numbers."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def compare(self, random: Random, size: int, absent: int) -> None:
        version = random.choice((V10, V13, V13))
        samples = [random_sample(random, version) for _ in range(size)]
        frames = [drawn.data for drawn in samples]
        lab = random_lab(random, version, samples)
        values = [values_of(frame, absent) for frame in frames]

        def feasible(conditions: tuple[Term, ...]) -> bool:
            return any(all(evaluate(condition, one) for condition in conditions) for one in values)

        sent = [lab.send("h1", frame) for frame in frames]
        forgotten = random.sample(sorted(FIELDS), 4)
        fields = {name: term for name, term in WITH_FRAGMENTS.items() if name not in forgotten}
        for told in (
            lab.arrivals("h1", WITH_FRAGMENTS),
            lab.arrivals("h1", WITH_FRAGMENTS, feasible),
            lab.arrivals("h1", fields),
        ):
            self.counts["arrivals"] += len(told)
            self.counts["exact arrivals"] += sum(arrival.exact for arrival in told)
            for frame, observed, one in zip(frames, sent, values, strict=True):
                self._check(told, frame, observed, one)

    def _check(
        self, told: tuple[Arrival, ...], frame: bytes, observed: Observed, values: dict[str, int]
    ) -> None:
        hold = holding(told, values)
        self.counts["packets"] += 1
        self.counts["that reach the controller"] += bool(observed.found)
        self.counts["packet_ins"] += len(observed.found)
        self.counts["claims that hold of a packet"] += len(hold)
        missed = uncovered(told, observed, values)
        self.counts["packet_ins of packets given up"] += len(missed)
        assert not missed or any(one.given_up for one in hold), (frame, missed)
        if not observed.at_rest:
            self.counts["packets never at rest"] += 1
            return
        self.counts["exact claims that hold of a packet"] += sum(one.exact for one in hold)
        wrong = unconfirmed(told, observed, values)
        assert not wrong, (frame, wrong)


def compare_many(seed: int, networks: int, frames: int) -> Counter[str]:
    random = Random(seed)
    comparison = Comparison()
    for _ in range(networks):
        comparison.compare(random, frames, absent=random.choice((0, -1, 0x0A000001)))
        comparison.counts["networks"] += 1
    return comparison.counts


@pytest.mark.parametrize("seed", range(BATCHES))
def test_what_is_said_to_reach_the_controller_does_and_nothing_else(seed: int) -> None:
    counts = compare_many(seed, NETWORKS, FRAMES)
    assert counts["packets"] == 3 * NETWORKS * FRAMES
    assert 0 < counts["that reach the controller"] < counts["packets"]
    assert counts["exact claims that hold of a packet"] > counts["claims that hold of a packet"] / 5
    assert counts["packet_ins of packets given up"] < counts["packet_ins"] / 10
