"""Likely values make conditions go as wanted."""

import pytest

from penstock._concolic.solving.inverse import likely_values
from penstock._concolic.terms import (
    Term,
    add,
    bit_and,
    bit_or,
    bit_xor,
    bits,
    both,
    const,
    either,
    eq,
    evaluate,
    floordiv,
    ite,
    join,
    lt,
    mod,
    mul,
    negation,
    shl,
    shr,
    sub,
    var,
)

X, Y, N = var("x", 16), var("y", 16), var("n", 3)
INPUTS = {"x": 0x1234, "y": 600, "n": 3}


@pytest.mark.parametrize(
    "condition",
    [
        eq(X, Y),
        eq(add(X, const(3)), Y),
        eq(sub(Y, X), const(7)),
        eq(mul(X, const(5)), Y),
        eq(bit_xor(const(0xFF), X), Y),
        eq(bit_and(X, const(0x0F05)), const(5)),
        eq(bit_or(X, const(0x0F05)), const(0xFF05)),
        eq(shl(X, N), const(64)),
        eq(shr(X, N), const(64)),
        eq(floordiv(X, const(7)), const(80)),
        eq(mod(X, const(7)), const(4)),
        eq(bits(X, 4, 8), const(0xAB)),
        eq(join([(bits(X, 0, 8), 8), (bits(X, 8, 8), 8)]), Y),
        eq(ite(lt(X, const(10)), const(1), const(2)), const(1)),
        eq(ite(lt(Y, const(10)), const(1), X), const(99)),
        lt(X, Y),
        lt(add(Y, const(9000)), X),
        either(eq(X, const(5)), eq(Y, const(5))),
        both(lt(const(3), X), lt(X, const(5))),
        eq(add(eq(X, const(4)), Y), const(601)),
    ],
    ids=str,
)
def test_one_of_the_likely_values_makes_a_condition_hold(condition: Term) -> None:
    assert not evaluate(condition, INPUTS)
    likely = likely_values(condition, True, "x", INPUTS)
    assert any(evaluate(condition, {**INPUTS, "x": value}) for value in likely)


@pytest.mark.parametrize("condition", [eq(X, const(0x1234)), negation(lt(X, Y)), bits(X, 2, 1)], ids=str)
def test_one_of_the_likely_values_makes_a_condition_fail(condition: Term) -> None:
    assert evaluate(condition, INPUTS)
    likely = likely_values(condition, False, "x", INPUTS)
    assert any(not evaluate(condition, {**INPUTS, "x": value}) for value in likely)


def test_bits_that_do_not_matter_stay_as_they_are() -> None:
    assert likely_values(eq(bits(X, 4, 8), const(0xAB)), True, "x", INPUTS) == {0x1AB4}


def test_an_input_that_a_condition_does_not_mention_has_no_likely_value() -> None:
    assert likely_values(eq(Y, const(1)), True, "x", INPUTS) == set()
