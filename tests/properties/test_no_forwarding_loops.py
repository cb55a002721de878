"""NoForwardingLoops: no packet comes into a switch by the same port twice."""

from __future__ import annotations

from tests.properties.property_lab import lab, ready, search, watch_steps
from tests.properties.sample_controllers import Hub, LearningSwitch

from penstock._controllers.static import StaticController
from penstock._properties.loops import NoForwardingLoops
from penstock._properties.watch import Watch
from penstock._world.faults import Faults
from penstock._world.hosts import host
from penstock._world.topology import topology
from penstock._world.world import World

ONE = {"h1": host("client", to="h2")}
PAIR = {"h1": host("client", to="h2", count=2), "h2": host("server")}


def test_bug_3_a_learning_switch_floods_for_ever_in_a_cycle() -> None:
    result = search(lab("ring,3", LearningSwitch(), ONE), NoForwardingLoops())
    assert result.broken["NoForwardingLoops"] == (
        "h1#1 (UDP 10.0.0.1:7 > 10.0.0.2:7 1 byte) came into s2 on port 2 for the second time: "
        "it is forwarded in a loop."
    )
    # Once round: sent, then per switch the frame, the packet-in and the packet-out, and s2 again.
    assert len(result.stories["NoForwardingLoops"]) == 1 + 3 * 4 + 1


def test_rules_along_shortest_paths_are_fine_in_a_cycle() -> None:
    ring = topology("ring,3")
    result = search(
        lab(ring, StaticController(ring), PAIR),
        NoForwardingLoops(),
    )
    assert result.outcome.result == "exhausted"
    assert result.exercised["NoForwardingLoops"] > 8


def test_without_packets_it_says_that_it_was_never_put_to_the_test() -> None:
    result = search(lab("ring,3", LearningSwitch(), {}), NoForwardingLoops())
    assert result.outcome.result == "exhausted"
    assert result.warnings == (
        "NoForwardingLoops was never exercised: "
        "it needs a packet with a name (as h1#1) that arrives at a switch.",
    )


def test_a_frame_that_a_wire_doubles_is_no_loop() -> None:
    network = lab("linear,2", Hub(), ONE, Faults(duplicates=2))
    result = search(network, NoForwardingLoops())
    assert result.outcome.result == "exhausted"
    assert result.exercised["NoForwardingLoops"] > 0


def test_a_loop_is_found_also_when_a_wire_fails_meanwhile() -> None:
    network = lab(
        "ring,3", LearningSwitch(), ONE, Faults(link_failures=1, recovery=False, targets=("h3-s3",))
    )
    world = World(network)
    world.restore(ready(network))
    watch = Watch(network, [NoForwardingLoops()])
    watch_steps(world, watch)
    world.take("h1 send to h2")
    world.run(limit=8)
    world.take("fabric fail h3-s3")
    assert not watch.broken
    world.run(limit=30)
    assert "second time" in watch.broken["NoForwardingLoops"]


def test_packets_are_forgotten_with_their_last_copy() -> None:
    network = lab("linear,2", Hub(), PAIR)
    world, watch, sizes = World(network), Watch(network, [NoForwardingLoops()]), []
    watch_steps(world, watch)
    world.observe(lambda record: sizes.append(len(watch.states[0])))
    world.run()
    assert max(sizes) == 1
    assert sizes[-1] == 0


def test_a_packet_that_is_lost_with_its_wire_is_forgotten_too() -> None:
    network = lab("linear,2", Hub(), ONE, Faults(link_failures=1, targets=("s1-s2",)))
    world, watch = World(network), Watch(network, [NoForwardingLoops()])
    world.restore(ready(network))
    watch_steps(world, watch)
    for step in ["h1 send to h2", "deliver h1:0", "deliver s1:c0", "deliver c0:s1"]:
        world.take(step)
    assert len(watch.states[0]) == 1
    world.take("fabric fail s1-s2")
    assert len(watch.states[0]) == 0


def test_it_adds_no_state_to_a_search_of_a_hub() -> None:
    network = lab("linear,2", Hub(), PAIR)
    assert search(network, NoForwardingLoops()).outcome.states == search(network).outcome.states
