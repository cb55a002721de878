"""What is left of a condition where others hold: the same answer, with fewer questions."""

from __future__ import annotations

from itertools import product

import pytest

from penstock._concolic.solving.allowed import Assumed
from penstock._concolic.terms import FALSE, TRUE, Term, both, const, either, eq, evaluate, lt, negation, var

X, Y = var("x", 2), var("y", 2)
IS_ONE = eq(X, const(1))


@pytest.mark.parametrize(
    ("known", "asked", "left"),
    [
        ([IS_ONE], IS_ONE, TRUE),
        ([IS_ONE], eq(X, const(2)), FALSE),
        ([IS_ONE], both(IS_ONE, eq(Y, const(3))), eq(Y, const(3))),
        ([negation(IS_ONE)], IS_ONE, FALSE),
        ([negation(IS_ONE)], either(both(IS_ONE, lt(Y, const(2))), eq(Y, const(3))), eq(Y, const(3))),
        ([], IS_ONE, IS_ONE),
    ],
)
def test_what_is_known_is_not_asked_again(known: list[Term], asked: Term, left: Term) -> None:
    assert Assumed(known).left_of(asked) == left


@pytest.mark.parametrize(
    "known", [[IS_ONE], [negation(IS_ONE)], [lt(X, Y)], [negation(lt(X, Y)), eq(Y, const(2))]]
)
def test_what_is_left_says_the_same_wherever_the_rest_holds(known: list[Term]) -> None:
    asked = either(both(IS_ONE, negation(eq(Y, const(2)))), both(negation(IS_ONE), lt(X, Y)))
    left = Assumed(known).left_of(asked)
    for x, y in product(range(4), repeat=2):
        inputs = {"x": x, "y": y}
        if all(evaluate(condition, inputs) for condition in known):
            assert evaluate(left, inputs) == evaluate(asked, inputs), inputs
