"""What the README shows is true: its snippets print what stands below them, its commands exist."""

import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

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


def test_every_make_command_is_a_target_of_the_makefile() -> None:
    shown = set(re.findall(r"\bmake ([a-z]+) ", README))
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert {"setup", "test", "bench"} <= shown <= targets
