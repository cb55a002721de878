"""Every command that reads a trace says so where the trace was cut, also at a line's end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from penstock._api import check

ROOT = Path(__file__).parent.parent.parent

COMMANDS = [
    ["show", "cut.jsonl"],
    ["show", "cut.jsonl", "--picture"],
    ["replay", "cut.jsonl"],
    ["report", "cut.jsonl"],
    ["minimize", "cut.jsonl"],
    ["step", "cut.jsonl", "--plain"],
    ["packets", "loop.toml", "--after", "cut.jsonl"],
    ["openflow", "cut.jsonl"],
    ["trace-packet", "cut.jsonl", "h1#1"],
    ["diff", "cut.jsonl", "whole.jsonl"],
    *(
        ["export", form, "cut.jsonl", "-o", "-"]
        for form in ("pcap", "shiviz", "dot", "mermaid", "itf", "junit", "sarif")
    ),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("cut")
    (made / "hub.py").write_text((ROOT / "examples/controllers/hub.py").read_text())
    (made / "loop.toml").write_text(
        'topology = "ring,3"\nproperties = ["NoForwardingLoops"]\n'
        '[controller]\nnative = "hub.py:Hub"\n[hosts.h1]\nkind = "client"\nto = "h2"\n'
    )
    (violation,) = check(made / "loop.toml", output=made).violations
    assert violation.trace is not None
    lines = violation.trace.read_bytes().splitlines(keepends=True)
    violation.trace.rename(made / "whole.jsonl")
    (made / "cut.jsonl").write_bytes(b"".join(lines[:-4]))
    return made


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_command_says_that_its_trace_was_cut(words: list[str], folder: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "penstock", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        errors="replace",
        input="quit\n",
        check=False,
    )
    said = ran.stdout + ran.stderr
    if words[0] == "report":
        said += (folder / "cut.html").read_text()
    assert "cut short" in said, said[-500:]
    assert "Traceback" not in said
