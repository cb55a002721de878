"""What docs/rootcause.md shows is so: its commands run, in order, and print what it says."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.rootcause.rootcause_lab import EXAMPLES

from penstock._cli.main import commands

PAGE = (EXAMPLES.parent / "docs" / "rootcause.md").read_text()
COMMANDS = re.findall(r"^\$ penstock (.*)$", PAGE, re.MULTILINE)
SHOWN = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
FOUND = {"fuzz", "minimize", "diff"}
"""The commands that have something to report here."""


def test_the_page_can_be_typed_from_top_to_bottom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "examples").symlink_to(EXAMPLES)
    monkeypatch.chdir(tmp_path)
    printed = ""
    for words in map(shlex.split, COMMANDS):
        typed = "next\ngo end\nflows\nquit\n" if "--interactive" in words else ""
        result = CliRunner().invoke(commands, words, input=typed, standalone_mode=False)
        assert result.exception is None, words
        assert result.return_value == (words[0] in FOUND), words
        printed += result.stdout
    assert len(COMMANDS) >= 9 and len(SHOWN) == 3
    for text in SHOWN:
        assert text in printed
    assert (tmp_path / "penstock-runs" / "host_moves-1" / "progress.svg").is_file()
