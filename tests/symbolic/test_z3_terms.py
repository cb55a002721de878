"""Z3 reads a term as Python does."""

import z3
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.strategies_terms import EVERYTHING, VARIABLES, numbers

from penstock._concolic.solving.z3_terms import Translator
from penstock._concolic.terms import Term, add, const, evaluate, floordiv, mod, mul, shl, shr, sub, truth, var

A, B = VARIABLES[0].term, VARIABLES[1].term


def z3_value(translator: Translator, term: Term, inputs: dict[str, int]) -> int:
    """Return what Z3 takes a term for."""
    known = [
        (translator.number(variable.term), z3.BitVecVal(inputs[variable.name], variable.width))
        for variable in VARIABLES
    ]
    value = z3.simplify(z3.substitute(translator.number(term), *known))
    return int(value.as_signed_long() if term.low < 0 else value.as_long())


@settings(max_examples=300)
@given(numbers, st.sampled_from(EVERYTHING))
@example(floordiv(sub(A, const(9)), const(4)), EVERYTHING[0])
@example(floordiv(sub(A, const(9)), add(B, const(3))), EVERYTHING[16])
@example(mod(sub(A, const(9)), add(B, const(3))), EVERYTHING[16])
@example(shr(sub(A, const(9)), B), EVERYTHING[127])
@example(shl(sub(A, const(9)), B), EVERYTHING[127])
@example(mul(sub(A, const(9)), sub(B, const(9))), EVERYTHING[0])
def test_a_term_has_the_same_value_in_z3(term: Term, inputs: dict[str, int]) -> None:
    translator = Translator()
    assert z3_value(translator, term, inputs) == evaluate(term, inputs)
    holds = z3.substitute(
        translator.condition(truth(term)),
        *((translator.number(v.term), z3.BitVecVal(inputs[v.name], v.width)) for v in VARIABLES),
    )
    assert z3.is_true(z3.simplify(holds)) == bool(evaluate(term, inputs))


def test_a_sum_with_many_shared_parts_is_translated_once() -> None:
    total = var("a", 4)
    for _ in range(100):
        total = mod(add(total, total), const(15))
    question = z3.Solver()
    question.add(Translator().condition(truth(total)))
    assert question.check() == z3.sat
