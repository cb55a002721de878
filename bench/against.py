"""What is measured here against another checkout of Penstock, in one run.

    python -m bench.against OTHER [--only TEXT] [--repeat N] [--most RATIO] [--json]

Each command runs here and there in turn, and its user CPU time is compared; of several runs the shortest
counts.  `same` tells whether both came to the same figures, as far as both print them and they say nothing of
time and memory.  A command that fails on either side compares nothing: it is told with the end of what it
said, it has no ratio, and the run fails.
OTHER is the path of another checkout, such as `git worktree add PATH COMMIT` makes it.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

HERE: Final = Path(__file__).parents[1]

COMMANDS: Final[dict[str, tuple[str, ...]]] = {
    "NICE table 4": ("-m", "bench.nice_table4", "--json"),
    "NICE table 5": ("-m", "bench.nice_table5", "--json"),
    "MOCS": ("-m", "bench.mocs", "--json"),
    "STS sizes": ("-m", "bench.sts_cases", "--json"),
    **{
        f"bug {number}": ("-m", "penstock", "check", f"examples/nice/bug_{number}.toml", "--json")
        for number in (f"{each:02}" for each in range(1, 14))
    },
    "simple_switch_13": ("-m", "penstock", "check", "ryu.app.simple_switch_13", "--json"),
}
_VARYING: Final = (
    *("second", "_s", "mb", "rss", "per_s", "time", "trace", "ratio", "version", "code", "next", "message"),
)

_ENDED: Final = frozenset({0, 1, 3})
"""The statuses of commands that came to their end: nothing was found, something was, or it was bounded."""


class Measured(NamedTuple):
    """How long a command took, how it ended, and what it printed."""

    seconds: float
    status: int
    figures: Any
    said: str = ""
    """The end of what it wrote to standard error."""

    @property
    def failed(self) -> bool:
        """Whether there is nothing to compare: it has no figures, or was refused or ended from outside."""
        return not isinstance(self.figures, dict | list) or self.status not in _ENDED


def measured(root: Path, command: tuple[str, ...]) -> Measured:
    """Run a command of a checkout."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    surroundings = {**os.environ, "PYTHONPATH": f"{root / 'src'}{os.pathsep}{root}", "PYTHONHASHSEED": "0"}
    made = subprocess.run(
        [sys.executable, *command], cwd=root, env=surroundings, capture_output=True, text=True, check=False
    )
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    try:
        figures = json.loads(made.stdout)
    except ValueError:
        figures = made.stdout[-200:]
    return Measured(used, made.returncode, lasting(figures), made.stderr.strip()[-200:])


def lasting(figures: Any) -> Any:
    """Return figures without those that are never the same twice."""
    if isinstance(figures, dict):
        return {
            key: lasting(value)
            for key, value in figures.items()
            if not any(part in str(key) for part in _VARYING)
        }
    return [lasting(value) for value in figures] if isinstance(figures, list) else figures


def agree(here: Any, there: Any) -> bool:
    """Tell whether figures are the same, except for those that only one side prints."""
    if isinstance(here, dict) and isinstance(there, dict):
        return all(agree(here[key], there[key]) for key in here.keys() & there.keys())
    if isinstance(here, list) and isinstance(there, list):
        return len(here) == len(there) and all(map(agree, here, there))
    return bool(here == there)


def compared(other: Path, command: tuple[str, ...], repeat: int) -> dict[str, Any]:
    """Return how a command does here and there."""
    here: list[Measured] = []
    there: list[Measured] = []
    for _ in range(repeat):
        there.append(measured(other, command))
        here.append(measured(HERE, command))
    return row_of(here, there)


def row_of(here: Sequence[Measured], there: Sequence[Measured]) -> dict[str, Any]:
    """Return what the runs of a command here and there come to."""
    seconds, before = (min(each.seconds for each in runs) for runs in (here, there))
    sides = {"here": here, "there": there}
    failed = {side: each.said for side, runs in sides.items() for each in runs if each.failed}
    return {
        "seconds": round(seconds, 2),
        "before": round(before, 2),
        "ratio": None if failed else round(seconds / before, 2),
        "status": [here[0].status, there[0].status],
        "same": not failed and agree(here[0].figures, there[0].figures),
        "failed": failed,
    }


def told(name: str, row: Mapping[str, Any]) -> str:
    """Return a row as people read it."""
    begun = f"{name:16} {row['seconds']:8} s, before {row['before']:8} s"
    if row["failed"]:
        return f"{begun}, " + ", ".join(f"failed {side}: {said}" for side, said in row["failed"].items())
    return f"{begun}, ratio {row['ratio']}, {'same figures' if row['same'] else 'other figures'}"


def passes(row: Mapping[str, Any], most: float) -> bool:
    """Tell whether a command came to its end on both sides and does not take too long here."""
    return not row["failed"] and row["ratio"] <= most


def main() -> None:
    """Compare two checkouts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("other", type=Path)
    parser.add_argument("--only", default="", help="commands with this in their names")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--most", type=float, default=1.3, help="the largest ratio that passes")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if not (options.other / "src" / "penstock").is_dir():
        parser.error(f"{options.other} is no checkout of Penstock")
    rows = {}
    for name, command in COMMANDS.items():
        if options.only in name:
            rows[name] = row = compared(options.other.resolve(), command, options.repeat)
            print(told(name, row), file=sys.stderr, flush=True)
    if options.json:
        print(json.dumps(rows))
    sys.exit(not all(passes(row, options.most) for row in rows.values()))


if __name__ == "__main__":
    main()
