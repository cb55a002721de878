"""The same experiment in SPIN and in Penstock, in one run: N identical pings through two switches.

    python -m bench.spin [--pings 6] [--json]

SPIN runs a PROMELA model written for it (`ping.pml`), compiled to C; Penstock runs real OpenFlow
messages, flow tables and a controller in Python: a native one, and Ryu's `simple_switch_13` as it
was published.  All three search every interleaving, with no reduction, and must count the same
states; SPIN counts one transition more, the one into the first state.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench import ping_experiment
from bench.separately import separately
from penstock._explore.depth_first import depth_first
from penstock._explore.search import Bounds, Search
from penstock._world.component import Component

MODEL = Path(__file__).with_name("ping.pml")
LEAST_SHARE = 0.25


def spin(pings: int) -> dict[str, Any]:
    """Search the PROMELA model to the end."""
    with tempfile.TemporaryDirectory() as folder:
        run = {"cwd": folder, "check": True, "capture_output": True, "text": True}
        subprocess.run(["spin", "-a", f"-DN={pings}", MODEL], **run)  # type: ignore[call-overload]
        compiler = ["gcc", "-O2", "-DSAFETY", "-DNOREDUCE", "-o", "pan", "pan.c"]
        subprocess.run(compiler, **run)  # type: ignore[call-overload]
        found = subprocess.run(["./pan", "-m1000000", "-w26"], **run).stdout  # type: ignore[call-overload]
    states = int(_number(r"(\d+) states, stored", found))
    transitions = int(_number(r"(\d+) transitions", found))
    seconds = float(_number(r"elapsed time ([\d.]+) seconds", found))
    return _figures(states, transitions, max(seconds, 0.01))


def _number(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    if found is None:
        raise SystemExit(f"SPIN printed no {pattern!r}:\n{text}")
    return found.group(1)


def native() -> Component:
    """Return the native controller."""
    return ping_experiment.native()


def ryu() -> Component:
    """Return Ryu's own learning switch, unmodified."""
    from penstock._controllers.osken.binding import OsKenController

    return OsKenController(("ryu.app.simple_switch_13",), {"s1": 1, "s2": 2})


def penstock(pings: int, controller: Callable[[], Component]) -> dict[str, Any]:
    """Search Penstock's model to the end."""
    cells = ping_experiment.cells(pings, controller())
    outcome = depth_first(Search(cells, Bounds()), sleep=False)
    return _figures(outcome.states, outcome.transitions, outcome.seconds)


def _figures(states: int, transitions: int, seconds: float) -> dict[str, Any]:
    return {
        "states": states,
        "transitions": transitions,
        "seconds": round(seconds, 3),
        "transitions_per_s": round(transitions / seconds),
    }


def main(arguments: list[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m bench.spin", description=__doc__.splitlines()[0])
    parser.add_argument("--pings", type=int, default=6, help="how many pings (default 6)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    for tool in ("spin", "gcc"):
        if shutil.which(tool) is None:
            print(f"{tool} is missing: make setup installs it, or apt-get install {tool}.", file=sys.stderr)
            return 2
    rows = {
        "spin": spin(options.pings),
        "native": separately(penstock, options.pings, native),
        "ryu": separately(penstock, options.pings, ryu),
    }
    if options.json:
        print(json.dumps(rows))
    else:
        for name, row in rows.items():
            share = row["transitions_per_s"] / rows["spin"]["transitions_per_s"]
            print(
                f"{name:<7} {row['states']:>9,} states {row['transitions']:>10,} transitions "
                f"{row['seconds']:>7.2f} s {row['transitions_per_s']:>10,} transitions/s  {share:.2f} of SPIN"
            )
    same = len({row["states"] for row in rows.values()}) == 1
    fast = all(
        rows[name]["transitions_per_s"] >= LEAST_SHARE * rows["spin"]["transitions_per_s"]
        for name in ("native", "ryu")
    )
    if not same:
        print("The three do not count the same states.", file=sys.stderr)
    if not fast:
        print(f"Penstock is slower than {LEAST_SHARE} of SPIN's rate.", file=sys.stderr)
    return 0 if same and fast else 1


if __name__ == "__main__":
    sys.exit(main())
