"""What a formula without temporal operators means in one moment of a run.

A moment is a state, and the transition that has just led to it if the formula has ears for that.  All
that is known of a model is its `Interpretation`, so the language serves any model.  Formulas are
compiled to closures once, since a search evaluates them in very many states.

A field that a thing does not have, or an order between values that have none, is a fault of the
interpretation or the signature and is reported as such, not taken for false.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Protocol

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
    Term,
    Truth,
)
from penstock.errors import PenstockError


class Interpretation(Protocol):
    """What a model tells a formula."""

    def named(self, state: Any, name: str, /) -> Any:
        """Return what a name of the signature stands for in a state: a thing, or the members of a set."""
        ...

    def field(self, state: Any, owner: Any, name: str, /) -> Any:
        """Return a field of a thing in a state; for a set, its members."""
        ...

    def happened(self, label: Any, event: str, /) -> Iterable[tuple[Any, ...]]:
        """Return the arguments of each event of this name that the transition with this label was."""
        ...


Bound = Mapping[str, Any]
"""What the variables in scope stand for."""

Value = Callable[[Any, Any, Bound], Any]
"""A term or formula, compiled: from a state, a label (None where nothing just happened) and variables."""

_COMPARE: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def predicate(formula: Formula, interpretation: Interpretation, bound: Bound) -> Value:
    """Compile a formula without temporal operators in which some variables stand for known things."""
    return _Compiler(interpretation, bound).formula(formula, frozenset())


def members(domain: Term, interpretation: Interpretation, state: Any, bound: Bound) -> tuple[Any, ...]:
    """Return the members of a set in a state."""
    return tuple(_Compiler(interpretation, bound).term(domain, frozenset())(state, None, {}))


class _Compiler:
    def __init__(self, interpretation: Interpretation, known: Bound) -> None:
        self._interpretation = interpretation
        self._known = known

    def formula(self, formula: Formula, scope: frozenset[str]) -> Value:
        match formula:
            case Truth(term):
                value = self.term(term, scope)
                return lambda state, label, bound: bool(value(state, label, bound))
            case Comparison():
                return self._comparison(formula, scope)
            case Prefix("not", body):
                inner = self.formula(body, scope)
                return lambda state, label, bound: not inner(state, label, bound)
            case Infix():
                return self._infix(formula, scope)
            case Quantified():
                return self._quantified(formula, scope)
            case After():
                return self._after(formula, scope)
        raise PenstockError(f"{formula} speaks of more than one moment: it has no truth value in a state.")

    def _infix(self, formula: Infix, scope: frozenset[str]) -> Value:
        left, right = self.formula(formula.left, scope), self.formula(formula.right, scope)
        match formula.operator:
            case "and":
                return lambda state, label, bound: left(state, label, bound) and right(state, label, bound)
            case "or":
                return lambda state, label, bound: left(state, label, bound) or right(state, label, bound)
            case "implies":
                return lambda state, label, bound: not left(state, label, bound) or right(state, label, bound)
            case "iff":
                return lambda state, label, bound: left(state, label, bound) == right(state, label, bound)
        raise PenstockError(f"{formula} speaks of more than one moment: it has no truth value in a state.")

    def _quantified(self, formula: Quantified, scope: frozenset[str]) -> Value:
        domain = self.term(formula.domain, scope)
        body = self.formula(formula.body, scope | {formula.variable})
        variable, judge = formula.variable, all if formula.quantifier == "forall" else any
        return lambda state, label, bound: judge(
            body(state, label, {**bound, variable: member}) for member in domain(state, label, bound)
        )

    def _after(self, formula: After, scope: frozenset[str]) -> Value:
        names = formula.names
        body = self.formula(formula.body, scope | frozenset(names or ()))
        happened, event, judge = (
            self._interpretation.happened,
            formula.event,
            any if formula.happened else all,
        )

        def judged(state: Any, label: Any, bound: Bound, arguments: tuple[Any, ...]) -> bool:
            if names is not None:
                bound = {**bound, **dict(zip(names, arguments, strict=True))}
            return bool(body(state, label, bound))

        return lambda state, label, bound: judge(
            judged(state, label, bound, arguments)
            for arguments in (() if label is None else happened(label, event))
        )

    def _comparison(self, formula: Comparison, scope: frozenset[str]) -> Value:
        left, right = self.term(formula.left, scope), self.term(formula.right, scope)
        if formula.operator in ("in", "not in"):
            wanted = formula.operator == "in"
            return lambda state, label, bound: (
                any(left(state, label, bound) == member for member in right(state, label, bound)) == wanted
            )
        compare = _COMPARE[formula.operator]

        def compared(state: Any, label: Any, bound: Bound) -> bool:
            one, other = left(state, label, bound), right(state, label, bound)
            try:
                return compare(one, other)
            except TypeError as error:
                raise PenstockError(
                    f"{formula} compares {one!r} with {other!r}, which have no order."
                ) from error

        return compared

    def term(self, term: Term, scope: frozenset[str]) -> Value:
        interpretation = self._interpretation
        match term:
            case Constant(value):
                return lambda _state, _label, _bound: value
            case Name(name):
                if name in self._known:
                    known = self._known[name]
                    return lambda _state, _label, _bound: known
                if name in scope:
                    return lambda _state, _label, bound: bound[name]
                return lambda state, _label, _bound: interpretation.named(state, name)
            case Field(owner, name):
                of = self.term(owner, scope)
                return lambda state, label, bound: interpretation.field(state, of(state, label, bound), name)
            case Listed(items):
                values = [self.term(item, scope) for item in items]
                return lambda state, label, bound: [value(state, label, bound) for value in values]
