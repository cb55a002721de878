"""Compiled terms come to what terms come to."""

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies_terms import EVERYTHING, conditions, numbers

from penstock._concolic.solving.compiled import Evaluator, compile_term
from penstock._concolic.terms import Term, add, const, evaluate, mod, negation, var

NAMES = ("a", "b", "c")


@settings(max_examples=300)
@given(numbers, st.sampled_from(EVERYTHING))
def test_a_compiled_term_has_the_value_of_the_term(term: Term, inputs: dict[str, int]) -> None:
    assert compile_term(term, NAMES)(*(inputs[name] for name in NAMES)) == evaluate(term, inputs)


@settings(max_examples=100)
@given(conditions, st.sampled_from(EVERYTHING))
def test_an_evaluator_knows_conditions_and_their_opposites(condition: Term, inputs: dict[str, int]) -> None:
    work_out = Evaluator()
    assert bool(work_out(condition, inputs)) != bool(work_out(negation(condition), inputs))


def test_a_term_of_many_steps_is_compiled_without_nesting() -> None:
    total = var("a", 8)
    for step in range(120):
        total = mod(add(total, const(step)), const(251))
    assert compile_term(total, ["a"])(7) == (7 + sum(range(120))) % 251


def test_names_of_inputs_never_become_code() -> None:
    odd = var("__import__('os')", 8)
    assert compile_term(add(odd, const(1)), ["__import__('os')"])(4) == 5
