from __future__ import annotations

from penstock._concolic.terms import Term, both, const, either, eq, lt, negation, var
from penstock._symbolic.forwarding.assumptions import NOTHING, Assumptions

DST, SRC = var("dst", 8), var("src", 8)


def is_dst(value: int) -> Term:
    return eq(DST, const(value))


def given(*conditions: Term) -> Assumptions:
    made = NOTHING
    for condition in conditions:
        after = made.also(condition)
        assert after is not None
        made = after
    return made


def test_what_is_taken_for_granted_already_adds_nothing() -> None:
    known = given(is_dst(1), lt(SRC, const(9)))
    assert known.also(is_dst(1)) is known
    assert known.also(negation(is_dst(2))) is known
    assert known.also(either(is_dst(1), eq(SRC, const(200)))) is known


def test_what_contradicts_is_found_on_sight() -> None:
    known = given(is_dst(1), negation(eq(SRC, const(3))))
    assert known.also(is_dst(2)) is None
    assert known.also(negation(is_dst(1))) is None
    assert known.also(both(lt(DST, const(5)), eq(SRC, const(3)))) is None


def test_only_what_is_left_to_ask_is_added() -> None:
    known = given(is_dst(1)).also(negation(both(is_dst(1), eq(SRC, const(3)))))
    assert known is not None
    assert known.conditions == (is_dst(1), negation(eq(SRC, const(3))))


def test_conditions_are_kept_one_by_one() -> None:
    known = given(both(is_dst(1), lt(SRC, const(9))))
    assert known.conditions == (is_dst(1), lt(SRC, const(9)))
    assert known.all == both(is_dst(1), lt(SRC, const(9)))


def test_more_assumptions_imply_fewer() -> None:
    few, more = given(is_dst(1)), given(is_dst(1), lt(SRC, const(9)))
    assert more.imply(few) and more.imply(more)
    assert not few.imply(more)
