"""The benchmark of many switches runs with both controllers, and complains where it should."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from bench.fattree import CUT_SHARE, complaints

ROOT = Path(__file__).parents[2]


def bench(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bench.fattree", *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.parametrize(
    ("controller", "stage"), [("asyncio", "plain"), ("osken", "plain"), ("asyncio", "live")]
)
def test_every_switch_joins_and_every_answer_is_taken(controller: str, stage: str) -> None:
    done = bench("--k", "4", "--controller", controller, "--stage", stage, "--json")
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)["rows"]
    assert (row["switches"], row["hosts"], row["links"], row["handshakes"]) == (20, 16, 48, 20)
    assert row["cut_links"] == round(CUT_SHARE * 48)
    assert row["seconds"] > 0
    assert row["rss_mb"] > 0
    assert row["messages"] >= 20 * 6


def test_the_story_tells_of_sts() -> None:
    done = bench("--k", "2")
    assert done.returncode == 0, done.stderr
    assert "2464 switches" in done.stdout.splitlines()[0]


def row(k: int, switches: int, links: int, cpu_seconds: float, rss_mb: float = 100) -> dict[str, Any]:
    return {"k": k, "switches": switches, "links": links, "cpu_seconds": cpu_seconds, "rss_mb": rss_mb}


def test_time_that_grows_faster_than_the_size_is_complained_of() -> None:
    assert complaints([row(16, 320, 3072, 1.0), row(44, 2420, 63888, 20.0)]) == []
    assert complaints([row(16, 320, 3072, 9.0), row(44, 2420, 63888, 20.0)]) == []
    (sentence,) = complaints([row(16, 320, 3072, 1.0), row(44, 2420, 63888, 60.0)])
    assert sentence.startswith("Time is not linear: k=44")


def test_too_much_memory_is_complained_of() -> None:
    assert complaints([row(44, 2420, 63888, 20.0, 1536)]) == []
    (sentence,) = complaints([row(44, 2420, 63888, 20.0, 1537)])
    assert sentence.startswith("2420 switches take 1537 MB")


@pytest.mark.parametrize("sizes", ["3", "four"])
def test_a_size_that_makes_no_sense_is_one_sentence(sizes: str) -> None:
    done = bench("--k", sizes)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 1
