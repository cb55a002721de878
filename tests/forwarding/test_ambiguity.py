"""Rules between which a switch may choose are found, each with a packet, and nothing else is."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random

import pytest
from bench.ovs.rules import draw_instructions, draw_match
from tests.forwarding.random_networks import packets

from penstock._base.frozen import FrozenMap
from penstock._forwarding.ambiguity import Ambiguity, Audit, all_ambiguities, clashes
from penstock._world.frame import Frame
from penstock._world.switch import PortSpec, Switch, SwitchOptions, SwitchState
from penstock._world.switch.flow_table import FlowEntry, FlowTable
from penstock._world.switch.headers import read
from penstock._world.switch.state import GroupEntry, MeterEntry
from penstock.openflow.actions import (
    Action,
    ApplyActions,
    GotoTable,
    Group,
    Instruction,
    Output,
    PushMpls,
    PushVlan,
    SetField,
    UseMeter,
    WriteActions,
    WriteMetadata,
)
from penstock.openflow.match import ANYTHING, Match
from penstock.openflow.messages import V10, V13, Band, Bucket, GroupType, PortNo

PORTS = (1, 2, 3)


@dataclass
class Tables:
    """A switch with some rules in its tables."""

    version: int = V13
    entries: dict[int, list[FlowEntry]] = field(default_factory=dict)
    groups: dict[int, GroupEntry] = field(default_factory=dict)
    meters: dict[int, MeterEntry] = field(default_factory=dict)

    def __post_init__(self) -> None:
        specs = tuple(PortSpec(number, f"s1-eth{number}", number) for number in PORTS)
        self.switch = Switch(
            "s1", 1, specs, SwitchOptions(version=self.version, counters=False, meters="pass")
        )

    def rule(self, match: Match, *instructions: Instruction, priority: int = 5, table: int = 0) -> Tables:
        self.entries.setdefault(table, []).append(FlowEntry(priority, match, instructions))
        return self

    @property
    def state(self) -> SwitchState:
        return replace(
            self.switch.initial(),
            tables=FrozenMap({number: FlowTable(entries) for number, entries in self.entries.items()}),
            groups=FrozenMap(self.groups),
            meters=FrozenMap(self.meters),
        )

    def found(self) -> list[Ambiguity]:
        return [*all_ambiguities(self.switch.chassis, self.state).values()]


def apply(*actions: Action) -> ApplyActions:
    return ApplyActions(actions)


def out(port: int) -> ApplyActions:
    return apply(Output(port))


WEB = Match.of(eth_type=0x0800, ip_proto=6, tcp_dst=80)
FROM_ONE = Match.of(in_port=1)
TO_HOST = Match.of(eth_dst=2)


class TestWhatIsAmbiguous:
    def test_a_packet_that_meets_both_is_shown(self) -> None:
        (found,) = Tables().rule(FROM_ONE, out(2)).rule(WEB, out(3)).found()
        fields = read(found.frame).fields
        assert (found.port, fields["eth_type"], fields["tcp_dst"]) == (1, 0x0800, 80)
        assert {found.first.match, found.second.match} == {FROM_ONE, WEB}
        told = found.told("s1")
        assert "priority 5 in table 0" in told
        assert "in_port=1 -> output:2" in told
        assert "tcp_dst=80 -> output:3" in told
        assert "from port 1" in told

    def test_dropping_is_different_from_sending(self) -> None:
        assert len(Tables().rule(FROM_ONE, out(2)).rule(TO_HOST).found()) == 1

    def test_so_is_writing_where_the_value_would_change(self) -> None:
        one = Tables().rule(FROM_ONE, apply(SetField("eth_src", 7), Output(2))).rule(TO_HOST, out(2))
        (found,) = one.found()
        assert read(found.frame).fields["eth_src"] != 7

    def test_masks_that_leave_room_between_higher_rules(self) -> None:
        tables = (
            Tables().rule(FROM_ONE, out(2)).rule(Match.of(eth_type=0x0800, ipv4_dst="10.0.0.0/8"), out(3))
        )
        for host in range(1, 16):
            tables.rule(Match.of(eth_type=0x0800, ipv4_dst=(0x0A000000 + host, 0xFF00000F)), priority=9)
        (found,) = tables.found()
        assert read(found.frame).fields["ipv4_dst"] & 0xF == 0

    def test_tagged_and_untagged_packets_are_told_apart(self) -> None:
        tagged, untagged = Match.of(vlan_vid=(0x1000, 0x1000)), Match.of(vlan_vid=0)
        tables = Tables().rule(tagged, out(2)).rule(untagged, out(3))
        assert tables.found() == []
        (found,) = tables.rule(FROM_ONE, out(2)).found()
        assert "vlan_vid" not in read(found.frame).fields

    def test_another_meter_is_another_effect(self) -> None:
        tables = Tables(meters={1: MeterEntry(2, (Band(1, 9, 9),))})
        assert len(tables.rule(FROM_ONE, UseMeter(1), out(2)).rule(TO_HOST, out(2)).found()) == 1

    def test_how_often_a_packet_is_sent_counts(self) -> None:
        twice = apply(Output(2), Output(2))
        assert len(Tables().rule(FROM_ONE, twice).rule(TO_HOST, out(2)).found()) == 1

    def test_a_later_table_is_reached_as_rules_before_it_say(self) -> None:
        tables = Tables().rule(ANYTHING, apply(PushVlan(0x8100), SetField("vlan_vid", 0x1064)), GotoTable(1))
        tables.rule(Match.of(vlan_vid=(0x1000, 0x1000)), priority=9)
        tables.rule(Match.of(vlan_vid=0x1064), out(2), table=1)
        assert tables.rule(Match.of(vlan_vid=0x1065), out(3), table=1).found() == []
        (found,) = tables.rule(TO_HOST, out(3), table=1).found()
        assert found.table == 1
        assert "vlan_vid" not in read(found.frame).fields

    def test_what_rules_do_with_metadata_is_seen_in_later_tables(self) -> None:
        tables = (
            Tables()
            .rule(FROM_ONE, WriteMetadata(1, 3), GotoTable(1))
            .rule(TO_HOST, WriteMetadata(2, 3), GotoTable(1))
        )
        tables.rule(Match.of(metadata=(1, 3)), out(2), table=1)
        assert tables.rule(Match.of(metadata=(2, 3)), out(2), table=1).found() == []
        tables.entries[1][1] = FlowEntry(5, Match.of(metadata=(2, 3)), (out(3),))
        (found,) = tables.found()
        assert found.table == 0


class TestWhatIsNot:
    def test_different_priorities(self) -> None:
        assert Tables().rule(FROM_ONE, out(2), priority=6).rule(TO_HOST, out(3)).found() == []

    def test_the_same_instructions(self) -> None:
        assert Tables().rule(FROM_ONE, out(2)).rule(TO_HOST, out(2)).found() == []

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ((apply(Output(2), Output(3)),), (apply(Output(3), Output(2)),)),
            (
                (WriteActions((Output(2), SetField("eth_src", 5))),),
                (WriteActions((SetField("eth_src", 5), Output(2))),),
            ),
            ((WriteActions((Output(2),)),), (out(2),)),
            ((apply(SetField("eth_dst", 2), Output(3)),), (out(3),)),
            ((out(1),), ()),
            ((out(77),), ()),
            ((apply(Group(1)),), (out(2),)),
            ((apply(Output(PortNo.FLOOD)),), (apply(Output(2), Output(3)),)),
            ((GotoTable(1),), (out(3),)),
            ((apply(Output(2), SetField("eth_src", 9)),), (out(2),)),
        ],
        ids=[
            "outputs in another order",
            "an action set in another order",
            "an action set and a list",
            "writing what is there",
            "sending back is dropping",
            "no such port is dropping",
            "a group of one bucket",
            "flooding and naming all ports",
            "another table that does the same",
            "writing after sending",
        ],
    )
    def test_the_same_effect_said_otherwise(
        self, one: tuple[Instruction, ...], other: tuple[Instruction, ...]
    ) -> None:
        tables = Tables(groups={1: GroupEntry(GroupType.INDIRECT, (Bucket((Output(2),)),))})
        tables.rule(FROM_ONE, *one).rule(Match.of(in_port=(1, 0xFFFFFFFF), eth_dst=2), *other)
        assert tables.rule(ANYTHING, out(3), table=1).found() == []

    def test_an_overlap_that_higher_rules_cover(self) -> None:
        tables = Tables().rule(FROM_ONE, out(2)).rule(TO_HOST, out(3))
        assert len(tables.found()) == 1
        halves = [Match.of(in_port=1, eth_dst=2, eth_src=(low, 1)) for low in (0, 1)]
        for half in halves:
            tables.rule(half, priority=7)
        assert tables.found() == []

    def test_matches_whose_prerequisites_exclude_each_other(self) -> None:
        tcp, udp = Match.of(eth_type=0x0800, ip_proto=6), Match.of(eth_type=0x0800, ip_proto=17)
        assert Tables().rule(tcp, out(2)).rule(udp, out(3)).found() == []
        assert Tables().rule(WEB, out(2)).rule(Match.of(eth_type=0x0806, arp_op=1), out(3)).found() == []

    def test_a_table_that_nothing_goes_to(self) -> None:
        assert Tables().rule(FROM_ONE, out(2), table=1).rule(TO_HOST, out(3), table=1).found() == []

    def test_what_is_not_followed_is_left_open(self) -> None:
        tables = Tables().rule(ANYTHING, apply(PushMpls(0x8847)), GotoTable(1))
        state = tables.rule(FROM_ONE, out(2), table=1).rule(TO_HOST, out(3), table=1).state
        audit = Audit(tables.switch.chassis, state)
        assert [*audit.ambiguities()] == []
        assert audit.open == 1


class Looking:
    """Notes which entries a packet could be matched by, wherever it is looked up."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.met: list[tuple[FlowTable, list[FlowEntry]]] = []
        right = FlowTable.lookup

        def lookup(table: FlowTable, fields: dict[str, int]) -> FlowEntry | None:
            best = right(table, fields)
            if best is not None:
                equal = [entry for entry in table if entry.priority == best.priority]
                self.met.append(
                    (table, [e for e in equal if all(fields.get(f, 0) & m == v for f, v, m in e.match.terms)])
                )
            return best

        monkeypatch.setattr(FlowTable, "lookup", lookup)


def sent(tables: Tables, number: int, chosen: FlowEntry, port: int, frame: bytes) -> list[str]:
    state = tables.state
    kept = state.tables[number].without(lambda e: e.priority == chosen.priority and e.match != chosen.match)
    step = tables.switch.receive(replace(state, tables=state.tables.set(number, kept)), port, Frame(frame))
    return sorted(
        f"{port} {getattr(m, 'data', b'').hex()} {getattr(m, 'match', '')}" for port, m in step.sends
    )


@pytest.mark.parametrize("seed", range(60))
def test_random_tables_are_judged_as_trying_packets_shows(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever one of some packets shows to be ambiguous is found; and what is found, its packet shows."""
    random = Random(seed)
    version = random.choice((V10, V13, V13))
    tables = Tables(version)
    samples = packets(random, version, 5)
    for number in (0,) if version == V10 else (0, 1, 2):
        for match in {draw_match(random, random.choice(samples), version == V10, number) for _ in range(4)}:
            instructions = draw_instructions(random, match, version == V10, number, [])
            kept = tuple(i for i in instructions if not isinstance(i, UseMeter))
            tables.rule(match, *kept, priority=random.choice((3, 5)), table=number)
    audit = Audit(tables.switch.chassis, tables.state)
    found = {frozenset((one.first, one.second)): one for one in audit.ambiguities()}
    looking = Looking(monkeypatch)
    for pair, one in found.items():
        looking.met.clear()
        tables.switch.receive(tables.state, one.port, Frame(one.frame))
        table = tables.state.tables[one.table]
        assert any(at == table and pair <= {*entries} for at, entries in looking.met)
    if audit.open:
        return
    for drawn in samples:
        for port in PORTS:
            looking.met.clear()
            tables.switch.receive(tables.state, port, Frame(drawn.data))
            for table, entries in [*looking.met]:
                number = next(n for n, t in tables.state.tables.items() if t == table)
                for other in entries[1:]:
                    if sent(tables, number, entries[0], port, drawn.data) != sent(
                        tables, number, other, port, drawn.data
                    ):
                        assert frozenset((entries[0], other)) in found


def test_clashes_are_looked_for_first() -> None:
    apart = [FlowEntry(5, Match.of(eth_dst=number), (out(number % 3),)) for number in range(200)]
    assert not clashes(FlowTable(apart))
    assert clashes(FlowTable([*apart, FlowEntry(5, FROM_ONE, (out(9),))]))
    assert not clashes(FlowTable([*apart, FlowEntry(6, FROM_ONE, (out(9),))]))
