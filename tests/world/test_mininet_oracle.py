"""Mininet itself is asked: the same topology has the same names, addresses, ports and datapath ids.

Mininet needs root and Linux to start a network, but not to plan one.  So its own `Mininet` class
builds each network here from node and link classes that only remember what they were given.
"""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mininet.net import Mininet
from mininet.node import Switch
from mininet.topo import LinearTopo, MinimalTopo, SingleSwitchReversedTopo, SingleSwitchTopo, Topo
from mininet.topolib import TorusTopo, TreeTopo

from penstock._world.topology import Topology, TopologyBuilder, from_mininet, load_mininet, topology
from penstock.addresses import ipv4_text, mac_text

EXAMPLES = Path(__file__).parents[2] / "examples" / "topologies"


class RememberedHost:
    def __init__(self, name: str, **params: Any) -> None:
        self.name, self.params = name, params


class RememberedSwitch(Switch):  # type: ignore[misc]
    def __init__(self, name: str, **params: Any) -> None:
        self.name = name
        self.dpid = self.defaultDpid(params.get("dpid"))


class RememberedLink:
    def __init__(self, node1: Any, node2: Any, port1: int, port2: int, **params: Any) -> None:
        self.ends = frozenset({(node1.name, port1), (node2.name, port2)})


def as_mininet_builds_it(topo: Topo, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setattr(Mininet, "inited", True)
    net = Mininet(
        topo=topo,
        build=False,
        autoSetMacs=True,
        host=RememberedHost,
        switch=RememberedSwitch,
        link=RememberedLink,
        controller=None,
    )
    net.buildFromTopo(topo)
    return {
        "hosts": [(host.name, host.params["mac"], host.params["ip"]) for host in net.hosts],
        "switches": [(switch.name, switch.dpid) for switch in net.switches],
        "links": sorted(sorted(link.ends) for link in net.links),
    }


def as_penstock_has_it(network: Topology) -> dict[str, Any]:
    return {
        "hosts": [
            (host.name, mac_text(host.mac), f"{ipv4_text(host.ip)}/{host.prefix_length}")
            for host in network.hosts
        ],
        "switches": [(switch.name, f"{switch.dpid:016x}") for switch in network.switches],
        "links": sorted(
            sorted([(link.a.node, link.a.port), (link.b.node, link.b.port)]) for link in network.links
        ),
    }


@pytest.mark.parametrize(
    ("text", "topo"),
    [
        ("minimal", MinimalTopo()),
        ("single,1", SingleSwitchTopo(1)),
        ("single,12", SingleSwitchTopo(12)),
        ("reversed,4", SingleSwitchReversedTopo(4)),
        ("linear,1", LinearTopo(1)),
        ("linear,2", LinearTopo(2)),
        ("linear,11", LinearTopo(11)),
        ("linear,3,1", LinearTopo(3, 1)),
        ("linear,2,3", LinearTopo(2, 3)),
        ("linear,11,11", LinearTopo(11, 11)),
        ("tree,1,1", TreeTopo(1, 1)),
        ("tree,2,2", TreeTopo(2, 2)),
        ("tree,3,3", TreeTopo(3, 3)),
        ("tree,4,2", TreeTopo(4, 2)),
        ("torus,3,3", TorusTopo(3, 3)),
        ("torus,3,4,2", TorusTopo(3, 4, 2)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_shape_is_what_mininet_makes_of_it(text: str, topo: Topo, monkeypatch: pytest.MonkeyPatch) -> None:
    assert as_penstock_has_it(topology(text)) == as_mininet_builds_it(topo, monkeypatch)


@pytest.mark.parametrize(("file", "name"), [("diamond.py", "Diamond"), ("campus.py", "Campus")])
def test_a_file_gives_what_it_gives_with_mininet(
    file: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module: dict[str, Any] = {"__name__": "custom"}
    exec((EXAMPLES / file).read_text(), module)
    topo = module[name]()
    assert isinstance(topo, Topo)
    loaded = load_mininet(EXAMPLES / file)
    assert as_penstock_has_it(loaded) == as_mininet_builds_it(topo, monkeypatch)
    assert from_mininet(topo) == loaded


host_names = st.from_regex(r"[a-h][0-9]{1,2}(s[0-9])?", fullmatch=True)


@st.composite
def drawings(draw: st.DrawFn) -> tuple[list[str], list[str], list[tuple[str, str]]]:
    """Draw the names of hosts and switches, and pairs of them to link, in any order."""
    hosts = draw(st.lists(host_names, unique=True, max_size=6))
    numbers = draw(st.lists(st.integers(1, 30), unique=True, min_size=2, max_size=4))
    switches = [f"s{number}" for number in numbers]
    ends = st.sampled_from(hosts + switches)
    links = draw(st.lists(st.tuples(ends, ends).filter(lambda pair: pair[0] != pair[1]), max_size=10))
    return hosts, switches, links


@settings(max_examples=150)
@given(drawings())
def test_any_drawing_is_what_mininet_makes_of_it(
    drawing: tuple[list[str], list[str], list[tuple[str, str]]],
) -> None:
    hosts, switches, links = drawing
    topo, builder = Topo(), TopologyBuilder()
    for host in hosts:
        topo.addHost(host)
        builder.add_host(host)
    for switch in switches:
        topo.addSwitch(switch)
        builder.add_switch(switch)
    for pair in links:
        topo.addLink(*pair)
        builder.add_link(*pair)
    with pytest.MonkeyPatch.context() as monkeypatch:
        assert as_penstock_has_it(builder.build()) == as_mininet_builds_it(topo, monkeypatch)
