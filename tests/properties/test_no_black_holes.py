"""NoBlackHoles: every packet that is sent to an existing host arrives there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from tests.properties.property_lab import ROOM, lab, search
from tests.properties.sample_controllers import ArpProxy, Forgetful, Hoarder, Hub, LearningSwitch

from penstock._controllers.controller import Controller
from penstock._properties.black_holes import NoBlackHoles
from penstock._world.faults import Faults
from penstock._world.hosts import Host, HostMaker, Turn, host
from penstock.addresses import mac
from penstock.errors import PenstockError
from penstock.openflow.actions import Output
from penstock.openflow.match import Match
from penstock.openflow.messages import PacketIn, PortNo
from penstock.packet import UDP, Ethernet, ethernet

PAIR = {"h1": host("client", to="h2", count=2), "h2": host("server")}
PING = {"h1": host("ping", to="h2")}


@dataclass(eq=False, kw_only=True)
class Caller(Host):
    """Sends one frame to an address."""

    address: int

    def start(self) -> bool:
        return False

    def offers(self, memory: bool) -> tuple[str, ...]:
        return () if memory else ("call",)

    def perform(self, memory: bool, action: str) -> Turn:
        return Turn(True, (ethernet(self.address, self.mac, 0x1234, b"hello"),))


class Nowhere(Controller):
    """Sends everything out of a port where nobody is."""

    def switch_join(self, switch: str) -> None:
        self.install(switch, Match.of(in_port=1), (Output(9),), priority=1)


class Swallow(Hub):
    """Takes every packet and does nothing about it."""

    def packet_in(self, switch: str, message: PacketIn) -> None:
        pass


class WrongWay(Hub):
    """Has every packet sent back to where it came from, which a switch does only if told so."""

    def packet_in(self, switch: str, message: PacketIn) -> None:
        self.packet_out(switch, message, (Output(PortNo.IN_PORT),))


class TestAPacketIsLost:
    def test_when_no_rule_takes_it(self) -> None:
        result = search(lab("single,2", Controller(), PAIR), NoBlackHoles())
        assert result.broken["NoBlackHoles"] == (
            "h1#1 (UDP 10.0.0.1:7 > 10.0.0.2:7 1 byte) from h1 never reached h2: "
            "s1 dropped it when it came in on port 1, because no rule of table 0 matches it, and there is "
            "no table-miss rule."
        )
        assert result.stories["NoBlackHoles"] == ["h1 send to h2", "deliver h1:0"]

    def test_when_a_rule_sends_it_nowhere(self) -> None:
        result = search(lab("single,2", Nowhere(), PAIR), NoBlackHoles())
        assert (
            "because there is no port 9 (it met the rule priority=1 in_port=1"
            in result.broken["NoBlackHoles"]
        )

    def test_when_the_controller_has_it_sent_the_wrong_way(self) -> None:
        result = search(lab("single,2", WrongWay(), PAIR), NoBlackHoles())
        assert result.broken["NoBlackHoles"].endswith("never reached h2: it ended at h1, which ignored it.")

    def test_when_the_controller_has_it_sent_where_nobody_is(self) -> None:
        class IntoTheVoid(Hub):
            def packet_in(self, switch: str, message: PacketIn) -> None:
                self.packet_out(switch, message, (Output(3),))

        result = search(lab(ROOM, IntoTheVoid(), PAIR), NoBlackHoles())
        assert result.broken["NoBlackHoles"].endswith("s1 sent it out of port 3, which leads nowhere.")
        assert result.stories["NoBlackHoles"][-1] == "deliver c0:s1"

    def test_when_the_controller_keeps_it_for_good(self) -> None:
        result = search(lab("single,2", Swallow(), PAIR), NoBlackHoles())
        assert result.broken["NoBlackHoles"].endswith(
            "never reached h2: the controller has not sent it on, and nothing more happens."
        )

    def test_bug_10_when_it_stays_in_the_buffer(self) -> None:
        hosts = {"h1": host("client", to="h2"), "h2": host("server")}
        result = search(lab("single,2", Forgetful(), hosts, buffers=4), NoBlackHoles())
        assert result.broken["NoBlackHoles"] == (
            "h2#1 (UDP 10.0.0.2:7 > 10.0.0.1:7 1 byte) from h2 never reached h1: "
            "it lies in buffer 0 of s1, for the controller to release, and nothing more happens."
        )

    def test_when_it_is_an_arp_question_too(self) -> None:
        result = search(lab("single,2", Controller(), PING), NoBlackHoles())
        assert result.broken["NoBlackHoles"].startswith(
            "h1#1 (ARP who has 10.0.0.2 tell 10.0.0.1) from h1 never reached h2: "
        )


class TestAPacketIsNotLost:
    @pytest.mark.parametrize("program", [Hub, LearningSwitch])
    @pytest.mark.parametrize("hosts", [PAIR, PING], ids=["pair", "ping"])
    @pytest.mark.parametrize("shape", ["single,3", "linear,2"])
    def test_as_long_as_it_arrives_once(
        self, shape: str, hosts: Mapping[str, HostMaker], program: type[Controller]
    ) -> None:
        result = search(lab(shape, program(), hosts), NoBlackHoles())
        assert result.outcome.result == "exhausted"
        assert result.exercised["NoBlackHoles"] >= 4

    def test_while_the_controller_may_still_send_it_on(self) -> None:
        packets = {"h1": host("client", to="h2", count=3)}
        result = search(lab("single,2", Hoarder(), packets), NoBlackHoles())
        # Only the last one is never sent on, and that is said only when nothing more can happen.
        assert result.broken["NoBlackHoles"].startswith("h1#3 ")
        assert search(lab("single,2", Hoarder(), {}), NoBlackHoles()).outcome.result == "exhausted"

    def test_when_the_controller_answers_for_the_one_who_was_asked(self) -> None:
        result = search(lab("single,2", ArpProxy(), PING), NoBlackHoles())
        assert result.outcome.result == "exhausted"
        assert result.exercised["NoBlackHoles"] > 0

    def test_when_a_wire_drops_it(self) -> None:
        result = search(lab("linear,2", Hub(), PAIR, Faults(drops=1)), NoBlackHoles())
        assert result.outcome.result == "exhausted"

    @pytest.mark.parametrize(
        "kind", ["link_failures", "switch_failures", "controller_crashes", "disconnects"]
    )
    def test_when_something_has_failed(self, kind: str) -> None:
        budget: dict[str, Any] = {kind: 1}
        faults = Faults(**budget, recovery=False)
        result = search(lab("linear,2", Hub(), {"h1": host("client", to="h2")}, faults), NoBlackHoles())
        assert result.outcome.result == "exhausted"

    def test_when_it_may_vanish(self) -> None:
        def is_datagram(packet: Ethernet) -> bool:
            return packet.find(UDP) is not None

        result = search(lab("single,2", Swallow(), PAIR), NoBlackHoles(may_vanish=is_datagram))
        assert result.outcome.result == "exhausted"
        assert not result.exercised["NoBlackHoles"]

    @pytest.mark.parametrize("address", ["00:00:00:00:00:99", "ff:ff:ff:ff:ff:ff"])
    def test_when_it_is_for_nobody_in_particular(self, address: str) -> None:
        hosts = {"h1": host(Caller, address=mac(address))}
        result = search(lab("single,2", Swallow(), hosts), NoBlackHoles())
        assert result.outcome.result == "exhausted"
        assert not result.exercised["NoBlackHoles"]


@pytest.mark.parametrize("hosts", [{}, {"h1": host("client", to="h2", named=False)}], ids=["no", "nameless"])
def test_without_packets_to_follow_it_says_that_it_was_never_put_to_the_test(
    hosts: Mapping[str, HostMaker],
) -> None:
    result = search(lab("single,2", Swallow(), hosts), NoBlackHoles())
    assert result.outcome.result == "exhausted"
    assert result.warnings == (
        "NoBlackHoles was never exercised: "
        "it needs a packet with a name (as h1#1) that is sent to an existing host.",
    )


def test_it_adds_no_state_to_a_search() -> None:
    network = lab("linear,2", LearningSwitch(), PAIR)
    assert search(network, NoBlackHoles()).outcome.states == search(network).outcome.states


def test_may_vanish_must_be_a_function() -> None:
    with pytest.raises(PenstockError, match="invalid may_vanish = 7 of NoBlackHoles"):
        NoBlackHoles(may_vanish=7)  # type: ignore[arg-type]
