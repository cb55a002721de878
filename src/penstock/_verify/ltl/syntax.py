"""Formulas as values, and their text.

    G forall h in hosts, p in h.rcvq: not p.ssh
    G (p1 implies F p2)        p U q        p W q        p R q
    G [match(sw, p, r)] not p.ssh           G not <fwd(_, p, port)> (port == "drop" and p.dst == server)

`[α(x, …)] P` is true of a moment unless an event α has just happened and P fails with the event's
arguments bound to the names; `<α(x, …)> P` is true if α has just happened and P holds.  (MOCS, section 2.4,
has brackets only, and its example of a dropped packet uses them in the second sense.)  An event lasts for
one moment: then the same state is there again, with no event.  So two events are always apart, and
a run means the same however often its states are repeated (which partial-order reduction needs, and
is the reason why there is no `next`).

Two formulas are equal if they say the same in the same shape; where they stood in a text (`at`, a
column counted from 0) does not count.  `str` gives a text that parses to an equal formula.

Binding, from loose to tight: `forall`/`exists` (as far right as possible), `iff`, `implies` (to the right),
`or`, `and`, `U R W` (to the right), then the prefixes `not G F [α] <α>`, then comparisons.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Final

_LOOSEST: Final = 0
_PREFIX: Final = 6
_TERM: Final = 8


def _column() -> int:
    return field(default=0, compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Name:
    """A name of the signature, or one that a quantifier or an event binds."""

    name: str
    at: int = _column()

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Constant:
    """A number, a text in quotes, `true` or `false`."""

    value: int | str | bool
    at: int = _column()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constant) and (type(self.value), self.value) == (
            type(other.value),
            other.value,
        )

    def __hash__(self) -> int:
        return hash((type(self.value).__name__, self.value))

    def __str__(self) -> str:
        if isinstance(self.value, bool):
            return "true" if self.value else "false"
        if isinstance(self.value, int):
            return str(self.value)
        return '"' + self.value.replace("\\", "\\\\").replace('"', '\\"') + '"'


@dataclass(frozen=True, slots=True)
class Field:
    """A field of something: `p.ssh`."""

    owner: Term
    name: str
    at: int = _column()

    def __str__(self) -> str:
        return f"{self.owner}.{self.name}"


@dataclass(frozen=True, slots=True)
class Listed:
    """A set written out: `{1, 2, s1}`."""

    items: tuple[Term, ...]
    at: int = _column()

    def __str__(self) -> str:
        return "{" + ", ".join(map(str, self.items)) + "}"


Term = Name | Constant | Field | Listed


@dataclass(frozen=True, slots=True)
class Truth:
    """A term that is true or false by itself."""

    term: Term
    at: int = _column()
    binding: ClassVar[int] = _TERM

    def __str__(self) -> str:
        return str(self.term)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two terms and what is asked of them: `== != < <= > >= in` or `not in`."""

    operator: str
    left: Term
    right: Term
    at: int = _column()
    binding: ClassVar[int] = _TERM

    def __str__(self) -> str:
        return f"{self.left} {self.operator} {self.right}"


@dataclass(frozen=True, slots=True)
class Prefix:
    """`not`, `G` or `F` of a formula."""

    operator: str
    body: Formula
    at: int = _column()
    binding: ClassVar[int] = _PREFIX

    def __str__(self) -> str:
        return f"{self.operator} {_inside(self.body, _PREFIX)}"


@dataclass(frozen=True, slots=True)
class Infix:
    """Two formulas joined by `and or implies iff U R W`."""

    operator: str
    left: Formula
    right: Formula
    at: int = _column()

    @property
    def binding(self) -> int:
        """How tightly the operator binds."""
        return BINDING[self.operator]

    def __str__(self) -> str:
        loose, tight = self.binding, self.binding + 1
        left, right = (loose, tight) if self.operator in LEFT_ASSOCIATIVE else (tight, loose)
        return f"{_inside(self.left, left)} {self.operator} {_inside(self.right, right)}"


@dataclass(frozen=True, slots=True)
class Quantified:
    """`forall` or `exists` over one set."""

    quantifier: str
    variable: str
    domain: Term
    body: Formula
    at: int = _column()
    binding: ClassVar[int] = _LOOSEST

    def __str__(self) -> str:
        ranges, body = [f"{self.variable} in {self.domain}"], self.body
        while isinstance(body, Quantified) and body.quantifier == self.quantifier:
            ranges.append(f"{body.variable} in {body.domain}")
            body = body.body
        return f"{self.quantifier} {', '.join(ranges)}: {body}"


@dataclass(frozen=True, slots=True)
class After:
    """`[event(names)] body`, or if `happened` `<event(names)> body`; no names are no parentheses."""

    event: str
    names: tuple[str, ...] | None
    body: Formula
    happened: bool = False
    at: int = _column()
    binding: ClassVar[int] = _PREFIX

    def __str__(self) -> str:
        opening, closing = "<>" if self.happened else "[]"
        names = "" if self.names is None else f"({', '.join(self.names)})"
        return f"{opening}{self.event}{names}{closing} {_inside(self.body, _PREFIX)}"


Formula = Truth | Comparison | Prefix | Infix | Quantified | After

BINDING: Final = {"iff": 1, "implies": 2, "or": 3, "and": 4, "U": 5, "R": 5, "W": 5}
LEFT_ASSOCIATIVE: Final = frozenset({"and", "or", "iff"})
TEMPORAL: Final = frozenset({"G", "F", "U", "R", "W"})
IGNORED: Final = "_"
"""The name that binds nothing."""


def _inside(formula: Formula, binding: int) -> str:
    """Return a formula's text, in parentheses where it would be read otherwise without.

    A quantifier takes all that follows, so it may stand bare only as the body of a prefix; but then what
    follows the prefix would be taken too, so it is put in parentheses everywhere.
    """
    return str(formula) if formula.binding >= binding else f"({formula})"


def is_temporal(formula: Formula) -> bool:
    """Tell whether a formula speaks of more than one moment."""
    match formula:
        case Prefix(operator, body):
            return operator in TEMPORAL or is_temporal(body)
        case Infix(operator, left, right):
            return operator in TEMPORAL or is_temporal(left) or is_temporal(right)
        case Quantified(body=body) | After(body=body):
            return is_temporal(body)
        case _:
            return False
