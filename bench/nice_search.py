"""Searches as in NICE's evaluation, and how their figures are printed.

Each of the paper's strategies is used on top of PKT-SEQ, which bounds what hosts send.  The scenarios
have those bounds in them, so PKT-SEQ alone is the search that leaves nothing else out.

A benchmark prints its table aligned for a terminal, or as JSON, or puts it into a page of the documentation
between two comments that carry the benchmark's name.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from penstock._check.check import Report, check
from penstock._explore.reductions import ALWAYS
from penstock._scenario.options import NONE, REDUCTIONS
from penstock._scenario.scenario import Scenario
from penstock.errors import PenstockError

EXAMPLES: Final = Path(__file__).parents[1] / "examples" / "nice"

STRATEGIES: Final[dict[str, tuple[str, ...]]] = {
    "PKT-SEQ": (),
    "NO-DELAY": ("no-delay",),
    "FLOW-IR": ("flow-ir",),
    "UNUSUAL": ("unusual",),
}
"""NICE's strategies in the order of its tables, and what they are called in scenarios."""

Rows = Sequence[Sequence[str]]
"""A table: its headings, then its rows."""


def searched(scenario: Scenario, strategies: tuple[str, ...], *, reduced: bool, seconds: float) -> Report:
    """Check a scenario by some strategies, with all reductions that go with them or with none."""
    reductions = list(reductions_with(strategies)) if reduced else [NONE]
    return by_default(
        replace(
            scenario,
            search={**scenario.search, "strategies": list(strategies), "reductions": reductions},
        ),
        seconds=seconds,
    )


def reductions_with(strategies: tuple[str, ...]) -> tuple[str, ...]:
    """Return the reductions that can be used with strategies of NICE's, which leave transitions out."""
    return (ALWAYS,) if strategies else REDUCTIONS


def by_default(scenario: Scenario, *, seconds: float) -> Report:
    """Check a scenario as it is, but not for longer than some seconds; what is found is not explained."""
    return check(replace(scenario, search={**scenario.search, "seconds": seconds}), explained=False)


def with_or_without(reduced: bool) -> str:
    """Return the words for whether there were reductions."""
    return "with reductions" if reduced else "without reductions"


def options_of(name: str, description: str) -> argparse.ArgumentParser:
    """Return a benchmark's options, with those that say how its table is printed."""
    parser = argparse.ArgumentParser(prog=f"python -m bench.{name}", description=description)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print one JSON object")
    form.add_argument("--markdown", type=Path, metavar="PAGE", help="put the table into a page, at its place")
    return parser


def publish(
    options: argparse.Namespace,
    name: str,
    figures: Mapping[str, Any],
    tables: Mapping[str, Rows],
    faults: Iterable[str],
) -> int:
    """Print tables as they are asked for, and then what is wrong with them; return the exit status."""
    if options.json:
        print(json.dumps(figures))
    elif options.markdown is None:
        print("\n\n".join(f"{title}\n{aligned(rows)}" for title, rows in tables.items()))
    else:
        put_into(
            options.markdown, name, "\n\n".join(f"{title}\n\n{piped(rows)}" for title, rows in tables.items())
        )
    status = 0
    for fault in faults:
        print(fault, file=sys.stderr)
        status = 1
    return status


def aligned(rows: Rows) -> str:
    """Return a table for a terminal: the first column begins at the left, the others end at the right."""
    first, *others = zip(*rows, strict=True)
    columns = [_padded(first, str.ljust), *(_padded(column, str.rjust) for column in others)]
    return "\n".join("  ".join(row).rstrip() for row in zip(*columns, strict=True))


def _padded(column: Sequence[str], side: Callable[[str, int], str]) -> list[str]:
    return [side(text, max(map(len, column))) for text in column]


def piped(rows: Rows) -> str:
    """Return a table in Markdown."""
    headings, *others = rows
    rule = ["---", *["---:"] * (len(headings) - 1)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (headings, rule, *others))


def put_into(page: Path, name: str, table: str) -> None:
    """Put a table between the comments of a page that carry the benchmark's name."""
    begin, end = f"<!-- bench.{name} -->\n", f"<!-- end of bench.{name} -->\n"
    try:
        text = page.read_text(encoding="utf-8")
    except OSError as error:
        raise PenstockError(f"The page {page} cannot be read: {error.strerror}.") from None
    before, found, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise PenstockError(f"{page} has no place for the table: write {begin.strip()} and {end.strip()}.")
    page.write_text(f"{before}{begin}\n{table}\n\n{end}{after}", encoding="utf-8")
