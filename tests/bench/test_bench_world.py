"""The world's benchmark runs, answers every ping, and refuses what makes no sense."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def bench(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bench.world", *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_every_ping_is_answered() -> None:
    done = bench("--topology", "fattree,2", "--pings", "3", "--json")
    found = json.loads(done.stdout)
    assert done.returncode == 0
    assert found["answered"] == found["pings"] == 3 * found["hosts"]
    assert found["transitions_per_second"] > 0


def test_a_topology_that_does_not_exist_is_one_sentence() -> None:
    done = bench("--topology", "klein-bottle,3")
    assert done.returncode == 2
    assert done.stderr.startswith("unknown topology 'klein-bottle,3'")
    assert done.stderr.count("\n") == 1
