"""Operators whose other operand would read a value without asking: followed, or told as lost."""

from __future__ import annotations

import collections
import decimal
import enum
import fractions
import itertools
import operator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.symbolic.followed_lab import data, number, run


class Colour(enum.IntEnum):
    RED = 5


class Port(int):
    pass


CONSTANTS = {
    "float": "5.0",
    "true": "True",
    "complex": "5 + 0j",
    "decimal": "decimal.Decimal(5)",
    "fraction": "fractions.Fraction(5)",
    "enumeration": "Colour.RED",
    "own": "Port(5)",
}
WAYS = {
    "equal": "c == x",
    "other_way": "x == c",
    "unequal": "c != x",
    "sum": "c + x",
    "difference": "c - x",
    "product": "c * x",
    "tuples": "(c, 1) == (x, 1)",
    "lists": "[c] != [x]",
    "member": "x in [c, 3]",
    "key": "{c: 'found'}.get(x)",
    "operator": "operator.eq(c, x)",
    "total": "sum([c, x])",
    "count": "[c, 1].count(x)",
    "found": "collections.deque([c]).count(x)",
    "counted": "operator.countOf([c], x)",
    "in_place": "changed(c, x)",
}
GIVEN = {
    "collections": collections,
    "decimal": decimal,
    "fractions": fractions,
    "operator": operator,
    "Colour": Colour,
    "Port": Port,
}


@pytest.mark.parametrize(("constant", "way"), itertools.product(CONSTANTS.values(), WAYS.values()))
def test_a_number_is_followed_whatever_it_meets(constant: str, way: str) -> None:
    source = f"""
    def changed(c, x):
        c += x
        return c
    def f(x):
        c = {constant}
        return ('yes' if {way} else 'no') if {"=" in way or " in " in way} else {way}
    """
    for value in (4, 5):
        done = run(source, {"x": number(4)}, {"x": value}, **GIVEN)
        # A comparison that nobody followed would leave no decision behind.
        assert done.decisions or done.losses or done.result is not done.expected


@pytest.mark.parametrize(
    "way", ["c < x", "c >= x", "max(c, x)", "sorted([c, x, 3])", "(c, 0) < (x, 1)", "min([x, c]) == c"]
)
@pytest.mark.parametrize(
    "constant", ["5.5", "decimal.Decimal('5.5')", "fractions.Fraction(11, 2)", "Port(5)"]
)
def test_what_asks_for_an_order_is_followed_too(constant: str, way: str) -> None:
    source = f"""
    def f(x):
        c = {constant}
        return str({way})
    """
    for value in (3, 5, 6):
        done = run(source, {"x": number(4)}, {"x": value}, **GIVEN)
        assert done.decisions or done.losses or done.result is not done.expected


@given(st.integers(0, 2**16 - 1), st.sampled_from([b"%d", b"port %05d", b"%x", b"%04X", b"%d%%"]))
def test_numbers_in_bytes_are_followed(value: int, template: bytes) -> None:
    done = run("def f(x): return T % x", {"x": number(16)}, {"x": value}, T=template)
    assert done.losses == ()
    assert done.result is not done.expected


@pytest.mark.parametrize(
    "source", ["bytearray(b'09') == d", "memoryview(b'09') == d", "d in [bytearray(b'09')]"]
)
def test_bytes_are_compared_with_what_holds_bytes(source: str) -> None:
    found = [
        run(f"def f(d): return bool({source})", {"d": data(2)}, {"d": value}) for value in (0x3039, 0x3038)
    ]
    assert [(done.expected, done.losses) for done in found] == [(True, ()), (False, ())]
    assert all(done.decisions or done.result is not done.expected for done in found)


def test_what_an_assignment_changes_is_evaluated_once() -> None:
    source = """
    class Box:
        total = 1
    boxes, asked = [Box(), Box()], []
    def at(n):
        asked.append(n)
        return boxes[n]
    def f(x):
        at(1).total += x
        table = {'a': [2]}
        table['a'][0] -= x
        whole = 1
        whole <<= x
        marks = {1}
        marks |= {x}
        return boxes[1].total, table['a'][0], whole, sorted(marks), asked
    """
    done = run(source, {"x": number(3)}, {"x": 5})
    assert str(done.expected) == "(6, -3, 32, [1, 5], [1])"
    assert done.losses == ()


def test_a_function_that_remembers_its_results_is_asked_for_which() -> None:
    from penstock._concolic.visible import lru_cache

    source = """
    made = []
    @lru_cache(None)
    def square(n):
        made.append(n)
        return n * n
    square(5)
    def f(x):
        return square(x), square(x), len(made)
    """
    found = {
        value: run(source, {"x": number(4)}, {"x": value}, lru_cache=lru_cache).expected for value in (4, 5)
    }
    assert found == {4: (16, 16, 2), 5: (25, 25, 1)}


def test_a_member_that_an_enumeration_finds_by_itself_is_followed() -> None:
    class Kind(enum.Enum):
        WEB = 80
        OTHER = 0

        @classmethod
        def _missing_(cls, value: Any) -> Kind:
            return cls.WEB if value == 8080 else cls.OTHER

    source = "def f(x): return Kind(x).name"
    done = run(source, {"x": number(16)}, {"x": 8080}, Kind=Kind)
    assert (done.expected, bool(done.decisions)) == ("WEB", True)
