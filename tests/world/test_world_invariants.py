"""What holds in every run of every network: tried on random networks and random runs."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import fields
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.little_components import Talker, network, wire

from penstock._world.channels import CHANNEL_FAULTS, can_suffer
from penstock._world.component import Endpoint, Message
from penstock._world.fabric import FabricState
from penstock._world.faults import Faults
from penstock._world.network import Network, is_urgent
from penstock._world.signals import FABRIC
from penstock._world.transition import Record, Transition
from penstock._world.world import World

PORTS = (1, 2, 3)


@st.composite
def networks(draw: st.DrawFn, faults: st.SearchStrategy[Faults]) -> Network:
    """Draw talkers with random wires between their ports, and a controller that some have sessions with."""
    names = draw(st.sampled_from(["ab", "abc", "abcd"]))
    sessions = [wire(f"{name}:k", f"k:{name}") for name in draw(st.sets(st.sampled_from(names)).map(sorted))]
    talkers = [
        Talker(
            name,
            (*PORTS, "k") if any(s.a.node == name for s in sessions) else PORTS,
            draw(st.integers(0, 4)),
            draw(st.integers(0, 3)),
        )
        for name in names
    ]
    ends = draw(st.permutations([f"{name}:{port}" for name in names for port in PORTS]))
    count = draw(st.integers(0, len(ends) // 2))
    wires = [wire(ends[2 * number], ends[2 * number + 1]) for number in range(count)]
    controller = Talker("k", tuple(s.a.node for s in sessions) or (1,), 2, 1)
    return network([controller, *talkers], wires, sessions=sessions, faults=draw(faults))


PERFECT = st.just(Faults())
KINDS = [field.name for field in fields(Faults) if type(field.default) is int]
BUDGETS = st.builds(Faults, **{kind: st.integers(0, 2) for kind in KINDS}, recovery=st.booleans())


def scanned(world: World) -> set[Transition]:
    """Return what is enabled, found by looking at everything."""
    net, state = world.network, world.snapshot()
    states = dict(zip(net.names, state.states, strict=True))
    fabric_state = states[FABRIC]
    assert isinstance(fabric_state, FabricState)
    held = {name: is_urgent(world.queue(Endpoint(FABRIC, name))) for name in net.names if name != FABRIC}
    found = {Transition("act", FABRIC, action) for action in net.fabric.actions(fabric_state)}
    for component in net.components[:-1]:
        if not held[component.name]:
            actions = component.actions(states[component.name])
            found |= {Transition("act", component.name, action) for action in actions}
    for channel, queue in zip(net.channels, state.queues, strict=True):
        peer = net.fabric.peer(fabric_state, channel)
        if queue and peer is not None and (channel.node == FABRIC or not held[peer.node]):
            found.add(Transition("deliver", *channel))
        found |= {
            Transition(fault, *channel)
            for fault in CHANNEL_FAULTS
            if can_suffer(queue, fault) and net.fabric.may_suffer(fabric_state, fault, channel)
        }
    return found


@settings(max_examples=60)
@given(networks(BUDGETS), st.integers(0, 99))
def test_the_ready_lists_agree_with_a_look_at_everything(net: Network, seed: int) -> None:
    world, random = World(net), Random(seed)
    start = world.snapshot()
    for _ in range(60):
        enabled = world.enabled()
        assert set(enabled) == scanned(world)
        assert len(set(map(str, enabled))) == len(enabled)
        if not enabled:
            break
        choice = random.choice(enabled)
        assert net.parse(str(choice)) == choice
        world.take(str(choice))
    world.restore(start)
    assert set(world.enabled()) == scanned(world) == set(World(net).enabled())


@settings(max_examples=60)
@given(networks(PERFECT), st.integers(0, 99))
def test_without_faults_every_message_arrives_once_and_in_order(net: Network, seed: int) -> None:
    sent: dict[Endpoint, list[Message]] = defaultdict(list)
    arrived: dict[Endpoint, list[Message]] = defaultdict(list)

    def note(record: Record) -> None:
        for channel, message in record.sends:
            sent[channel].append(message)
        if record.message is not None:
            arrived[Endpoint(record.transition.node, record.transition.what)].append(record.message)

    world = World(net, [note])
    for _ in range(40):
        done = world.run(Random(seed), limit=5)
        for channel in sent:
            assert arrived[channel] + list(world.queue(channel)) == sent[channel]
        if not done:
            break
    world.run(Random(seed))
    assert arrived == sent


@settings(max_examples=80)
@given(networks(BUDGETS), st.integers(0, 99))
def test_with_faults_budgets_hold_and_every_message_is_accounted_for(net: Network, seed: int) -> None:
    happened: Counter[str] = Counter()

    def note(record: Record) -> None:
        happened["sent"] += len(record.sends)
        happened["arrived"] += record.message is not None
        # What a component sends into a dead port never was in flight.
        happened["lost"] += len(record.lost) if record.node == FABRIC else 0
        happened[record.transition.verb] += 1

    world = World(net, [note])
    world.run(Random(seed), faults=True, limit=200)
    faults = net.fabric.faults
    left: Faults = world.state(FABRIC).budget
    assert all(0 <= getattr(left, kind) <= getattr(faults, kind) for kind in KINDS)
    for verb, kind in (("drop", "drops"), ("duplicate", "duplicates"), ("reorder", "reorders")):
        assert happened[verb] == getattr(faults, kind) - getattr(left, kind)
    in_flight = sum(map(len, world.snapshot().queues))
    assert happened["sent"] + happened["duplicate"] == happened["arrived"] + happened["lost"] + in_flight


@settings(max_examples=60)
@given(networks(BUDGETS), st.integers(0, 99))
def test_a_channel_that_leads_nowhere_is_empty(net: Network, seed: int) -> None:
    world, random = World(net), Random(seed)
    for _ in range(60):
        fabric = world.state(FABRIC)
        for channel in net.channels:
            assert net.fabric.peer(fabric, channel) is not None or not world.queue(channel)
        if not world.run(random, limit=1, faults=True):
            break


@settings(max_examples=60)
@given(networks(BUDGETS), st.integers(0, 99))
def test_a_change_of_the_wiring_reroutes_exactly_what_it_touches(net: Network, seed: int) -> None:
    state, random = net.fabric.initial(), Random(seed)
    routes = list(net.routes(state))
    for _ in range(20):
        actions = net.fabric.actions(state)
        assert all(net.fabric.allows(state, action) for action in actions)
        if not actions:
            break
        before, state = state.wiring, net.fabric.act(state, random.choice(actions)).state
        for channel, route in net.rerouted(before, state):
            routes[channel] = route
        assert tuple(routes) == net.routes(state)
