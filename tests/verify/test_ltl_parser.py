"""Formulas are read as they bind, printed so that they are read the same, and refused with a column."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock._verify.ltl.parser import DEEPEST, LONGEST, FormulaError, parse
from penstock._verify.ltl.syntax import (
    After,
    Comparison,
    Constant,
    Field,
    Formula,
    Infix,
    Listed,
    Name,
    Prefix,
    Quantified,
    Truth,
    is_temporal,
)

names = st.sampled_from(["a", "b1", "_x", "G1", "nexts", "In", "größe", "x_y"])
paths = st.recursive(st.builds(Name, names), lambda owner: st.builds(Field, owner, names), max_leaves=3)
constants = st.builds(Constant, st.integers() | st.booleans() | st.text(max_size=4))
terms = paths | constants
sets = paths | st.builds(Listed, st.lists(terms, max_size=3).map(tuple))
comparisons = st.builds(Comparison, st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), terms, terms)
memberships = st.builds(Comparison, st.sampled_from(["in", "not in"]), terms, sets)
arguments = st.none() | st.lists(names | st.just("_"), max_size=3, unique=True).map(tuple)


def _larger(inner: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
    infixes = st.sampled_from(["and", "or", "implies", "iff", "U", "R", "W"])
    return st.one_of(
        st.builds(Prefix, st.sampled_from(["not", "G", "F"]), inner),
        st.builds(Infix, infixes, inner, inner),
        st.builds(Quantified, st.sampled_from(["forall", "exists"]), names, sets, inner),
        st.builds(After, names, arguments, inner, st.booleans()),
    )


formulas = st.recursive(st.builds(Truth, terms) | comparisons | memberships, _larger, max_leaves=8)


@settings(max_examples=250)
@given(formulas)
def test_a_printed_formula_is_read_as_the_same(formula: Formula) -> None:
    assert parse(str(formula)) == formula


@settings(max_examples=300)
@given(st.text(alphabet='GFUR ()[]{}<>=!.,:"\\ab01 notforallin', max_size=30))
def test_any_text_is_read_or_refused_with_a_column(text: str) -> None:
    try:
        formula = parse(text)
    except FormulaError as error:
        assert 0 <= error.column <= len(text)
        assert str(error).splitlines()[-1] == "  " + " " * error.column + "^"
    else:
        assert parse(str(formula)) == formula


@pytest.mark.parametrize(
    ("text", "with_parentheses"),
    [
        ("not a and b", "(not a) and b"),
        ("G a and b", "(G a) and b"),
        ("a and b or c", "(a and b) or c"),
        ("a U b and c", "(a U b) and c"),
        ("a U b U c", "a U (b U c)"),
        ("G a U b", "(G a) U b"),
        ("a implies b implies c", "a implies (b implies c)"),
        ("a implies b iff c", "(a implies b) iff c"),
        ("G forall x in s: x.a and b", "G (forall x in s: (x.a and b))"),
        ("forall x in s, y in x.t: x.a", "forall x in s: (forall y in x.t: x.a)"),
        ("[e(x)] x.a and b", "([e(x)] x.a) and b"),
        ("G <e> a.b == 1", "G (<e> (a.b == 1))"),
        ("not a in s", "not (a in s)"),
    ],
)
def test_operators_bind_as_documented(text: str, with_parentheses: str) -> None:
    assert parse(text) == parse(with_parentheses)


def test_the_text_of_the_issue_is_read_and_printed() -> None:
    formula = parse("G forall h in hosts, p in h.rcvq: not p.ssh")
    assert isinstance(formula, Prefix) and is_temporal(formula) and not is_temporal(formula.body)
    assert str(formula) == "G (forall h in hosts, p in h.rcvq: not p.ssh)"


@pytest.mark.parametrize(
    ("text", "column", "sentence"),
    [
        ("G X p", 3, "There is no next: .*stutter invariance"),
        ("a and next", 7, "There is no next"),
        ("a b", 3, "complete before 'b'"),
        ("G forall h hosts: x", 12, "forall h needs 'in' here, not 'hosts'"),
        ("forall h in hosts h", 19, "forall h in hosts needs ':' here, not 'h'"),
        ("(a", 3, "needs '\\)' here, not the end"),
        ('a == "x', 6, "does not end"),
        ("p && q", 3, "write and"),
        ("[f(a, a)] b", 7, "Two arguments are called a"),
        ("", 1, "empty"),
        ("a ==", 5, "expected here, not the end"),
        ("p = 1", 3, "compare with =="),
        ("and", 1, "'and' is a word of the language"),
        ("a == 10.0.0.1", 6, "integers"),
        ("a in {1, {2}}", 10, "holds no other set"),
        ("forall G in s: a", 8, "'G' is a word of the language"),
        ("a not b", 7, "needs 'in'"),
    ],
)
def test_a_refusal_points_at_the_column(text: str, column: int, sentence: str) -> None:
    with pytest.raises(FormulaError, match=sentence) as refused:
        parse(text)
    first, shown, caret = str(refused.value).split("\n")
    assert first.startswith(f"Column {column}: ") and first.endswith(".")
    assert shown == f"  {text}"
    assert caret.index("^") == column + 1


def test_a_formula_may_be_deep_and_long_but_not_without_end() -> None:
    assert parse("G " * (DEEPEST - 1) + "a")
    with pytest.raises(FormulaError, match=f"deeper than {DEEPEST}"):
        parse("G " * (DEEPEST + 1) + "a")
    assert str(parse(" and ".join(["a"] * (LONGEST // 2 - 1)))).count("and") == LONGEST // 2 - 2
    with pytest.raises(FormulaError, match=f"longer than {LONGEST}"):
        parse(" and ".join(["a"] * LONGEST))
