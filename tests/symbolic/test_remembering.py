"""What a program has kept of a message counts only as far as it can still be something else."""

from __future__ import annotations

from penstock._concolic.run import Run
from penstock._concolic.terms import const, eq, lt, negation, var
from penstock._concolic.values.integers import SymInt
from penstock._symbolic.remembering import _kept, _settled

A, B, C = var("0:a", 8), var("1:b", 8), var("1:c", 8)


def test_a_value_that_conditions_leave_no_choice_for_is_known() -> None:
    assert _settled([eq(A, const(5))], {}) == ({"0:a": const(5)}, frozenset())


def test_so_is_one_that_equals_such_a_value() -> None:
    values, left = _settled([eq(B, C), eq(A, B), lt(C, const(9))], {"0:a": const(5)})
    assert values == {"0:a": const(5), "1:b": const(5), "1:c": const(5)}
    assert left == frozenset()


def test_other_conditions_are_kept() -> None:
    smaller, other = lt(A, const(9)), negation(eq(B, const(3)))
    assert _settled([smaller, other], {}) == ({}, frozenset({smaller, other}))


def test_nothing_is_kept_of_a_message_whose_values_are_known() -> None:
    with Run():
        kept = [SymInt(5, A), SymInt(7, B)]
        assert _kept(kept, {"0:a"}, [eq(A, const(5))], {}) == ()
        assert _kept(kept, {"0:a"}, [lt(A, const(9))], {}) != ()
