"""Sets of packets are exact: every operation is what it says of each packet."""

from __future__ import annotations

import ast
import os
from pathlib import Path
from random import Random

import pytest

import penstock
from penstock._forwarding.header_space import field_mask, fields_of, header_of, packed
from penstock._forwarding.kinds import all_packets, match_around
from penstock._forwarding.sets import NOT_IN_SETS, ORDER, PacketSet, PacketSpace, packet_space, space_of
from penstock.errors import PenstockError
from penstock.openflow.fields import BY_NAME, FIELDS
from penstock.openflow.match import Match

SPACE = packet_space()
SMALL = [
    header_of({"eth_dst": a, "eth_src": b, "vlan_vid": c}) for a in range(4) for b in range(4) for c in (0, 1)
]


def a_set(random: Random) -> tuple[PacketSet, set[int]]:
    """Return a set, and those of the small packets that are in it."""
    packets, members = SPACE.nothing, set[int]()
    for _ in range(random.randint(1, 3)):
        cube = SPACE.everything
        among = set(SMALL)
        for name in ("eth_dst", "eth_src", "vlan_vid"):
            mask, value = random.randrange(4), random.randrange(4)
            cube = SPACE.meet(cube, SPACE.term(name, value & mask, mask))
            among = {one for one in among if fields_of(one).get(name, 0) & mask == value & mask}
        packets, members = SPACE.join(packets, cube), members | among
    return packets, members


def of(packets: PacketSet) -> set[int]:
    return {one for one in SMALL if SPACE.has(packets, one)}


def test_every_field_has_a_place_in_the_order() -> None:
    assert {*ORDER, *NOT_IN_SETS} == {field.name for field in FIELDS}
    assert SPACE.width == sum(BY_NAME[name].bits for name in ORDER)


@pytest.mark.parametrize("seed", range(40))
def test_operations_are_those_of_sets(seed: int) -> None:
    random = Random(seed)
    (a, in_a), (b, in_b) = a_set(random), a_set(random)
    assert of(a) == in_a
    assert of(SPACE.meet(a, b)) == in_a & in_b
    assert of(SPACE.join(a, b)) == in_a | in_b
    assert of(SPACE.less(a, b)) == in_a - in_b
    assert of(SPACE.choose(a, b, SPACE.nothing)) == in_a & in_b


@pytest.mark.parametrize("seed", range(40))
def test_a_preimage_is_what_a_write_brings_into_a_set(seed: int) -> None:
    random = Random(seed)
    packets, members = a_set(random)
    written = packed("eth_dst", random.randrange(4)) | packed("vlan_vid", random.randrange(2))
    values = (packed("eth_dst", random.randrange(4)) | packed("vlan_vid", 1)) & written
    assert of(SPACE.preimage(packets, written, values)) == {
        one for one in SMALL if one & ~written | values in members
    }
    image = of(SPACE.image(packets, written, values))
    assert image >= {one & ~written | values for one in members}
    assert all(one & written == values for one in image)


def test_a_span_has_all_values_from_the_least_to_the_most() -> None:
    span = SPACE.span("tcp_dst", 22, 1023)
    for port, inside in ((21, False), (22, True), (80, True), (1023, True), (1024, False)):
        assert SPACE.has(span, header_of({"tcp_dst": port})) == inside


def test_a_match_and_a_cube_are_the_same_set() -> None:
    match = Match.of(eth_type=0x0800, ipv4_dst="10.1.0.0/16", in_port=3)
    cube = packed("eth_type", 0x0800) | packed("ipv4_dst", 0x0A010000)
    assert SPACE.match(match) == SPACE.cube((cube, field_mask("eth_type") | packed("ipv4_dst", 0xFFFF0000)))


def test_a_relation_gives_packets_their_numbers() -> None:
    ten, other = SPACE.term("eth_dst", 1, 1), SPACE.term("eth_dst", 0, 1)
    relation = SPACE.join(
        SPACE.meet(ten, SPACE.numbered(10)), SPACE.meet(other, SPACE.numbered((1 << 20) - 1))
    )
    assert sorted(SPACE.numbers(relation, SPACE.everything)) == [10, (1 << 20) - 1]
    assert SPACE.numbers(relation, ten) == [10]
    assert SPACE.number_of(relation, header_of({"eth_dst": 3})) == 10
    assert SPACE.number_of(SPACE.nothing, 0) is None


def test_a_witness_is_in_the_set_and_as_usual_as_can_be() -> None:
    usual = header_of({"eth_dst": 0xFE, "eth_src": 7, "eth_type": 0x88B5})
    packets = SPACE.match(Match.of(eth_dst=(0x40, 0xF0)))
    witness = SPACE.witness(packets, usual)
    assert witness is not None and SPACE.has(packets, witness)
    fields = fields_of(witness)
    assert (fields["eth_src"], fields["eth_type"], fields["eth_dst"] & 0xF0) == (7, 0x88B5, 0x40)
    assert SPACE.witness(SPACE.nothing, usual) is None


def test_the_cube_around_a_set_is_the_smallest() -> None:
    packets = SPACE.join(SPACE.match(Match.of(eth_dst=4)), SPACE.match(Match.of(eth_dst=5)))
    assert SPACE.enclosing(packets) == (packed("eth_dst", 4), packed("eth_dst", (1 << 48) - 2))


@pytest.mark.parametrize("seed", range(8))
def test_what_is_around_a_set_is_what_no_bit_of_it_contradicts(seed: int) -> None:
    random = Random(seed)
    fields = {"eth_type": 16, "ipv4_dst": 32, "tcp_dst": 16, "mpls_label": 20}

    def some() -> PacketSet:
        found = SPACE.everything
        for name, bits in fields.items():
            mask = random.getrandbits(bits) | random.getrandbits(bits)
            found = SPACE.meet(found, SPACE.term(name, random.getrandbits(bits) & mask, mask))
        return found

    packets = SPACE.less(SPACE.union(some() for _ in range(1 + seed)), some())
    value, mask = SPACE.enclosing(packets)
    for name, bits in fields.items():
        for bit in (1 << place for place in range(bits)):
            has_set = SPACE.meet(packets, SPACE.term(name, bit, bit)) != SPACE.nothing
            has_clear = SPACE.meet(packets, SPACE.term(name, 0, bit)) != SPACE.nothing
            assert bool(mask & packed(name, bit)) == (has_set != has_clear)
            assert bool(value & packed(name, bit)) == (has_set and not has_clear)


def test_a_full_space_says_so_in_a_sentence() -> None:
    small = PacketSpace(nodes=5_000, cache=1_000)
    with pytest.raises(PenstockError, match=r"more sets of packets apart than 5,000 nodes can hold"):
        for number in range(10_000):
            small.term("ipv6_dst", number * 0x10001, (1 << 128) - 1)


def test_what_nobody_needs_makes_room() -> None:
    small = PacketSpace(nodes=1_000_000, cache=10_000)
    made = 0
    for number in range(4_000):
        pair = [small.span(name, number, number << 100) for name in ("ipv6_src", "ipv6_dst")]
        made += small.meet(*pair).node_count()
    assert made > 1_000_000


def test_a_forked_process_has_a_space_of_its_own() -> None:
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        space = packet_space()
        ended = space is not SPACE and space.numbers(space.numbered(3), space.everything) == [3]
        os.write(writer, b"y" if ended else b"n")
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reader, 1) == b"y"


def test_a_forked_process_tells_packets_that_were_worked_out_before() -> None:
    packets = SPACE.meet(all_packets(SPACE), SPACE.match(Match.of(eth_type=0x0800, ipv4_dst="10.0.0.1")))
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        packet_space()  # has begun a space of its own
        told = str(match_around(space_of(packets), packets))
        os.write(writer, told.encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reader, 1000) == b"eth_type=0x0800,ipv4_dst=10.0.0.1"


def test_one_module_imports_oxidd() -> None:
    importers = []
    for path in Path(penstock.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if any(name.split(".")[0] == "oxidd" for name in names):
                importers.append(path.name)
    assert set(importers) == {"sets.py"}
