"""NoForgottenPackets: the controller releases every packet that a switch keeps for it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.properties.property_lab import lab, search
from tests.properties.sample_controllers import Buffered, BufferedByRule, Forgetful, Hub

from penstock._controllers.controller import Controller
from penstock._properties.controllers import NoForgottenPackets
from penstock._world.faults import Faults
from penstock._world.hosts import host
from penstock.openflow.messages import V10, PacketIn

PAIR = {"h1": host("client", to="h2"), "h2": host("server")}


def test_bugs_6_and_10_the_packet_that_asked_for_a_rule_is_forgotten() -> None:
    result = search(lab("single,2", Forgetful(), PAIR, buffers=4), NoForgottenPackets())
    assert result.broken["NoForgottenPackets"] == (
        "s1 still holds h2#1 (UDP 10.0.0.2:7 > 10.0.0.1:7 1 byte), which came in on port 2, in buffer 0: "
        "the controller received its packet-in and never released it."
    )


def test_bug_5_packets_that_meet_no_rule_are_ignored() -> None:
    class Ignorant(Buffered):
        def packet_in(self, switch: str, message: PacketIn) -> None:
            pass

    result = search(lab("single,2", Ignorant(), PAIR, buffers=4, version=V10), NoForgottenPackets())
    assert result.broken["NoForgottenPackets"].startswith("s1 still holds h1#1 ")


@pytest.mark.parametrize("program", [Buffered, BufferedByRule])
@pytest.mark.parametrize("reorder", ["none", "between-barriers"])
def test_a_controller_that_releases_what_it_is_told_of_is_fine(
    program: type[Controller], reorder: str
) -> None:
    hosts = {"h1": host("client", to="h2", count=2), "h2": host("server")}
    result = search(lab("single,2", program(), hosts, buffers=1, reorder=reorder), NoForgottenPackets())
    assert result.outcome.result == "exhausted"
    assert result.exercised["NoForgottenPackets"] > 0


def test_switches_without_buffers_do_not_put_it_to_the_test() -> None:
    result = search(lab("single,2", Hub(), PAIR), NoForgottenPackets())
    assert result.outcome.result == "exhausted"
    assert result.warnings == (
        "NoForgottenPackets was never exercised: it needs switches with buffers, and one that buffers "
        "a packet for the controller.",
    )


@pytest.mark.parametrize("kind", ["disconnects", "controller_crashes"])
def test_a_controller_that_could_not_hear_of_a_packet_is_not_blamed(kind: str) -> None:
    budget: dict[str, Any] = {kind: 1}
    network = lab("single,2", Buffered(), PAIR, Faults(**budget, recovery=False), buffers=4)
    result = search(network, NoForgottenPackets())
    assert result.outcome.result == "exhausted"
    assert result.exercised["NoForgottenPackets"] > 0
