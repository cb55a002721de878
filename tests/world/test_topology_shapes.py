"""The named shapes: how they are wired, and which texts name none."""

import networkx as nx
import pytest

from penstock._world.topology import Topology, topology
from penstock.errors import PenstockError


def wiring(network: Topology) -> dict[str, dict[int, str]]:
    """Return what is at the end of each switch port."""
    peers = network.peers()
    found: dict[str, dict[int, str]] = {switch.name: {} for switch in network.switches}
    for near, far in peers.items():
        if near.node in found:
            assert isinstance(near.port, int)
            found[near.node][near.port] = far.node
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("minimal", {"s1": {1: "h1", 2: "h2"}}),
        ("single,3", {"s1": {1: "h1", 2: "h2", 3: "h3"}}),
        ("reversed,3", {"s1": {1: "h3", 2: "h2", 3: "h1"}}),
        ("linear,1", {"s1": {1: "h1"}}),
        ("linear,3", {"s1": {1: "h1", 2: "s2"}, "s2": {1: "h2", 2: "s1", 3: "s3"}, "s3": {1: "h3", 2: "s2"}}),
        (" linear , 2,2 ", {"s1": {1: "h1s1", 2: "h2s1", 3: "s2"}, "s2": {1: "h1s2", 2: "h2s2", 3: "s1"}}),
        ("tree,1,2", {"s1": {1: "h1", 2: "h2"}}),
        (
            "tree,2,2",
            {"s1": {1: "s2", 2: "s3"}, "s2": {1: "h1", 2: "h2", 3: "s1"}, "s3": {1: "h3", 2: "h4", 3: "s1"}},
        ),
        (
            "ring,3",
            {
                "s1": {1: "h1", 2: "s2", 3: "s3"},
                "s2": {1: "h2", 2: "s1", 3: "s3"},
                "s3": {1: "h3", 2: "s2", 3: "s1"},
            },
        ),
        (
            "mesh,4",
            {
                "s1": {1: "h1", 2: "s2", 3: "s3", 4: "s4"},
                "s2": {1: "h2", 2: "s1", 3: "s3", 4: "s4"},
                "s3": {1: "h3", 2: "s1", 3: "s2", 4: "s4"},
                "s4": {1: "h4", 2: "s1", 3: "s2", 4: "s3"},
            },
        ),
        (
            "fattree,2",
            {
                "s1": {1: "s2", 2: "s3"},
                "s2": {1: "s4", 2: "s1"},
                "s3": {1: "s5", 2: "s1"},
                "s4": {1: "h1", 2: "s2"},
                "s5": {1: "h2", 2: "s3"},
            },
        ),
    ],
)
def test_a_shape_is_wired_as_expected(text: str, expected: dict[str, dict[int, str]]) -> None:
    assert wiring(topology(text)) == expected


@pytest.mark.parametrize("arity", [2, 4, 6, 8])
def test_a_fat_tree_has_the_size_and_the_paths_of_its_definition(arity: int) -> None:
    network = topology(f"fattree,{arity}")
    half = arity // 2
    assert len(network.switches) == 5 * arity**2 // 4
    assert len(network.hosts) == arity**3 // 4
    assert len(network.links) == 3 * arity**3 // 4
    assert all(switch.ports == tuple(range(1, arity + 1)) for switch in network.switches)
    graph = network.graph()
    last = f"h{len(network.hosts)}"
    assert nx.shortest_path_length(graph, "h1", last) == 6
    assert len(list(nx.all_shortest_paths(graph, "h1", last))) == half * half
    if half > 1:
        assert nx.shortest_path_length(graph, "h1", "h2") == 2
        assert nx.shortest_path_length(graph, "h1", f"h{half + 1}") == 4


def test_port_p_of_a_core_switch_leads_to_pod_p() -> None:
    network = topology("fattree,4")
    ports = wiring(network)
    assert ports["s1"] == {1: "s5", 2: "s7", 3: "s9", 4: "s11"}
    assert ports["s4"] == {1: "s6", 2: "s8", 3: "s10", 4: "s12"}
    assert ports["s5"] == {1: "s13", 2: "s14", 3: "s1", 4: "s2"}
    assert ports["s13"] == {1: "h1", 2: "h2", 3: "s5", 4: "s6"}


@pytest.mark.parametrize(
    "text", ["single,9", "linear,12", "tree,3,2", "ring,11", "mesh,5", "fattree,4", "torus,3,3"]
)
def test_every_shape_is_connected_and_its_hosts_are_numbered_from_one(text: str) -> None:
    network = topology(text)
    assert nx.is_connected(network.graph())
    assert [host.mac for host in network.hosts] == list(range(1, len(network.hosts) + 1))
    assert all(host.attachment is not None for host in network.hosts)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "star,3",
            r"unknown topology 'star,3': choose one of .*single,K .*linear,K\[,H\] .*tree,D,F .*fattree,K",
        ),
        ("", "unknown topology ''"),
        ("LINEAR,3", "unknown topology 'LINEAR,3'"),
        ("linear", r"'linear': must be linear,K\[,H\], as in linear,3\."),
        ("linear,1,2,3", r"'linear,1,2,3': must be linear,K\[,H\]"),
        ("tree,2", "'tree,2': must be tree,D,F, as in tree,2,2"),
        ("linear,x", "K = '.*' in the topology 'linear,x': must be an integer from 1 to 10000"),
        ("linear,3,", "H = '.*' in the topology 'linear,3,': must be an integer"),
        ("single,2.5", r"must be an integer from 1 to 10000"),
        ("single,-1", "must be an integer from 1 to 10000"),
        ("single,0", "must be an integer from 1 to 10000"),
        ("single,1_000", "must be an integer"),
        ("single,²", "must be an integer"),
        ("ring,2", "K = '.*' in the topology 'ring,2': must be an integer from 3 to 10000"),
        ("mesh,1", "must be an integer from 2 to 10000"),
        ("torus,2,3", "X = '.*' in the topology 'torus,2,3': must be an integer from 3 to 255"),
        ("fattree,3", "K = '.*' in the topology 'fattree,3': must be an even number from 2 to 10000"),
    ],
)
def test_a_text_that_names_no_topology_is_refused_in_a_sentence(text: str, message: str) -> None:
    with pytest.raises(PenstockError, match=message):
        topology(text)


@pytest.mark.parametrize(
    "text",
    ["fattree,10000", "mesh,10000", "tree,64,10000", "tree,16,2", "linear,10000,10000", "torus,255,255"],
)
def test_an_absurd_size_is_refused_before_anything_is_drawn(text: str) -> None:
    with pytest.raises(PenstockError, match=f"'{text}' would have more than 120000 hosts"):
        topology(text)


def test_a_number_of_any_length_is_refused() -> None:
    with pytest.raises(PenstockError, match="must be an integer from 1 to 64"):
        topology(f"tree,{'9' * 10_000},2")
