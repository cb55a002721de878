"""`python -m bench.ovs_diff`: is the switch model told apart from Open vSwitch by random programs?

Exit status: 0 when no program tells them apart, 1 when one does, 2 when Open vSwitch is missing.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from collections.abc import Sequence
from typing import Any

from bench.ovs.deviations import DEVIATIONS, NOT_GENERATED
from bench.ovs.difftest import DifferentialTest, Tally
from bench.ovs.generator import generate
from bench.ovs.instance import OpenVSwitch
from bench.ovs.programs import Program
from penstock.errors import PenstockError

_MOST_REPORTED = 10
_SEEDS_PER_RUN = 1_000_000


def program_seeds(seed: int, programs: int) -> range:
    """Return the seeds of a run's programs; runs of different seeds share none."""
    return range(seed * _SEEDS_PER_RUN, seed * _SEEDS_PER_RUN + programs)


def summary(tally: Tally, seconds: float) -> dict[str, Any]:
    """Return what a run came to, as the command prints it."""
    return {
        "programs": tally.programs,
        "steps": tally.steps,
        "disagreements": len(tally.disagreements),
        "deviations": [
            {"name": deviation.name, "count": tally.deviations[deviation.name], "reason": deviation.reason}
            for deviation in DEVIATIONS
            if tally.deviations[deviation.name]
        ],
        "not_generated": NOT_GENERATED,
        "disagreeing_programs": [found.program.seed for found in tally.disagreements],
        "exercised": dict(sorted(tally.exercise.steps.items())),
        "seen": dict(sorted(tally.exercise.seen.items())),
        "seconds": round(seconds, 1),
    }


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.ovs_diff", description=__doc__.split("\n")[0])
    parser.add_argument("--programs", type=int, default=500, help="how many programs (500)")
    parser.add_argument("--seed", type=int, default=7, help="which programs (7)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--program-seed", type=int, help="run this one program and show every step")
    return parser.parse_args(given)


def _explain(ovs: OpenVSwitch, program: Program) -> bool:
    """Show one program and, if it tells the two sides apart, its shortest form."""
    test = DifferentialTest(ovs)
    print(f"program {program.seed}, version {program.version}, controllers {', '.join(program.controllers)}")
    for number, step in enumerate(program.steps, 1):
        print(f"{number:3}. {step}")
    found = test.run(program)
    if found is None:
        print("No disagreement.")
        return True
    print(f"Disagreement at step {found.at + 1}; shrunk:")
    print(test.shrink(found))
    return False


def _progress(tally: Tally, programs: int) -> None:
    print(
        f"\r{tally.programs}/{programs} programs, {tally.steps} steps, "
        f"{len(tally.disagreements)} disagreements",
        end="\n" if tally.programs == programs else "",
        file=sys.stderr,
        flush=True,
    )


def _run(ovs: OpenVSwitch, seed: int, programs: int, quiet: bool) -> DifferentialTest:
    test = DifferentialTest(ovs)
    for program_seed in program_seeds(seed, programs):
        test.run(generate(program_seed))
        if not quiet and sys.stderr.isatty():
            _progress(test.tally, programs)
    return test


def _report(test: DifferentialTest, seconds: float) -> None:
    tally = test.tally
    for found in tally.disagreements[:_MOST_REPORTED]:
        print(test.shrink(found), end="\n\n")
    more = len(tally.disagreements) - _MOST_REPORTED
    if more > 0:
        print(f"... and {more} more.")
    seen = tally.exercise.seen
    print(
        f"{tally.programs} programs, {tally.steps} steps, {len(tally.disagreements)} disagreements, "
        f"{seconds:.0f} s; of {seen['arrivals']} packets {seen['arrivals matched']} met a rule and "
        f"{seen['arrivals forwarded']} were forwarded."
    )
    for deviation in DEVIATIONS:
        if tally.deviations[deviation.name]:
            print(f"  {deviation.name} ({tally.deviations[deviation.name]} times): {deviation.reason}")


def main(given: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    arguments = _arguments(given)
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    started = time.monotonic()
    try:
        with OpenVSwitch() as ovs:
            if arguments.program_seed is not None:
                return 0 if _explain(ovs, generate(arguments.program_seed)) else 1
            test = _run(ovs, arguments.seed, arguments.programs, arguments.json)
            seconds = time.monotonic() - started
            if arguments.json:
                print(json.dumps(summary(test.tally, seconds), indent=2))
            else:
                _report(test, seconds)
            return 1 if test.tally.disagreements else 0
    except PenstockError as error:
        print(error, file=sys.stderr)
        return 2
    finally:
        signal.signal(signal.SIGTERM, before)


if __name__ == "__main__":
    sys.exit(main())
