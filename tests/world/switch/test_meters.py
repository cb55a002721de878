"""Meters: token buckets on the switch's clock, as Open vSwitch counts them; remarking, which it has not.

That both count the same is for tests/ovs; these are the rules in words.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from penstock._world.component import Send, Step
from penstock._world.frame import Frame
from penstock._world.switch import PortSpec, Switch, SwitchOptions
from penstock._world.switch.meters import remarked
from penstock.errors import PenstockError
from penstock.openflow.actions import ApplyActions, GotoTable, Output, UseMeter
from penstock.openflow.match import ANYTHING, Match
from penstock.openflow.messages import (
    Band,
    FlowCommand,
    FlowMod,
    MeterCommand,
    MeterMod,
    OpenFlowMessage,
    PortNo,
)
from penstock.openflow.stats import (
    BucketCounter,
    FlowRequest,
    Flows,
    MeterFeatures,
    MeterFeaturesRequest,
    MeterRequest,
    Meters,
    MeterStats,
    StatsReply,
    StatsReplyBody,
    StatsRequest,
    StatsRequestBody,
)
from penstock.packet import parse, ping_request

FRAME = ping_request(eth_src=1, eth_dst=2, ip_src="10.0.0.1", ip_dst="10.0.0.2").to_bytes()
BITS = 8 * len(FRAME)
KBPS, PKTPS = 1, 2
OUT = ApplyActions((Output(2),))


@dataclass
class Metered:
    """A switch whose packets go through meter 1, and its state."""

    options: SwitchOptions = field(default_factory=SwitchOptions)

    def __post_init__(self) -> None:
        ports = tuple(PortSpec(number, f"s1-eth{number}", number) for number in (1, 2))
        self.switch = Switch("s1", 1, ports, self.options)
        self.state = self.switch.initial()
        self.now = 0

    def took(self, step: Step) -> Step:
        self.state = step.state
        return step

    def tell(self, *messages: OpenFlowMessage) -> Step:
        steps = [self.took(self.switch.receive(self.state, "c0", message)) for message in messages]
        return steps[-1]

    def meter(self, flags: int, *bands: Band, command: int = MeterCommand.ADD) -> None:
        rule = FlowMod(FlowCommand.ADD, ANYTHING, (UseMeter(1), OUT))
        step = self.tell(MeterMod(command, flags, 1, bands), rule)
        assert step.sends == ()

    def send(self, frame: bytes = FRAME) -> tuple[Send, ...]:
        return self.took(self.switch.receive(self.state, 1, Frame(frame))).sends

    def passed(self, count: int) -> int:
        """Return how many of some packets, sent at once, get through."""
        return sum(bool(self.send()) for _ in range(count))

    def wait(self, milliseconds: int) -> None:
        self.now += milliseconds
        self.took(self.switch.advance(self.state, self.now))

    def ask(self, question: StatsRequestBody) -> StatsReplyBody:
        (reply,) = [message for _, message in self.tell(StatsRequest(question)).sends]
        assert isinstance(reply, StatsReply)
        return reply.body

    def stats(self) -> MeterStats:
        answer = self.ask(MeterRequest())
        assert isinstance(answer, Meters)
        return answer.meters[0]


def drop(rate: int, burst: int = 0) -> Band:
    return Band(1, rate, burst)


class TestBuckets:
    def test_a_bucket_begins_full_and_holds_the_burst(self) -> None:
        s1 = Metered()
        s1.meter(PKTPS, drop(10, 3))
        assert s1.passed(8) == 3

    def test_without_a_burst_it_holds_as_many_as_the_rate(self) -> None:
        s1 = Metered()
        s1.meter(PKTPS, drop(5))
        assert s1.passed(8) == 5

    def test_each_millisecond_adds_the_rate_up_to_the_burst(self) -> None:
        s1 = Metered()
        s1.meter(PKTPS, drop(10, 3))
        assert s1.passed(4) == 3
        s1.wait(99)
        assert s1.passed(1) == 0
        s1.wait(1)
        assert s1.passed(2) == 1
        s1.wait(60_000)
        assert s1.passed(9) == 3

    def test_kilobits_are_counted_by_the_size_of_packets(self) -> None:
        s1 = Metered()
        s1.meter(KBPS, drop(1))
        assert s1.passed(5) == 1000 // BITS
        s1.wait(BITS)
        assert s1.passed(5) == (1000 % BITS + BITS) // BITS

    def test_a_packet_larger_than_the_burst_never_passes(self) -> None:
        s1 = Metered()
        s1.meter(KBPS, drop(1000, 1))
        assert s1.send(FRAME + bytes(200)) == ()
        assert s1.passed(1) == 1

    def test_of_the_exceeded_bands_the_highest_acts(self) -> None:
        s1 = Metered()
        s1.meter(PKTPS, drop(1, 4), drop(3, 2), drop(2, 2))
        assert s1.passed(4) == 2
        assert s1.stats().bands == (
            BucketCounter(0, 0),
            BucketCounter(2, 2 * len(FRAME)),
            BucketCounter(0, 0),
        )

    def test_a_changed_meter_begins_anew(self) -> None:
        s1 = Metered()
        s1.meter(PKTPS, drop(2))
        assert s1.passed(3) == 2
        s1.meter(PKTPS, drop(4), command=MeterCommand.MODIFY)
        assert s1.passed(6) == 4
        assert s1.stats().packet_in_count == 6


class TestDropping:
    def test_what_is_dropped_counts_for_meter_band_and_rules_but_goes_nowhere(self) -> None:
        s1 = Metered()
        s1.meter(PKTPS, drop(1))
        second = FlowMod(FlowCommand.ADD, ANYTHING, (ApplyActions((Output(PortNo.CONTROLLER),)),), table_id=1)
        s1.tell(FlowMod(FlowCommand.ADD, ANYTHING, (UseMeter(1), GotoTable(1))), second)
        assert s1.passed(3) == 1
        stats = s1.stats()
        assert (stats.packet_in_count, stats.byte_in_count) == (3, 3 * len(FRAME))
        assert stats.bands == (BucketCounter(2, 2 * len(FRAME)),)
        flows = s1.ask(FlowRequest())
        assert isinstance(flows, Flows)
        assert [flow.packet_count for flow in flows.flows] == [3, 3]

    def test_the_event_says_which_meter_and_rate(self) -> None:
        s1 = Metered()
        s1.meter(PKTPS, drop(1))
        s1.send()
        step = s1.took(s1.switch.receive(s1.state, 1, Frame(FRAME, "h1#2")))
        kinds = [event.kind for event in step.events]
        assert kinds == ["matched", "metered", "dropped"]
        assert step.events[1].detail == ("h1#2", 1, 1, "drop")
        assert "the rate 1 of meter 1" in str(step.events[2])


class TestRemarking:
    @pytest.mark.parametrize(
        ("before", "levels", "after"),
        [
            (10, 1, 12),  # AF11 to AF12
            (10, 2, 14),
            (12, 5, 14),  # there is nothing worse than AF13
            (34, 1, 36),
            (24, 1, 16),  # CS3 to CS2
            (8, 3, 0),
            (0, 1, 0),
            (46, 1, 46),  # expedited forwarding has no drop precedence
            (11, 1, 11),
            (10, 0, 10),
        ],
    )
    def test_the_drop_precedence_of_a_dscp_goes_up(self, before: int, levels: int, after: int) -> None:
        assert remarked(before, levels) == after

    def test_a_packet_over_the_rate_goes_on_with_another_dscp(self) -> None:
        frame = bytearray(FRAME)
        frame[15] = 10 << 2 | 0b01
        s1 = Metered()
        s1.meter(PKTPS, Band(2, 1, 0, b"\1\0\0\0"))
        first, second = [s1.send(bytes(frame))[0].message for _ in range(2)]
        assert isinstance(first, Frame)
        assert isinstance(second, Frame)
        assert (first.data[15], second.data[15]) == (10 << 2 | 0b01, 12 << 2 | 0b01)
        assert parse(second.data).to_bytes() == second.data
        assert s1.stats().bands == (BucketCounter(1, len(frame)),)

    def test_later_tables_see_the_new_dscp(self) -> None:
        s1 = Metered()
        s1.meter(PKTPS, Band(2, 1, 0, b"\1\0\0\0"))
        matched = Match.of(eth_type=0x0800, ip_dscp=16)
        s1.tell(
            FlowMod(FlowCommand.ADD, ANYTHING, (UseMeter(1), GotoTable(1))),
            FlowMod(FlowCommand.ADD, matched, (OUT,), table_id=1),
        )
        frame = FRAME[:15] + bytes([24 << 2]) + FRAME[16:]
        assert [bool(s1.send(frame)) for _ in range(3)] == [False, True, True]

    def test_what_is_not_ip_passes_as_it_is(self) -> None:
        frame = bytes(12) + b"\x12\x34" + bytes(50)
        s1 = Metered()
        s1.meter(PKTPS, Band(2, 1, 0, b"\1\0\0\0"))
        assert [s1.send(frame)[0].message for _ in range(2)] == [Frame(frame)] * 2

    def test_both_kinds_of_band_are_offered(self) -> None:
        features = Metered().ask(MeterFeaturesRequest())
        assert isinstance(features, MeterFeatures)
        assert features.band_types == 0b110


class TestSearches:
    """No time passes in a search, so there meters limit nothing unless they are made to."""

    OPTIONS = SwitchOptions(counters=False, meters="pass")

    def test_packets_pass_leave_no_trace_and_are_noted(self) -> None:
        s1 = Metered(self.OPTIONS)
        s1.meter(PKTPS, drop(1))
        before = s1.state
        step = s1.switch.receive(s1.state, 1, Frame(FRAME))
        assert len(step.sends) == 1
        assert step.state == before
        assert "unmetered" in [event.kind for event in step.events]
        assert s1.switch.actions(s1.state) == ()

    def test_one_packet_may_be_made_to_exceed_the_rate(self) -> None:
        s1 = Metered(replace(self.OPTIONS, overruns=1))
        s1.meter(PKTPS, drop(100), drop(7))
        assert s1.switch.actions(s1.state) == ("exceed meter 1",)
        s1.took(s1.switch.act(s1.state, "exceed meter 1"))
        assert s1.switch.actions(s1.state) == ()
        assert [bool(s1.send()) for _ in range(3)] == [False, True, True]

    def test_a_meter_that_goes_takes_that_with_it(self) -> None:
        s1 = Metered(replace(self.OPTIONS, overruns=1))
        s1.meter(PKTPS, drop(100))
        s1.took(s1.switch.act(s1.state, "exceed meter 1"))
        s1.tell(MeterMod(MeterCommand.DELETE, 0, 1))
        s1.meter(PKTPS, drop(100))
        assert s1.passed(2) == 2

    @pytest.mark.parametrize(
        ("wrong", "sentence"),
        [
            ({"meters": "never"}, 'meters = "never" .*"limit" or "pass"'),
            ({"overruns": -1}, "overruns = -1 .*at least 0"),
        ],
    )
    def test_impossible_options_are_named(self, wrong: dict[str, Any], sentence: str) -> None:
        with pytest.raises(PenstockError, match=sentence):
            SwitchOptions(**wrong)
