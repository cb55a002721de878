"""Hosts send to an address that no host has: a load balancer's virtual one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.host_lab import frame_of

from penstock._check.check import check
from penstock._fuzz.inputs import SendPacket
from penstock._fuzz.traffic import Station, order_of
from penstock._scenario.scenario import load_scenario
from penstock._world.assembly import build_network
from penstock._world.hosts import ASK, host
from penstock._world.topology import topology
from penstock._world.world import World
from penstock.addresses import mac
from penstock.errors import PenstockError
from penstock.packet import ARP, IPv4, parse

NICE = Path(__file__).parents[2] / "examples" / "nice"
VIRTUAL = "10.0.0.100"


def first_packet(kind: str, **options: Any) -> Any:
    """Return the first packet that h1 sends when it is of a kind."""
    world = World(build_network(topology("single,2"), hosts={"h1": host(kind, **options)}))
    (action,) = [each for each in world.enabled() if each.node == "h1"]
    (flight,) = world.take(action).sends
    return parse(frame_of(flight.message).data)


@pytest.mark.parametrize("kind", ["ping", "client", "tcp-client"])
@pytest.mark.parametrize("static_arp", [True, False])
def test_an_address_that_no_host_has_is_asked_for_by_arp(kind: str, static_arp: bool) -> None:
    packet = first_packet(kind, to=VIRTUAL, static_arp=static_arp)
    assert isinstance(packet.payload, ARP) and packet.payload.tpa == 0x0A000064


@pytest.mark.parametrize("kind", ["ping", "client", "tcp-client"])
def test_a_given_mac_address_needs_no_question(kind: str) -> None:
    packet = first_packet(kind, to=VIRTUAL, to_mac="02:00:00:00:00:64")
    assert packet.dst == mac("02:00:00:00:00:64")
    assert isinstance(packet.payload, IPv4) and packet.payload.dst == 0x0A000064


@pytest.mark.parametrize("to", ["10.0.0.2", "00:00:00:00:00:02", "h2"])
def test_a_hosts_own_addresses_mean_that_host(to: str) -> None:
    packet = first_packet("client", to=to)
    assert packet.dst == 2 and packet.payload.dst == 0x0A000002


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"to": "h9"}, "unknown host 'h9' for h1: the hosts are h1, h2; an IPv4 address will do too"),
        ({"to": "10.0.0"}, "unknown host '10.0.0'"),
        ({"to": "02:00:00:00:00:64"}, "unknown host '02:00:00:00:00:64'"),
        ({"to": VIRTUAL, "to_mac": "here"}, "invalid MAC address 'here'"),
    ],
)
def test_what_is_no_address_is_refused(options: dict[str, str], sentence: str) -> None:
    with pytest.raises(PenstockError, match=sentence):
        first_packet("ping", **options)


@pytest.mark.parametrize("bug", ["bug_05", "bug_07"])
def test_a_load_balancer_is_checked_without_a_host_of_ones_own(bug: str) -> None:
    own = load_scenario(NICE / f"{bug}.toml")
    client = own.hosts["h1"]
    assert isinstance(client, Mapping)
    given = {key: value for key, value in client.items() if key != "kind"}
    if given.get("static_arp"):
        given["to_mac"] = "02:00:00:00:00:64"
    ready = replace(own, hosts={**own.hosts, "h1": {"kind": "tcp-client", "to": VIRTUAL, **given}})
    before, after = check(own), check(ready)
    assert [found.property for found in after.findings] == [found.property for found in before.findings]
    assert after.outcome.states == before.outcome.states


def test_a_fuzzed_host_sends_there_too() -> None:
    stations = {"h1": Station("h1", 1, 0x0A000001, 0)}
    packet = order_of(SendPacket("h1", VIRTUAL, "ping"), stations).packet
    assert isinstance(packet.payload, IPv4)
    assert packet.dst == ASK and packet.payload.dst == 0x0A000064
    with pytest.raises(PenstockError, match="unknown host 'h7'"):
        order_of(SendPacket("h1", "h7", "ping"), stations)
