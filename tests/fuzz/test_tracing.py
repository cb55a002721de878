"""Where a packet would go is found out on a copy; the run itself is left as it is."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.fuzz.fuzz_lab import opened, perform, scenario, written

from penstock._controllers.controller import Controller
from penstock._fuzz.deliveries import MOST_HOPS, hops_of
from penstock._fuzz.harness import Harness
from penstock._world.component import Endpoint
from penstock._world.frame import Frame
from penstock._world.transition import Record
from penstock.openflow.actions import Output
from penstock.openflow.messages import PacketIn, PortNo
from penstock.packet import ping_request

PING = Frame(ping_request(eth_src=1, eth_dst=2, ip_src="10.0.0.1", ip_dst="10.0.0.2").to_bytes(), "h1?")

ROUND = {"s1": 2, "s2": 3, "s3": 3}
"""The ports of `ring,3` that lead round and round."""


class ByPort(Controller):
    """Sends everything out of one port of each switch."""

    def __init__(self, **ports: int) -> None:
        self.ports = ports

    def switch_join(self, switch: str) -> None:
        if switch in self.ports:
            self.install(switch, actions=(Output(self.ports[switch]),))

    def packet_in(self, switch: str, message: PacketIn) -> None:
        """Say nothing."""


def hops(stage: Harness) -> list[Record]:
    return list(hops_of(stage.world, Endpoint("h1", 0), PING))


def test_a_packet_is_followed_to_the_host_which_does_not_answer(tmp_path: Path) -> None:
    stage = opened(tmp_path, scenario(ByPort(s1=2, s2=1)))
    found = hops(stage)
    assert [record.node for record in found] == ["h1", "s1", "s2", "h2"]
    assert any(event.kind == "received" for event in found[-1].events)


def test_a_loop_is_cut_off(tmp_path: Path) -> None:
    stage = opened(tmp_path, scenario(ByPort(**ROUND), topology="ring,3"))
    found = hops(stage)
    assert len(found) == 1 + MOST_HOPS
    assert {record.node for record in found[1:]} == {"s1", "s2", "s3"}


def test_what_goes_to_a_controller_ends_there(tmp_path: Path) -> None:
    stage = opened(tmp_path, scenario(ByPort(s1=PortNo.CONTROLLER)))
    assert [record.node for record in hops(stage)] == ["h1", "s1"]


def test_a_flood_is_followed_on_all_ways(tmp_path: Path) -> None:
    stage = opened(tmp_path, scenario(ByPort(s1=PortNo.FLOOD), topology="single,3"))
    assert [record.node for record in hops(stage)] == ["h1", "s1", "h2", "h3"]


def test_a_cut_link_ends_the_way(tmp_path: Path) -> None:
    stage = opened(tmp_path, scenario(ByPort(s1=2, s2=1)))
    perform(stage, "fail s1-s2", "wait 1")
    last = hops(stage)[-1]
    assert last.node == "s1" and not last.sends


@pytest.mark.parametrize("ports", [{"s1": 2, "s2": 1}, ROUND, {"s1": PortNo.CONTROLLER}])
def test_the_run_is_left_untouched(tmp_path: Path, ports: dict[str, int]) -> None:
    stage = opened(tmp_path, scenario(ByPort(**ports), topology="ring,3"))
    perform(stage, "hold s1:c0", "hold h1:0", "send h1 to h2 ping", "send h1 to everybody arp")
    before, lines = stage.world.snapshot(), written(stage)
    assert len(hops(stage)) > 1
    assert stage.world.snapshot() == before
    assert written(stage) == lines
    asyncio.run(stage.wait(10))
    assert stage.now() == 10
