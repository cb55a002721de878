"""What terms are: operations on other terms, down to inputs and numbers (see `terms`)."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, cast

MOST_BITS: Final = 2048
"""How wide numbers may get before they are no longer followed."""

MOST_DEPTH: Final = 250
"""How many operations may be nested in each other before a number is no longer followed."""


class TooWide(Exception):
    """A term would need more than `MOST_BITS` bits, or be nested deeper than `MOST_DEPTH`."""


_SEEDS: Final[Mapping[str, int]] = {
    op: zlib.crc32(op.encode())
    for op in (
        *("var", "const", "bits", "join", "ite", "+", "-", "*", "//", "%", "&", "|", "^", "<<", ">>"),
        *("==", "<", "not", "and", "or"),
    )
}
"""What the hash of a term starts from, for every operation."""


_NO_VARIABLES: Final[frozenset[str]] = frozenset()


class Term:
    """An operation on other terms; a `var` has a name and a `const` a value in their place."""

    __slots__ = ("_hash", "args", "depth", "high", "low", "op", "operands", "value", "variables")

    op: str
    args: tuple[Term | int | str, ...]
    low: int
    high: int
    depth: int
    """How many operations are nested in each other."""
    operands: tuple[Term, ...]
    """The terms that this one is made from."""
    value: int | None
    """The value of a constant; None of anything else."""
    variables: frozenset[str]

    def __init__(self, op: str, args: tuple[Term | int | str, ...], low: int, high: int) -> None:
        self.op = op
        self.args = args
        self.low = low
        self.high = high
        # Made from numbers alone, so that the order of terms is the same in every process.
        self.value = None
        self.operands = ()
        self.variables = _NO_VARIABLES
        self.depth = 0
        if op == "var":
            name = str(args[0])
            self._hash = hash((_SEEDS[op], zlib.crc32(name.encode())))
            self.variables = frozenset((name,))
            return
        self._hash = hash((_SEEDS[op], args))
        if op == "const":
            (self.value,) = cast("tuple[int]", args)
            return
        self.operands = tuple([arg for arg in args if isinstance(arg, Term)])
        for operand in self.operands:
            if operand.depth >= self.depth:
                self.depth = operand.depth + 1
            # Mostly there is one set only, and it is shared.
            if not self.variables:
                self.variables = operand.variables
            elif not self.variables >= operand.variables:
                self.variables |= operand.variables

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Term) or self._hash != other._hash or self.op != other.op:
            return False
        if self.args != other.args:
            return False
        # From now on they share their parts: comparing what is built from both stays linear.
        other.args = self.args
        other.operands = self.operands
        return True

    @property
    def order(self) -> tuple[bool, str, int, int, int]:
        """A key that puts terms in the same order in every process: variables first, by name."""
        plain = self.op == "var"
        return not plain, str(self.args[0]) if plain else "", self._hash, self.low, self.high

    def __reduce__(self) -> tuple[object, ...]:
        return Term, (self.op, self.args, self.low, self.high)

    def __str__(self) -> str:
        return _text(self)

    def __repr__(self) -> str:
        return f"<{self}>"


# Building terms.


def var(name: str, width: int) -> Term:
    """Return an input of so many bits."""
    return Term("var", (name,), 0, (1 << width) - 1)


@lru_cache(maxsize=4096)
def const(value: int) -> Term:
    """Return a number."""
    value = int(value)
    return Term("const", (value,), value, value)


FALSE: Final = const(0)
TRUE: Final = const(1)


def parts_of(term: Term) -> list[tuple[Term, int]]:
    """Return what a `join` lays side by side, the highest first, with the bits of each."""
    found = []
    for at in range(0, len(term.args), 2):
        part, width = term.args[at], term.args[at + 1]
        assert isinstance(part, Term) and isinstance(width, int)
        found.append((part, width))
    return found


def subterms(term: Term) -> list[Term]:
    """Return all that a term is made from, each once and after its own parts; the term comes last."""
    found: dict[Term, None] = {}
    waiting = [(term, False)]
    while waiting:
        part, ready = waiting.pop()
        if ready:
            found[part] = None
        elif part not in found:
            waiting.append((part, True))
            waiting += [(operand, False) for operand in reversed(part.operands)]
    return list(found)


_LONGEST_TEXT: Final = 2_000
"""How long the text of a term may get; parts that occur often could make it endless."""


def _text(term: Term) -> str:
    """Return a term as people write it; of one that is very long, parts are left out."""
    known: dict[Term, str] = {}
    for part in subterms(term):
        inner = {
            operand: known[operand] if operand.op in ("var", "const", "bits") else f"({known[operand]})"
            for operand in part.operands
        }
        text = _text_of(part, inner)
        known[part] = text if len(text) <= _LONGEST_TEXT else "…"
    return known[term]


def _text_of(term: Term, inner: Mapping[Term, str]) -> str:
    """Return a term as text, given the texts of its parts."""
    operands = [inner[operand] for operand in term.operands]
    match term.op:
        case "var" | "const":
            return str(term.args[0])
        case "bits":
            start, width = term.args[1], term.args[2]
            assert isinstance(start, int) and isinstance(width, int)
            return f"{operands[0]}[{start}:{start + width}]"
        case "join":
            return " ++ ".join(f"{inner[part]}:{width}" for part, width in parts_of(term))
        case "not":
            return f"not {operands[0]}"
        case "ite":
            return f"{operands[1]} if {operands[0]} else {operands[2]}"
        case op:
            return f" {op} ".join(operands)
