"""Terms mean what Python means, however they are built, and their bounds hold."""

import operator
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock._concolic.terms import (
    FALSE,
    MOST_BITS,
    TRUE,
    Term,
    TooWide,
    add,
    bit_and,
    bit_or,
    bit_xor,
    bits,
    both,
    const,
    either,
    eq,
    equal_all,
    evaluate,
    floordiv,
    invert,
    is_condition,
    ite,
    join,
    le,
    lt,
    mod,
    mul,
    negate,
    negation,
    parts_of,
    positive,
    shl,
    shr,
    sub,
    substitute,
    subterms,
    truth,
    var,
)

WIDTHS = {"a": 1, "b": 4, "c": 8, "d": 16, "e": 48}
A, B, C, D, E = (var(name, width) for name, width in WIDTHS.items())


class Built(NamedTuple):
    """A term, and the same computation on Python's numbers."""

    term: Term
    compute: Callable[[dict[str, int]], int]


def inputs() -> st.SearchStrategy[dict[str, int]]:
    return st.fixed_dictionaries({name: st.integers(0, (1 << width) - 1) for name, width in WIDTHS.items()})


def leaves() -> st.SearchStrategy[Built]:
    def of_var(name: str) -> Built:
        return Built(var(name, WIDTHS[name]), lambda values: values[name])

    def of_const(value: int) -> Built:
        return Built(const(value), lambda _: value)

    numbers = st.sampled_from([0, 1, 2, 3, 8, 15, 255, 256, 0xF0F0, -1, -256]) | st.integers(-300, 70_000)
    return st.sampled_from(sorted(WIDTHS)).map(of_var) | numbers.map(of_const)


BINARY: dict[str, tuple[Callable[..., Term], Callable[..., int]]] = {
    "+": (add, operator.add),
    "-": (sub, operator.sub),
    "*": (mul, operator.mul),
    "&": (bit_and, operator.and_),
    "|": (bit_or, operator.or_),
    "^": (bit_xor, operator.xor),
    "==": (eq, operator.eq),
    "<": (lt, operator.lt),
    "<=": (le, operator.le),
    "and": (lambda one, other: both(truth(one), truth(other)), lambda one, other: bool(one and other)),
    "or": (lambda one, other: either(truth(one), truth(other)), lambda one, other: bool(one or other)),
}
UNARY: dict[str, tuple[Callable[..., Term], Callable[..., int]]] = {
    "-": (negate, operator.neg),
    "~": (invert, operator.invert),
    "not": (lambda term: negation(truth(term)), operator.not_),
    "bool": (truth, bool),
}


@st.composite
def _extended(draw: st.DrawFn, children: st.SearchStrategy[Built]) -> Built:
    one, other, third = draw(children), draw(children), draw(children)
    kind = draw(st.sampled_from(["binary", "unary", "divide", "shift", "bits", "join", "ite", "equal"]))
    try:
        match kind:
            case "unary":
                build, plain = UNARY[draw(st.sampled_from(sorted(UNARY)))]
                return Built(build(one.term), lambda values: int(plain(one.compute(values))))
            case "divide":
                build, plain = draw(st.sampled_from([(floordiv, operator.floordiv), (mod, operator.mod)]))
                return Built(
                    build(one.term, positive(other.term)),
                    lambda values: plain(one.compute(values), max(other.compute(values), 1)),
                )
            case "shift":
                distance = draw(st.integers(0, 20))
                build, plain = draw(st.sampled_from([(shl, operator.lshift), (shr, operator.rshift)]))
                if 0 <= other.term.low <= other.term.high < 40 and draw(st.booleans()):
                    return Built(
                        build(one.term, other.term),
                        lambda values: plain(one.compute(values), other.compute(values)),
                    )
                return Built(
                    build(one.term, const(distance)), lambda values: plain(one.compute(values), distance)
                )
            case "bits" if one.term.low >= 0:
                low, width = draw(st.integers(0, 20)), draw(st.integers(0, 20))
                return Built(
                    bits(one.term, low, width), lambda values: one.compute(values) >> low & (1 << width) - 1
                )
            case "join" if min(one.term.low, other.term.low) >= 0:
                first, second = (
                    part.term.high.bit_length() + draw(st.integers(0, 3)) for part in (one, other)
                )
                return Built(
                    join([(one.term, first), (other.term, second)]),
                    lambda values: one.compute(values) << second | other.compute(values),
                )
            case "ite":
                return Built(
                    ite(truth(one.term), other.term, third.term),
                    lambda values: (other if one.compute(values) else third).compute(values),
                )
            case "equal":
                return Built(
                    equal_all([(one.term, other.term), (other.term, third.term)]),
                    lambda values: one.compute(values) == other.compute(values) == third.compute(values),
                )
        build, plain = BINARY[draw(st.sampled_from(sorted(BINARY)))]
        return Built(
            build(one.term, other.term),
            lambda values: int(plain(one.compute(values), other.compute(values))),
        )
    except TooWide:
        return one


def built() -> st.SearchStrategy[Built]:
    return st.recursive(leaves(), _extended, max_leaves=10)


@settings(max_examples=400)
@given(built(), inputs(), inputs())
def test_a_term_comes_to_what_python_computes_and_its_bounds_hold(
    made: Built, first: dict[str, int], second: dict[str, int]
) -> None:
    for values in (first, second):
        expected = made.compute(values)
        assert evaluate(made.term, values) == expected
        assert made.term.low <= expected <= made.term.high


@settings(max_examples=300)
@given(built(), inputs())
def test_putting_numbers_in_place_of_inputs_gives_their_result(made: Built, values: dict[str, int]) -> None:
    assert substitute(made.term, {name: const(value) for name, value in values.items()}).value == (
        made.compute(values)
    )
    assert evaluate(substitute(made.term, {"c": bits(E, 3, 8)}), values) == made.compute(
        {**values, "c": values["e"] >> 3 & 255}
    )


@settings(max_examples=200)
@given(built())
def test_every_slice_and_every_join_is_built_in_one_way(made: Built) -> None:
    for term in subterms(made.term):
        if term.op == "join":
            parts = parts_of(term)
            assert all(part.value is not None or part.high.bit_length() == width for part, width in parts)
            assert parts[0][0].value != 0 and parts[-1][0].value != 0
            assert not any(part.op == "join" for part, _ in parts)
            assert join(parts) == term
        elif term.op == "bits":
            assert term.high.bit_length() == term.args[2]
            assert term.operands[0].op not in ("bits", "join", "const")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (join([(bits(E, 24, 24), 24), (bits(E, 0, 24), 24)]), E),
        (bit_or(shl(bits(D, 8, 8), const(8)), bits(D, 0, 8)), D),
        (add(mul(bits(D, 8, 8), const(256)), bits(D, 0, 8)), D),
        (bit_or(bit_or(shl(B, const(12)), shl(C, const(4))), A), join([(B, 4), (C, 8), (A, 4)])),
        (bit_and(C, const(0xF0)), shl(bits(C, 4, 4), const(4))),
        (bit_and(C, const(~0xF)), bit_and(C, const(0xF0))),
        (bits(bit_or(shl(B, const(8)), C), 8, 4), B),
        (add(add(C, const(1)), const(2)), add(const(3), C)),
        (sub(add(C, const(1)), const(1)), C),
        (negate(negate(C)), C),
        (invert(invert(C)), C),
        (floordiv(D, const(256)), bits(D, 8, 8)),
        (mod(D, const(16)), bits(D, 0, 4)),
        (ite(eq(C, const(5)), TRUE, FALSE), eq(C, const(5))),
    ],
    ids=str,
)
def test_numbers_that_are_the_same_are_the_same_term(one: Term, other: Term) -> None:
    assert one == other


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (eq(C, D), eq(D, C)),
        (eq(const(5), C), eq(C, const(5))),
        (eq(add(C, const(2)), const(7)), eq(C, const(5))),
        (eq(sub(const(7), C), const(2)), eq(C, const(5))),
        (eq(mul(C, const(3)), const(15)), eq(C, const(5))),
        (eq(mul(C, const(3)), const(16)), FALSE),
        (eq(shl(C, const(4)), const(0x51)), FALSE),
        (eq(sub(C, D), FALSE), eq(C, D)),
        (eq(bit_xor(C, D), FALSE), eq(C, D)),
        (eq(join([(B, 4), (C, 8)]), const(0x305)), both(eq(B, const(3)), eq(C, const(5)))),
        (eq(join([(B, 4), (const(7), 3), (C, 8)]), const(0x305)), FALSE),
        (eq(eq(C, const(5)), FALSE), negation(eq(C, const(5)))),
        (lt(const(4), C), negation(lt(C, const(5)))),
        (lt(C, const(1)), eq(C, FALSE)),
        (lt(FALSE, C), truth(C)),
        (lt(C, const(255)), negation(eq(C, const(255)))),
        (lt(add(C, const(3)), const(8)), lt(C, const(5))),
        (lt(shl(C, const(4)), const(0x41)), lt(C, const(5))),
        (le(C, const(4)), lt(C, const(5))),
        (lt(C, const(256)), TRUE),
        (both(eq(C, const(5)), negation(eq(C, const(5)))), FALSE),
        (either(eq(C, const(5)), negation(eq(C, const(5)))), TRUE),
        (equal_all([(bits(D, 8, 8), const(1)), (bits(D, 0, 8), const(2))]), eq(D, const(0x102))),
        (equal_all([(C, const(3)), (D, const(70_000))]), FALSE),
    ],
    ids=str,
)
def test_the_same_question_asked_in_two_ways_is_one_condition(one: Term, other: Term) -> None:
    assert one == other
    assert is_condition(one)


def test_a_part_of_a_join_that_was_laid_in_more_bits_than_it_needs_stays_in_place() -> None:
    narrow = join([(bits(C, 0, 2), 8), (D, 16)])
    assert evaluate(join([(B, 4), (narrow, 18)]), {"b": 1, "c": 2, "d": 3}) == (1 << 18) + (2 << 16) + 3


def test_numbers_that_get_too_wide_are_refused() -> None:
    with pytest.raises(TooWide):
        shl(C, const(MOST_BITS))
    with pytest.raises(TooWide):
        shl(const(1), D)
    with pytest.raises(TooWide):
        join([(var(f"v{index}", 48), 48) for index in range(50)])


def test_numbers_that_are_nested_too_deep_are_refused_before_python_gives_up() -> None:
    def pile() -> Term:
        term = C
        with pytest.raises(TooWide):
            for _ in range(10_000):
                term = add(term, D)
        return term

    assert pile() == pile()
    assert evaluate(pile(), {"c": 1, "d": 0}) == 1
    assert len(str(pile())) < 5_000


def test_a_part_that_occurs_again_and_again_does_not_make_terms_endless() -> None:
    term = C
    for _ in range(100):
        term = add(term, mul(term, const(3)))
    assert evaluate(term, {"c": 1}) == 4**100
    assert term == substitute(term, {"c": C}) and len(str(term)) < 5_000


def test_a_term_survives_pickling_with_its_hash() -> None:
    term = eq(bits(E, 3, 7), add(C, D))
    copied = pickle.loads(pickle.dumps(term))
    assert copied == term and hash(copied) == hash(term) and copied.variables == {"c", "d", "e"}


def test_the_form_of_a_comparison_does_not_depend_on_the_hashes_of_the_process() -> None:
    program = (
        "from penstock._concolic.terms import *\n"
        "a, b, c = (var(n, 8) for n in 'abc')\n"
        "print(eq(add(a, b), mul(c, b)), eq(b, a), eq(bits(c, 1, 3), add(b, b)), hash(eq(a, b)))"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(texts) == 1
