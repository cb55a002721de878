"""FlowAffinity: all packets of a TCP connection reach the same replica."""

from __future__ import annotations

from typing import Any

import pytest
from tests.properties.property_lab import lab, search
from tests.properties.sample_controllers import Balancer, HastyBalancer

from penstock._controllers.static import StaticController
from penstock._properties.paths import FlowAffinity
from penstock._world.hosts import HostMaker, host
from penstock._world.topology import topology
from penstock.errors import PenstockError


def web(segments: int = 0, retries: int = 1) -> dict[str, HostMaker]:
    """Return a client of the service at h4's address, and its replicas h2 and h3."""
    client = host("tcp-client", to="h4", segments=segments, syn_retries=retries, static_arp=True)
    return {"h1": client, "h2": host("tcp-server"), "h3": host("tcp-server")}


def affinity() -> FlowAffinity:
    return FlowAffinity(replicas=["h2", "h3"])


def test_bug_9_a_repeated_syn_goes_to_another_replica() -> None:
    result = search(lab("single,4", HastyBalancer(), web()), affinity())
    assert result.broken["FlowAffinity"] == (
        "h1#2 (TCP SYN 10.0.0.1:40000 > 10.0.0.3:80) reached h3, but earlier packets of that connection "
        "reached h2."
    )
    assert "h1 retransmit SYN" in result.stories["FlowAffinity"]


def test_a_balancer_that_remembers_connections_is_fine() -> None:
    result = search(lab("single,4", Balancer(), web(segments=1)), affinity())
    assert result.outcome.result == "exhausted"
    assert result.exercised["FlowAffinity"] > 5


def test_two_clients_may_have_the_same_port() -> None:
    clients = {name: host("tcp-client", to="h3", segments=0, static_arp=True) for name in ("h1", "h2")}
    result = search(
        lab("single,3", StaticController(topology("single,3")), {**clients, "h3": host("tcp-server")}),
        FlowAffinity(replicas=["h3", "h1"]),
    )
    # h1 counts as a replica here: what h3 answers to h2 is no business of the property's.
    assert result.outcome.result == "exhausted"
    assert result.exercised["FlowAffinity"] > 5


def test_without_connections_it_says_that_it_was_never_put_to_the_test() -> None:
    result = search(lab("single,4", Balancer(), {"h1": host("client", to="h2", count=2)}), affinity())
    assert result.outcome.result == "exhausted"
    assert result.warnings == (
        "FlowAffinity was never exercised: it needs a connection of which a second packet reaches a replica.",
    )


def test_the_first_packet_of_a_connection_does_not_put_it_to_the_test() -> None:
    class Mute(Balancer):
        CLIENT_PORT = 4

    result = search(lab("single,4", Mute(), web(retries=0)), affinity())
    assert result.outcome.result == "exhausted"
    assert not result.exercised["FlowAffinity"]


@pytest.mark.parametrize("replicas", ["h2", ["h2"], ["h2", "h2"]])
def test_it_needs_two_replicas(replicas: Any) -> None:
    with pytest.raises(PenstockError, match="must be two hosts or more"):
        FlowAffinity(replicas=replicas)


def test_replicas_must_be_hosts() -> None:
    with pytest.raises(PenstockError, match="names the replica 's1', which is not a host: the hosts are h1"):
        search(lab("single,4", Balancer(), {}), FlowAffinity(replicas=["h2", "s1"]))
