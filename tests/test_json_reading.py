"""JSON that strangers wrote is taken as it should be, or refused with a reason."""

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock._base.reading import (
    DEEPEST,
    LARGEST_FILE,
    LONGEST_LINE,
    MOST_DIGITS,
    parse_json,
    parse_object,
    read_json,
    read_line,
    read_lines,
)
from penstock.errors import PenstockError

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**38), 10**38)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=20,
)


@given(VALUES)
def test_what_python_writes_is_read(value: Any) -> None:
    assert parse_json(json.dumps(value)) == value


@given(st.text() | st.text(st.sampled_from('{}[]":,0123456789.eE+-nulltrefaNI \\u\n')))
def test_anything_else_is_refused_with_a_reason(text: str) -> None:
    try:
        parse_json(text)
    except ValueError as error:
        assert str(error)
    else:
        json.loads(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("1" * 1_000_000, "too many digits"),
        ("-" + "1" * MOST_DIGITS, "too many digits"),
        ('{"step": ' + "9" * 5_000 + "}", "too many digits"),
        ("1e999", "too large"),
        ("-1e999", "too large"),
        ("0." + "1" * 1_000_000, "too large"),
        ("NaN", "not a JSON number"),
        ("-Infinity", "not a JSON number"),
        ('{"a": 1, "a": 2}', "duplicate key"),
        ('{"a": {"b": 1, "b": 1}}', "duplicate key"),
        ("[" * 10_000 + "]" * 10_000, "too deep"),
        ('{"a":' * 10_000 + "1" + "}" * 10_000, "too deep"),
        ("[" * 1_000_000, "too deep|no JSON"),
        ("[" * (DEEPEST + 1) + "]" * (DEEPEST + 1), "too deep"),
        ("", "not JSON"),
        ("{} {}", "not JSON"),
    ],
    ids=lambda text: text[:12],
)
def test_what_no_machine_holds_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_json(text)


def test_what_is_flat_may_have_any_number_of_brackets() -> None:
    flat = [[f"h1#{number} [UDP]"] for number in range(10_000)]
    assert parse_json(json.dumps(flat)) == flat
    deep = "[" * DEEPEST + "]" * DEEPEST
    assert json.dumps(parse_json(deep)) == deep


@pytest.mark.parametrize("text", ["[]", "1", "null", '"{}"'])
def test_an_object_is_one(text: str) -> None:
    with pytest.raises(ValueError, match="not an object"):
        parse_object(text)


class Counted(BytesIO):
    """A file that counts how much is read from it."""

    taken = 0

    def readline(self, size: int | None = -1, /) -> bytes:
        line = super().readline(size)
        self.taken += len(line)
        return line


def test_of_a_line_without_end_no_more_is_read_than_a_line_may_have() -> None:
    file = Counted(b"x" * (3 * LONGEST_LINE))
    with pytest.raises(PenstockError, match=r"^Line 7 of some\.jsonl is longer than .*damaged\.$"):
        read_line(file, "some.jsonl", 7)
    assert file.taken == LONGEST_LINE + 1


def test_lines_are_lines_of_text(tmp_path: Path) -> None:
    path = tmp_path / "some.jsonl"
    path.write_bytes("ein\nzwölf\ndrei".encode())
    assert list(read_lines(path)) == ["ein\n", "zwölf\n", "drei"]
    path.write_bytes(b"one\n\xff\n")
    with pytest.raises(PenstockError, match=r"^Line 2 of some\.jsonl is not UTF-8 text: it is damaged\.$"):
        list(read_lines(path))


def test_a_file_that_is_too_long_is_not_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "summary.json"
    with path.open("wb") as file:
        file.truncate(LARGEST_FILE * 100)
    with pytest.raises(ValueError, match="too long"):
        read_json(path)
