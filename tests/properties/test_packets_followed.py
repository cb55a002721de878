"""Following packets: at every moment of any run, the copies counted are the copies there are."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest
from tests.host_lab import frame_of
from tests.properties.property_lab import lab, ready
from tests.properties.sample_controllers import (
    Attentive,
    Buffered,
    BufferedByRule,
    Forgetful,
    Hoarder,
    Hub,
    LearningSwitch,
)

from penstock._controllers.controller import Controller
from penstock._properties.packets import Hosts, changes, fate, frames_sent
from penstock._world.faults import Faults
from penstock._world.frame import Frame
from penstock._world.hosts import host
from penstock._world.network import Network
from penstock._world.switch import SwitchState
from penstock._world.transition import Record
from penstock._world.world import World
from penstock.openflow.messages import NO_BUFFER, V10, V13, PacketIn, PacketOut

HOSTS = {"h1": host("client", to="h2", count=3), "h2": host("server"), "h3": host("ping", to="h1", count=2)}


def copies_there_are(world: World, network: Network) -> Counter[str]:
    """Count the places from which each packet may go on, outside of controllers."""
    found: Counter[str] = Counter()
    for channel in network.channels:
        for message in world.queue(channel):
            found.update(_carried(message))
    for name in network.names:
        state = world.state(name)
        if isinstance(state, SwitchState):
            found.update(kept.frame.tag for kept in state.buffers.values())
            for _, message in state.pending:
                found.update(_carried(message))
    return found


def _carried(message: Any) -> list[str]:
    if isinstance(message, Frame):
        return [message.tag]
    whole = isinstance(message, PacketIn | PacketOut) and message.buffer_id == NO_BUFFER
    return [message.tag] if whole and message.tag else []


PROGRAMS = [Attentive, Buffered, BufferedByRule, Forgetful, Hoarder, Hub, LearningSwitch]
SWITCHES = {
    "1.3": {"version": V13},
    "1.0": {"version": V10},
    "buffers": {"version": V13, "buffers": 2},
    "buffers-1.0": {"version": V10, "buffers": 2},
    "reorder": {"version": V13, "buffers": 1, "reorder": "between-barriers"},
}


@pytest.mark.parametrize("options", SWITCHES.values(), ids=SWITCHES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_the_copies_counted_are_the_copies_there_are(
    program: type[Controller], options: dict[str, Any]
) -> None:
    faults = Faults(drops=2, duplicates=2, reorders=2)
    steps = 0
    for seed in range(6):
        network = lab("linear,3", program(), HOSTS, faults, **options)
        counted: Counter[str] = Counter()

        def count(record: Record, counted: Counter[str] = counted) -> None:
            counted.update(changes(record))

        world = World(network, [count])
        world.restore(ready(network))
        random = Random(seed)
        while world.run(random, 1, faults=True):
            steps += 1
            assert counted == copies_there_are(world, network), f"seed {seed}, step {steps}"
        assert set(counted) >= {"h1#1", "h3#1"}
    assert steps > 250


def test_what_is_lost_when_a_wire_fails_is_left_to_the_properties() -> None:
    network = lab("linear,2", Hub(), {"h1": host("client", to="h2")}, Faults(link_failures=1))
    world = World(network)
    world.restore(ready(network))
    world.take("h1 send to h2")
    record = world.take("fabric fail h1-s1")
    assert [frame_of(message).tag for _, message in record.lost] == ["h1#1"]
    assert changes(record) == {}


def run(shape: str, program: Any, hosts: dict[str, Any]) -> tuple[Network, list[Record]]:
    network = lab(shape, program, hosts)
    records: list[Record] = []
    World(network, [records.append]).run()
    return network, records


def test_packets_are_known_by_their_tag_sender_and_receiver() -> None:
    network, records = run("single,3", Hub(), {"h1": host("ping", to="h2")})
    hosts = Hosts(network)
    sent = [packet for record in records for packet in hosts.sent(record)]
    assert [(packet.tag, packet.sender, packet.receiver) for packet in sent] == [
        ("h1#1", "h1", "h2"),
        ("h2#1", "h2", "h1"),
        ("h1#2", "h1", "h2"),
        ("h2#2", "h2", "h1"),
    ]
    assert str(sent[0]) == "h1#1 (ARP who has 10.0.0.2 tell 10.0.0.1)"
    assert [tag for record in records if (tag := hosts.reached(record))] == ["h1#1", "h2#1", "h1#2", "h2#2"]


def test_the_end_of_each_copy_is_told() -> None:
    _, records = run("single,3", Hub(), {"h1": host("client", to="h2")})
    ends = [fate(record, tag).why for record in records for tag, n in changes(record).items() if n < 0]
    assert sorted(ends) == ["it ended at h2", "it ended at h3, which ignored it"]
    assert [frame.tag for record in records for _, frame in frames_sent(record)] == ["h1#1"]
