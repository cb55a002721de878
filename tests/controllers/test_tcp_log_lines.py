"""Lines of a controller's log: cut where they are long, and read from files as these grow."""

from __future__ import annotations

import os
import tracemalloc
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock._controllers.tcp.log_lines import LONGEST, FollowedFile, LineSplitter


def split(*parts: bytes) -> list[str]:
    lines = LineSplitter()
    return [text for part in parts for text in lines.feed(part)] + [*lines.end()]


@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=5))
def test_it_does_not_matter_where_the_bytes_are_cut(data: bytes, cuts: list[int]) -> None:
    ends = sorted({0, *(cut for cut in cuts if cut < len(data)), len(data)})
    parts = [data[begin:end] for begin, end in pairwise(ends)]
    assert split(*parts) == split(data)
    assert split(data) == [
        text for line in data.split(b"\n") if (text := line.decode(errors="replace").rstrip())
    ]


def test_a_long_line_is_cut_and_the_next_one_is_whole() -> None:
    assert split(b"x" * 5_000, b"y" * 5_000 + b"\nnext\n") == ["x" * LONGEST, "next"]


def test_a_line_of_many_megabytes_takes_little_memory() -> None:
    lines, part = LineSplitter(), b"x" * (1 << 16)
    tracemalloc.start()
    try:
        for _ in range(1_000):
            assert [*lines.feed(part)] == []
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()
    assert [*lines.end()] == ["x" * LONGEST]


def test_a_file_is_read_from_where_it_ended_and_lines_when_they_are_complete(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    path.write_bytes(b"old\n")
    file = FollowedFile(path)
    assert [*file.news()] == []
    with path.open("ab") as log:
        log.write(b"new\nbeg")
    assert [*file.news()] == ["new"]
    with path.open("ab") as log:
        log.write(b"un\n")
    assert [*file.news()] == ["begun"] and [*file.news()] == []


def test_a_file_that_comes_later_is_truncated_or_replaced_is_read_from_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    file = FollowedFile(path)
    assert [*file.news()] == []
    path.write_bytes(b"first\n")
    assert [*file.news()] == ["first"]
    path.write_bytes(b"2nd\n")
    assert [*file.news()] == ["2nd"]
    path.rename(tmp_path / "app.log.1")
    path.write_bytes(b"a new file of the name\n")
    assert [*file.news()] == ["a new file of the name"]


@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_what_is_no_file_has_no_lines(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "log"
    path.mkdir() if kind == "folder" else os.mkfifo(path)
    assert [*FollowedFile(path).news()] == []
