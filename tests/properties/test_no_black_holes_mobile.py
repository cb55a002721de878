"""NoBlackHolesMobile: as NoBlackHoles, but for what must be lost when a host moves."""

from __future__ import annotations

from typing import Any

import pytest
from tests.properties.property_lab import ROOM, lab, search
from tests.properties.sample_controllers import Attentive, Careful, Hub, LearningSwitch

from penstock._controllers.static import StaticController
from penstock._properties.black_holes import NoBlackHoles, NoBlackHolesMobile
from penstock._world.fabric import Mobility
from penstock._world.faults import Faults
from penstock._world.hosts import HostMaker, host
from penstock._world.network import Network
from penstock.openflow.messages import PacketIn


def talk(to_mobile: int = 2, from_mobile: int = 2, *, carrier: bool = False) -> dict[str, HostMaker]:
    """Return h1 and h2, who talk to each other, h2 being one that moves to s1:3."""
    roaming = Mobility(("s1:3",), carrier=carrier)
    return {
        "h1": host("client", to="h2", count=to_mobile),
        "h2": host("client", to="h1", count=from_mobile, mobility=roaming),
    }


def room(program: Any, hosts: dict[str, HostMaker], faults: Faults | None = None) -> Network:
    return lab(ROOM, program, hosts, faults or Faults())


def test_bug_1_a_rule_outlives_the_move_of_its_host() -> None:
    result = search(room(LearningSwitch(), talk()), NoBlackHolesMobile())
    assert result.broken["NoBlackHolesMobile"] == (
        "h1#2 (UDP 10.0.0.1:7 > 10.0.0.2:7 1 byte) from h1 never reached h2: "
        "s1 sent it out of port 2, which leads nowhere."
    )
    story = result.stories["NoBlackHolesMobile"]
    # The host moved, was heard at its new place, and only then was the lost packet sent.
    assert story.index("fabric move h2 to s1:3") < story.index("h2 send to h1", 2)
    assert story[-2:] == ["h1 send to h2", "deliver h1:0"]


def test_no_black_holes_blames_also_what_no_controller_could_have_known() -> None:
    for program in (LearningSwitch(), Attentive()):
        result = search(room(program, talk()), NoBlackHoles())
        assert "fabric move h2 to s1:3" in result.stories["NoBlackHoles"]
        assert "which leads nowhere" in result.broken["NoBlackHoles"]


@pytest.mark.parametrize("carrier", [False, True], ids=["silent", "announced"])
def test_a_controller_that_takes_back_its_rules_is_fine(carrier: bool) -> None:
    to_mobile = 2 if carrier else 3
    result = search(room(Attentive(), talk(to_mobile, carrier=carrier)), NoBlackHolesMobile())
    assert result.outcome.result == "exhausted"
    assert result.exercised["NoBlackHolesMobile"] > 20


def test_a_hub_is_fine_too() -> None:
    result = search(room(Hub(), talk()), NoBlackHolesMobile())
    assert result.outcome.result == "exhausted"
    assert result.exercised["NoBlackHolesMobile"] > 10


def test_a_controller_that_ignores_the_signals_of_an_announced_move_is_not() -> None:
    result = search(room(LearningSwitch(), talk(2, 1, carrier=True)), NoBlackHolesMobile())
    assert "h2 send to h1" not in result.stories["NoBlackHolesMobile"][4:]
    assert "never reached h2" in result.broken["NoBlackHolesMobile"]


def test_rules_that_never_change_fail_a_host_that_was_heard_elsewhere() -> None:
    result = search(room(StaticController(ROOM), talk(1, 1)), NoBlackHolesMobile())
    assert result.stories["NoBlackHolesMobile"] == [
        "fabric move h2 to s1:3",
        "h2 send to h1",
        "deliver h2:0",
        "deliver s1:1",
        "h1 send to h2",
        "deliver h1:0",
    ]


def test_of_a_host_that_keeps_quiet_after_its_move_nobody_can_know() -> None:
    result = search(room(LearningSwitch(), talk(3, 0)), NoBlackHolesMobile())
    assert result.outcome.result == "exhausted"
    assert result.warnings == (
        "NoBlackHolesMobile was never exercised: it needs a host that moves, sends a packet from its "
        "new place, and is sent one after that.",
    )


def test_a_packet_to_a_host_that_did_not_move_is_judged_as_ever() -> None:
    class Deaf(LearningSwitch):
        def packet_in(self, switch: str, message: PacketIn) -> None:
            pass

    result = search(room(Deaf(), talk(0, 1)), NoBlackHolesMobile())
    assert result.broken["NoBlackHolesMobile"].startswith("h2#1 ")


def test_what_a_switch_has_not_carried_out_yet_counts_as_under_way() -> None:
    for program in (Hub(), Careful()):
        result = search(lab(ROOM, program, talk(), reorder="between-barriers"), NoBlackHolesMobile())
        assert result.outcome.result == "exhausted"
        assert result.exercised["NoBlackHolesMobile"] > 10


def test_after_a_failure_nothing_is_judged() -> None:
    faults = Faults(link_failures=1, recovery=False)
    result = search(room(Attentive(), talk(1, 1), faults), NoBlackHolesMobile())
    assert result.outcome.result == "exhausted"
