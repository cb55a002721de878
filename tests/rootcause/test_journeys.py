"""A packet is followed through a trace: where it went, which rules it met, where those came from."""

from pathlib import Path

import pytest
from tests.rootcause.rootcause_lab import EXAMPLES, recorded

from penstock._check.check import check
from penstock._rootcause.journeys import MOST_HOPS, Sighting, find_packet, journey, packets_of
from penstock._scenario.scenario import load_scenario
from penstock._trace.trace import Line, SearchTrace, Trace, read_trace
from penstock.errors import PenstockError


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    """h1 pings h2 twice; then the link between their switches fails, and it pings once more."""
    inputs = ("send h1 to h2 ping 1", "wait 10", "send h1 to h2 ping 2", "wait 10", "fail h2-s2", "wait 10")
    folder = recorded(tmp_path_factory.mktemp("runs"), *inputs, "send h1 to h2 ping 3", "wait 10")
    return read_trace(folder / "trace.jsonl")


def ping(trace: Trace, number: int) -> Sighting:
    """Return the request of a ping."""
    wanted = f"ICMP echo request 10.0.0.1 > 10.0.0.2 seq {number}"
    return next(one for one in packets_of(trace) if wanted in one.frame)


def test_packets_are_listed_where_hosts_send_them(trace: Trace) -> None:
    found = list(packets_of(trace))
    assert {one.channel for one in found} == {"h1:0", "h2:0"}
    assert sum("echo request" in one.frame for one in found) == 3
    assert sum("echo reply" in one.frame for one in found) == 2


def test_a_packet_is_followed_through_the_controller(trace: Trace) -> None:
    hops = journey(trace, ping(trace, 1))
    nodes = [hop.line.node for hop in hops]
    assert nodes == ["h1", "s1", "c0", "s1", "s2", "c0", "s2", "h2"]
    assert hops[-1].fates == ("h2 receives it",)
    assert [rule.rule for hop in hops for rule in hop.rules] == ["priority=0 any -> output:controller"] * 2


def test_rules_are_traced_to_what_the_controller_answered(trace: Trace) -> None:
    first, second = journey(trace, ping(trace, 1)), journey(trace, ping(trace, 2))
    assert [hop.line.node for hop in second] == ["h1", "s1", "s2", "h2"]
    (at_s1,), (at_s2,) = second[1].rules, second[2].rules
    asked = [hop.line.number for hop in first if hop.line.node == "c0"]
    assert [at_s1.because, at_s2.because] == asked
    lines = {line.number: line for line in trace.lines}
    for rule in (at_s1, at_s2):
        assert rule.added is not None
        assert lines[rule.added].events == (f"rule-added {rule.table} {rule.rule}",)


def test_a_packet_that_is_lost_ends_where_it_is(trace: Trace) -> None:
    hops = journey(trace, ping(trace, 3))
    assert [hop.line.node for hop in hops] == ["h1", "s1", "s2"]
    assert hops[-1].fates and "h2 receives it" not in hops[-1].fates


def test_a_packet_is_found_by_the_line_that_takes_it(trace: Trace) -> None:
    sighting = ping(trace, 2)
    arrival = journey(trace, sighting)[1].line.number
    assert find_packet(trace, str(arrival)) == sighting
    assert find_packet(trace, str(sighting.line)) == sighting


@pytest.mark.parametrize(("packet", "why"), [("h7#1", "h7#1"), ("999999", "Line 999999"), ("1", "Line 1 ")])
def test_what_is_no_packet_is_refused(trace: Trace, packet: str, why: str) -> None:
    with pytest.raises(PenstockError, match=why):
        find_packet(trace, packet)


def test_a_process_gives_a_named_packet_back_later() -> None:
    lines = (
        Line(1, "h1 send", "h1", sends=("h1:0 h1#1 [ARP]",)),
        Line(2, "deliver h1:0", "s1", "h1#1 [ARP]", ("s1:c0 PacketIn(port=1, no_match)",), causes=(1,)),
        Line(3, "deliver s1:c0", "c0", "PacketIn(port=1, no_match)", causes=(2,)),
        Line(4, "inject c0:s2", "c0", sends=("c0:s2 PacketOut(9 bytes, output:1)",), causes=(3,)),
        Line(5, "inject c0:s1", "c0", sends=("c0:s1 PacketOut(42 bytes, output:2)",), causes=(4,)),
        Line(6, "deliver c0:s2", "s2", "PacketOut(9 bytes, output:1)", ("s2:1 h2#1 [other]",), causes=(4,)),
        Line(7, "deliver c0:s1", "s1", "PacketOut(42 bytes, output:2)", ("s1:2 h1#1 [ARP]",), causes=(2, 5)),
        Line(8, "fabric fail s1-s2", "fabric", lost=("s1:2 h1#1 [ARP]",)),
    )
    trace = SearchTrace(scenario={}, folder="", lines=lines)
    hops = journey(trace, find_packet(trace, "h1#1"))
    assert [hop.line.number for hop in hops] == [1, 2, 3, 7]
    assert hops[-1].fates == ("what it sends out of s1:2 never arrives: it is lost in line 8",)


def test_a_long_loop_is_followed_without_end_to_memory_or_stack() -> None:
    frame = "h1#1 [round]"
    lines = [Line(1, "h1 send", "h1", sends=(f"x:1 {frame}",))]
    lines += [
        Line(n, "deliver x:1", "x", frame, (f"x:1 {frame}",), causes=(n - 1,))
        for n in range(2, MOST_HOPS + 500)
    ]
    trace = SearchTrace(scenario={}, folder="", lines=tuple(lines))
    assert len(journey(trace, find_packet(trace, "h1#1"))) == MOST_HOPS


def test_causes_that_do_not_exist_are_no_matter() -> None:
    lines = (
        Line(
            5, "deliver h1:0", "s1", "[ARP]", causes=(-4, 5, 77), events=("matched", "rule-added", "dropped ")
        ),
        Line(5, "inject h1:0", "h1", sends=("h1:0 [ARP]",), causes=(5,)),
    )
    trace = SearchTrace(scenario={}, folder="", lines=lines)
    assert [hop.line.number for hop in journey(trace, find_packet(trace, "5"))] == [5]


def test_a_trace_of_a_search_is_followed_as_well(tmp_path: Path) -> None:
    report = check(load_scenario(EXAMPLES / "scenarios" / "host_moves.toml"), output=tmp_path)
    path = report.findings[0].trace
    assert path is not None
    trace = read_trace(path)
    first = next(packets_of(trace))
    hops = journey(trace, first)
    assert hops[0].line.number == first.line and len(hops) > 1
