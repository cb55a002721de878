"""What conditions on one input come to together."""

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies_terms import EVERYTHING, conditions

from penstock._concolic.solving.allowed import Allowed, conjuncts
from penstock._concolic.terms import (
    Term,
    add,
    bits,
    both,
    const,
    either,
    eq,
    evaluate,
    join,
    le,
    lt,
    negation,
    var,
)

A = var("a", 6)

simple = st.builds(
    lambda make, number, holds: make(number) if holds else negation(make(number)),
    st.sampled_from(
        [
            lambda number: eq(A, const(number)),
            lambda number: lt(A, const(number)),
            lambda number: lt(const(number), A),
            lambda number: lt(add(A, const(3)), const(number)),
            lambda number: le(bits(A, 2, 4), const(number >> 2)),
            lambda number: eq(bits(A, 1, 2), const(number & 3)),
            lambda number: eq(bits(A, 5, 1), const(number & 1)),
        ]
    ),
    st.integers(0, 63),
    st.booleans(),
)


@settings(max_examples=200)
@given(st.lists(simple, max_size=5))
def test_an_input_may_be_what_all_that_was_learnt_allows(conditions: list[Term]) -> None:
    allowed = Allowed(6)
    learnt = [condition for condition in conditions if allowed.learn(condition)]
    expected = [value for value in range(64) if all(evaluate(part, {"a": value}) for part in learnt)]
    assert [value for value in range(64) if value in allowed] == expected
    assert allowed.values(64) == expected
    if not allowed.mask and expected:
        assert any(value in allowed for value in allowed.neighbours())


@settings(max_examples=200)
@given(conditions, st.sampled_from(EVERYTHING))
def test_the_parts_of_a_condition_hold_together_when_it_does(condition: Term, inputs: dict[str, int]) -> None:
    assert all(evaluate(part, inputs) for part in conjuncts(condition)) == bool(evaluate(condition, inputs))


def test_conditions_come_apart_at_ands_and_at_numbers_laid_side_by_side() -> None:
    high, low = var("high", 8), var("low", 8)
    joined = eq(join([(high, 8), (low, 8)]), const(0x0102))
    neither = negation(either(eq(high, const(3)), eq(low, const(4))))
    assert set(conjuncts(both(joined, neither))) == {
        eq(high, const(1)),
        eq(low, const(2)),
        negation(eq(high, const(3))),
        negation(eq(low, const(4))),
    }


def test_bytes_compared_one_by_one_fix_the_whole() -> None:
    allowed = Allowed(6)
    for start, value in ((0, 5), (3, 2)):
        assert allowed.learn(eq(bits(A, start, 3), const(value)))
    assert allowed.values(4) == [0b010_101]


def test_too_many_values_are_not_listed() -> None:
    assert Allowed(48).values(256) is None
