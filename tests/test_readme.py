"""What the README shows is true: its snippets print what stands below them, its commands exist."""

import re
import subprocess
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from penstock.cli.main import commands
from penstock.errors import PenstockError
from penstock.scenario import load_scenario

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
SNIPPETS = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", README, re.DOTALL)


@pytest.mark.parametrize(("code", "printed"), SNIPPETS)
def test_a_snippet_prints_what_stands_below_it(
    code: str, printed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    output = StringIO()
    with redirect_stdout(output):
        exec(code, {"__name__": "readme"})
    assert output.getvalue() == printed


def test_no_snippet_is_left_out() -> None:
    assert len(SNIPPETS) == README.count("```python") >= 1


def without_times(text: str) -> str:
    """Leave out how long something took."""
    return re.sub(r"found in [\d.]+ s among", "found among", text)


def test_the_demo_prints_the_story_that_is_shown(
    ryu_sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (shown,) = re.findall(r"```text\n(II\. .*?)```", README, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    ran = subprocess.run(
        [sys.executable, "-m", "penstock", "demo"], capture_output=True, text=True, check=True
    )
    assert without_times(shown) in without_times(ran.stdout)
    assert ran.stdout.endswith("3 of 3 bugs found.\n")


def test_the_classes_of_packets_are_those_that_are_shown(ryu_sources: Path) -> None:
    ((arguments, shown),) = re.findall(
        r"bin/penstock (packets [^\n]*)\n```\n\n```text\n(.*?)```", README, re.DOTALL
    )
    ran = subprocess.run(
        [sys.executable, "-m", "penstock", *arguments.split()], capture_output=True, text=True, check=True
    )
    assert ran.stdout == shown


def test_the_scenario_that_is_shown_has_only_known_keys(tmp_path: Path) -> None:
    (shown,) = re.findall(r"```toml\n(.*?)```", README, re.DOTALL)
    (tmp_path / "shown.toml").write_text(shown)
    scenario = load_scenario(tmp_path / "shown.toml")
    assert scenario.limits().seconds == 60
    with pytest.raises(PenstockError, match=r"my_app\.py"):
        scenario.build()


def test_every_penstock_command_that_is_shown_exists() -> None:
    shown = set(re.findall(r"penstock ([a-z]+)\b", README))
    assert {"check", "packets", "replay", "show", "step", "walk"} <= shown & set(commands.commands)


def test_every_make_command_is_a_target_of_the_makefile() -> None:
    shown = set(re.findall(r"\bmake ([a-z]+)[ `]", README))
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert {"setup", "demo", "test", "bench"} <= shown <= targets
