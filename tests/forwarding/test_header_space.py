"""Cubes are sets of headers, kinds divide the packets there are, and frames say what headers say."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock._forwarding.frames import frame_of
from penstock._forwarding.header_space import (
    Cube,
    cube_of,
    field_mask,
    fields_of,
    header_of,
    is_within,
    match_of,
    meet,
    overlap,
    pulled_back,
)
from penstock._forwarding.kinds import KINDS, Kind, all_packets, example, kind_of, match_around, usual_header
from penstock._forwarding.sets import NOT_IN_SETS, packet_space
from penstock._world.switch.headers import read
from penstock.openflow.match import Match

SETTINGS = settings(max_examples=150, deadline=None, derandomize=True)
SPACE = packet_space()
BITS = 5
ALL = range(1 << BITS)
numbers = st.integers(0, (1 << BITS) - 1)
cubes = st.tuples(numbers, numbers).map(lambda pair: (pair[0] & pair[1], pair[1]))


def headers(cube: Cube) -> set[int]:
    return {header for header in ALL if header & cube[1] == cube[0]}


@SETTINGS
@given(cubes, cubes)
def test_cubes_meet_as_sets_do(a: Cube, b: Cube) -> None:
    both = meet(a, b)
    assert (headers(both) if both is not None else set()) == headers(a) & headers(b)
    assert overlap(a, b) == bool(headers(a) & headers(b))
    assert is_within(a, b) == (headers(a) <= headers(b))


@SETTINGS
@given(cubes, cubes)
def test_what_a_write_brings_into_a_cube_is_a_cube(cube: Cube, write: Cube) -> None:
    values, written = write
    before = pulled_back(cube, written, values)
    expected = {header for header in ALL if header & ~written | values in headers(cube)}
    assert (headers(before) if before is not None else set()) == expected


def test_a_match_is_the_cube_of_the_headers_it_accepts() -> None:
    match = Match.of(eth_type=0x0800, ipv4_dst="10.0.0.0/8", tcp_dst=80)
    value, mask = cube_of(match)
    inside = header_of({"eth_type": 0x0800, "ipv4_dst": 0x0A010203, "tcp_dst": 80})
    assert inside & mask == value
    assert header_of({"eth_type": 0x0800, "ipv4_dst": 0x0B010203, "tcp_dst": 80}) & mask != value
    assert match_of((value, mask)) == match
    assert fields_of(inside) == {"eth_type": 0x0800, "ipv4_dst": 0x0A010203, "tcp_dst": 80}


@st.composite
def packets(draw: st.DrawFn) -> tuple[Kind, int]:
    """Draw a packet of some kind, with a few bits of its fields at random."""
    kind = draw(st.sampled_from(KINDS))
    bits = draw(st.integers(0, (1 << 64) - 1))
    value, mask = kind.cube
    noise = sum(bits << shift for shift in range(0, 1400, 64))
    spread = usual_header(1, 0x0A000001) ^ (noise & draw(st.sampled_from((0, -1, noise >> 7))))
    found = SPACE.cube((value, mask))
    for hole in kind.holes:
        found = SPACE.less(found, SPACE.cube(hole))
    header = SPACE.witness(found, spread & ~field_mask(*NOT_IN_SETS))
    assert header is not None
    return kind, header


@SETTINGS
@given(packets())
def test_a_switch_reads_in_a_frame_the_header_it_was_made_from(packet: tuple[Kind, int]) -> None:
    kind, header = packet
    seen = read(frame_of(header))
    fields = {name: value for name, value in seen.fields.items() if name not in ("nw_ttl", "mpls_ttl")}
    assert fields == fields_of(header)
    assert not seen.fragment
    assert kind_of(header) == kind


@SETTINGS
@given(packets())
def test_no_packet_is_of_two_kinds(packet: tuple[Kind, int]) -> None:
    _, header = packet
    matching = [
        kind
        for kind in KINDS
        if header & kind.cube[1] == kind.cube[0]
        and not any(header & hole[1] == hole[0] for hole in kind.holes)
    ]
    assert len(matching) == 1


def test_there_is_no_packet_with_fields_of_two_protocols() -> None:
    impossible = SPACE.match(Match.of(arp_op=1, tcp_dst=80))
    assert SPACE.meet(all_packets(SPACE), impossible) == SPACE.nothing
    possible = SPACE.meet(all_packets(SPACE), SPACE.match(Match.of(ipv4_dst="10.0.0.1", tcp_dst=80)))
    fields = fields_of(example(SPACE, possible, usual_header(1, 1)))
    assert fields["eth_type"] == 0x0800
    assert fields["ip_proto"] == 6


def test_a_set_is_told_by_the_smallest_match_around_it() -> None:
    web = Match.of(eth_type=0x0800, ip_proto=6, ipv4_dst="10.0.0.0/8", tcp_dst=80)
    packets = SPACE.meet(all_packets(SPACE), SPACE.match(web))
    assert match_around(SPACE, packets) == web
    assert match_around(SPACE, all_packets(SPACE)) == Match()
