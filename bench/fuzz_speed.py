"""How fast a fuzzing run on virtual time is: inputs and all events per second, and the digest of its trace.

    python -m bench.fuzz_speed [--topology linear,3] [--events 20000] [--seed 1] [--profile NAME …] [--json]

The controller is the native learning switch of the examples; nothing but mishaps of the controller is
judged, the trace is written to a file.  A row per profile: `inputs` is what the fuzzer did, `internal` what
followed from it, one transition each; an event is either.  Every run is made twice; the one that took less
processor time counts, and both must write the same bytes.  `seconds` is the time by the clock, `cpu_s` the
processor time of the whole run, building it included; rates are given by both, because other work on the
machine slows the one down and hardly the other.  `loop_ns` is what one turn of an empty loop took at the
time, to compare machines and loads.

It fails, with 1, where two runs of a seed differ or a profile has fewer than `LEAST_EVENTS` events in a
second of processor time.  Inputs alone are fewer: each has several events follow.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from hashlib import blake2b
from pathlib import Path
from typing import Any

from penstock._fuzz.building import PROFILES
from penstock._fuzz.fuzzing import fuzz
from penstock._scenario.scenario import Scenario
from penstock.errors import PenstockError

EXAMPLES = Path(__file__).parent.parent / "examples"
LOOP = 2_000_000
LEAST_EVENTS = 5_000


def loop_ns() -> float:
    """Return what one turn of an empty loop takes now, in nanoseconds."""
    begin = time.perf_counter()
    for _ in range(LOOP):
        pass
    return (time.perf_counter() - begin) / LOOP * 1e9


def one_run(topology: str, profile: str, events: int, seed: int) -> dict[str, Any]:
    scenario = Scenario(
        controller={"native": "controllers/learning_switch.py:LearningSwitch"},
        topology=topology,
        folder=EXAMPLES,
        fuzz={"events": events, "seed": seed, "profile": profile},
    )
    with tempfile.TemporaryDirectory() as folder:
        begin = time.process_time()
        report = asyncio.run(fuzz(scenario, Path(folder)))
        cpu = time.process_time() - begin
        written = report.trace.read_bytes().partition(b"\n")[2]
    outcome = report.outcome
    events_done = outcome.inputs + outcome.internal
    return {
        "topology": topology,
        "profile": profile,
        "inputs": outcome.inputs,
        "internal": outcome.internal,
        "seconds": round(outcome.seconds, 3),
        "cpu_s": round(cpu, 3),
        "inputs_per_s": round(outcome.inputs / outcome.seconds),
        "events_per_s": round(events_done / outcome.seconds),
        "inputs_per_cpu_s": round(outcome.inputs / cpu),
        "events_per_cpu_s": round(events_done / cpu),
        "trace_mb": round(len(written) / 1e6, 1),
        "digest": blake2b(written, digest_size=8).hexdigest(),
    }


def measure(topology: str, profile: str, events: int, seed: int) -> dict[str, Any]:
    """Return the run of two that took less processor time, and whether they wrote the same."""
    pace = loop_ns()
    runs = [one_run(topology, profile, events, seed) for _ in range(2)]
    same = runs[0]["digest"] == runs[1]["digest"]
    return {**min(runs, key=lambda row: row["cpu_s"]), "repeatable": same, "loop_ns": round(pace, 1)}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.fuzz_speed", description=__doc__.splitlines()[0])
    parser.add_argument("--topology", default="linear,3")
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--profile", nargs="*", choices=list(PROFILES), default=["everything", "traffic"])
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    try:
        rows = [
            measure(options.topology, profile, options.events, options.seed) for profile in options.profile
        ]
    except PenstockError as error:
        print(error, file=sys.stderr)
        return 2
    if options.json:
        print(json.dumps({"rows": rows}))
    else:
        for row in rows:
            print(
                "{topology} {profile:11} {inputs:>7} inputs, {internal:>8} internal  {digest}\n"
                "    by the clock   {seconds:>8} s: {inputs_per_s:>6} inputs/s, {events_per_s:>6} events/s\n"
                "    processor time {cpu_s:>8} s: {inputs_per_cpu_s:>6} inputs/s, "
                "{events_per_cpu_s:>6} events/s".format(**row)
            )
    return 0 if all(row["repeatable"] and row["events_per_cpu_s"] >= LEAST_EVENTS for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
