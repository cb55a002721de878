"""Numbers that carry terms behave like plain ones, and their terms say why."""

import copy
import math
import operator
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.symbolic.plain_agreement import check, pairs_of_inputs

from penstock._concolic.run import Run
from penstock._concolic.terms import add, const, eq, lt, negation, var
from penstock._concolic.values.integers import SymBool, SymInt, boolean, integer, pinned, term_of

WIDTHS = {"a": 1, "b": 4, "c": 8, "d": 16}
C = var("c", 8)
D = var("d", 16)
NEGATIVE = add(C, const(-100))


def symbolic(inputs: Any) -> dict[str, int]:
    return {name: SymInt(inputs[name], var(name, width)) for name, width in WIDTHS.items()}


def c(value: int) -> int:
    return integer(value, C)


# Random programs.

BINARY = (
    *(operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, divmod),
    *(operator.and_, operator.or_, operator.xor),
    *(operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge),
    *(lambda one, other: one and other, lambda one, other: one or other, max),
    *(lambda one, other: one << (other & 7), lambda one, other: one >> (other & 31)),
    *(lambda one, other: one if one < other else other, lambda one, other: one in [other, 3, 7]),
)
UNARY = (
    *(operator.neg, operator.pos, operator.invert, abs, operator.not_, lambda one: one**2, math.trunc),
    *(lambda one: (one == 3) + 1, lambda one: (one < 9) & (one > 2), lambda one: (one < 9) ^ True),
    *(lambda one: ~(one == 2), lambda one: (one == 2) | (one == 3), lambda one: one.conjugate()),
)


def _numbers(value: Any) -> Any:
    """Take the first of what divmod gives, so that programs can go on with it."""
    return value[0] if isinstance(value, tuple) else value


def programs() -> st.SearchStrategy[Callable[[Any], Any]]:
    def leaf(name: str) -> Callable[[Any], Any]:
        return lambda values: values[name]

    def number(value: int) -> Callable[[Any], Any]:
        return lambda _: value

    def extend(inner: st.SearchStrategy[Callable[[Any], Any]]) -> st.SearchStrategy[Callable[[Any], Any]]:
        def unary(function: Any, one: Any) -> Callable[[Any], Any]:
            return lambda values: _numbers(function(one(values)))

        def binary(function: Any, one: Any, other: Any) -> Callable[[Any], Any]:
            # A plain bool on the left of an operator is Python's own affair: make it a number.
            return lambda values: _numbers(function(+one(values), +other(values)))

        return st.builds(unary, st.sampled_from(UNARY), inner) | st.builds(
            binary, st.sampled_from(BINARY), inner, inner
        )

    leaves = st.sampled_from(sorted(WIDTHS)).map(leaf) | st.integers(-20, 300).map(number)
    return st.recursive(leaves, extend, max_leaves=8)


@settings(max_examples=300)
@given(programs(), pairs_of_inputs(WIDTHS))
def test_a_program_on_numbers_does_what_it_does_on_plain_ones(program: Any, inputs: Any) -> None:
    check(program, dict, symbolic, *inputs)


# What is kept.


@pytest.mark.parametrize(
    ("result", "value", "term"),
    [
        (lambda: c(7) + 3, 10, add(C, const(3))),
        (lambda: 3 + c(7), 10, add(C, const(3))),
        (lambda: c(7) - 100, -93, NEGATIVE),
        (lambda: c(7) == 7, True, eq(C, const(7))),
        (lambda: c(7) != 7, False, negation(eq(C, const(7)))),
        (lambda: c(7) == integer(9, D), False, eq(C, D)),
        (lambda: c(7) < 8, True, lt(C, const(8))),
        (lambda: c(7) > 7, False, negation(lt(C, const(8)))),
        (lambda: operator.eq(c(7) == 7, True), True, eq(C, const(7))),
        (lambda: operator.eq(c(7) == 7, False), False, negation(eq(C, const(7)))),
    ],
)
def test_results_carry_the_term_that_they_come_from(result: Any, value: int, term: Any) -> None:
    found = result()
    assert int.__eq__(found, value) and term_of(found) == term


def test_what_a_term_leaves_no_choice_is_plain() -> None:
    assert type(c(7) - c(7)) is int
    assert (c(7) == 300) is False
    assert (c(7) < 256) is True
    assert type(integer(SymInt(3, C), const(3))) is int
    assert boolean(True, const(1)) is True


def test_comparing_decides_nothing_until_somebody_asks() -> None:
    with Run() as run:
        found = c(7) == 7
        assert not run.decisions
        assert found and found and c(7) == 7
    assert [(decision.condition, decision.outcome) for decision in run.decisions] == [(eq(C, const(7)), True)]


def test_a_number_is_true_unless_it_is_zero() -> None:
    with Run() as run:
        assert c(7)
    assert [decision.holds for decision in run.decisions] == [negation(eq(C, const(0)))]


def test_truth_values_combine_without_a_decision_and_read_as_true_or_false() -> None:
    with Run() as run:
        found = (c(7) == 7) & (integer(9, D) == 3) | (c(7) > 100) ^ True
        assert isinstance(found, SymBool) and not run.decisions and not run.losses
    assert str(found) == "True" and repr(found) == "True" and f"{found}" == "True" and f"{found:d}" == "1"
    assert str(c(7) == 8) == "False"
    assert isinstance((c(7) == 7) + 1, SymInt)


def test_a_divisor_decides_whether_division_fails() -> None:
    with Run() as run, pytest.raises(ZeroDivisionError):
        _ = 5 // c(0)
    assert [decision.holds for decision in run.decisions] == [eq(C, const(0))]


def test_a_divisor_on_either_side_of_zero_decides_on_which() -> None:
    with Run() as run:
        found = -7 % integer(-93, NEGATIVE)
        assert not run.losses and int.__eq__(found, -7)
    assert [decision.holds for decision in run.decisions] == [
        negation(eq(NEGATIVE, const(0))),
        lt(NEGATIVE, const(0)),
    ]


def test_a_distance_below_zero_decides_whether_a_shift_fails() -> None:
    with Run() as run, pytest.raises(ValueError, match="negative shift count"):
        _ = 1 << integer(-93, NEGATIVE)
    assert [decision.holds for decision in run.decisions] == [lt(NEGATIVE, const(0))]


def test_a_number_gives_bytes_that_carry_its_term() -> None:
    assert [term_of(byte) for byte in integer(0x1234, D).to_bytes(2, "big")] == [
        term_of(integer(0x1234, D) >> 8),
        term_of(integer(0x1234, D) & 255),
    ]
    with Run() as run, pytest.raises(OverflowError):
        integer(300, D).to_bytes(1, "big")
    assert [decision.holds for decision in run.decisions] == [negation(lt(D, const(256)))]


def test_where_only_a_plain_number_will_do_the_run_decides_if_they_are_few() -> None:
    with Run() as run:
        assert type(pinned(integer(3, var("b", 4)), "index")) is int
        asked = [*(f"not (b == {less})" for less in range(3)), "b == 3"]
        assert not run.losses and [str(decision.holds) for decision in run.decisions] == asked
        assert type(pinned(integer(3, D), "index")) is int
        assert [loss.what for loss in run.losses] == ["index"]


# What is lost.


def losses(act: Callable[[], object]) -> list[str]:
    with Run() as run:
        act()
    return [loss.what for loss in run.losses]


@pytest.mark.parametrize(
    ("act", "value"),
    [
        (lambda: c(7) / 2, 3.5),
        (lambda: 2 / c(4), 0.5),
        (lambda: c(7) + 1.5, 8.5),
        (lambda: c(7) < 7.5, True),
        (lambda: c(7) == 7.0, True),
        (lambda: float(c(7)), 7.0),
        (lambda: math.sqrt(c(4)), 2.0),
        (lambda: int(c(7)), 7),
        (lambda: hash(c(7)), hash(7)),
        (lambda: hash(c(7) == 7), hash(True)),
        (lambda: str(c(7)), "7"),
        (lambda: repr(c(7)), "7"),
        (lambda: f"{c(7):04x}", "0007"),
        (lambda: pow(c(7), 2, 5), 4),
        (lambda: c(2) ** 100, 2**100),
        (lambda: 3 ** c(2), 9),
        (lambda: round(c(77), -1), 80),
        (lambda: 1 << integer(20, D), 1 << 20),
        (lambda: c(2) ** 3 << 2040, 8 << 2040),
    ],
)
def test_what_has_no_term_is_lost_once_and_gives_the_plain_value(act: Any, value: Any) -> None:
    with Run() as run:
        found = act()
    assert run.losses.total() == 1
    assert type(found) in (type(value), SymBool) and found == value
    assert losses(lambda: None) == []


def test_every_method_of_int_is_followed_or_loses() -> None:
    harmless = {"imag", "denominator", "is_integer"} & set(dir(int))
    inherited = {
        name for name in set(dir(int)) - set(dir(object)) if getattr(SymInt, name) is getattr(int, name)
    }
    assert inherited == harmless
    special = {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__", "__repr__", "__str__"}
    for name in special | {"__format__", "__reduce__"}:
        assert getattr(SymInt, name) is not getattr(int, name), name


def test_numbers_without_a_run_behave_like_plain_ones() -> None:
    assert sorted([c(7), c(3), 5]) == [3, 5, 7]
    assert {c(7): "seven"}[7] == "seven" and c(7) in {7}
    assert [10, 20, 30][integer(1, C)] == 20
    seven: Any = c(7)
    assert seven != "7" and seven is not None and seven != b"7" and seven != (7,)
    with pytest.raises(TypeError):
        _ = seven < "7"


def test_copies_keep_the_term() -> None:
    value: Any
    for value in (c(7), c(7) == 7):
        for copied in (copy.copy(value), copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
            assert type(copied) is type(value) and copied.term == term_of(value)
