"""NICE's Table 4: what it takes to find each of thirteen bugs, by strategy, with and without reductions.

    python -m bench.nice_table4 [--bug IV] [--json | --markdown docs/nice.md]

Each cell of the paper's table says how many transitions and seconds passed before the first violation.
Ours are beside them, with two searches more: `default` is the scenario as it is, which is with sleep sets,
`RACES` is Penstock's own strategy, which has no reductions.  Beside these stands the best of NICE's eight.

A bug counts as found if its own property is broken and the run, taken again, breaks it again.  The
seconds are those of the whole check: to put the network together, to search and to replay.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Final

from bench.nice_search import (
    EXAMPLES,
    STRATEGIES,
    Rows,
    by_default,
    options_of,
    publish,
    searched,
    with_or_without,
)
from penstock._check.check import Report
from penstock._scenario.scenario import load_scenario
from penstock.errors import PenstockError

NAME: Final = "nice_table4"
MOST_SECONDS: Final = 10.0
"""How long one cell may take."""
AS_GOOD: Final = 10
"""For how many bugs the default must need no more transitions than NICE's best cell."""
DEFAULT: Final = "default"
OWN: Final = "RACES"
SEARCHES: Final = (*product(STRATEGIES, (False, True)), (DEFAULT, True), (OWN, False))
"""The ways in which each bug is searched for: a strategy, and whether with reductions."""


@dataclass(frozen=True, slots=True)
class Paper:
    """A cell of the paper's table; one without transitions is a bug that was missed."""

    strategy: str
    reduction: bool
    transitions: int | None
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Cell:
    """A bug, how it was searched for, and what came of it."""

    bug: str
    strategy: str
    reduction: bool
    found: bool
    transitions: int
    seconds: float
    paper: Paper


_PAPER: Final = """
    I     2149/8.3   1631/7.14   418/1.6    355/1.34  2149/8.55  1631/7.61  994/3.88   819/3.17
    II    540/1.65   415/1.18    187/0.62   156/0.4   540/1.70   415/1.21   241/0.8    179/0.45
    III   23/0.22    23/0.16     17/0.2     17/0.16   23/0.21    23/0.16    24/0.2     24/0.18
    IV    49/0.61    49/0.36     49/0.58    49/0.32   49/0.53    49/0.47    30/0.36    30/0.26
    V     52/0.59    52/0.33     52/0.53    52/0.37   52/0.59    52/0.38    33/0.5     33/0.33
    VI    738/6.65   312/2.25    1977/15.35 361/1.8   778/10.0   306/2.31   139/1.47   208/1.24
    VII   12k/93.14  1782/13.26  Missed     Missed    481/4.0    385/2.28   112/1.5    49/0.38
    VIII  1274/12.12 245/3.74    1237/10.31 265/1.33  1134/11.22 278/2.15   709/6.81   200/1.54
    IX    432.7k/66m 33.7k/324   33.5k/213  15.6k/111 Missed     Missed     53.5k/478  13.4k/138
    X     22/0.31    22/0.19     22/0.24    22/0.21   22/0.24    22/0.21    22/0.24    22/0.19
    XI    97/0.97    53/0.63     Missed     Missed    97/0.98    53/0.61    24/0.25    24/0.2
    XII   19/0.27    19/0.21     17/0.22    18/0.17   19/0.23    19/0.21    19/0.25    19/0.19
    XIII  3126/24.86 697/6.59    Missed     Missed    2287/18.54 617/5.59   1225/11.24 589/4.86
"""
"""Table 4 as printed: for each strategy without and with DPOR; seconds, or minutes where it says m."""

BROKEN: Final = {
    **dict.fromkeys(["IV", "V", "VI", "VII", "VIII", "X", "XI", "XIII"], "NoForgottenPackets"),
    "I": "NoBlackHolesMobile",
    "II": "StrictDirectPaths",
    "III": "NoForwardingLoops",
    "IX": "FlowAffinity",
    "XII": "UseCorrectRoutingTable",
}
"""The property that each bug breaks."""


def as_printed(text: str, strategy: str, reduction: bool) -> Paper:
    """Return the cell of the paper that is printed as a text."""
    if text == "Missed":
        return Paper(strategy, reduction, None, None)
    count, _, duration = text.partition("/")
    thousands, minutes = count.removesuffix("k"), duration.removesuffix("m")
    transitions = round(float(thousands) * (1000 if count.endswith("k") else 1))
    return Paper(strategy, reduction, transitions, float(minutes) * (60 if duration.endswith("m") else 1))


def published() -> dict[str, list[Paper]]:
    """Return NICE's table: the eight cells of each bug."""
    found = {}
    for line in _PAPER.split("\n")[1:-1]:
        bug, *texts = line.split()
        cells = zip(texts, product(STRATEGIES, (False, True)), strict=True)
        found[bug] = [as_printed(text, *cell) for text, cell in cells]
    return found


NICE: Final = published()


def beside(bug: str, strategy: str, reduction: bool) -> Paper:
    """Return NICE's cell for a bug; its best one, if it has no such strategy."""
    cells = {(cell.strategy, cell.reduction): cell for cell in NICE[bug]}
    return cells.get((strategy, reduction)) or best_of_nice(bug)


def best_of_nice(bug: str) -> Paper:
    """Return the cell in which NICE needed the fewest transitions for a bug."""
    return min(NICE[bug], key=lambda cell: (cell.transitions is None, cell.transitions, cell.seconds))


def measure(bug: str, strategy: str, reduction: bool) -> Cell:
    """Search for one bug in one way."""
    scenario = load_scenario(EXAMPLES / f"bug_{list(NICE).index(bug) + 1:02}.toml")
    started = time.perf_counter()
    if strategy == DEFAULT:
        report = by_default(scenario, seconds=MOST_SECONDS)
    else:
        names = {**STRATEGIES, OWN: ("races",)}[strategy]
        report = searched(scenario, names, reduced=reduction, seconds=MOST_SECONDS)
    seconds = round(time.perf_counter() - started, 3)
    transitions = report.outcome.transitions
    paper = beside(bug, strategy, reduction)
    return Cell(bug, strategy, reduction, shows(report, bug), transitions, seconds, paper)


def shows(report: Report, bug: str) -> bool:
    """Tell whether a report has a bug in it."""
    return any(finding.confirmed and finding.property == BROKEN[bug] for finding in report.findings)


def faults(cells: Sequence[Cell]) -> Iterator[str]:
    """Say in sentences what is not as it must be."""
    for cell in cells:
        told = f"Bug {cell.bug} by {cell.strategy} {with_or_without(cell.reduction)}"
        if not cell.found and (cell.strategy == DEFAULT or cell.paper.transitions is not None):
            yield f"{told} was not found."
        if cell.seconds > MOST_SECONDS:
            yield f"{told} took {cell.seconds} s, more than {MOST_SECONDS:g} s."
    yield from too_many_transitions([cell for cell in cells if cell.strategy == DEFAULT])


def too_many_transitions(cells: Sequence[Cell]) -> Iterator[str]:
    """Say if the default takes more transitions than NICE's best cell for too many bugs."""
    worse = [cell for cell in cells if not cell.found or cell.transitions > (cell.paper.transitions or 0)]
    if len(worse) > len(NICE) - AS_GOOD:
        figures = ", ".join(f"{cell.bug} ({cell.transitions} to {cell.paper.transitions})" for cell in worse)
        yield (
            f"The default needs more transitions than NICE's best cell for {len(worse)} of {len(NICE)} bugs, "
            f"not for {len(NICE) - AS_GOOD} at most: {figures}."
        )


def tables(cells: Sequence[Cell]) -> dict[str, Rows]:
    """Return the cells as people read them: without reductions, with them, our own; NICE's in brackets."""
    without = [cell for cell in cells if cell.strategy in STRATEGIES and not cell.reduction]
    reduced = [cell for cell in cells if cell.strategy in STRATEGIES and cell.reduction]
    own = [cell for cell in cells if cell.strategy not in STRATEGIES]
    what = "Transitions/seconds to the first violation"
    return {
        f"{what}, without reductions; in brackets NICE's without DPOR. {behind(without)}": _grid(without),
        f"{what}, with reductions; in brackets NICE's with DPOR. {behind(reduced)}": _grid(reduced),
        f"{what}, by Penstock's own ways; in brackets the best of NICE's. {behind(own)}": _grid(own),
    }


def behind(cells: Sequence[Cell]) -> str:
    """Say in which cells NICE takes fewer transitions."""
    worse: dict[str, list[str]] = {}
    for cell in cells:
        if cell.found and cell.paper.transitions is not None and cell.transitions > cell.paper.transitions:
            worse.setdefault(cell.bug, []).append(cell.strategy)
    if not worse:
        return "NICE takes fewer transitions in none of these cells:"
    named = "; ".join(f"{bug} by {', '.join(strategies)}" for bug, strategies in worse.items())
    count = sum(map(len, worse.values()))
    return f"NICE takes fewer transitions in {count} of these {len(cells)} cells ({named}):"


def _grid(cells: Sequence[Cell]) -> Rows:
    """Return a table with a row for each bug and a column for each strategy."""
    strategies = list(dict.fromkeys(cell.strategy for cell in cells))
    texts: dict[str, list[str]] = {}
    for cell in cells:
        texts.setdefault(cell.bug, []).append(_text(cell))
    return [["bug", *strategies], *([bug, *row] for bug, row in texts.items())]


def _text(cell: Cell) -> str:
    ours = f"{cell.transitions}/{cell.seconds:.2f}" if cell.found else "missed"
    paper = cell.paper
    return f"{ours} ({'missed' if paper.transitions is None else f'{paper.transitions}/{paper.seconds:g}'})"


def main(arguments: list[str] | None = None) -> int:
    """Run the command."""
    parser = options_of(NAME, __doc__.splitlines()[0])
    parser.add_argument("--bug", choices=list(NICE), help="one bug only; what is said of all is left out")
    options = parser.parse_args(arguments)
    bugs = [options.bug] if options.bug else list(NICE)
    try:
        cells = [measure(bug, *way) for bug, way in product(bugs, SEARCHES)]
        figures = {"rows": [asdict(cell) for cell in cells]}
        return publish(options, NAME, figures, tables(cells), faults(cells))
    except PenstockError as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
