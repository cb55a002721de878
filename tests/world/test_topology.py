"""A topology drawn by hand: what is filled in, what can be asked of it, and what is refused."""

from itertools import pairwise

import networkx as nx
import pytest

from penstock._world.component import Endpoint
from penstock._world.topology import Link, Topology, TopologyBuilder, topology
from penstock.addresses import ipv4, mac
from penstock.errors import PenstockError


def pair() -> TopologyBuilder:
    builder = TopologyBuilder()
    builder.add_host("h1")
    builder.add_switch("s1")
    return builder


def two_hosts() -> Topology:
    builder = pair()
    builder.add_host("h2")
    builder.add_link("h1", "s1")
    builder.add_link("h2", "s1")
    return builder.build()


def test_ports_addresses_and_datapath_ids_are_filled_in() -> None:
    network = two_hosts()
    assert [(host.name, host.mac, host.ip) for host in network.hosts] == [
        ("h1", mac("00:00:00:00:00:01"), ipv4("10.0.0.1")),
        ("h2", mac("00:00:00:00:00:02"), ipv4("10.0.0.2")),
    ]
    assert network.links == (
        Link(Endpoint("h1", 0), Endpoint("s1", 1)),
        Link(Endpoint("h2", 0), Endpoint("s1", 2)),
    )
    assert network.switch("s1").dpid == 1
    assert network.switch("s1").ports == (1, 2)


def test_addresses_follow_the_numbers_in_names_and_not_the_order_of_adding() -> None:
    builder = TopologyBuilder()
    for name in ("h10", "h2", "h1"):
        builder.add_host(name)
    assert [(host.name, host.ip - ipv4("10.0.0.0")) for host in builder.build().hosts] == [
        ("h1", 1),
        ("h2", 2),
        ("h10", 3),
    ]


def test_given_addresses_ports_and_options_are_kept() -> None:
    builder = TopologyBuilder()
    builder.add_host("web", mac="0a:00:00:00:00:99", ip="192.168.7.5/24")
    builder.add_switch("edge", dpid="00:00:00:00:00:00:00:ff")
    link = builder.add_link("edge", "web", port1=7, port2=2, delay="5ms", bw=10)
    network = builder.build()
    host = network.host("web")
    assert (host.mac, host.ip, host.prefix_length) == (0x0A0000000099, ipv4("192.168.7.5"), 24)
    assert (host.ports, host.attachment) == ((2,), Endpoint("edge", 7))
    assert network.switch("edge").dpid == 0xFF
    assert network.links == (link,)
    assert link.options == (("bw", 10), ("delay", "5ms"))


def test_a_host_is_attached_where_its_lowest_port_leads() -> None:
    builder = pair()
    builder.add_switch("s2")
    builder.add_link("h1", "s2", port1=1)
    builder.add_link("h1", "s1", port1=0)
    assert builder.build().host("h1").attachment == Endpoint("s1", 1)


def test_a_host_without_a_link_is_attached_nowhere() -> None:
    assert pair().build().host("h1").attachment is None


def test_a_host_may_start_without_an_ip_address_and_so_may_its_neighbour() -> None:
    builder = TopologyBuilder()
    builder.add_host("h1", ip="0.0.0.0")
    builder.add_host("h2", ip="0.0.0.0")
    assert [host.ip for host in builder.build().hosts] == [0, 0]


def test_a_switch_may_have_ports_that_no_link_uses() -> None:
    builder = TopologyBuilder()
    builder.add_switch("s1", ports=range(1, 4))
    builder.add_host("h1")
    builder.add_link("h1", "s1")
    network = builder.build()
    assert network.switch("s1").ports == (1, 2, 3)
    assert network.host("h1").attachment == Endpoint("s1", 1)


def test_a_link_without_a_port_number_steps_over_the_ports_in_use() -> None:
    builder = pair()
    builder.add_host("h2")
    builder.add_link("h1", "s1", port2=2)
    assert builder.add_link("h2", "s1").b == Endpoint("s1", 3)


def test_the_order_of_drawing_makes_no_difference() -> None:
    one, other = TopologyBuilder(), TopologyBuilder()
    for builder, names in ((one, ("s1", "s2")), (other, ("s2", "s1"))):
        for name in names:
            builder.add_switch(name)
        builder.add_link(*names)
    assert one.build() == other.build()
    assert hash(one.build()) == hash(other.build())


def test_peers_lead_both_ways_along_every_link() -> None:
    assert two_hosts().peers() == {
        Endpoint("h1", 0): Endpoint("s1", 1),
        Endpoint("s1", 1): Endpoint("h1", 0),
        Endpoint("h2", 0): Endpoint("s1", 2),
        Endpoint("s1", 2): Endpoint("h2", 0),
    }


def test_the_graph_finds_paths_and_the_ports_along_them() -> None:
    graph = topology("tree,2,2").graph()
    path = nx.shortest_path(graph, "h1", "h4")
    assert path == ["h1", "s2", "s1", "s3", "h4"]
    hops = pairwise(path[1:])
    assert [graph.edges[here, there, 0]["ports"][here] for here, there in hops] == [3, 2, 2]
    assert graph.nodes["h1"]["kind"] == "host"
    assert graph.nodes["s1"]["kind"] == "switch"


def test_the_graph_keeps_parallel_links_apart() -> None:
    builder = pair()
    links = {builder.add_link("h1", "s1"), builder.add_link("h1", "s1")}
    edges = builder.build().graph().edges(data="link")
    assert {link for _, _, link in edges} == links


def test_the_summary_shows_every_address_and_every_port() -> None:
    builder = pair()
    builder.add_host("h2", mac="00:00:00:00:00:ff", ip="10.1.2.3/16")
    builder.add_switch("s2", ports=[4])
    builder.add_link("h1", "s1")
    builder.add_link("s1", "s2")
    assert str(builder.build()).splitlines() == [
        "2 hosts, 2 switches, 2 links",
        "h1  00:00:00:00:00:01  10.0.0.1/8  at s1:1",
        "h2  00:00:00:00:00:ff  10.1.2.3/16  not attached",
        "s1  dpid 0000000000000001  1: h1:0  2: s2:1",
        "s2  dpid 0000000000000002  1: s1:2  4: free",
    ]


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(PenstockError, match=r"unknown host 'h3': this topology's host names are h1, h2\."):
        two_hosts().host("h3")
    with pytest.raises(PenstockError, match=r"unknown switch 'h1': this topology's switch names are s1\."):
        two_hosts().switch("h1")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("h1", "duplicate name 'h1'"),
        ("s1", "duplicate name 's1'"),
        ("", "invalid name ''"),
        ("h 2", "invalid name 'h 2'"),
        ("h:2", "invalid name 'h:2'"),
        ("fabric", "invalid name 'fabric'"),
        ("h" * 65, "invalid name 'h+'"),
        (7, "invalid name 7"),
    ],
)
def test_a_name_must_be_new_and_readable(name: str, message: str) -> None:
    with pytest.raises(PenstockError, match=message):
        pair().add_host(name)
    with pytest.raises(PenstockError, match=message):
        pair().add_switch(name)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("00:00:00:00:01", "Cannot add host 'h2': invalid MAC address '00:00:00:00:01'"),
        ("ff:ff:ff:ff:ff:ff", "invalid MAC address 'ff:ff:ff:ff:ff:ff': must be that of one host"),
        ("01:00:5e:00:00:01", "invalid MAC address '01:00:5e:00:00:01': must be that of one host"),
        (0, "invalid MAC address 0: must be that of one host"),
        (1 << 48, "must be that of one host"),
    ],
)
def test_a_mac_address_must_be_that_of_one_host(given: str | int, message: str) -> None:
    with pytest.raises(PenstockError, match=message):
        pair().add_host("h2", mac=given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("10.0.0", "Cannot add host 'h2': invalid IPv4 address '10.0.0'"),
        ("10.0.0.256", "invalid IPv4 address '10.0.0.256'"),
        ("10.0.0.1/33", "invalid IPv4 address '10.0.0.1/33': write its prefix length"),
        ("10.0.0.1/", "invalid IPv4 address '10.0.0.1/': write its prefix length"),
        (1 << 32, "invalid IPv4 address 4294967296"),
        (-1, "invalid IPv4 address -1"),
    ],
)
def test_an_ip_address_must_be_one(given: str | int, message: str) -> None:
    with pytest.raises(PenstockError, match=message):
        pair().add_host("h2", ip=given)


@pytest.mark.parametrize(
    ("name", "dpid", "message"),
    [
        (
            "core",
            None,
            "Cannot derive the datapath id of switch 'core' from its name: pass dpid=",
        ),
        ("s2", "xyz", "'xyz' of switch 's2'"),
        ("s2", "1" * 17, "invalid datapath id .* of switch 's2'"),
        ("s2", -1, "invalid datapath id -1 of switch 's2': must fit in 64 bits"),
        ("s2", 1 << 64, "of switch 's2': must fit in 64 bits"),
        ("s" + "9" * 20, None, "must fit in 64 bits"),
    ],
)
def test_a_datapath_id_must_be_one(name: str, dpid: str | int | None, message: str) -> None:
    with pytest.raises(PenstockError, match=message):
        pair().add_switch(name, dpid=dpid)


def test_the_same_mac_address_twice_is_refused() -> None:
    builder = pair()
    builder.add_host("h2", mac="00:00:00:00:00:01")
    with pytest.raises(PenstockError, match=r"h1 and h2 both have the MAC address 00:00:00:00:00:01: .*mac="):
        builder.build()


def test_the_same_ip_address_twice_is_refused() -> None:
    builder = pair()
    builder.add_host("h2", ip="10.0.0.1")
    with pytest.raises(PenstockError, match=r"h1 and h2 both have the IP address 10\.0\.0\.1: .*ip="):
        builder.build()


def test_the_same_datapath_id_twice_is_refused() -> None:
    builder = pair()
    builder.add_switch("a1")
    with pytest.raises(PenstockError, match=r"a1 and s1 both have the datapath id 1: .*dpid="):
        builder.build()


def test_a_link_to_a_port_that_is_in_use_is_refused() -> None:
    builder = pair()
    builder.add_host("h2")
    builder.add_link("h1", "s1", port2=1)
    with pytest.raises(
        PenstockError,
        match=r"Port 1 of s1 already leads to h1:0, so it cannot lead to h2 too: give this link a port",
    ):
        builder.add_link("h2", "s1", port2=1)
    assert len(builder.build().links) == 1


def test_a_link_to_an_unknown_node_is_refused() -> None:
    with pytest.raises(
        PenstockError, match="The link h1 -- s9 needs 's9', which is not a host or switch: add"
    ):
        pair().add_link("h1", "s9")


def test_a_link_from_a_node_to_itself_is_refused() -> None:
    with pytest.raises(PenstockError, match="The link s1 -- s1 joins a node to itself"):
        pair().add_link("s1", "s1")


@pytest.mark.parametrize("port", [0, -1, 0xFF01, "2"])
def test_a_switch_port_must_be_one_that_openflow_can_name(port: int) -> None:
    with pytest.raises(PenstockError, match=r"invalid port .* of s1: must be an integer from 1 to 65280\."):
        pair().add_link("h1", "s1", port2=port)
    with pytest.raises(PenstockError, match=r"invalid port .* of s2: must be an integer from 1 to 65280\."):
        pair().add_switch("s2", ports=[port])
