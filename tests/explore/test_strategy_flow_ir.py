"""FLOW-IR: packets of different flows are never under way together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock._controllers.static import StaticController
from penstock._explore.breadth_first import breadth_first
from penstock._explore.compiled_network import CompiledNetwork
from penstock._explore.search import Bounds, Search
from penstock._explore.strategies.base import Narrowing
from penstock._explore.strategies.flow_ir import FlowIndependence, same_ends
from penstock._explore.strategies.plan import Plan, plan_of
from penstock._world.assembly import build_network
from penstock._world.frame import Frame
from penstock._world.hosts import host
from penstock._world.network import Network
from penstock._world.topology import topology
from penstock.errors import PenstockError
from penstock.packet import (
    Ethernet,
    TcpFlags,
    arp_request,
    ethernet,
    parse,
    ping_request,
    tcp_segment,
    udp_datagram,
)

ENDS: dict[str, Any] = {"eth_src": 1, "eth_dst": 2, "ip_src": "10.0.0.1", "ip_dst": "10.0.0.2"}
BACK: dict[str, Any] = {"eth_src": 2, "eth_dst": 1, "ip_src": "10.0.0.2", "ip_dst": "10.0.0.1"}


def two_pairs() -> Network:
    """Return four hosts on a switch with rules: h1 sends to h2, and h3 to h4."""
    drawing = topology("single,4")
    hosts = {
        "h1": host("client", to="h2", count=2),
        "h3": host("client", to="h4"),
        "h2": host("server"),
        "h4": host("server"),
    }
    return build_network(drawing, hosts=hosts, controllers=StaticController(drawing))


def searched(network: Network, *strategies: Narrowing, sleep: bool = False) -> Search:
    plan = Plan(strategies)
    cells = CompiledNetwork(network)
    search = Search(cells, Bounds(), successors=plan.guide(cells) if strategies else None)
    breadth_first(search, sleep=sleep)
    return search


def pairs_under_way(search: Search) -> set[frozenset[str]]:
    """Return which pairs of hosts have packets under way together, for each state of a search."""
    found = set()
    for state in search.parents:
        waiting = [search.cells.waiting(state, cell) for cell in range(len(search.cells.names))]
        frames = [m for here in waiting for _, messages in here for m in messages if isinstance(m, Frame)]
        found.add(frozenset("h1-h2" if frame.tag[1] in "12" else "h3-h4" for frame in frames))
    return found


def test_flows_are_under_way_one_at_a_time() -> None:
    assert frozenset({"h1-h2", "h3-h4"}) in pairs_under_way(searched(two_pairs()))
    alone = pairs_under_way(searched(two_pairs(), FlowIndependence()))
    assert alone == {frozenset(), frozenset({"h1-h2"}), frozenset({"h3-h4"})}


def test_it_saves_states_and_loses_no_end() -> None:
    full, alone = searched(two_pairs()).outcome, searched(two_pairs(), FlowIndependence()).outcome
    assert alone.states < full.states
    assert alone.transitions < full.transitions * 0.6
    assert alone.terminal == full.terminal
    assert searched(two_pairs(), FlowIndependence(), sleep=True).outcome.states == alone.states


def test_packets_of_one_flow_are_interleaved_as_ever() -> None:
    full, same = searched(two_pairs()), searched(two_pairs(), FlowIndependence(lambda packet, other: True))
    assert same.outcome.states == full.outcome.states
    assert same.outcome.transitions == full.outcome.transitions
    assert same.outcome.terminal == full.outcome.terminal


def segment(ends: dict[str, Any], source: int, target: int) -> Ethernet:
    return tcp_segment(**ends, tcp_src=source, tcp_dst=target, flags=TcpFlags.SYN)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (segment(ENDS, 1, 80), segment(BACK, 80, 1), True),
        (segment(ENDS, 1, 80), segment(ENDS, 2, 80), False),
        (segment(ENDS, 1, 80), udp_datagram(**ENDS, udp_src=1, udp_dst=80), False),
        (ping_request(**ENDS), ping_request(**BACK), True),
        (ping_request(**ENDS), ping_request(**{**ENDS, "ip_dst": "10.0.0.3"}), False),
        (arp_request(eth_src=1, ip_src="10.0.0.1", ip_dst="10.0.0.2"), ping_request(**ENDS), True),
        (ethernet(2, 1, 0x88B5), ethernet(1, 2, 0x88B5), True),
        (ethernet(2, 1, 0x88B5), ethernet(3, 1, 0x88B5), False),
    ],
)
def test_a_flow_is_what_goes_between_two_ends(one: Any, other: Any, same: bool) -> None:
    one, other = parse(one.to_bytes()), parse(other.to_bytes())
    assert same_ends(one, other) is same_ends(other, one) is same


def test_the_users_function_is_found_and_what_it_raises_is_told(tmp_path: Path) -> None:
    (tmp_path / "flows.py").write_text("def broken(packet, other):\n    return packet.colour\n")
    plan = plan_of(["flow-ir:is_same_flow=flows.py:broken"], tmp_path)
    (strategy,) = plan.narrowing
    with pytest.raises(PenstockError, match="is_same_flow of flow-ir raised AttributeError"):
        searched(two_pairs(), strategy)
    with pytest.raises(
        PenstockError, match="invalid is_same_flow = 7 in the strategy flow-ir: must be a function"
    ):
        plan_of([{"name": "flow-ir", "is_same_flow": 7}], tmp_path)
