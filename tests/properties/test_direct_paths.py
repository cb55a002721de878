"""DirectPaths and StrictDirectPaths: once a flow works, its packets do not go to the controller."""

from __future__ import annotations

from typing import Any

import pytest
from tests.properties.property_lab import lab, ready, search, watch_steps
from tests.properties.sample_controllers import BothWays, BothWaysTooLate, Hub, LearningSwitch, PathInstaller

from penstock._controllers.static import StaticController
from penstock._properties.paths import DirectPaths, StrictDirectPaths
from penstock._properties.watch import Watch
from penstock._world.faults import Faults
from penstock._world.hosts import host
from penstock._world.topology import topology
from penstock._world.world import World

PAIR = {"h1": host("client", to="h2", count=2), "h2": host("server")}


class TestDirectPaths:
    def test_a_hub_breaks_it_with_the_second_packet(self) -> None:
        result = search(lab("single,2", Hub(), PAIR), DirectPaths())
        assert result.broken["DirectPaths"] == (
            "s1 handed h1#2 (UDP 10.0.0.1:7 > 10.0.0.2:7 1 byte) to the controller although an earlier "
            "packet of its flow had reached its destination when it was sent."
        )
        story = result.stories["DirectPaths"]
        assert story[-3:] == ["deliver s1:2", "h1 send to h2", "deliver h1:0"]

    def test_a_learning_switch_breaks_it_since_it_must_hear_both_hosts(self) -> None:
        assert "DirectPaths" in search(lab("linear,2", LearningSwitch(), PAIR), DirectPaths()).broken

    def test_a_controller_that_installs_the_whole_path_is_fine_however_late_its_messages_come(self) -> None:
        hosts = {"h1": host("client", to="h2", count=3), "h2": host("server")}
        result = search(lab("linear,2", PathInstaller(), hosts), DirectPaths(), StrictDirectPaths())
        assert result.outcome.result == "exhausted"
        assert result.exercised["DirectPaths"] > 5
        assert result.exercised["StrictDirectPaths"] > 2

    def test_one_packet_does_not_put_it_to_the_test(self) -> None:
        result = search(lab("single,2", Hub(), {"h1": host("client", to="h2")}), DirectPaths())
        assert result.outcome.result == "exhausted"
        assert result.warnings == (
            "DirectPaths was never exercised: it needs a packet that is sent after an earlier one "
            "of its flow was delivered.",
        )

    def test_a_packet_that_was_under_way_before_is_not_judged(self) -> None:
        network = lab("single,2", Hub(), PAIR)
        world, watch = World(network), Watch(network, [DirectPaths()])
        world.restore(ready(network))
        watch_steps(world, watch)
        for step in ["h1 send to h2", "h1 send to h2", "deliver h1:0", "deliver s1:c0", "deliver c0:s1"]:
            world.take(step)
        world.take("deliver s1:2")
        world.take("deliver h1:0")
        assert not watch.broken

    @pytest.mark.parametrize(
        "faults", [Faults(rule_expiries=1), Faults(link_failures=1)], ids=["expiry", "link"]
    )
    def test_after_a_timeout_or_a_failure_everything_begins_anew(self, faults: Faults) -> None:
        class Expiring(PathInstaller):
            def install(self, *arguments: Any, **options: Any) -> None:
                timeout = 5 if options.get("priority") else 0
                super().install(*arguments, **options, idle_timeout=timeout)

        hosts = {"h1": host("client", to="h2", count=2)}
        result = search(lab("linear,2", Expiring(), hosts, faults), DirectPaths())
        assert result.outcome.result == "exhausted"
        assert result.exercised["DirectPaths"] > 0


class TestStrictDirectPaths:
    @pytest.mark.parametrize("shape", ["single,2", "linear,2"])
    def test_bug_2_the_way_there_is_not_installed_with_the_way_back(self, shape: str) -> None:
        result = search(lab(shape, LearningSwitch(), PAIR), StrictDirectPaths())
        assert result.broken["StrictDirectPaths"] == (
            "s1 handed h1#2 (UDP 10.0.0.1:7 > 10.0.0.2:7 1 byte) to the controller although packets of "
            "its flow had been delivered both ways when it was sent."
        )
        story = result.stories["StrictDirectPaths"]
        assert story.index("h2 reply to h1") < len(story) - 3 == story.index("deliver s1:1")

    @pytest.mark.parametrize("shape", ["single,2", "linear,2"])
    def test_the_naive_fix_is_none_and_the_right_one_is_fine(self, shape: str) -> None:
        hosts = {"h1": host("client", to="h2", count=3), "h2": host("server")}
        assert "StrictDirectPaths" in search(lab(shape, BothWaysTooLate(), hosts), StrictDirectPaths()).broken
        result = search(lab(shape, BothWays(), hosts), StrictDirectPaths())
        assert result.outcome.result == "exhausted"
        assert result.exercised["StrictDirectPaths"] > 2

    def test_a_ping_and_its_answer_are_one_flow_both_ways(self) -> None:
        hosts = {"h1": host("ping", to="h2", count=2, static_arp=True, burst=1)}
        assert (
            "seq 2"
            in search(lab("single,2", LearningSwitch(), hosts), StrictDirectPaths()).broken[
                "StrictDirectPaths"
            ]
        )

    def test_packets_one_way_do_not_put_it_to_the_test(self) -> None:
        hosts = {"h1": host("client", to="h2", count=3)}
        result = search(lab("single,2", Hub(), hosts), StrictDirectPaths())
        assert result.outcome.result == "exhausted"
        assert not result.exercised["StrictDirectPaths"]
        assert "after a packet of its flow and an answer were delivered" in result.warnings[0]

    def test_packets_are_forgotten_with_their_last_copy(self) -> None:
        line = topology("linear,2")
        network = lab(line, StaticController(line), PAIR)
        world, watch = World(network), Watch(network, [StrictDirectPaths()])
        world.restore(ready(network))
        watch_steps(world, watch)
        world.run()
        delivered, flying = watch.states[0]
        assert len(delivered) == 2
        assert not flying

    def test_rules_from_the_start_are_fine(self) -> None:
        line = topology("linear,2")
        result = search(lab(line, StaticController(line), PAIR), DirectPaths(), StrictDirectPaths())
        assert result.outcome.result == "exhausted"
        assert min(result.exercised.values()) > 0
