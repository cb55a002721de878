"""Automata accept the words of which their formulas are true, and those of usual formulas are small."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock._verify.ltl.core import (
    FALSE,
    TRUE,
    All,
    Any,
    Core,
    Literal,
    Release,
    Until,
    always,
    conjunction,
    disjunction,
    eventually,
    holds,
    implies,
    negation,
    release,
    until,
)
from penstock._verify.ltl.translation import automaton_of

PROPOSITIONS = 3
literals = st.builds(Literal, st.integers(0, PROPOSITIONS - 1), st.booleans())
letters = st.integers(0, 2**PROPOSITIONS - 1)
Word = tuple[list[int], list[int]]
words = st.tuples(st.lists(letters, max_size=4), st.lists(letters, min_size=1, max_size=4))


def _larger(inner: st.SearchStrategy[Core]) -> st.SearchStrategy[Core]:
    return st.one_of(
        st.builds(lambda a, b: All((a, b)), inner, inner),
        st.builds(lambda a, b: Any((a, b)), inner, inner),
        st.builds(Until, inner, inner),
        st.builds(Release, inner, inner),
        st.builds(Until, st.just(TRUE), inner),
        st.builds(Release, st.just(FALSE), inner),
    )


as_written = st.recursive(literals, _larger, max_leaves=6)
"""Formulas that no simplification has touched."""


def simplified(formula: Core) -> Core:
    match formula:
        case All(parts):
            return conjunction(map(simplified, parts))
        case Any(parts):
            return disjunction(map(simplified, parts))
        case Until(left, right):
            return until(simplified(left), simplified(right))
        case Release(left, right):
            return release(simplified(left), simplified(right))
        case Literal():
            return formula


@settings(max_examples=300)
@given(as_written, st.lists(words, min_size=5, max_size=10))
def test_an_automaton_accepts_the_words_of_its_formula(formula: Core, some: list[Word]) -> None:
    small = simplified(formula)
    automaton, from_raw = automaton_of(small), automaton_of(formula)
    for stem, loop in some:
        truth = holds(formula, stem, loop)
        assert holds(small, stem, loop) == truth
        assert automaton.accepts(stem, loop) == truth
        assert from_raw.accepts(stem, loop) == truth


Join = Callable[[Core, Core], Core]


def _written(random: Random, operators: int) -> Core:
    """Return a formula over two propositions only, so that its parts often have to do with each other."""
    if operators == 0:
        return Literal(random.randrange(2), random.random() < 0.5)
    left = random.randrange(operators)
    one, other = _written(random, left), _written(random, operators - 1 - left)
    joins: list[Join] = [lambda a, b: All((a, b)), lambda a, b: Any((a, b)), Until, Release]
    return random.choice(joins)(random.choice([one, one, TRUE, FALSE]), other)


def test_simplification_and_translation_keep_the_meaning_of_many_small_formulas() -> None:
    random = Random(5)
    for _ in range(1500):
        formula = _written(random, random.randint(1, 5))
        automaton = automaton_of(simplified(formula))
        for _ in range(8):
            stem = [random.randrange(4) for _ in range(random.randrange(3))]
            loop = [random.randrange(4) for _ in range(random.randint(1, 2))]
            assert automaton.accepts(stem, loop) == holds(formula, stem, loop), (str(formula), stem, loop)


@settings(max_examples=300)
@given(as_written, words)
def test_a_formula_or_its_negation_is_true(formula: Core, word: tuple[list[int], list[int]]) -> None:
    assert holds(negation(formula), *word) != holds(formula, *word)


@settings(max_examples=200)
@given(as_written, as_written, st.lists(words, min_size=3, max_size=6))
def test_implications_seen_by_shape_hold(one: Core, other: Core, some: list[Word]) -> None:
    if implies(one, other):
        assert all(holds(other, *word) for word in some if holds(one, *word))


@settings(max_examples=200)
@given(as_written, words, st.data())
def test_repeating_letters_changes_nothing(formula: Core, word: Word, data: st.DataObject) -> None:
    stem, loop = ([letter for letter in part for _ in range(data.draw(st.integers(1, 3)))] for part in word)
    assert holds(formula, stem, loop) == holds(formula, *word)


def test_truth_on_words_follows_the_operators() -> None:
    p, q = Literal(0), Literal(1)
    assert holds(until(p, q), [1, 1], [2]) and not holds(Until(p, q), [1, 0], [2])
    assert not holds(Until(p, q), [], [1]) and holds(Release(q, p), [], [1])
    assert holds(Release(q, p), [1, 3], [0]) and not holds(Release(q, p), [1, 2], [1])
    assert holds(always(eventually(p)), [0], [0, 1]) and not holds(eventually(always(p)), [0], [0, 1])


p, q, r = Literal(0), Literal(1), Literal(2)


@pytest.mark.parametrize(
    ("formula", "states", "terminal"),
    [
        (TRUE, 1, True),
        (FALSE, 0, True),
        (always(p), 1, False),
        (eventually(p), 2, True),
        (until(p, q), 2, True),
        (release(p, q), 2, False),
        (always(eventually(p)), 2, False),
        (eventually(always(p)), 2, False),
        (always(disjunction([negation(p), eventually(q)])), 2, False),
        (eventually(conjunction([p, always(negation(q))])), 2, False),
        (conjunction([always(eventually(p)), always(eventually(q))]), 3, False),
        (conjunction([always(p), eventually(negation(p))]), 0, True),
        (until(p, until(q, r)), 3, True),
    ],
)
def test_usual_formulas_have_small_automata(formula: Core, states: int, terminal: bool) -> None:
    automaton = automaton_of(formula)
    assert (len(automaton), automaton.is_terminal) == (states, terminal)
