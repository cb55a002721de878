"""A program run in processes that hash text differently: what depends on the order of sets shows."""

import os
import subprocess
import sys


def printed_under_hash_seeds(program: str) -> set[str]:
    """Return all that a program prints under different hash seeds; it can import what tests can."""
    return {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "77")
    }
