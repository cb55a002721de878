"""What the tests of followed code share: small programs, run on inputs that are followed.

A program is a function `f`.  It is run once for each of some inputs, on values that carry terms, and
once more on plain ones: both must do the same, and every decision must be true of the inputs.  Runs that
agree so far must ask the same question next, and runs that agree to the end must give the same result, as
it depends on the inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from textwrap import dedent
from types import ModuleType
from typing import Any

from penstock._concolic.code import rewrite
from penstock._concolic.run import Run
from penstock._concolic.terms import Term, bits, evaluate, var
from penstock._concolic.values.integers import Followed, integer
from penstock._concolic.values.parts import concrete
from penstock._concolic.values.segments import written
from penstock._concolic.values.sym_bytes import SymBytes, octets
from penstock._concolic.values.sym_str_build import SymStr, ipv4_text, ipv6_text, mac_text

Make = Callable[[int, Term], Any]


def number(width: int) -> tuple[int, Make]:
    return width, integer


MAC: tuple[int, Make] = (48, mac_text)
IPV4: tuple[int, Make] = (32, ipv4_text)
IPV6: tuple[int, Make] = (128, ipv6_text)


def data(size: int) -> tuple[int, Make]:
    def make(value: int, term: Term) -> bytes:
        terms = tuple(bits(term, 8 * place, 8) for place in reversed(range(size)))
        return octets(value.to_bytes(size, "big"), terms)

    return 8 * size, make


@dataclass(frozen=True)
class Done:
    """One run: what the program gave or raised, what was decided, and what was lost."""

    result: Any
    expected: Any
    decisions: tuple[tuple[str, bool], ...]
    losses: tuple[str, ...]


def program(source: str, **given: Any) -> ModuleType:
    """Return a program that is followed."""
    module = ModuleType("program")
    rewrite.equip(module)
    vars(module).update(given)
    exec(rewrite.followed(dedent(source), "<program>"), vars(module))
    return module


def plain_program(source: str, **given: Any) -> ModuleType:
    module = ModuleType("program")
    vars(module).update(given)
    exec(compile(dedent(source), "<program>", "exec", dont_inherit=True), vars(module))
    return module


def run(source: str, kinds: Mapping[str, tuple[int, Make]], values: Mapping[str, int], **given: Any) -> Done:
    """Run a program once on inputs that are followed, and compare with a run on plain ones."""
    terms = {name: var(name, width) for name, (width, _) in kinds.items()}
    inputs = {name: make(values[name], terms[name]) for name, (_, make) in kinds.items()}
    expected = _outcome(plain_program(source, **given).f, {name: concrete(v) for name, v in inputs.items()})
    module = program(source, **given)
    with Run() as current:
        found = _outcome(module.f, inputs)
    assert repr(concrete(found)) == repr(expected)
    assert type(concrete(found)) is type(expected)
    for condition, outcome, *_ in current.decisions:
        assert bool(evaluate(condition, values)) is outcome
    assert evaluated(found, values) == expected
    decisions = tuple((str(condition), outcome) for condition, outcome, *_ in current.decisions)
    return Done(found, expected, decisions, tuple(sorted(loss.what for loss in current.losses)))


def _outcome(function: Callable[..., Any], inputs: Mapping[str, Any]) -> Any:
    try:
        return function(**inputs)
    except Exception as error:
        return type(error).__name__


def evaluated(found: Any, values: Mapping[str, int]) -> Any:
    """Return what a result comes to for other inputs."""
    if isinstance(found, tuple | list):
        return type(found)([evaluated(part, values) for part in found])
    if isinstance(found, SymStr):
        return "".join(
            piece if isinstance(piece, str) else written(evaluate(piece.term, values), piece.form)
            for piece in found.pieces
        )
    if isinstance(found, SymBytes):
        return bytes(evaluate(term, values) for term in found.terms)
    return evaluate(found.term, values) if isinstance(found, Followed) else concrete(found)


def paths(
    source: str, kinds: Mapping[str, tuple[int, Make]], inputs: Iterable[Mapping[str, int]], **given: Any
) -> dict[tuple[tuple[str, bool], ...], Any]:
    """Run a program on many inputs and return its paths; nothing may be lost."""
    found: dict[tuple[tuple[str, bool], ...], Any] = {}
    questions: dict[tuple[tuple[str, bool], ...], str | None] = {}
    for values in inputs:
        done = run(source, kinds, values, **given)
        assert done.losses == ()
        assert evaluated(found.setdefault(done.decisions, done.result), values) == done.expected
        for at in range(len(done.decisions) + 1):
            question = done.decisions[at][0] if at < len(done.decisions) else None
            assert questions.setdefault(done.decisions[:at], question) == question
    return found


def all_of(**widths: int) -> list[dict[str, int]]:
    """Return all values of some small inputs."""
    found: list[dict[str, int]] = [{}]
    for name, width in widths.items():
        found = [{**known, name: value} for known in found for value in range(1 << width)]
    return found
