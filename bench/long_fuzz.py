"""Long fuzzing runs: memory over 100,000 inputs in process, and over an hour with a real process.

    python -m bench.long_fuzz [--inputs 100000] [--minutes 0] [--json]

In process, on virtual time: Ryu's own learning switch on three switches, with all that can happen and all
usual invariants; memory is printed after every tenth of the inputs.  With `--minutes` the same app runs as a
process, over TCP and by the clock, with an input each second; memory is printed after every tenth of the
time.  Both runs go on after violations, and write their traces.

Exit status 1 if a run does not come to its end, or memory at the end is over `MOST_GROWTH` times that after
the first tenth.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from bench.mutated_sessions import memory_mb
from penstock._controllers.tcp.ports import free_port
from penstock._fuzz.fuzzing import Fuzzing, fuzz
from penstock._fuzz.invariants import invariants_of
from penstock._scenario.scenario import scenario_of

APP: Final = "ryu.app.simple_switch_13"
MOST_GROWTH: Final = 1.3
_TENTHS: Final = 10


def run(table: dict[str, Any], *, whole: float, by_inputs: bool) -> dict[str, Any]:
    """Fuzz to the end, and return the memory after each tenth."""
    memory: list[float] = []

    def watch(fuzzing: Fuzzing) -> None:
        outcome = fuzzing.outcome
        if (outcome.inputs if by_inputs else outcome.seconds) >= whole * (len(memory) + 1) / _TENTHS:
            memory.append(round(memory_mb(), 1))
            print(
                f"{outcome.inputs:,} inputs, {fuzzing.stage.now() / 1000:,.0f} s of the network's time, "
                f"{outcome.seconds:,.0f} s: {memory[-1]} MB",
                file=sys.stderr,
                flush=True,
            )

    async def conduct(fuzzing: Fuzzing) -> None:
        await fuzzing.run(watch)
        clock.append(fuzzing.stage.now() / 1000)

    clock: list[float] = []
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        report = asyncio.run(
            fuzz(
                scenario_of({"topology": "linear,3", **table}, Path()),
                Path(folder),
                invariants=invariants_of,
                conduct=conduct,
            )
        )
        size = report.trace.stat().st_size
    outcome = report.outcome
    return {
        "inputs": outcome.inputs,
        "events": outcome.internal,
        "network_s": round(clock[0], 1),
        "seconds": round(time.monotonic() - began, 1),
        "stopped_by": str(outcome.stopped_by),
        "violations": len(outcome.violations),
        "memory_mb": memory,
        "growth": round(memory[-1] / memory[0], 2) if memory else None,
        "trace_mb": round(size / 1e6, 1),
    }


def in_process(inputs: int) -> dict[str, Any]:
    """Return a run in process."""
    table = {"controller": {"apps": [APP]}, "fuzz": {"events": inputs, "profile": "everything"}}
    return run(table, whole=inputs, by_inputs=True)


def live(minutes: float) -> dict[str, Any]:
    """Return a run with a process."""
    command = [sys.executable, "-m", "penstock.launch", APP, "--port", "{port}"]
    fuzzed = {"events": None, "seconds": minutes * 60, "interval_ms": 1000}
    table = {"controller": {"cmd": command, "port": free_port()}, "fuzz": fuzzed}
    return run(table, whole=minutes * 60 * 0.95, by_inputs=False)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.long_fuzz", description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=int, default=100_000, help="0 leaves the run in process out")
    parser.add_argument("--minutes", type=float, default=0, help="0 leaves the run with a process out")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = {}
    if options.inputs:
        rows["in process"] = in_process(options.inputs)
    if options.minutes:
        rows["live"] = live(options.minutes)
    if options.json:
        print(json.dumps(rows))
    else:
        for name, row in rows.items():
            print(
                "{name}: {inputs} inputs, {events} events, {network_s} s of the network's time in "
                "{seconds} s; memory {memory_mb} MB, growth {growth}; stopped by {stopped_by}".format(
                    name=name, **row
                )
            )
    return 0 if all(is_flat(row) for row in rows.values()) else 1


def is_flat(row: dict[str, Any]) -> bool:
    """Tell whether a run came to its end, and with how much memory it began."""
    return len(row["memory_mb"]) == _TENTHS and row["growth"] <= MOST_GROWTH


if __name__ == "__main__":
    sys.exit(main())
