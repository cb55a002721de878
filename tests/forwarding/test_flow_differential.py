"""The forwarding model says of packets in random networks what a run of the world does with them."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.forwarding.flow_lab import disagreement, everything, watch
from tests.forwarding.random_networks import RandomNetwork, header

from penstock.openflow.match import Match

SETTINGS = settings(max_examples=25, deadline=None, derandomize=True)
seeds = st.integers(0, 1 << 32).map(Random)


@SETTINGS
@given(seeds)
def test_a_packet_ends_in_the_world_where_the_model_says(random: Random) -> None:
    network = RandomNetwork(random)
    lab = network.lab
    for drawn in network.samples:
        for host in ("h1", "h2"):
            told = lab.model.trace(host, header(drawn))
            assert told, "every packet ends somewhere"
            assert disagreement(told, lab.send(host, header(drawn))) == ""


@SETTINGS
@given(seeds)
def test_every_loop_found_is_one_in_the_world(random: Random) -> None:
    lab = RandomNetwork(random).lab
    for loop in lab.model.loops()[:5]:
        copies = lab.model.trace(loop.source, loop.header)
        if loop.why or any(one.perhaps or one.fate == "unfollowed" for one in copies):
            continue
        assert not watch(lab.world, loop.source, loop.frame).at_rest, str(loop)


@SETTINGS
@given(seeds)
def test_every_example_really_ends_as_its_class_does(random: Random) -> None:
    network = RandomNetwork(random)
    lab = network.lab
    for one in lab.model.outcomes("h1", draw_class(network))[:12]:
        copies = lab.model.trace("h1", one.header)
        assert (one.fate, one.node, one.why, one.path) in {(c.fate, c.node, c.why, c.path) for c in copies}
        assert disagreement(copies, lab.send("h1", one.header)) == ""


def draw_class(network: RandomNetwork) -> Match:
    """Return the packets of some rule, or all."""
    tables = network.lab.world.state("s1").tables
    matches = [entry.match for number in tables for entry in tables[number]]
    sent = [match for match in matches if not match.get("metadata") and not match.get("in_port")]
    chosen: Match = network.random.choice([*sent, Match()])
    return chosen


@settings(SETTINGS, max_examples=20)
@given(seeds)
def test_after_any_changes_the_model_is_what_a_new_one_would_be(random: Random) -> None:
    network = RandomNetwork(random)
    lab = network.lab
    for _ in range(10):
        network.change()
    fresh = lab.scratch()
    if any("too many copies" in remark for remark in (*lab.model.remarks, *fresh.remarks)):
        return
    assert everything(lab.model) == everything(fresh)
    assert sorted(map(str, lab.model.remarks)) == sorted(map(str, fresh.remarks))
    for drawn in network.samples[:3]:
        assert disagreement(lab.model.trace("h1", header(drawn)), lab.send("h1", header(drawn))) == ""
