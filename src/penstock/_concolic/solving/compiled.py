"""Terms as Python functions, for when one term is evaluated for many values.

The text that is compiled consists of numbers, operators and names made up here (`a0`, `t1`): the
inputs are passed by position, so no name from outside ever gets into it.  A part of a term that is
used twice, or that is long, is worked out once and kept in a local variable.  So the text is no longer
than the term has parts, and it is never nested deeper than Python can read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from penstock._concolic.terms import Term, parts_of, subterms

Compiled = Callable[..., int]
"""A function of the values of some inputs; for conditions the result is true or false."""

_LONGEST: Final = 120
"""How long the text of a part may be before it is kept in a variable."""


def compile_term(term: Term, names: Sequence[str]) -> Compiled:
    """Return a function that works out a term from the values of the inputs named, in that order."""
    arguments = {name: f"a{index}" for index, name in enumerate(names)}
    parts = subterms(term)
    uses = Counter(operand for part in parts for operand in part.operands)
    texts: dict[Term, str] = {}
    lines: list[str] = []
    for part in parts:
        text = _text(part, texts, arguments)
        if part.operands and part is not term and (uses[part] > 1 or len(text) > _LONGEST):
            lines.append(f" t{len(lines)} = {text}")
            text = f"t{len(lines) - 1}"
        texts[part] = text
    source = "\n".join((f"def compiled({', '.join(arguments.values())}):", *lines, f" return {texts[term]}"))
    scope: dict[str, Compiled] = {}
    exec(source, {"__builtins__": {}}, scope)
    return scope["compiled"]


class Evaluator:
    """Works out terms for given inputs; each is compiled when it is first met."""

    def __init__(self) -> None:
        self._known: dict[Term, tuple[Compiled, tuple[str, ...]]] = {}

    def __call__(self, term: Term, values: Mapping[str, int]) -> int:
        """Return what a term comes to."""
        if term.op == "not":
            return not self(term.operands[0], values)
        known = self._known.get(term)
        if known is None:
            names = tuple(sorted(term.variables))
            known = self._known[term] = compile_term(term, names), names
        function, names = known
        return function(*[values[name] for name in names])


def _text(term: Term, texts: dict[Term, str], arguments: dict[str, str]) -> str:
    """Return an expression for a term, given those for its parts."""
    operands = [texts[operand] for operand in term.operands]
    match term.op:
        case "const":
            return f"({term.value:#x})"
        case "var":
            return arguments[str(term.args[0])]
        case "bits":
            start, width = term.args[1], term.args[2]
            assert isinstance(start, int) and isinstance(width, int)
            return f"({operands[0]} >> {start} & {(1 << width) - 1:#x})"
        case "join":
            return _join_text(term, texts)
        case "not":
            return f"(not {operands[0]})"
        case "ite":
            return f"({operands[1]} if {operands[0]} else {operands[2]})"
        case "and" | "or":
            # What is kept of a connective must be 0 or 1, also where a part of it is a number.
            return f"(not not ({f' {term.op} '.join(operands)}))"
        case op:
            return f"({operands[0]} {op} {operands[1]})"


def _join_text(term: Term, texts: dict[Term, str]) -> str:
    """Return an expression for numbers laid side by side."""
    shifted: list[str] = []
    above = 0
    for part, width in reversed(parts_of(term)):
        shifted.append(f"({texts[part]} << {above})" if above else texts[part])
        above += width
    return f"({' | '.join(shifted)})"
