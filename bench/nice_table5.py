"""NICE's Table 5: full searches of three applications with properties off, with and without reductions.

    python -m bench.nice_table5 [--app switch] [--seconds 240] [--json | --markdown docs/nice.md]

The applications are Ryu's simple_switch_13 with the paper's four pings (see `ping_experiment`), the load
balancer with one connection, and traffic engineering with two.  Nothing is judged, so all that can
happen does.  Transitions and seconds stand beside the paper's, and so does the factor by which reductions
cut the transitions.  The seconds are those of the search alone.

A reduction must not lose an end of any execution.  So all states at rest are kept, as the states of
all components, and those met with and without reductions must be the same ones.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import product
from typing import Any, Final

from bench.nice_search import (
    EXAMPLES,
    STRATEGIES,
    Rows,
    options_of,
    publish,
    reductions_with,
    searched,
    with_or_without,
)
from bench.ping_experiment import Pinger, Ponger
from bench.separately import separately
from penstock._properties.base import Property
from penstock._scenario.scenario import Scenario, load_scenario
from penstock.errors import PenstockError

NAME: Final = "nice_table5"
PINGS: Final = 4
SWITCH, BALANCER, ENGINEERING = "switch", "load balancer", "traffic engineering"
FACTORS: Final = {BALANCER: 9.0, ENGINEERING: 4.0}
"""By what factor DPOR cuts NICE's transitions at best (section 9.5), which is by PKT-SEQ alone."""


@dataclass(frozen=True, slots=True)
class Paper:
    """A cell of the paper's table; without DPOR there also is a time with states serialised."""

    transitions: int
    seconds: float
    serialised_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """A full search: its counts, whether it came to its end, and the paper's figures."""

    app: str
    strategy: str
    reduction: bool
    transitions: int
    states: int
    rest_states: int
    seconds: float
    complete: bool
    paper: Paper


@dataclass(frozen=True, slots=True)
class Pair:
    """A search without and with reductions: by what factor they cut it, and whether all its ends are kept."""

    without: Row
    reduced: Row
    lost: int
    """How many states at rest were met without reductions only."""
    gained: int
    """How many were met with reductions only, which cannot be."""

    @property
    def factor(self) -> float | None:
        """By how much the reductions cut the transitions; None if a search was not complete."""
        if not (self.without.complete and self.reduced.complete):
            return None
        return self.without.transitions / self.reduced.transitions

    @property
    def paper_factor(self) -> float:
        """By how much DPOR cut NICE's transitions."""
        return self.without.paper.transitions / self.reduced.paper.transitions


_PAPER: Final = {
    SWITCH: {
        "PKT-SEQ": (356_469, 1_739.42, 1_051.89, 253_511, 1_604.62),
        "NO-DELAY": (6_385, 19.87, 15.31, 4_962, 20.22),
        "FLOW-IR": (356_469, 1_587.34, 1_058.00, 253_511, 1_468.23),
        "UNUSUAL": (67_816, 258.83, 186.69, 21_659, 111.93),
    },
    BALANCER: {
        "PKT-SEQ": (84_831, 486.88, 428.86, 9_206, 47.59),
        "NO-DELAY": (7_663, 22.76, 34.53, 2_841, 9.15),
        "FLOW-IR": (8_636, 41.02, 40.35, 1_420, 6.24),
        "UNUSUAL": (4_716, 21.62, 22.20, 1_406, 8.11),
    },
    ENGINEERING: {
        "PKT-SEQ": (62_152, 541.32, 316.38, 14_549, 116.70),
        "NO-DELAY": (2_012, 12.17, 8.37, 834, 5.78),
        "FLOW-IR": (32_352, 251.76, 167.88, 8_447, 62.28),
        "UNUSUAL": (3_544, 21.79, 17.22, 1_072, 6.12),
    },
}
"""Table 5: transitions, seconds, seconds with serialisation; transitions and seconds with DPOR."""


def published(app: str, strategy: str, reduction: bool) -> Paper:
    """Return a cell of NICE's table."""
    transitions, seconds, serialised, dpor_transitions, dpor_seconds = _PAPER[app][strategy]
    return Paper(dpor_transitions, dpor_seconds) if reduction else Paper(transitions, seconds, serialised)


class RestStates(Property):
    """Never broken: it keeps every state at rest.

    A search works with a copy of it, which puts them into the same set.
    """

    def __init__(self) -> None:
        self.met: set[frozenset[tuple[str, Any]]] = set()

    def at_rest(self, _state: Any, states: Mapping[str, Any], /) -> bool:
        """Keep the states of all components."""
        self.met.add(frozenset(states.items()))
        return True


def scenario_of(app: str) -> Scenario:
    """Return an application with its network, and nothing that judges it."""
    if app == SWITCH:
        return Scenario(
            {"apps": ["ryu.app.simple_switch_13"]},
            "linear,2",
            {"h1": partial(Pinger, count=PINGS, distinct=True), "h2": Ponger},
            switches={"counters": False},
        )
    if app == BALANCER:
        return replace(load_scenario(EXAMPLES / "load_balancer_mended.toml"), properties=())
    scenario = load_scenario(EXAMPLES / "bug_13.toml")
    caller = {"kind": "te_hosts.py:Caller", "to": ["h2", "h3"]}
    return replace(scenario, hosts={**scenario.hosts, "h1": caller}, properties=())


def measure(
    scenario: Scenario, app: str, strategy: str, reduction: bool, seconds: float
) -> tuple[Row, RestStates]:
    """Search an application to the end, if that takes no longer than some seconds."""
    rest = RestStates()
    watched = replace(scenario, properties=[rest])
    outcome = searched(watched, STRATEGIES[strategy], reduced=reduction, seconds=seconds).outcome
    row = Row(
        app,
        strategy,
        reduction,
        outcome.transitions,
        outcome.states,
        len(rest.met),
        round(outcome.seconds, 3),
        # A strategy's own limits do not count: within them the search came to its end.
        outcome.result == "exhausted" or outcome.stopped_by.startswith("the limits of "),
        published(app, strategy, reduction),
    )
    return row, rest


def compare(app: str, strategy: str, seconds: float) -> Pair:
    """Search an application without and with reductions."""
    scenario = scenario_of(app)
    without, all_ends = measure(scenario, app, strategy, False, seconds)
    reduced, ends = measure(scenario, app, strategy, True, seconds)
    return Pair(without, reduced, len(all_ends.met - ends.met), len(ends.met - all_ends.met))


def faults(pairs: Sequence[Pair]) -> Iterator[str]:
    """Say in sentences what is not as it must be."""
    for pair in pairs:
        told = f"{pair.without.app} by {pair.without.strategy}"
        for row in (pair.without, pair.reduced):
            if not row.complete:
                yield (
                    f"{told} {with_or_without(row.reduction)} was not searched to the end, but stopped "
                    f"after {row.transitions:,} transitions and {row.seconds} s."
                )
        if pair.factor is None:
            continue
        if pair.lost or pair.gained:
            yield (
                f"{told}: of {pair.without.rest_states} states at rest {pair.lost} were lost with "
                f"reductions, and {pair.gained} were met only with them."
            )
        wanted = FACTORS.get(pair.without.app) if pair.without.strategy == "PKT-SEQ" else None
        if wanted is not None and pair.factor < wanted:
            yield (
                f"{told}: the reductions cut the transitions by a factor of {pair.factor:.1f}, less than "
                f"NICE's {wanted:g}."
            )


def figures(pairs: Sequence[Pair]) -> dict[str, Any]:
    """Return all figures for JSON."""
    return {
        "rows": [asdict(row) for pair in pairs for row in (pair.without, pair.reduced)],
        "factors": [
            {
                "app": pair.without.app,
                "strategy": pair.without.strategy,
                "factor": None if pair.factor is None else round(pair.factor, 2),
                "paper": round(pair.paper_factor, 2),
                "rest_states_lost": pair.lost,
                "rest_states_gained": pair.gained,
            }
            for pair in pairs
        ],
    }


HEADINGS: Final = (
    "full search of",
    "reduced",
    "transitions",
    "states",
    "at rest",
    "seconds",
    "factor",
    "NICE's transitions",
    "NICE's seconds",
    "NICE's factor",
)


def table(pairs: Sequence[Pair]) -> Rows:
    """Return the figures as people read them."""
    rows: list[Sequence[str]] = [HEADINGS]
    for pair in pairs:
        for row in (pair.without, pair.reduced):
            rows.append(
                [
                    f"{row.app}, {row.strategy}" if not row.reduction else "",
                    ", ".join(reductions_with(STRATEGIES[row.strategy])) if row.reduction else "no",
                    f"{row.transitions:,}" if row.complete else f"over {row.transitions:,}",
                    f"{row.states:,}",
                    f"{row.rest_states:,}",
                    f"{row.seconds:.2f}",
                    f"{pair.factor:.1f}" if row.reduction and pair.factor is not None else "",
                    f"{row.paper.transitions:,}",
                    f"{row.paper.seconds:,.2f}",
                    f"{pair.paper_factor:.1f}" if row.reduction else "",
                ]
            )
    return rows


def title(pairs: Sequence[Pair]) -> str:
    """Return what is to be said of all figures together."""
    lost, gained = sum(pair.lost for pair in pairs), sum(pair.gained for pair in pairs)
    smaller = sum(pair.factor is not None and pair.factor < pair.paper_factor for pair in pairs)
    without, reduced = (
        sum(row.transitions > row.paper.transitions for row in rows)
        for rows in ([pair.without for pair in pairs], [pair.reduced for pair in pairs])
    )
    return (
        f"States at rest, compared as a whole: {lost} lost with reductions, {gained} met only with them. "
        f"The factor is that of the transitions. Of {len(pairs)} searches, NICE takes fewer transitions in "
        f"{without} without reductions and in {reduced} with them, and its factor is larger in {smaller}:"
    )


def main(arguments: list[str] | None = None) -> int:
    """Run the command."""
    parser = options_of(NAME, __doc__.splitlines()[0])
    parser.add_argument("--app", choices=list(_PAPER), help="one application only")
    parser.add_argument("--seconds", type=float, default=240, help="the most that one search may take")
    options = parser.parse_args(arguments)
    apps = [options.app] if options.app else list(_PAPER)
    try:
        pairs = [separately(compare, *pair, options.seconds) for pair in product(apps, STRATEGIES)]
        return publish(options, NAME, figures(pairs), {title(pairs): table(pairs)}, faults(pairs))
    except PenstockError as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
