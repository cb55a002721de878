"""What a program fails for that calls of it before have used up is no failure of its own.

Each code here takes something in every call and fails when there is no more of it, which one run would never
see.  What it takes is bounded by the limit that it comes up against.
"""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from bench.hostile.apps import write_app
from bench.hostile.attack import penstock

from penstock._api import check, fuzz, verify
from penstock._results import Result as Done
from penstock._verdict.verdict import Result, Why

PROCESSES = "for _ in range(90): subprocess.Popen(['sleep', '1000'])"
FILES = "for _ in range(40): os.open(os.devnull, os.O_RDONLY)"


@contextmanager
def limited(what: int, most: int) -> Iterator[None]:
    """Have this process, and those that it starts, under a limit."""
    soft, hard = resource.getrlimit(what)
    resource.setrlimit(what, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(what, (soft, hard))


def assert_bounded(result: Done[Any], told: str) -> None:
    assert result.verdict.result is Result.BOUNDED, result
    assert not result.violations
    reason = next(each for each in result.verdict.reasons if each.why is Why.LIMITS)
    assert told in reason
    assert result.next_steps


TAKING = {
    "processes": (PROCESSES, "processes at a time"),
    "processes, and it ends its own": (
        f"try:\n    {PROCESSES}\nexcept OSError:\n    os._exit(1)",
        "processes at a time",
    ),
    "processes, by another error": (
        f"try:\n    {PROCESSES}\nexcept OSError:\n    failed = True\nelse:\n    failed = False\n"
        "if failed: raise KeyError('another')",
        "processes at a time",
    ),
    "open files": (FILES, "256 open files"),
    "bytes in a file": (
        "with open(os.environ['TMPDIR'] + '/large', 'wb') as file: file.truncate(9 << 30)",
        "bytes in a file",
    ),
}


@pytest.mark.parametrize("what", TAKING)
def test_what_a_limit_causes_is_no_violation(tmp_path: Path, what: str) -> None:
    code, told = TAKING[what]
    app = write_app(tmp_path, "packet", code)
    with limited(resource.RLIMIT_NOFILE, 256 if what == "open files" else 4096):
        assert_bounded(check(app, topology="single,2", output=tmp_path / "traces", seconds=100), told)


def test_nor_in_a_proof_and_in_a_fuzzing_run(tmp_path: Path) -> None:
    code, told = TAKING["open files"]
    app = write_app(tmp_path, "packet", code)
    with limited(resource.RLIMIT_NOFILE, 256):
        proof = verify(app, topology="single,2", output=tmp_path, properties=["ControllerCrash"], seconds=100)
        run = fuzz(app, topology="single,2", output=tmp_path / "runs", events=100, profile="traffic")
    assert_bounded(proof, told)
    assert not run.violations
    assert any(told in reason for reason in run.left_out)


def test_a_failure_of_its_own_is_one_as_long_as_nothing_is_used_up(tmp_path: Path) -> None:
    app = write_app(tmp_path, "packet", "subprocess.run(['true']); raise KeyError('after all')")
    result = check(app, topology="single,2", output=tmp_path)
    assert [violation.property for violation in result.violations] == ["ControllerCrash"]


@pytest.mark.parametrize(
    ("limit", "most", "code", "told"),
    [
        (
            resource.RLIMIT_AS,
            1 << 30,
            "ctypes.CDLL(None).malloc(200 << 20)\nx = bytearray(300 << 20)",
            "1,024 MB of address space",
        ),
        (resource.RLIMIT_CPU, 3, "for _ in range(20_000_000): pass", "3 seconds of computing"),
    ],
)
def test_limits_that_we_are_under_ourselves_are_told_as_ours(
    tmp_path: Path, limit: int, most: int, code: str, told: str
) -> None:
    write_app(tmp_path, "packet", code)
    done = penstock(
        tmp_path, "check", "app.py", "--topo", "single,2", "--seconds", "40", limits={limit: most}
    )
    assert done.status == 3, done.said
    assert told in done.said


def test_the_worker_sets_no_limit_that_is_not_tried_here() -> None:
    source = (Path(__file__).parents[2] / "src/penstock/_worker/containment.py").read_text()
    lowered = {line.split("(")[1].split(",")[0] for line in source.splitlines() if "_lower(resource" in line}
    # Nobody misses the picture of its memory that a process leaves behind.
    assert lowered == {"resource.RLIMIT_FSIZE", "resource.RLIMIT_CORE", "resource.RLIMIT_NPROC"}
