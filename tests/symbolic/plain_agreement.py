"""Whether a program does the same with values that carry terms as with plain ones.

A program is a function of named values.  It is run on plain values, and followed on values that carry
terms.  Both must give the same, what the terms say must be that too, and everything that was decided
must be true.  And if nothing was lost, the run must hold for other inputs: where all that was decided
is true of them too, the program must give on plain values what the terms say.
"""

from collections.abc import Callable, Mapping
from typing import Any

from hypothesis import event
from hypothesis import strategies as st

from penstock._concolic.run import Run
from penstock._concolic.terms import evaluate
from penstock._concolic.values.integers import SymBool, SymInt
from penstock._concolic.values.parts import concrete
from penstock._concolic.values.segments import written
from penstock._concolic.values.sym_bytes import SymBytes
from penstock._concolic.values.sym_str import SymStr

Inputs = Mapping[str, int]
Made = Mapping[str, Any]
Program = Callable[[Made], Any]
Maker = Callable[[Inputs], Made]


def at(result: Any, inputs: Inputs) -> Any:
    """Return what a result would be for other inputs, as its terms have it."""
    match result:
        case SymBool():
            return bool(evaluate(result.term, inputs))
        case SymInt():
            return evaluate(result.term, inputs)
        case SymStr():
            return "".join(
                piece if isinstance(piece, str) else written(evaluate(piece.term, inputs), piece.form)
                for piece in result.pieces
            )
        case SymBytes():
            return bytes(evaluate(term, inputs) for term in result.terms)
        case list() | tuple():
            return type(result)(at(part, inputs) for part in result)
        case _:
            return result


def outcome(program: Program, values: Made) -> Any:
    """Return what a program gives, or the kind of error that it ends with."""
    try:
        return program(values)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        return type(error)


def check(program: Program, plain: Maker, symbolic: Maker, inputs: Inputs, others: Inputs) -> Run:
    """Assert that a program does the same with and without terms, and return the run."""
    expected = outcome(program, plain(inputs))
    with Run() as run:
        found = outcome(program, symbolic(inputs))
    assert concrete(found) == expected, f"{concrete(found)!r} is not {expected!r}"
    assert _kinds(concrete(found)) == _kinds(expected), f"{_kinds(found)} are not {_kinds(expected)}"
    assert at(found, inputs) == expected, f"the terms say {at(found, inputs)!r}, not {expected!r}"
    for decision in run.decisions:
        assert evaluate(decision.condition, inputs) == decision.outcome, decision
    if run.losses:
        event("lost")
    elif all(evaluate(decision.holds, others) for decision in run.decisions):
        event("holds for other inputs")
        expected = outcome(program, plain(others))
        assert at(found, others) == expected, (
            f"for {others} the terms say {at(found, others)!r}, not {expected!r}, after {run.decisions}"
        )
    else:
        event("decides otherwise")
    return run


def _kinds(value: Any) -> Any:
    return [_kinds(part) for part in value] if isinstance(value, (list, tuple)) else type(value)


def pairs_of_inputs(widths: Mapping[str, int]) -> st.SearchStrategy[tuple[dict[str, int], dict[str, int]]]:
    """Draw inputs, and others of which some are the same."""

    def value(width: int) -> st.SearchStrategy[int]:
        return st.integers(0, (1 << width) - 1) | st.sampled_from([0, 1, 9, 10, 99, 100, 255]).map(
            lambda number: number & (1 << width) - 1
        )

    @st.composite
    def draw_pair(draw: st.DrawFn) -> tuple[dict[str, int], dict[str, int]]:
        first = {name: draw(value(width)) for name, width in widths.items()}
        second = {
            name: draw(st.just(first[name]) | value(width) | st.just(first[name] ^ 1))
            for name, width in widths.items()
        }
        return first, second

    return draw_pair()
