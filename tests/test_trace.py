"""A trace says of each step what caused it, also where wires misbehave."""

from __future__ import annotations

from random import Random

import pytest

from penstock.controllers.static import StaticController
from penstock.trace import lines_of
from penstock.world.assembly import build_network
from penstock.world.faults import Faults
from penstock.world.hosts import host
from penstock.world.topology import topology
from penstock.world.transition import Record
from penstock.world.world import World


@pytest.mark.parametrize("seed", range(6))
def test_a_delivery_is_caused_by_the_step_that_sent_what_it_delivers(seed: int) -> None:
    drawing = topology("linear,2")
    network = build_network(
        drawing,
        hosts={name: host("client", to=to, count=4) for name, to in (("h1", "h2"), ("h2", "h1"))},
        controllers=StaticController(drawing),
        faults=Faults(drops=2, duplicates=2, reorders=2, link_failures=1),
    )
    records: list[Record] = []
    World(network, [records.append]).run(Random(seed), limit=300, faults=True)
    lines = list(lines_of(records))
    delivered = [line for line in lines if line.message is not None]
    assert delivered
    for line in delivered:
        channel = line.transition.removeprefix("deliver ")
        sent = [send for cause in line.causes for send in lines[cause - 1].sends]
        assert f"{channel} {line.message}" in sent, line
    assert any(line.transition.startswith(("drop", "duplicate", "reorder")) for line in lines)
