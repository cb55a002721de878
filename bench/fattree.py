"""How many switches one process can be: fat trees of virtual switches that talk to a real controller.

    python -m bench.fattree [--k 4,8,16] [--controller asyncio|osken] [--stage plain|live] [--json]

For each size, in a process of its own: draw the tree and build its network, hosts and all; connect each
switch over TCP to one controller process and complete all OpenFlow 1.3 handshakes (up to the reply to
the barrier after the controller's first flow-mod); cut 5 % of all links at random and process
what the controller answers to each port_status (a flow-mod and a barrier).  This is the experiment of
STS's Fig. 6.2 ("Troubleshooting …", section 6.0.17), which went up to 2,464 switches in 6 GB with
POX; the paper prints its times only as a curve, so there are none to set beside ours.

`asyncio` is `bench.fattree_controller`, which costs little, so that the time is mostly ours; `osken` is
`bench.fattree_app` under `penstock.launch`, whose two threads per switch cost more than all
that is done here.  Both do the same.  The `live` stage is that of `penstock fuzz`, trace and all; the `plain`
one drives the model and its sessions by itself.

`seconds` and `rss_mb` (the most that was resident) are of the process with the switches.  The bench
fails if its processor time grows faster than the size, which is switches and links (from a size of 1,000
on, the time per switch or link may not be more than twice that of any smaller tree), or if 2,464 switches, or
as many of a larger tree, take more than 1.5 GB.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any, Final

from bench.fattree_trees import COMMANDS, STAGES
from bench.separately import separately
from penstock._controllers.tcp.ports import free_port
from penstock._controllers.tcp.supervisor import descendants
from penstock.errors import PenstockError

SIZES: Final = (4, 8, 16, 28, 36, 44, 46)
STS_SWITCHES: Final = 2464
STS_MEMORY_MB: Final = 6 * 1024
MOST_MB: Final = 1536
CUT_SHARE: Final = 0.05
LEAST_SIZE: Final = 1000
"""From which size on times are compared; below, what is done once weighs most."""


def measure(k: int, controller: str, stage: str) -> dict[str, Any]:
    """Measure one size; the process must be fresh."""
    gc.enable()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return asyncio.run(_measured(k, controller, stage))


async def _measured(k: int, controller: str, stage: str) -> dict[str, Any]:
    empty_mb = _memory_mb("VmRSS")
    processor = time.process_time()
    laps = [time.perf_counter()]
    tree = STAGES[stage](k, controller, free_port())
    laps.append(time.perf_counter())
    try:
        await tree.join()
        laps.append(time.perf_counter())
        cut = await tree.cut(CUT_SHARE)
        laps.append(time.perf_counter())
        processor = time.process_time() - processor
        controller_mb = sum(_memory_mb("VmRSS", str(process)) for process in descendants(os.getpid()))
    finally:
        await tree.close()
    switches = len(tree.topology.switches)
    rss_mb = _memory_mb("VmHWM")
    return {
        "k": k,
        "switches": switches,
        "hosts": len(tree.topology.hosts),
        "links": len(tree.topology.links),
        "handshakes": switches,
        "cut_links": cut,
        "messages": sum(tree.said.values()) + tree.heard,
        "seconds": round(laps[-1] - laps[0], 3),
        "cpu_seconds": round(processor, 3),
        "build_seconds": round(laps[1] - laps[0], 3),
        "handshake_seconds": round(laps[2] - laps[1], 3),
        "cut_seconds": round(laps[3] - laps[2], 3),
        "rss_mb": round(rss_mb, 1),
        "bytes_per_switch": round((rss_mb - empty_mb) * 1024 * 1024 / switches),
        "controller_rss_mb": round(controller_mb, 1),
    }


def _memory_mb(what: str, process: str = "self") -> float:
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith(what):
            return int(line.split()[1]) / 1024
    return 0.0


def complaints(rows: list[dict[str, Any]]) -> list[str]:
    """Return what is not as it must be."""
    found = []
    least: dict[str, Any] | None = None
    for row in sorted(rows, key=_size):
        if _size(row) < LEAST_SIZE:
            continue
        if least is None or _pace(row) < _pace(least):
            least = row
        elif _pace(row) > 2 * _pace(least):
            found.append(
                f"Time is not linear: k={row['k']} takes {_pace(row):.0f} µs per switch and link, "
                f"k={least['k']} only {_pace(least):.0f}."
            )
    for row in rows:
        allowed = MOST_MB * max(1.0, row["switches"] / STS_SWITCHES)
        if row["rss_mb"] > allowed:
            found.append(f"{row['switches']} switches take {row['rss_mb']} MB; {allowed:.0f} are allowed.")
    return found


def _size(row: dict[str, Any]) -> int:
    size: int = row["switches"] + row["links"]
    return size


def _pace(row: dict[str, Any]) -> float:
    return 1e6 * float(row["cpu_seconds"]) / _size(row)


def story(rows: list[dict[str, Any]], options: argparse.Namespace) -> str:
    """Return the rows as a table."""
    lines = [
        f"FatTree, {options.stage} stage, controller {options.controller}; "
        f"STS: about linear up to {STS_SWITCHES} switches, where {STS_MEMORY_MB} MB were full",
        f"{'k':>3} {'switches':>8} {'hosts':>6} {'links':>6} {'cut':>5} {'messages':>8} {'build s':>8} "
        f"{'join s':>7} {'cut s':>6} {'all s':>7} {'CPU s':>6} {'µs/size':>8} {'MB':>6} {'B/switch':>8}",
    ]
    for row in rows:
        lines.append(
            "{k:>3} {switches:>8} {hosts:>6} {links:>6} {cut_links:>5} {messages:>8} {build_seconds:>8.2f} "
            "{handshake_seconds:>7.2f} {cut_seconds:>6.2f} {seconds:>7.2f} {cpu_seconds:>6.2f} {pace:>8.0f} "
            "{rss_mb:>6.0f} {bytes_per_switch:>8}".format(**row, pace=_pace(row))
        )
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.fattree", description=__doc__.splitlines()[0])
    parser.add_argument("--k", default=",".join(map(str, SIZES)), help="the sizes, as in 4,8,16")
    parser.add_argument("--controller", choices=COMMANDS, default="asyncio")
    parser.add_argument("--stage", choices=STAGES, default="plain")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    try:
        sizes = [int(k) for k in options.k.split(",")]
        rows = [separately(measure, k, options.controller, options.stage) for k in sizes]
    except (PenstockError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    wrong = complaints(rows)
    if options.json:
        sts = {"switches": STS_SWITCHES, "memory_mb": STS_MEMORY_MB}
        print(json.dumps({**vars(options), "rows": rows, "sts": sts, "complaints": wrong}))
    else:
        print(story(rows, options))
    for sentence in wrong:
        print(sentence, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
