"""Nothing that comes from an app, a trace or a process steers a terminal or misleads a reader."""

import ast
import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock
from penstock._base.text import file_name, json_text, on_one_line, visible, visible_within

ANY = st.text(st.characters(exclude_categories=())) | st.text(
    st.sampled_from("ab \n\t\r\x00\x07\x1b[]m\x7f\x9b\x85\u200b\u202e\u2066\u2028\u2029\ufeff\ud800\u3164")
)
"""Any text at all, halves of characters too."""
PLAIN = st.recursive(
    ANY | st.integers() | st.none(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY, inner, max_size=4),
    max_leaves=10,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain words, ünïcödé, 日本語 and ✗", "plain words, ünïcödé, 日本語 and ✗"),
        ("\x1b[2J\x1b[1;31mred", r"\x1b[2J\x1b[1;31mred"),
        ("\x1b]8;;http://evil\x07click\x1b]8;;\x07", r"\x1b]8;;http://evil\x07click\x1b]8;;\x07"),
        ("\x9b31m", r"\x9b31m"),
        ("over\rwritten\b", r"over\rwritten\x08"),
        ("\u202eevil\u202c \u2066x\u2069", r"\u202eevil\u202c \u2066x\u2069"),
        ("zero\u200bwidth\ufeff", r"zero\u200bwidth\ufeff"),
        ("half \ud800 a character", r"half \ud800 a character"),
        ("a\u2028b\u2029c\x85d", r"a\u2028b\u2029c\x85d"),
        ("\U000e0041tag", r"\U000e0041tag"),
        ("\u3164", r"\u3164"),
        ("two\nlines", "two\nlines"),
    ],
)
def test_what_steers_or_misleads_is_spelt_out(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_what_cannot_be_hurt_is_left_alone() -> None:
    text = "s1 gets h1#1 [UDP 10.0.0.1:7 > 10.0.0.2:7] at port 1, from h1."
    assert visible(text) is text


@given(ANY)
def test_what_is_shown_is_printable_and_can_be_encoded(text: str) -> None:
    shown = visible(text)
    assert all(c == "\n" or c.isprintable() for c in shown)
    assert not any(unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") for c in shown if c != "\n")
    assert shown.encode().decode() == shown
    assert visible(shown) == shown


@given(ANY)
def test_it_stays_as_many_lines_and_can_be_one(text: str) -> None:
    assert visible(text).count("\n") == text.count("\n")
    assert "\n" not in on_one_line(text) and on_one_line(text).isprintable()


@given(ANY)
def test_a_file_name_is_one(text: str) -> None:
    name = file_name(text)
    assert name.isascii() and Path(name).name == name and not name.startswith((".", "-")) and len(name) <= 100


@given(PLAIN)
def test_json_is_printable_ascii_and_says_the_same(value: object) -> None:
    text = json_text(value)
    assert text.isascii() and text.isprintable()
    assert json.loads(text) == json.loads(json.dumps(value))


@given(PLAIN)
def test_all_texts_of_plain_data_are_cleaned(value: object) -> None:
    assert json_text(visible_within(value), ensure_ascii=False).isprintable()


# Nobody prints but the terminal.

SOURCES = Path(penstock.__file__).parent
ELSEWHERE = {
    "_base/terminal.py": "it is the place",
    "_controllers/tcp/supervisor.py": "a controller's own process, whose output goes into its log",
    "launch.py": "a controller's own process, whose output goes into its log",
    "_worker/containment.py": "a pipe to the process that awaits a worker's end",
    "_worker/crossing.py": "a pipe to the process that awaits what a worker tells",
}
"""The modules that may write to a descriptor by themselves, each with the reason."""


def prints(tree: ast.AST) -> list[str]:
    """Return the calls in a module that print by themselves."""
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    named = ((ast.unparse(call.func), call) for call in calls)
    direct = ("print", "click.echo", "click.secho", "sys.stdout.write", "sys.stderr.write", "os.write")
    return [ast.unparse(call)[:80] for name, call in named if name in direct]


def test_nobody_else_prints() -> None:
    found = {
        str(path.relative_to(SOURCES)): calls
        for path in sorted(SOURCES.rglob("*.py"))
        if (calls := prints(ast.parse(path.read_text())))
    }
    assert set(found) - set(ELSEWHERE) == set(), found
