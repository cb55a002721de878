"""The comparison sees every difference but those that are named, and says where it lies."""

from dataclasses import replace

import pytest
from bench.ovs.comparison import compare
from bench.ovs.deviations import DEVIATIONS, NOT_GENERATED
from bench.ovs.observation import Observation
from bench.ovs.programs import CARRIER_PORT

from penstock.openflow.actions import ApplyActions, Output
from penstock.openflow.match import Match
from penstock.openflow.messages import (
    BarrierReply,
    EchoReply,
    Error,
    Experimenter,
    FlowRemoved,
    FlowRemovedReason,
    OpenFlowMessage,
    PacketIn,
    Port,
    PortConfig,
    PortStatus,
)
from penstock.openflow.stats import (
    BucketCounter,
    Desc,
    Flows,
    FlowStats,
    GroupCounters,
    GroupFeatures,
    GroupStats,
    Ports,
    PortStats,
    StatsReply,
)

FLOW = FlowStats(0, Match.of(in_port=1), (ApplyActions((Output(2),)),), 5, packet_count=3)
OTHER = FlowStats(1, Match.of(in_port=2), (), 9)
PACKET_IN = PacketIn(0xFFFFFFFF, 3, 1, Match.of(in_port=1), b"abc")
REMOVED = FlowRemoved(Match.of(in_port=1), 0, 5, FlowRemovedReason.HARD_TIMEOUT, 0, 2, 0, 0, 2, 7, 700)


def seen(*messages: OpenFlowMessage, frames: dict[int, tuple[bytes, ...]] | None = None) -> Observation:
    return Observation(frames or {}, {"c0": messages} if messages else {})


def differs(model: Observation, ovs: Observation) -> list[str]:
    differences, _ = compare(model, ovs)
    return [difference.place for difference in differences]


def forgiven(model: Observation, ovs: Observation) -> list[str]:
    differences, met = compare(model, ovs)
    assert not differences
    return met


class TestWhatCounts:
    """What is compared, and where a difference is reported."""

    def test_the_same_is_no_difference(self) -> None:
        both = seen(StatsReply(Flows((FLOW,))), PACKET_IN, frames={1: (b"x",)})
        assert compare(both, both) == ([], [])

    def test_a_frame_more_or_less_at_a_port(self) -> None:
        assert differs(seen(frames={1: (b"x",)}), seen(frames={1: (b"x", b"x")})) == ["port 1"]
        assert differs(seen(), seen(frames={2: (b"x",)})) == ["port 2"]

    def test_the_order_of_frames_at_a_port(self) -> None:
        assert differs(seen(frames={1: (b"a", b"b")}), seen(frames={1: (b"b", b"a")})) == ["port 1"]

    @pytest.mark.parametrize(
        ("changed", "place"),
        [
            (replace(PACKET_IN, data=b"abd"), "c0 packet_in"),
            (replace(PACKET_IN, reason=0), "c0 packet_in"),
            (replace(PACKET_IN, cookie=1), "c0 packet_in"),
        ],
    )
    def test_every_field_of_a_packet_in(self, changed: PacketIn, place: str) -> None:
        assert differs(seen(PACKET_IN), seen(changed)) == [place]

    def test_a_counter_of_one_flow_among_many(self) -> None:
        model, ovs = (
            StatsReply(Flows((FLOW, OTHER))),
            StatsReply(Flows((OTHER, replace(FLOW, packet_count=4)))),
        )
        differences, _ = compare(seen(model), seen(ovs))
        assert "packet_count" in str(differences[0])
        assert "model: 3" in str(differences[0])
        assert "OVS:   4" in str(differences[0])

    def test_type_and_code_of_errors_and_what_they_quote(self) -> None:
        assert differs(seen(Error(5, 1)), seen(Error(5, 2))) == ["c0 answer"]
        assert differs(seen(Error(5, 1, b"what")), seen(Error(5, 1, b"what was sent"))) == ["c0 answer"]

    def test_the_transaction_an_answer_belongs_to(self) -> None:
        assert differs(seen(BarrierReply(xid=1)), seen(BarrierReply(xid=2))) == ["c0 answer"]

    def test_a_flow_removed_that_is_missing(self) -> None:
        assert differs(seen(), seen(REMOVED)) == ["c0 flow_removed"]


class TestWhatDoesNot:
    """What the specification leaves open makes no difference, and needs no deviation."""

    def test_kinds_of_messages_may_overtake_each_other(self) -> None:
        assert forgiven(seen(PACKET_IN, BarrierReply()), seen(BarrierReply(), PACKET_IN)) == []

    def test_entries_may_be_listed_in_any_order_and_in_parts(self) -> None:
        whole = StatsReply(Flows((FLOW, OTHER)))
        parts = StatsReply(Flows((OTHER,)), more=True), StatsReply(Flows((FLOW,)))
        assert forgiven(seen(whole), seen(*parts)) == []

    def test_several_removals_at_once_may_be_told_in_any_order(self) -> None:
        second = replace(REMOVED, priority=6)
        assert forgiven(seen(REMOVED, second), seen(second, REMOVED)) == []

    def test_answers_keep_their_order(self) -> None:
        assert differs(seen(EchoReply(b"1"), EchoReply(b"2")), seen(EchoReply(b"2"), EchoReply(b"1")))


class TestDeviations:
    """Each named deviation forgives what it is about, is reported, and forgives nothing more."""

    def test_a_timeout_a_millisecond_late(self) -> None:
        late = replace(REMOVED, duration_nsec=1_000_000)
        assert forgiven(seen(REMOVED), seen(late)) == ["late-expiry"]
        assert differs(seen(REMOVED), seen(replace(REMOVED, duration_nsec=2_000_000)))
        deleted = replace(REMOVED, reason=FlowRemovedReason.DELETE)
        assert differs(seen(deleted), seen(replace(deleted, duration_nsec=1_000_000)))

    def test_a_pulled_cable_is_played_by_taking_the_port_down(self) -> None:
        port = Port(CARRIER_PORT, 2, "p", state=1)
        down = replace(port, config=PortConfig.DOWN)
        assert forgiven(seen(PortStatus(2, port)), seen(PortStatus(2, down))) == ["carrier-by-admin-state"]
        other = replace(port, port_no=1)
        assert differs(seen(PortStatus(2, other)), seen(PortStatus(2, replace(down, port_no=1))))

    def test_one_change_of_a_port_in_two_messages(self) -> None:
        before, after = Port(1, 2, "p"), Port(1, 2, "p", state=1)
        assert forgiven(seen(PortStatus(2, after)), seen(PortStatus(2, before), PortStatus(2, after))) == [
            "port-status-in-parts"
        ]
        assert differs(seen(PortStatus(2, before)), seen(PortStatus(2, before), PortStatus(2, after)))

    def test_an_error_that_1_0_has_no_number_for(self) -> None:
        assert forgiven(seen(Error(1, 5)), seen(Error(0xB0C2, 0))) == ["vendor-error"]
        assert differs(seen(Error(2, 4)), seen(Error(0xB0C2, 0)))

    def test_counters_a_dummy_port_does_not_keep(self) -> None:
        model, ovs = PortStats(1, rx_packets=2), PortStats(1, rx_packets=2, rx_errors=(1 << 64) - 1)
        assert forgiven(seen(StatsReply(Ports((model,)))), seen(StatsReply(Ports((ovs,))))) == [
            "counters-not-kept"
        ]
        wrong = replace(ovs, rx_packets=3)
        assert differs(seen(StatsReply(Ports((model,)))), seen(StatsReply(Ports((wrong,)))))

    def test_how_many_groups_there_is_room_for(self) -> None:
        def features(room: int) -> StatsReply:
            return StatsReply(GroupFeatures(15, 7, (room,) * 4, (1,) * 4))

        assert forgiven(seen(features(65_536)), seen(features(0xFFFFFF00))) == ["room-for-groups"]

    def test_who_made_the_switch(self) -> None:
        ours, theirs = Desc("a", "b", "c", "d", "e"), Desc("f", "g", "h", "i", "j")
        assert forgiven(seen(StatsReply(ours)), seen(StatsReply(theirs))) == ["own-words"]

    def test_which_bucket_of_a_select_group_took_a_packet(self) -> None:
        def counters(*packets: int) -> StatsReply:
            buckets = tuple(BucketCounter(count, count * 60) for count in packets)
            return StatsReply(GroupCounters((GroupStats(1, 0, 2, 120, 0, 0, buckets),)))

        assert forgiven(seen(counters(2, 0)), seen(counters(1, 1))) == ["select-bucket"]
        assert differs(seen(counters(2, 0)), seen(counters(1, 2)))

    def test_the_news_of_a_lost_mastership(self) -> None:
        news = Experimenter(0x4F4E4600, 1911)
        assert forgiven(seen(BarrierReply()), seen(news, BarrierReply())) == ["role-status"]
        assert differs(seen(BarrierReply()), seen(Experimenter(1, 1911), BarrierReply()))

    def test_every_deviation_has_a_name_and_a_reason_of_its_own(self) -> None:
        names = [deviation.name for deviation in DEVIATIONS] + list(NOT_GENERATED)
        reasons = [deviation.reason for deviation in DEVIATIONS] + list(NOT_GENERATED.values())
        assert len(set(names)) == len(names)
        assert len(set(reasons)) == len(reasons)
        assert all(reason.endswith(".") for reason in reasons)
