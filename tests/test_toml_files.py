"""On which line of a file a key stands, and files that are none."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock._base.reading import MOST_READ_AGAIN, line_of_key
from penstock._base.typed import toml_of
from penstock._engine.building import build, plan
from penstock._scenario.scenario import load_scenario, with_fields
from penstock.errors import PenstockError

SCENARIO = '''# A scenario.
topology = "linear,2"
properties = [
  "NoForwardingLoops",
  "NoBlackHoles",
]

[search]
depth = 4

[controller]
cmd = """
program
arguments"""
port = 6653

[[x.y]]
a = 1
[[x.y]]
a.b = 2
'''


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        (["topology"], 2),
        (["properties"], 3),
        (["properties", 1], 3),
        (["search"], 8),
        (["search", "depth"], 9),
        (["search", "missing"], 8),
        (["controller", "cmd"], 12),
        (["controller", "port"], 15),
        (["x", "y", 0, "a"], 18),
        (["x", "y", 1], 19),
        (["x", "y", 1, "a", "b"], 20),
        (["missing"], None),
        ([], None),
    ],
)
def test_a_key_is_found_where_its_statement_begins(keys: list[str | int], line: int | None) -> None:
    assert line_of_key(SCENARIO, keys) == line


values: st.SearchStrategy[Any] = st.one_of(
    st.integers(), st.booleans(), st.text(max_size=8), st.lists(st.text(max_size=4), max_size=3)
)
keys = st.text(min_size=1, max_size=6)
tables = st.dictionaries(keys, values | st.dictionaries(keys, values, min_size=1, max_size=4), max_size=6)
FILLING = ["", "# [a] = 1", "   ", "\t# 'x"]


@settings(deadline=None)
@given(table=tables, data=st.data())
def test_the_part_of_a_file_before_the_line_has_not_got_the_key_and_the_statement_gives_it(
    table: dict[str, Any], data: st.DataObject
) -> None:
    written: list[str] = []
    for line in toml_of(table).split("\n"):
        written += [*data.draw(st.lists(st.sampled_from(FILLING), max_size=2)), line]
    text = "\n".join(written)
    read = tomllib.loads(text)
    for name, value in read.items():
        for path in [[name], *([name, inner] for inner in (value if isinstance(value, dict) else ()))]:
            number = line_of_key(text, path)
            assert number is not None
            before = tomllib.loads("\n".join(written[: number - 1]))
            with_it = tomllib.loads("\n".join(written[:number]))
            assert not holds(before, path) and holds(with_it, path)


def holds(table: Any, keys: list[str]) -> bool:
    for key in keys:
        if key not in table:
            return False
        table = table[key]
    return True


@settings(deadline=None)
@given(
    text=st.text(alphabet="[]{}=\"'#a1.,\n\\ ", max_size=40), keys=st.lists(st.sampled_from(["a", "1", 0, 1]))
)
def test_any_file_that_is_toml_has_a_line_for_a_key_or_none(text: str, keys: list[str | int]) -> None:
    try:
        read = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    line = line_of_key(text, keys)
    assert (line is not None) == bool(keys and keys[0] in read)
    assert line is None or 1 <= line <= text.count("\n") + 1


def test_of_a_file_that_takes_long_to_read_again_the_line_is_not_told() -> None:
    rows = "  1,\n" * (MOST_READ_AGAIN // 500)
    assert line_of_key(f"a = [\n{rows}]\nb = 1\n", ["a"]) is None


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('\n\n[search]\ndepth = "4"', 'x.toml, line 4: invalid depth = "4" in [search]: must be an integer'),
        (
            '[controller]\ncmd = "x"\n\nport = 0',
            "x.toml, line 4: invalid port = 0 in [controller]: must be an integer from 1 to 65535.",
        ),
        ("\npropertis = []", "x.toml, line 2: unknown key 'propertis' in the scenario: did you mean"),
        (
            '[search]\n\nreductions = [\n"none",\n"ample"\n]',
            "x.toml, line 1: The reduction 'none' cannot be combined",
        ),
        (
            "[fuzz]\n[fuzz.rates]\na = 1\nb = -1",
            "x.toml, line 4: invalid rates.b = -1 in [fuzz]: must be a number of at least 0",
        ),
        ("[controller]\napps = []", "x.toml, line 2: apps in [controller] names no app"),
        ("[controllers.c1]\ncmd = 'x'\n tsl = true", "x.toml, line 3: unknown key 'tsl' in [controllers.c1]"),
        ("[topology]\nname = 'x'", "x.toml, line 1: missing 'mininet' in [topology]"),
        ("seconds = 1", "x.toml, line 1: The key 'seconds' belongs in"),
        ("[search]\n[search]", "x.toml is not valid TOML: "),
        ("[search]\norder = 0x" + "f" * 5000, "x.toml, line 2: invalid order = <int> in [search]: must be"),
        ("a = " + "9" * 5000, "x.toml is not valid TOML: "),
        ("a = " + "[" * 100_000, "x.toml is not valid TOML: "),
        (b"a = '\xff'", "x.toml is not valid TOML: "),
    ],
)
def test_what_is_wrong_in_a_file_is_told_with_the_line(
    text: str | bytes, sentence: str, tmp_path: Path
) -> None:
    file = tmp_path / "x.toml"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(PenstockError) as refused:
        load_scenario(file)
    assert str(refused.value).startswith(sentence) and "\n" not in str(refused.value)


SILENT = "from penstock import Controller\n\n\nclass Silent(Controller):\n    pass\n"
NAMES = """topology = "linear,2"
properties = ["NoBlackHoles"]

[controller]
native = "silent.py:Silent"
[hosts.h1]
kind = "ping"
to = "h2"
[search]
strategies = ["races"]
"""


@pytest.mark.parametrize(
    ("right", "wrong", "sentence"),
    [
        ("linear,2", "liner,2", "x.toml, line 1: unknown topology 'liner,2': did you mean linear,"),
        ("NoBlackHoles", "NoBlackHole", "x.toml, line 2: unknown property 'NoBlackHole': did you mean"),
        ('"ping"', '"pnig"', "x.toml, line 7: unknown kind of host 'pnig': did you mean 'ping'?"),
        ("to =", "tow =", "x.toml, line 8: unknown key 'tow' in [hosts.h1]: did you mean 'to'?"),
        ("races", "rases", "x.toml, line 10: unknown strategy 'rases': did you mean 'races'?"),
    ],
)
def test_names_that_a_network_is_built_from_have_their_line_too(
    right: str, wrong: str, sentence: str, tmp_path: Path
) -> None:
    (tmp_path / "silent.py").write_text(SILENT)
    file = tmp_path / "x.toml"
    file.write_text(NAMES.replace(right, wrong, 1))
    with pytest.raises(PenstockError) as refused:
        scenario = load_scenario(file)
        plan(scenario)
        build(scenario)
    assert str(refused.value).startswith(sentence)


def test_what_was_given_since_is_not_looked_for_in_the_file(tmp_path: Path) -> None:
    (tmp_path / "silent.py").write_text(SILENT)
    (tmp_path / "x.toml").write_text(NAMES)
    scenario = load_scenario(tmp_path / "x.toml")
    with pytest.raises(PenstockError, match=r"^unknown topology 'liner,2'"):
        build(with_fields(scenario, "check", {"topology": "liner,2"}))
    kept = with_fields(scenario, "check", {"properties": ["NoBlackHoles"], "hosts": {"h1": {"kind": "pnig"}}})
    with pytest.raises(PenstockError, match=r"^unknown kind of host 'pnig'"):
        build(kept)
    assert build(with_fields(scenario, "check", {"depth": 3})).network is not None
