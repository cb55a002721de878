"""Classes of packets, against what each packet of a small space does on its own."""

from __future__ import annotations

from random import Random

import pytest

from penstock._forwarding.classes import Partition
from penstock._forwarding.header_space import Cube, field_mask, header_of, packed
from penstock._forwarding.sets import packet_space
from penstock._forwarding.tables import Rule, RuleTable

SPACE = packet_space()
PACKETS = [header_of({"eth_dst": a, "eth_src": b}) for a in range(8) for b in range(8)]


def a_cube(random: Random) -> Cube:
    value = mask = 0
    for name in ("eth_dst", "eth_src"):
        looked_at = random.choice((0, 1, 3, 4, 6, 7))
        mask |= packed(name, looked_at)
        value |= packed(name, random.randrange(8) & looked_at)
    return value, mask


class Plain:
    """The same tables, packet by packet."""

    def __init__(self, count: int) -> None:
        self.tables: list[list[Rule]] = [[] for _ in range(count)]

    def treated(self, table: int, header: int) -> object:
        met = [rule for rule in self.tables[table] if header & rule.cube[1] == rule.cube[0]]
        return min(met).behaviour if met else None


@pytest.mark.parametrize("seed", range(30))
def test_tables_and_classes_are_what_single_packets_say(seed: int) -> None:
    random = Random(seed)
    partition = Partition(SPACE, SPACE.everything)
    elements = [partition.new_element() for _ in range(3)]
    tables = [RuleTable[Rule](SPACE, SPACE.everything) for _ in elements]
    plain = Plain(len(elements))
    writes = [
        partition.write(field_mask("eth_dst"), packed("eth_dst", 3)),
        partition.write(packed("eth_src", 1), 0),
    ]
    for step in range(40):
        at = random.randrange(len(elements))
        rules = plain.tables[at]
        if rules and random.random() < 0.4:
            rule = rules.pop(random.randrange(len(rules)))
            changes = tables[at].remove(rule)
        else:
            cube = a_cube(random)
            rule = Rule((random.randrange(4), step), cube, SPACE.cube(cube), random.choice("abc"))
            rules.append(rule)
            changes = tables[at].add(rule)
        for change in changes:
            partition.move(elements[at], change.behaviour, change.packets)
        if random.random() < 0.2:
            partition.use(random.choice(writes), SPACE.cube(a_cube(random)))
        alike: dict[tuple[object, ...], int] = {}
        for header in PACKETS:
            found = partition.of(header)
            assert found is not None and SPACE.has(found.packets, header)
            for table, element in enumerate(elements):
                assert found.behaviours.get(element) == plain.treated(table, header)
            for write in writes:
                target = partition.target(found, write)
                if target is not None:
                    assert SPACE.has(target.packets, header & ~write.written | write.values)
            key = (
                *(plain.treated(table, header) for table in range(3)),
                *(found.behaviours.get(write.element) for write in writes),
            )
            assert alike.setdefault(key, found.number) == found.number, "two classes are treated alike"
    assert SPACE.union(one.packets for one in partition.classes.values()) == SPACE.everything


def test_a_rule_takes_its_packets_and_gives_them_back() -> None:
    table = RuleTable[Rule](SPACE, SPACE.everything)
    narrow, wide = packed("eth_dst", 5), field_mask("eth_dst")
    below = Rule((2,), (0, 0), SPACE.everything, "below")
    above = Rule((1,), (narrow, wide), SPACE.cube((narrow, wide)), "above")
    table.add(below)
    (change,) = table.add(above)
    assert change == ("above", above.packets)
    assert below.hit == SPACE.less(SPACE.everything, above.packets)
    (change,) = table.remove(above)
    assert change == ("below", above.packets)
    assert below.hit == SPACE.everything and table.missed == SPACE.nothing
    assert table.find((2,), (0, 0)) is below and len(table) == 1


def test_classes_that_are_treated_alike_again_join() -> None:
    partition = Partition(SPACE, SPACE.everything)
    element = partition.new_element()
    some = SPACE.term("eth_dst", 5, 7)
    partition.move(element, "x", some)
    assert len(partition.classes) == 2
    partition.move(element, None, some)
    assert [one.packets for one in partition.classes.values()] == [SPACE.everything]


def test_an_element_is_copied_with_all_that_it_does() -> None:
    partition = Partition(SPACE, SPACE.everything)
    element = partition.new_element()
    partition.move(element, "x", SPACE.term("eth_dst", 5, 7))
    copy = partition.copy_element(element)
    partition.move(element, None, SPACE.everything)
    assert sorted(str(one.behaviours.get(copy)) for one in partition.classes.values()) == ["None", "x"]
