"""What a formula may speak of, and the check that it speaks of nothing else.

A signature names the sets and single things of a model, the fields of each sort of thing, and the
events with the kinds of their arguments.  It is data: whoever builds a model writes it beside it.

    Signature(
        names={"hosts": many("host", fixed=True), "controller": one("controller")},
        sorts={"host": {"rcvq": many("packet")}, "packet": {"ssh": TRUTH, "port": NUMBER}, …},
        events={"recv": (one("host"), one("packet"))},
    )

Set and field are checked to exist, kinds to fit; every refusal names what there is instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NoReturn

from penstock._base.text import meant_instead
from penstock._verify.ltl.parser import FormulaError
from penstock._verify.ltl.syntax import (
    IGNORED,
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
    is_temporal,
)


@dataclass(frozen=True, slots=True)
class Kind:
    """What a term stands for: a value or a thing of a sort, or a set of them.

    What is `fixed` is the same in every state of every run: for a set, it has the same members.
    """

    sort: str
    many: bool = False
    fixed: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        return f"a set of {self.sort}s" if self.many else f"a {self.sort}"


TRUTH: Final = Kind("truth value")
NUMBER: Final = Kind("number")
TEXT: Final = Kind("text")
VALUE: Final = Kind("value")
"""Any value whatever, which may be compared with anything."""


def one(sort: str, *, fixed: bool = False) -> Kind:
    """Return the kind of one thing of a sort."""
    return Kind(sort, fixed=fixed)


def many(sort: str, *, fixed: bool = False) -> Kind:
    """Return the kind of a set of things of a sort."""
    return Kind(sort, many=True, fixed=fixed)


@dataclass(frozen=True, slots=True)
class Signature:
    """The names, sorts and events that formulas over one model may use."""

    names: Mapping[str, Kind]
    sorts: Mapping[str, Mapping[str, Kind]] = field(default_factory=dict)
    events: Mapping[str, tuple[Kind, ...]] = field(default_factory=dict)


def check(formula: Formula, signature: Signature, text: str | None = None) -> None:
    """Refuse a formula that uses what the signature does not have; `text` is what it was parsed from."""
    _Check(signature, str(formula) if text is None else text, text is not None).formula(
        formula, dict(signature.names)
    )


_Scope = dict[str, Kind]


class _Check:
    def __init__(self, signature: Signature, text: str, placed: bool) -> None:
        self._signature = signature
        self._text = text
        self._placed = placed

    def _fail(self, sentence: str, at: int) -> NoReturn:
        raise FormulaError(sentence, self._text, at if self._placed else 0)

    def formula(self, formula: Formula, scope: _Scope) -> None:
        match formula:
            case Truth(term):
                kind = self.term(term, scope)
                if kind not in (TRUTH, VALUE):
                    self._fail(f"{term} is {kind}, not true or false: compare it with something.", formula.at)
            case Comparison():
                self._comparison(formula, scope)
            case Prefix(body=body):
                self.formula(body, scope)
            case Infix(left=left, right=right):
                self.formula(left, scope)
                self.formula(right, scope)
            case Quantified():
                self._quantified(formula, scope)
            case After():
                self._after(formula, scope)

    def _quantified(self, formula: Quantified, scope: _Scope) -> None:
        kind = self.term(formula.domain, scope)
        if not kind.many:
            sets = _listing((n for n, k in scope.items() if k.many), "the sets are", "there are no sets")
            self._fail(f"{formula.domain} is {kind}, not a set: {sets}.", formula.domain.at)
        if is_temporal(formula.body) and not kind.fixed:
            self._fail(
                f"The members of {formula.domain} change during a run, so G, F, U, R and W cannot stand "
                f"under {formula.quantifier} {formula.variable}: put them around it.",
                formula.at,
            )
        self.formula(
            formula.body, self._with(scope, formula.variable, Kind(kind.sort, fixed=kind.fixed), formula.at)
        )

    def _after(self, formula: After, scope: _Scope) -> None:
        kinds = self._signature.events.get(formula.event)
        if kinds is None:
            self._unknown("event", formula.event, self._signature.events, formula.at)
        if is_temporal(formula.body):
            self._fail(
                f"What follows an event is said of one moment, so G, F, U, R and W cannot stand after "
                f"{formula.event}: put them around it.",
                formula.at,
            )
        if formula.names is not None:
            if len(formula.names) != len(kinds):
                arguments = ", ".join(kind.sort for kind in kinds) or "none"
                self._fail(
                    f"The event {formula.event} has {len(kinds)} arguments ({arguments}), not "
                    f"{len(formula.names)}: name each, or write {IGNORED} for it.",
                    formula.at,
                )
            for name, kind in zip(formula.names, kinds, strict=True):
                if name != IGNORED:
                    scope = self._with(scope, name, kind, formula.at)
        self.formula(formula.body, scope)

    def _with(self, scope: _Scope, name: str, kind: Kind, at: int) -> _Scope:
        if name in scope:
            self._fail(f"The name {name} already stands for something else: choose another one.", at)
        return scope if name == IGNORED else {**scope, name: kind}

    def _comparison(self, formula: Comparison, scope: _Scope) -> None:
        left, right = self.term(formula.left, scope), self.term(formula.right, scope)
        if left.many and left != VALUE:
            self._fail(f"{formula.left} is {left}: compare its members, with forall or exists.", formula.at)
        if formula.operator in ("in", "not in"):
            if not right.many and right != VALUE:
                self._fail(f"{formula.right} is {right}, so nothing is in it: use ==.", formula.right.at)
        elif right.many:
            self._fail(f"{formula.right} is {right}: ask whether something is in it.", formula.right.at)
        elif formula.operator not in ("==", "!=") and not {left, right} <= {NUMBER, VALUE}:
            self._fail(f"{left} and {right} have no order: compare with == or !=.", formula.at)
        if VALUE.sort not in (left.sort, right.sort) and left.sort != right.sort:
            self._fail(
                f"{formula.left} is {left} and {formula.right} is {right}: they never meet.", formula.at
            )

    def term(self, term: Term, scope: _Scope) -> Kind:
        match term:
            case Name(name):
                if name not in scope:
                    self._unknown("name", name, scope, term.at)
                return scope[name]
            case Constant(value):
                kind = TRUTH if isinstance(value, bool) else NUMBER if isinstance(value, int) else TEXT
                return Kind(kind.sort, fixed=True)
            case Listed(items):
                kinds = [self.term(item, scope) for item in items]
                for item, kind in zip(items, kinds, strict=True):
                    if kind.many:
                        self._fail(f"{item} is a set: a set in braces holds no other set.", item.at)
                same = kinds[0].sort if len(set(kinds)) == 1 else VALUE.sort
                return Kind(same, many=True, fixed=all(kind.fixed for kind in kinds))
            case Field(owner, name):
                return self._field(term, self.term(owner, scope), name)

    def _field(self, term: Field, owner: Kind, name: str) -> Kind:
        if owner == VALUE:
            return VALUE
        if owner.many:
            self._fail(f"{term.owner} is {owner}: ask for fields of its members.", term.at)
        fields = self._signature.sorts.get(owner.sort, {})
        if name not in fields:
            self._unknown(f"field of {owner}", name, fields, term.at)
        return fields[name]

    def _unknown(self, what: str, name: str, known: Iterable[str], at: int) -> NoReturn:
        close = meant_instead(name, known)
        hint = f", did you mean {close}?" if close else ":"
        listing = _listing(known, "there are", "there is none at all")
        self._fail(f"{name} is no {what}{hint} {listing}.", at)


def _listing(names: Iterable[str], intro: str, none: str) -> str:
    found = sorted(names)
    return f"{intro} {', '.join(found)}" if found else none
