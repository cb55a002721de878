"""Terms: what a value depends on, as whole-number arithmetic over named inputs.

A term is a mathematical integer; `low` and `high` bound it, so nothing ever overflows and every
operation means what it means in Python.  A condition is a term that is 0 or 1.

    >>> dst = var("eth_dst", 48)
    >>> str(eq(bits(dst, 40, 8), const(1)))
    'eth_dst[40:48] == 1'

The functions that build terms fold what they can, so that the same question asked in two ways (of
a header field, of the bytes it was read from) is mostly the same term.  Terms are values: equal
when they are built alike, and their hash is kept.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from penstock._concolic.arithmetic import (
    add,
    bit_and,
    bit_or,
    bit_xor,
    bits,
    floordiv,
    invert,
    join,
    mod,
    mul,
    negate,
    operation,
    shl,
    shr,
    sub,
    without_offset,
)
from penstock._concolic.nodes import FALSE, MOST_BITS, TRUE, Term, TooWide, const, parts_of, subterms, var

__all__ = [
    "FALSE",
    "MOST_BITS",
    "TRUE",
    "Term",
    "TooWide",
    "add",
    "bit_and",
    "bit_or",
    "bit_xor",
    "bits",
    "both",
    "const",
    "either",
    "eq",
    "equal_all",
    "evaluate",
    "floordiv",
    "invert",
    "is_condition",
    "ite",
    "join",
    "le",
    "lt",
    "mod",
    "mul",
    "negate",
    "negation",
    "parts_of",
    "positive",
    "shl",
    "shr",
    "sub",
    "substitute",
    "subterms",
    "truth",
    "var",
]


def ite(condition: Term, one: Term, other: Term) -> Term:
    """Return one number if a condition holds, else the other."""
    if condition.value is not None:
        return one if condition.value else other
    if one == other:
        return one
    if is_condition(condition) and {one.value, other.value} == {0, 1}:
        return condition if one.value else negation(condition)
    return operation("ite", (condition, one, other), min(one.low, other.low), max(one.high, other.high))


def positive(term: Term) -> Term:
    """Return a number, or 1 where it is not above zero: something to divide by."""
    return ite(lt(term, TRUE), TRUE, term)


# Conditions.


def eq(one: Term, other: Term) -> Term:
    """Return whether two numbers are the same."""
    if one.value is not None:
        one, other = other, one
    value = other.value
    if value is not None:
        return _equals(one, value)
    if one == other:
        return TRUE
    if one.high < other.low or other.high < one.low:
        return FALSE
    if one.order > other.order:
        # Either order is the same question.
        one, other = other, one
    return Term("==", (one, other), 0, 1)


def _equals(term: Term, value: int) -> Term:
    """Return whether a number is a constant; arithmetic with other constants is undone."""
    if not term.low <= value <= term.high:
        return FALSE
    match term.op:
        case "const":
            return TRUE
        case "var" | "bits":
            return Term("==", (term, const(value)), 0, 1)
        case "==" | "<" | "not" | "and" | "or":
            return term if value else negation(term)
        case "join":
            found = []
            for part, width in reversed(parts_of(term)):
                found.append(_equals(part, value & (1 << width) - 1))
                value >>= width
            return both(*reversed(found))
        case "ite":
            condition, one, other = term.operands
            first, second = _equals(one, value), _equals(other, value)
            if first.value is not None or second.value is not None:
                condition = truth(condition)
                return either(both(condition, first), both(negation(condition), second))
        case "+" | "-" | "<<" | "*" | "^":
            one, other = term.operands
            if one.value is not None and term.op == "-":
                return _equals(other, one.value - value)
            if other.value is not None:
                before = _before(term.op, value, other.value)
                return FALSE if before is None else _equals(one, before)
            if value == 0 and term.op in ("-", "^"):
                return eq(one, other)
    return Term("==", (term, const(value)), 0, 1)


def _before(op: str, result: int, constant: int) -> int | None:
    """Return what an operation with a constant made a result from, if it can be its result."""
    match op:
        case "+":
            return result - constant
        case "-":
            return result + constant
        case "^":
            return result ^ constant
        case "<<":
            return result >> constant if result >> constant << constant == result else None
        case _:
            return result // constant if result % constant == 0 else None


def equal_all(pairs: Iterable[tuple[Term, Term]]) -> Term:
    """Return whether the numbers of each pair are the same; what lies side by side is one comparison."""
    left, right, apart = [], [], []
    for one, other in pairs:
        if one.high < other.low or other.high < one.low:
            return FALSE
        if one.low < 0 or other.low < 0:
            apart.append((one, other))
        elif one != other:
            width = max(one.high, other.high).bit_length()
            left.append((one, width))
            right.append((other, width))
    try:
        together = eq(join(left), join(right))
    except TooWide:
        together = both(*(eq(one, other) for (one, _), (other, _) in zip(left, right, strict=True)))
    return both(together, *(eq(one, other) for one, other in apart))


def lt(one: Term, other: Term) -> Term:
    """Return whether a number is below another; with a constant, it is always the one above."""
    if one.high < other.low:
        return TRUE
    if one.low >= other.high:
        return FALSE
    if one.value is not None:
        return negation(_below(other, one.value + 1))
    if other.value is not None:
        return _below(one, other.value)
    (base, more), (other_base, other_more) = without_offset(one), without_offset(other)
    if base == other_base:
        return const(int(more < other_more))
    return Term("<", (one, other), 0, 1)


def _below(term: Term, limit: int) -> Term:
    """Return whether a number that may be on either side of a limit is below it."""
    if limit == term.low + 1:
        return _equals(term, term.low)
    if limit == term.high:
        return negation(_equals(term, term.high))
    base, offset = without_offset(term)
    if offset:
        return _below(base, limit - offset)
    if term.op == "<<" and (shift := term.operands[1].value) is not None:
        return lt(term.operands[0], const(-(-limit >> shift)))
    return Term("<", (term, const(limit)), 0, 1)


def le(one: Term, other: Term) -> Term:
    """Return whether a number is not above another."""
    return negation(lt(other, one))


def is_condition(term: Term) -> bool:
    """Tell whether a term says yes or no, rather than being a number that happens to be 0 or 1."""
    return term.op in ("==", "<", "not", "and", "or") or (term.op == "const" and term.value in (0, 1))


def truth(term: Term) -> Term:
    """Return whether a number is other than 0."""
    return term if is_condition(term) else negation(eq(term, FALSE))


def negation(condition: Term) -> Term:
    """Return whether a condition does not hold."""
    if condition.value is not None:
        return FALSE if condition.value else TRUE
    if condition.op == "not":
        return condition.operands[0]
    return Term("not", (condition,), 0, 1)


def both(*conditions: Term) -> Term:
    """Return whether all conditions hold."""
    return _connective("and", conditions, FALSE, TRUE)


def either(*conditions: Term) -> Term:
    """Return whether any condition holds."""
    return _connective("or", conditions, TRUE, FALSE)


def _connective(op: str, conditions: tuple[Term, ...], decisive: Term, neutral: Term) -> Term:
    kept: list[Term] = []
    for condition in conditions:
        for part in condition.operands if condition.op == op else (condition,):
            if part == decisive or negation(part) in kept:
                return decisive
            if part != neutral and part not in kept:
                kept.append(part)
    if not kept:
        return neutral
    return kept[0] if len(kept) == 1 else Term(op, tuple(kept), 0, 1)


# Using terms.


def evaluate(term: Term, values: Mapping[str, int]) -> int:
    """Return what a term comes to for given inputs."""
    known: dict[Term, int] = {}
    for part in subterms(term):
        known[part] = _evaluate(part, known, values)
    return known[term]


def _evaluate(term: Term, known: Mapping[Term, int], values: Mapping[str, int]) -> int:
    """Return what a term comes to, given what its parts do."""
    op, args = term.op, term.args
    if op == "const":
        assert isinstance(args[0], int)
        return args[0]
    if op == "var":
        return values[str(args[0])]
    if op == "join":
        total = 0
        for part, size in parts_of(term):
            total = total << size | known[part]
        return total
    found = [known[part] for part in term.operands]
    match op:
        case "and":
            return int(all(found))
        case "or":
            return int(any(found))
        case "ite":
            return found[1] if found[0] else found[2]
        case "bits":
            start, width = args[1], args[2]
            assert isinstance(start, int) and isinstance(width, int)
            return found[0] >> start & (1 << width) - 1
        case _:
            return int(_OPERATIONS[op](*found))


_OPERATIONS: Final[Mapping[str, Callable[..., int]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "==": operator.eq,
    "<": operator.lt,
    "not": operator.not_,
}


def substitute(term: Term, values: Mapping[str, Term]) -> Term:
    """Return a term with other terms in place of some inputs."""
    if not term.variables & values.keys():
        return term
    known: dict[Term, Term] = {}
    for part in subterms(term):
        known[part] = _rebuilt(part, known, values) if part.variables & values.keys() else part
    return known[term]


def _rebuilt(term: Term, known: Mapping[Term, Term], values: Mapping[str, Term]) -> Term:
    """Return a term with other terms in place of some inputs, given what becomes of its parts."""
    if term.op == "var":
        return values[str(term.args[0])]
    if term.op == "join":
        return join([(known[part], width) for part, width in parts_of(term)])
    found = [known[part] for part in term.operands]
    if term.op == "bits":
        start, width = term.args[1], term.args[2]
        assert isinstance(start, int) and isinstance(width, int)
        return bits(found[0], start, width)
    return _BUILDERS[term.op](*found)


_BUILDERS: Final[Mapping[str, Callable[..., Term]]] = {
    "+": add,
    "-": sub,
    "*": mul,
    "//": floordiv,
    "%": mod,
    "&": bit_and,
    "|": bit_or,
    "^": bit_xor,
    "<<": shl,
    ">>": shr,
    "==": eq,
    "<": lt,
    "not": negation,
    "and": both,
    "or": either,
    "ite": ite,
}
