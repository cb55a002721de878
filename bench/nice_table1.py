"""NICE's Table 1: exhaustive search of the ping experiment, in the paper's model and in ours.

    python -m bench.nice_table1 [--pings 4] [--model nice|exact|both] [--json]

`nice` is the paper's own model (see `nice_model`), whose counts for 2 to 4 pings are the paper's to
the digit.  Its hash of a state is lossy, so with 5 pings the counts depend on the order of the
search, and the paper's cannot be expected.  `exact` is Penstock's model with everything in the
state: real OpenFlow messages, flow tables in which a rule replaces its like, and a native controller.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from bench import nice_model, ping_experiment
from bench.separately import separately
from penstock._explore.depth_first import depth_first
from penstock._explore.search import Bounds, Search

PAPER = {
    2: {"transitions": 530, "states": 315, "time": "1.1 s"},
    3: {"transitions": 14_762, "states": 6_317, "time": "37.24 s"},
    4: {"transitions": 356_469, "states": 121_320, "time": "17 min"},
    5: {"transitions": 7_816_517, "states": 2_245_345, "time": "8 h"},
}


def measure(model: str, pings: int) -> dict[str, Any]:
    """Search one experiment to the end."""
    if model == "nice":
        cells = nice_model.cells(pings)
        search = Search(cells, Bounds(), key=cells.projection(nice_model.counted))
    else:
        cells = ping_experiment.cells(pings, ping_experiment.native(), distinct=True)
        search = Search(cells, Bounds())
    outcome = depth_first(search, sleep=False)
    return {
        "pings": pings,
        "model": model,
        "transitions": outcome.transitions,
        # NICE counts the states that its transitions reach, so not the first one.
        "states": outcome.states - 1 if model == "nice" else outcome.states,
        "seconds": round(outcome.seconds, 3),
        "peak_rss_mb": outcome.peak_rss_mb,
        "paper": PAPER.get(pings),
    }


def main(arguments: list[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m bench.nice_table1", description=__doc__.splitlines()[0])
    parser.add_argument("--pings", type=int, default=4, help="the largest number of pings (default 4)")
    parser.add_argument("--model", choices=["nice", "exact", "both"], default="both")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    models = ["nice", "exact"] if options.model == "both" else [options.model]
    rows = []
    for pings in range(2, options.pings + 1):
        for model in models:
            if not options.json:
                print(f"{model}, {pings} pings …", end="\r", file=sys.stderr, flush=True)
            rows.append(separately(measure, model, pings))
            if not options.json:
                print(line(rows[-1]))
    if options.json:
        print(json.dumps({"rows": rows}))
    wrong = [row for row in rows if row["model"] == "nice" and row["pings"] <= 4 and not agrees(row)]
    for row in wrong:
        print(f"{row['pings']} pings: the counts are not the paper's.", file=sys.stderr)
    return 1 if wrong else 0


def agrees(row: dict[str, Any]) -> bool:
    """Tell whether a row has the paper's counts."""
    return all(row[count] == row["paper"][count] for count in ("transitions", "states"))


def line(row: dict[str, Any]) -> str:
    """Return a row as text."""
    paper = row["paper"]
    beside = f"   paper {paper['transitions']:>9,} {paper['states']:>9,} {paper['time']}" if paper else ""
    counts = f"{row['transitions']:>11,} transitions {row['states']:>10,} states"
    cost = f"{row['seconds']:>8.2f} s {row['peak_rss_mb']:>5} MB"
    return f"{row['model']:<6} {row['pings']} pings {counts} {cost}{beside}"


if __name__ == "__main__":
    sys.exit(main())
