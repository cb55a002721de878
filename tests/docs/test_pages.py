"""What README and the documentation say is so: their commands are typed, their output compared."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import click
import pytest
from tests.required_tools import do_without
from tools.follow_page import (
    ROOT,
    Block,
    Following,
    Missing,
    WrongPage,
    blocks_of,
    is_shown,
    pages,
    provided_for,
)

from penstock._api import Scenario
from penstock._cli.main import commands
from penstock._scenario.options import VerifyOptions
from penstock._verify.proof import Proving

PAGES = {str(page.relative_to(ROOT)): blocks_of(page) for page in pages()}
BLOCKS = [block for blocks in PAGES.values() for block in blocks]

NOT_RUN = {
    "a real process need not repeat itself; tests/minimize/test_live_replay.py minimises such runs": 2,
    "set-up, which the tests begin after": 1,
    "formulas, which tests/docs/test_pages.py reads": 1,
    "it takes minutes and writes this page again; tests/bench/test_nice_tables.py looks at the tables": 1,
    "set-up, which the tests begin after; tools/tutorial.sh does it on a clean checkout": 1,
    "set-up, which the tests begin after; tests/packaging/test_matrix.py does it with the wheel": 1,
    "it installs from the network; make setup has the same in .cache, which the test uses": 1,
    "it needs the network": 1,
    "it needs the checkout of POX": 1,
    "it asks switches that run; tests/ovs/test_ovs_audit.py does": 1,
    "it serves until Ctrl-C, which tests/report/test_serving.py does": 1,
}
"""All reasons why a block is not run, with how many blocks have them: whoever adds one, adds it here."""


@pytest.mark.parametrize("name", [name for name, blocks in PAGES.items() if blocks])
def test_a_page_can_be_followed_from_top_to_bottom(name: str, tmp_path: Path, ryu_sources: Path) -> None:
    following = Following(tmp_path, provided=provided_for(ROOT / name))
    try:
        following.follow(PAGES[name])
    except Missing as missing:
        do_without(str(missing))
    run = [block for block in PAGES[name] if block.reason is None]
    assert len(following.ran) >= len(run)


def reference() -> ModuleType:
    spec = importlib.util.spec_from_file_location("reference_from_code", ROOT / "docs/reference_from_code.py")
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_the_reference_is_what_the_code_says() -> None:
    pages = reference().pages()
    assert set(pages) == {page.name for page in (ROOT / "docs/reference").glob("*.md")}
    for name, text in pages.items():
        written = (ROOT / "docs/reference" / name).read_text()
        assert written == text, f"{name} is out of step: run python docs/reference_from_code.py"


def test_every_field_of_the_reference_has_a_meaning() -> None:
    rows = re.findall(r"^\| `.*", (ROOT / "docs/reference/scenario.md").read_text(), re.MULTILINE)
    assert len(rows) > 80
    for row in rows:
        field, value, _default, meaning = (cell.strip() for cell in row.strip("|").split(" | "))
        assert value and meaning.endswith("."), field
    for row in re.findall(r"^\| `-.*", (ROOT / "docs/reference/commands.md").read_text(), re.MULTILINE):
        assert row.count(" | ") >= 1 and row.rstrip(" |").rpartition(" | ")[2].strip(), row


def test_how_to_pages_begin_in_an_empty_folder() -> None:
    assert "examples" not in provided_for(ROOT / "docs" / "howto" / "host.md")
    assert "examples" in provided_for(ROOT / "README.md")


def test_every_block_is_run_or_says_why_not() -> None:
    reasons = Counter(block.reason for block in BLOCKS if block.reason is not None)
    assert reasons == NOT_RUN
    print(f"{len(BLOCKS) - reasons.total()} blocks are run, {reasons.total()} are not.")


def test_no_block_escapes_because_of_how_it_is_fenced() -> None:
    for name, blocks in PAGES.items():
        text = (ROOT / name).read_text()
        fences = re.findall(r"^\s*(?:```|~~~)(.*)$", text, re.MULTILINE)
        made = sum(fence.startswith("{") for fence in fences)
        assert len(fences) == 2 * (len(blocks) + made), name


def test_commands_that_are_named_in_passing_exist() -> None:
    known = set(commands.list_commands(click.Context(commands)))
    for name in PAGES:
        named = set(re.findall(r"`penstock ([a-z-]+)", (ROOT / name).read_text()))
        assert named <= known, name


def test_the_formulas_of_proofs_are_understood() -> None:
    (block,) = [block for block in PAGES["docs/verify.md"] if block.reason is not None]
    hub = Scenario(controller={"native": f"{ROOT}/examples/controllers/hub.py:Hub"}, topology="linear,2")
    for formula in block.text.splitlines():
        proving = Proving(hub, VerifyOptions((formula,)))
        (reading,) = proving.claims(proving.lifted({})).formulas
        assert reading.text == formula


def test_every_make_command_is_a_target_of_the_makefile() -> None:
    shown = {
        name for page in PAGES for name in re.findall(r"(?:`|\$ )make ([a-z]+)", (ROOT / page).read_text())
    }
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert {"setup", "demo", "test", "bench", "docs"} <= shown <= targets


def test_the_commands_of_pipelines_are_among_those_that_are_typed() -> None:
    page = PAGES["docs/howto/ci.md"]
    typed = {command.partition(" || ")[0] for block in page for command, _ in block.commands}
    piped = [
        line.strip().removeprefix("- ").removeprefix("run: ").partition(" || ")[0]
        for block in page
        if block.language == "yaml"
        for line in block.text.splitlines()
        if "penstock " in line and "pip install" not in line
    ]
    assert len(piped) == 5 and set(piped) <= typed


def test_the_pages_are_built_without_a_warning(tmp_path: Path) -> None:
    built = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", str(ROOT / "docs"), str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    fields = (tmp_path / "reference" / "scenario.html").read_text()
    assert "persistent_ms" in fields and "all_violations" in fields
    assert "StrictDirectPaths" in (tmp_path / "reference" / "properties.html").read_text()
    assert "--all" in (tmp_path / "reference" / "commands.html").read_text()
    assert "assert_holds" in (tmp_path / "reference" / "api.html").read_text()


# The reader itself: what it must not let pass.


def page(tmp_path: Path, text: str) -> list[Block]:
    file = tmp_path / "page.md"
    file.write_text(text)
    return blocks_of(file)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("```console\n$ false\n```\n", "ends with status 1, not 0"),
        ("<!-- status: 1 -->\n```console\n$ true\n```\n", "ends with status 0, not 1"),
        ("```console\n$ echo one\ntwo\n```\n", "prints something else"),
        ("```console\n$ echo one\n```\n\n```text\ntwo\n```\n", "shows what is not printed"),
        ("```text\nnobody printed this\n```\n", "shows what is not printed"),
        ("```python\nraise SystemExit(3)\n```\n", "ends with status 3, not 0"),
        ('```toml\nproperty = ["NoBlackHoles"]\n```\n', "is not a scenario"),
        ("```yaml\na: b\n```\n", "neither run nor says why"),
        ("```console\nls\n```\n", "has no command"),
    ],
)
def test_a_page_that_is_wrong_is_found_out(text: str, complaint: str, tmp_path: Path) -> None:
    with pytest.raises(WrongPage, match=complaint):
        Following(tmp_path).follow(page(tmp_path, text))


def test_files_are_there_for_the_commands_below_and_what_is_typed_is_read(tmp_path: Path) -> None:
    text = """
<!-- file: greeting.txt -->
```text
good morning
```

```console
$ cat greeting.txt
good …
$ read name; echo "hello $name"
```

<!-- typed -->
```text
name> Ada
```

<!-- not run: no reason -->
```console
$ false
```
"""
    following = Following(tmp_path)
    following.follow(page(tmp_path, text))
    assert len(following.ran) == 4 and following.ran[-1].endswith("was typed: Ada")


def test_dots_stand_for_anything_and_nothing_else_does() -> None:
    printed = "first 1\nsecond 2\nthird 3\n"
    assert is_shown("first …\n…\nthird 3\n", printed, whole=True)
    assert is_shown("second 2\n", printed, whole=False)
    assert not is_shown("second 2\n", printed, whole=True)
    assert not is_shown("first …\nthird 3\n", printed, whole=False)
    assert not is_shown("econd 2\n", printed, whole=False)
    assert not is_shown("f.rst 1\n", printed, whole=False)
