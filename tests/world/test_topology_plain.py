"""A topology as plain data is the same topology when it is read again, or is refused in one sentence."""

from __future__ import annotations

import json
from typing import Any

import pytest

from penstock._world.topology import Topology, TopologyBuilder, topology
from penstock._world.topology.builder import topology_as_json, topology_from_json
from penstock.errors import PenstockError


def odd() -> Topology:
    """Return a network with all that a shape has not: names, addresses, spare ports, two cables, options."""
    builder = TopologyBuilder()
    builder.add_switch("left", dpid="ab", ports=(4, 9))
    builder.add_switch("right", dpid=7)
    builder.add_host("ann", mac="02:00:00:00:00:05", ip="192.168.1.5/24")
    builder.add_host("bob", ip="0.0.0.0")
    builder.add_link("left", "right", bw=10, delay="5ms")
    builder.add_link("left", "right", 5, 6)
    builder.add_link("ann", "left", 2)
    builder.add_link("ann", "right", 3)
    return builder.build()


@pytest.mark.parametrize(
    "drawing",
    [odd(), *map(topology, ("single,4", "linear,3", "tree,2,2", "ring,4", "mesh,3", "fattree,4"))],
    ids=str,
)
def test_it_is_the_same_when_it_is_read_again(drawing: Topology) -> None:
    assert topology_from_json(json.loads(json.dumps(topology_as_json(drawing)))) == drawing


def changed(**parts: Any) -> dict[str, Any]:
    return {**topology_as_json(topology("single,2")), **parts}


@pytest.mark.parametrize(
    "given",
    [
        None,
        [],
        {},
        changed(hosts=5),
        changed(hosts=[{"name": 1}]),
        changed(hosts=[{"name": "h1", "mac": "x", "ip": "y"}]),
        changed(switches=[{"name": "s1", "dpid": True, "ports": [1]}]),
        changed(switches=[{"name": "s1", "dpid": 1, "ports": [-1]}]),
        changed(links=[{"a": ["h1", 0], "b": ["nobody", 1]}]),
        changed(links=[{"a": ["h1", 0]}]),
        changed(links=[{"a": ["h1", 0], "b": ["s1", 1], "options": {"node1": "x"}}]),
        changed(links=[{}] * 200_000),
    ],
)
def test_what_is_none_is_refused_in_one_sentence(given: object) -> None:
    with pytest.raises(PenstockError) as refused:
        topology_from_json(given)
    assert str(refused.value).endswith(".")
