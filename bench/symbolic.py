"""How many paths packets take through handlers of Ryu's apps, what they cover, and what finding them costs.

    python -m bench.symbolic [--json]

The apps are unmodified.  Each path has one packet that stands for it; these are then given to the app
as it was published, and coverage.py says which branches they take.  The peer in the same run are
random packets, as many as the app gets done in the time that the exploration took.

The learning switch has a number of paths that can be worked out: one for LLDP; n (n + 1) from a known
address, to one of the n known ones or not; n + 2 from a new one, which may also be sent to itself.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from bench.separately import separately
from bench.symbolic_apps import APPS, App, Delivery, History, Inlet, Station, learning
from bench.symbolic_coverage import Branch, Taken, watched
from bench.symbolic_random import handled_within
from bench.symbolic_reach import OUT_OF_REACH, out_of_reach, unknown, wrong
from bench.symbolic_search import compare
from penstock._concolic.packets.frames import FrameSpace
from penstock._concolic.packets.inputs import PacketQuestion
from penstock._concolic.paths import Exploration, explore
from penstock._concolic.solving.solver import Solver
from penstock._controllers.probing import Reaction
from penstock.errors import PenstockError

KNOWN_MACS = (0, 2, 5, 10)
MOST_SECONDS = 1.5
"""How long the exploration with the most known addresses may take."""
MOST_RATIO = 2.0
TIMES = 3
SEED = 1
SEARCHES = (("linear,2", 100_000), ("single,2", 100_000))
REPRESENTATIVES, RANDOM = "representatives", "random"


@dataclass(frozen=True, slots=True)
class Explored:
    """What an exploration found: histories that each end with the packet that stands for a path."""

    histories: list[History]
    befores: list[History]
    """One history for each state that was explored."""
    seconds: float
    remarks: list[str]


def explored(app: App, befores: Iterable[History]) -> Explored:
    """Find the paths of a packet that comes after some histories, by any inlet of an app."""
    station = Station(app, followed=True)
    states: dict[Any, History] = {}
    for before in befores:
        states.setdefault(station.after(before), before)
    solver = Solver(app.frames.space)
    found: list[History] = []
    remarks: list[str] = []
    seconds = 0.0
    for state, before in states.items():
        for inlet in app.inlets:
            exploration = explored_once(station, state, inlet, app.frames, solver)
            seconds += exploration.seconds
            remarks += exploration.remarks
            found += ((*before, Delivery(inlet, app.frames.data(path.inputs))) for path in exploration.paths)
    return Explored(found, list(states.values()), seconds, remarks)


def explored_once(
    station: Station, state: Any, inlet: Inlet, frames: FrameSpace, solver: Solver
) -> Exploration[Reaction]:
    """Find the paths of a packet that comes in one state, by one inlet."""
    question = PacketQuestion(inlet.packet_in(), frames)
    return explore(
        lambda inputs: station.controller.probe(state, inlet.switch, question, inputs),
        question.space,
        solver=solver,
    )


def quickest(app: App, before: History, times: int) -> Explored:
    """Return the quickest of several explorations, each of a fresh controller."""
    return min((explored(app, [before]) for _ in range(times)), key=lambda found: found.seconds)


def formula(known: int) -> int:
    """Return how many paths the learning switch has when it knows some addresses."""
    return 1 + known * (known + 1) + known + 2


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table, all branches that there were, and what is wrong with it."""

    figures: dict[str, Any]
    branches: frozenset[Branch]
    wrong: tuple[str, ...]


def measured(app: App, found: Explored, *, packets: int, known: int = 0, title: str = "") -> Row:
    """Measure what was found beside random packets; `packets` is how many of a history count."""
    chance = separately(handled_within, app, found.befores, SEED, found.seconds)
    taken: Taken = separately(watched, app, {REPRESENTATIVES: found.histories, RANDOM: chance})
    beyond = out_of_reach(OUT_OF_REACH[app.name], packets)
    title = title or app.name
    figures = {
        "app": title,
        "known_macs": known,
        "paths": len(found.histories),
        "seconds": round(found.seconds, 3),
        "branches": len(taken.branches - beyond.keys()),
        "covered": len(taken.by[REPRESENTATIVES] - beyond.keys()),
        "random_covered": len(taken.by[RANDOM] - beyond.keys()),
        "random_packets": len(chance),
    }
    faults = (*found.remarks, *wrong(taken, beyond, REPRESENTATIVES))
    return Row(figures, taken.branches, tuple(f"{title}: {fault}" for fault in faults))


def learning_rows() -> list[Row]:
    """Measure the learning switch with more and more known addresses."""
    rows = []
    for known in KNOWN_MACS:
        app, before = learning(known)
        found = separately(quickest, app, before, TIMES)
        rows.append(measured(app, found, packets=1, known=known))
    return rows


def app_rows(app: App) -> list[Row]:
    """Measure another app in its initial state, and also in those after one packet of each path."""
    first = separately(explored, app, [()])
    second = separately(explored, app, [(), *first.histories])
    rows = [measured(app, first, packets=1)]
    if len(second.befores) > 1:
        rows.append(measured(app, second, packets=2, title=f"{app.name}, one packet later"))
    return rows


def table() -> tuple[list[dict[str, Any]], list[str]]:
    """Measure all apps; return the rows, and in sentences what is wrong with them."""
    groups = {"simple_switch_13": learning_rows(), **{app.name: app_rows(app) for app in APPS}}
    faults = []
    for name, rows in groups.items():
        faults += [fault for row in rows for fault in row.wrong]
        faults += unknown(OUT_OF_REACH[name], frozenset().union(*(row.branches for row in rows)))
    figures = [row.figures for rows in groups.values() for row in rows]
    return figures, faults + list(off_formula(figures))


def off_formula(rows: Sequence[dict[str, Any]]) -> Iterable[str]:
    """Say which rows of the learning switch are not as worked out, or took too long."""
    for row in rows:
        if row["app"] != "simple_switch_13":
            continue
        wanted = formula(row["known_macs"])
        told = f"simple_switch_13 with {row['known_macs']} known addresses"
        if row["paths"] != wanted:
            yield f"{told} has {row['paths']} paths, not {wanted}."
        if row["seconds"] >= MOST_SECONDS:
            yield f"{told} took {row['seconds']} s, not less than {MOST_SECONDS} s."


def searches() -> tuple[dict[str, Any], list[str]]:
    """Compare searches that discover their packets with the same ones by hand."""
    rows = [compare(shape, states, TIMES) for shape, states in SEARCHES]
    faults = [
        f"The searches of {row['topology']} with packets discovered and by hand did not do the same."
        for row in rows
        if not row["same"]
    ]
    faults += [
        f"Discovery made the search of {row['topology']} take {row['ratio']} times as long, more than "
        f"{MOST_RATIO:g} times."
        for row in rows
        if row["ratio"] > MOST_RATIO
    ]
    return {"ratio": max(row["ratio"] for row in rows), "rows": rows}, faults


def story(rows: Sequence[dict[str, Any]], search: dict[str, Any]) -> str:
    """Return the figures as people read them."""
    lines = [f"{'app':<40} {'known':>5} {'paths':>5} {'seconds':>8} {'branches taken':>15} {'at random':>12}"]
    for row in rows:
        share = f"{row['covered']} of {row['branches']}"
        chance = f"{row['random_covered']} ({row['random_packets']:,})"
        lines.append(
            f"{row['app']:<40} {row['known_macs']:>5} {row['paths']:>5} {row['seconds']:>8.3f} {share:>15} "
            f"{chance:>12}"
        )
    lines += [
        "known: MAC addresses; branches: those in reach; at random: by (so many) packets in the same time.",
        "NICE's paper has no such figures: it times whole searches, and gives no coverage (section 10.3).",
        "",
    ]
    lines += (
        "{topology}: {states:,} states, {transitions:,} transitions; packets discovered "
        "{discovered_seconds:.2f} s, given by hand {by_hand_seconds:.2f} s, ratio {ratio:.2f}".format(**row)
        for row in search["rows"]
    )
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m bench.symbolic", description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    try:
        rows, faults = table()
        search, slow = searches()
    except PenstockError as error:
        print(error, file=sys.stderr)
        return 2
    print(json.dumps({"rows": rows, "search": search}) if options.json else story(rows, search))
    for fault in faults + slow:
        print(fault, file=sys.stderr)
    return 1 if faults or slow else 0


if __name__ == "__main__":
    sys.exit(main())
