"""Meters of a virtual switch limit as those of a real one, measured over real OpenFlow from outside.

The patterns are those of Ryu's switch test tool: a tester switch sends frames of 1,500 bytes at about
twice a meter's rate to the switch under test, which sends on what passes; rules of the tester count what
comes back, and each must have seen the rate that is expected, within a tenth.  The bands have no burst
size, so that it is the rate.  Where the tool waits, the network's clock is moved instead.
"""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.fuzz.calling_lab import Caller, greeted
from tests.fuzz.live_lab import live_scenario, on_stage, scripted

from penstock._controllers.tcp.remote import RemoteController
from penstock._fuzz.listening import Listening, open_to_callers, with_services
from penstock._fuzz.live_harness import LiveHarness
from penstock._world.assembly import build_network
from penstock._world.faults import Faults
from penstock._world.switch import SwitchOptions
from penstock._world.topology import Topology, TopologyBuilder
from penstock._world.transition import Record
from penstock._world.world import World
from penstock.openflow.actions import ApplyActions, Output, UseMeter
from penstock.openflow.match import Match
from penstock.openflow.messages import (
    NO_BUFFER,
    Band,
    FlowCommand,
    FlowMod,
    MeterCommand,
    MeterMod,
    PacketOut,
    PortNo,
)
from penstock.openflow.stats import FlowRequest, Flows, FlowStats, MeterRequest, Meters, MeterStats
from penstock.packet import arp_request, tcp_segment

LENGTH = 1500
SECONDS = 20
BATCHES = 10
"""In how many batches the packets of a second are sent."""

KBPS, PKTPS = 1, 2
DROP, REMARK = Band(1, 0, 0), Band(2, 0, 0, b"\1\0\0\0")
BEFORE, AFTER = 24, 16
"""The DSCP that packets have, and the one that is worse by one level."""


def filled(header: bytes) -> bytes:
    return header + b"\x11" * (LENGTH - len(header))


def tcp_over_ipv4() -> bytes:
    ends = {"eth_src": 1, "eth_dst": 2, "ip_src": "10.0.0.1", "ip_dst": "10.0.0.2"}
    frame = tcp_segment(**ends, tcp_src=1, tcp_dst=2, flags=2).to_bytes()  # type: ignore[arg-type]
    return filled(frame[:15] + bytes([BEFORE << 2]) + frame[16:])


FRAMES = {
    "ipv4": (0x0800, tcp_over_ipv4()),
    "ipv6": (0x86DD, filled(bytes.fromhex("00000000000200000000000186dd66000000 05a60640") + bytes(52))),
    "arp": (0x0806, filled(arp_request(eth_src=1, ip_src="10.0.0.1", ip_dst="10.0.0.2").to_bytes())),
}


class Pattern(NamedTuple):
    """A frame sent so often a second, a meter, and how much of each class of packets is to come back."""

    frame: bytes
    offered: int
    meter: MeterMod
    expected: dict[Match, int]


def pattern(kind: str, unit: str, band: Band) -> Pattern:
    ethertype, frame = FRAMES[kind]
    flags, rate, offered = {"pktps": (PKTPS, 100, 200), "kbps": (KBPS, 1000, 175)}[unit]
    everything = Match.of(in_port=2)
    if band == DROP:
        expected = {everything: rate}
    elif kind == "arp":  # has no DSCP
        expected = {everything: 2 * rate}
    else:
        expected = {Match.of(in_port=2, eth_type=ethertype, ip_dscp=dscp): rate for dscp in (BEFORE, AFTER)}
    meter = MeterMod(MeterCommand.ADD, flags, 1, (replace(band, rate=rate),))
    return Pattern(frame, offered, meter, expected)


def rule(match: Match, *instructions: UseMeter | ApplyActions) -> FlowMod:
    return FlowMod(FlowCommand.ADD, match, instructions)


def packet_out(frame: bytes) -> PacketOut:
    return PacketOut(NO_BUFFER, PortNo.CONTROLLER, (Output(1),), frame)


def two_switches() -> Topology:
    builder = TopologyBuilder()
    tester, target = builder.add_switch("s1"), builder.add_switch("s2")
    for port in (1, 2):
        builder.add_link(tester, target, port1=port, port2=port)
    return builder.build()


async def counted(tester: Caller) -> dict[Match, FlowStats]:
    answer = await tester.ask(FlowRequest())
    assert isinstance(answer, Flows)
    return {flow.match: flow for flow in answer.flows}


async def meter_of(target: Caller) -> MeterStats:
    answer = await target.ask(MeterRequest())
    assert isinstance(answer, Meters)
    (stats,) = answer.meters
    return stats


async def play(world: World, tester: Caller, target: Caller, given: Pattern) -> tuple[int, MeterStats]:
    """Set both switches up, send for some seconds, and return how many packets were sent, and the meter."""
    target.say(given.meter, rule(Match.of(in_port=1), UseMeter(1), ApplyActions((Output(2),))))
    tester.say(*(rule(match) for match in given.expected))
    assert await target.until_barrier() == []
    assert await tester.until_barrier() == []
    sent = 0
    for batch in range(1, SECONDS * BATCHES + 1):
        due = given.offered * batch // BATCHES
        tester.say(*[packet_out(given.frame)] * (due - sent))
        sent = due
        assert await tester.until_barrier() == []
        world.elapse(1000 // BATCHES)
        if batch % BATCHES == 0:  # shows that somebody is still there
            assert await target.until_barrier() == []
    return sent, await meter_of(target)


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("unit", ["pktps", "kbps"])
@pytest.mark.parametrize("band", [DROP, REMARK], ids=["drop", "dscp_remark"])
def test_the_expected_rate_comes_back(kind: str, unit: str, band: Band) -> None:
    given = pattern(kind, unit, band)
    controllers, options = with_services([RemoteController("c0")], SwitchOptions())
    faults = Faults(disconnects=100)
    world = World(build_network(two_switches(), controllers=controllers, switches=options, faults=faults))

    async def measure() -> None:
        listening = Listening(world, proceed=world.run)
        try:
            tester, target = [await greeted(await listening.listen(name, "ptcp:0")) for name in ("s1", "s2")]
            sent, meter = await play(world, tester, target, given)
            flows = await counted(tester)
        finally:
            listening.close()
        for match, rate in given.expected.items():
            assert flows[match].duration_sec == SECONDS
            packets = flows[match].packet_count
            seen = packets / SECONDS if unit == "pktps" else packets * LENGTH * 8 / 1000 / SECONDS
            assert seen == pytest.approx(rate, rel=0.1)
        assert (meter.packet_in_count, meter.byte_in_count) == (sent, sent * LENGTH)
        exceeded = meter.bands[0].packet_count
        back = sum(flow.packet_count for flow in flows.values())
        assert back == (sent - exceeded if band == DROP else sent)

    asyncio.run(measure())


def test_on_the_wall_clock_a_burst_passes_and_the_rest_is_dropped(tmp_path: Path) -> None:
    """The packets come as fast as they can; what may pass is told by the switch's own clock."""
    rate, sent = 20, 200
    meter = MeterMod(MeterCommand.ADD, PKTPS, 1, (Band(1, rate, 0),))
    listen = {"s1": "ptcp:0"}
    scenario = live_scenario(
        tmp_path,
        scripted(),
        topology="single,2",
        switches={"counters": True},
        fuzz={"listen": listen},
    )

    async def act(stage: LiveHarness, _: list[Record]) -> None:
        async with open_to_callers(stage) as targets:
            caller = await greeted(targets["s1"])
            caller.say(meter, rule(Match.of(in_port=1), UseMeter(1), ApplyActions((Output(2),))))
            out = (Output(PortNo.TABLE),)
            caller.say(*[PacketOut(NO_BUFFER, 1, out, FRAMES["ipv4"][1])] * sent)
            assert await caller.until_barrier() == []
            stats = await meter_of(caller)
            assert stats.packet_in_count == sent
            passed = sent - stats.bands[0].packet_count
            lasted = stats.duration_sec + stats.duration_nsec / 1e9
            assert rate <= passed <= rate * (1 + lasted)
            (flow,) = (await counted(caller)).values()
            assert flow.packet_count == sent
            await caller.hang_up()

    on_stage(scenario, tmp_path, act)
