"""What it costs that programs run in a process of their own: the same work with it and without, in one run.

    python -m bench.containment [--repeat 3] [--only TEXT] [--json]

The work is that of `bench.spin` (searches with no reduction) and that of the examples of NICE and MOCS.  Each
is done in a fresh Python with a worker around it, as the commands do it, and without, in turn; the CPU time
of all processes, user and system, is compared, of several runs the shortest.  Both must come to the same
figures.

Exit status 1 if the sums of either kind differ by more than `MOST`, or any figures do.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

EXAMPLES: Final = Path(__file__).parents[1] / "examples"
MOST: Final = 1.03
PINGS: Final = 6


class Case(NamedTuple):
    """Some work: of what kind it is, and what is done."""

    kind: str
    name: str


CASES: Final = (
    Case("spin", "native"),
    Case("spin", "ryu"),
    *(Case("check", f"nice/bug_{number:02}") for number in range(1, 14)),
    *(Case("verify", f"mocs/{name}") for name in ("cp1_firewall", "cp3_learning", "cp5_update", "ryu_line")),
)


def figures_of(case: Case, *, contained: bool) -> Any:
    """Do some work here, or have a worker do it."""
    from penstock._scenario.scenario import load_scenario

    if case.kind == "spin":
        return _spin(case.name, contained=contained)
    path = EXAMPLES / f"{case.name}.toml"
    if case.kind == "check":
        from penstock._check import check
        from penstock._worker import engines

        search = engines.check if contained else check.check
        outcome = search(load_scenario(path)).outcome
        return [outcome.states, outcome.transitions, len(outcome.violations)]
    from penstock._verify import proof
    from penstock._worker import engines

    found = (engines.prove if contained else proof.prove)(load_scenario(path))
    return [found.states, found.transitions, found.result]


def _spin(name: str, *, contained: bool) -> Any:
    from bench import spin
    from penstock._worker.supervision import supervise

    def job(_tell: Callable[[object], None]) -> Any:
        found = spin.penstock(PINGS, spin.native if name == "native" else spin.ryu)
        return [found["states"], found["transitions"]]

    return supervise(job).value if contained else job(lambda _: None)


def measured(case: Case, *, contained: bool) -> tuple[float, Any]:
    """Return the CPU time of some work in a Python of its own, and its figures."""
    before = used_s()
    words = ["--one", *case] + (["--contained"] if contained else [])
    done = subprocess.run(
        [sys.executable, "-m", "bench.containment", *words],
        env={**os.environ, "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        check=True,
    )
    return used_s() - before, json.loads(done.stdout)


def used_s() -> float:
    """Return the CPU time of all processes so far that were waited for: starting them is the system's."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def compared(case: Case, repeat: int) -> dict[str, Any]:
    """Return what some work takes with a worker and without."""
    inside = partial(measured, case, contained=True)
    outside = partial(measured, case, contained=False)
    runs = [(outside(), inside()) for _ in range(repeat)]
    without, within = (min(run[place][0] for run in runs) for place in (0, 1))
    return {
        "kind": "spin" if case.kind == "spin" else "examples",
        "case": f"{case.kind} {case.name}",
        "without_s": round(without, 2),
        "with_s": round(within, 2),
        "ratio": round(within / without, 3),
        "same": len({json.dumps(figures) for run in runs for _, figures in run}) == 1,
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.containment", description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", default="", help="cases with this in their names")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--one", nargs=2, metavar=("KIND", "NAME"), help=argparse.SUPPRESS)
    parser.add_argument("--contained", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(figures_of(Case(*options.one), contained=options.contained)))
        return 0
    rows = []
    for case in CASES:
        if options.only in f"{case.kind} {case.name}":
            rows.append(row := compared(case, options.repeat))
            same = "" if row["same"] else ", OTHER FIGURES"
            told = (
                f"{row['case']:24} {row['without_s']:7} s without, {row['with_s']:7} s with: {row['ratio']}"
            )
            print(f"{told}{same}", file=sys.stderr, flush=True)
    totals = {kind: _ratio([row for row in rows if row["kind"] == kind]) for kind in ("spin", "examples")}
    if options.json:
        print(json.dumps({"totals": totals, "most": MOST, "rows": rows}))
    else:
        print(", ".join(f"{kind}: {ratio} of the time without a worker" for kind, ratio in totals.items()))
    return (
        0 if all(row["same"] for row in rows) and all((each or 0) <= MOST for each in totals.values()) else 1
    )


def _ratio(rows: list[dict[str, Any]]) -> float | None:
    without = sum(row["without_s"] for row in rows)
    return round(sum(row["with_s"] for row in rows) / without, 3) if without else None


if __name__ == "__main__":
    sys.exit(main())
