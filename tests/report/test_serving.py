"""A report is served on this machine only, and follows a run and a minimisation while they go on."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from penstock._report.document import report_on
from penstock._report.serving import serving
from penstock.errors import PenstockError

LIMIT_S = 60


class Growing:
    """A run's folder that gets its files bit by bit, as from a run that goes on."""

    def __init__(self, run: Path, folder: Path) -> None:
        self._run = run
        self.folder = folder
        folder.mkdir()
        self._lines = (run / "trace.jsonl").read_text().splitlines(keepends=True)
        header = json.loads(self._lines[0])
        header["folder"] = os.path.relpath((run / header["folder"]).resolve(), folder)
        self._lines[0] = json.dumps(header) + "\n"
        self.steps = len(self._lines) - 2
        self._written = 0

    def grow(self, lines: int | None = None, more: str = "") -> None:
        """Write some lines, or all that are left, and perhaps the beginning of another."""
        end = len(self._lines) if lines is None else self._written + lines
        with (self.folder / "trace.jsonl").open("a") as file:
            file.write("".join(self._lines[self._written : end]) + more)
        self._written = end

    def next_line(self) -> str:
        """Return the line that comes next, and count it as written."""
        self._written += 1
        return self._lines[self._written - 1]

    def finish(self) -> None:
        """Write what is left, and the summary, as a run does that is over."""
        self.grow()
        shutil.copy(self._run / "summary.json", self.folder)


@pytest.fixture
def growing(run: Path, tmp_path: Path) -> Growing:
    return Growing(run, tmp_path / "growing")


def asked(address: str, path: str, method: str = "GET", **headers: str) -> HTTPResponse:
    parts = urlsplit(address)
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=LIMIT_S)
    connection.request(method, path, headers=headers)
    return connection.getresponse()


def document(address: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(asked(address, "/document.json").read())
    return found


class Following:
    """A page that follows a run."""

    def __init__(self, address: str, after: int = 0, strings: int = 0) -> None:
        self._stream = asked(address, f"/events?after={after}&strings={strings}")
        assert self._stream.headers["Content-Type"].startswith("text/event-stream")
        self.steps: list[dict[str, Any]] = []
        self.strings: list[str] = []
        self.facts: dict[str, Any] = {}

    def events(self) -> Iterator[dict[str, Any]]:
        """Yield what the server says, after taking it in."""
        while line := self._stream.readline():
            if line.startswith(b"data: "):
                news = json.loads(line[len(b"data: ") :])
                self.steps += news.pop("steps", [])
                self.strings += news.pop("strings", [])
                self.facts |= news
                yield news

    def until(self, number: int) -> None:
        """Listen until there are so many steps."""
        for _ in self.events():
            if len(self.steps) >= number:
                return
        raise AssertionError(f"it ended with {len(self.steps)} steps")


def test_a_run_is_followed_line_by_line_to_its_end(growing: Growing) -> None:
    growing.grow(41)
    with serving(growing.folder) as (address, _):
        first = document(address)
        assert first["live"] is True and first["served"] is True and first["states"] is False
        assert [step["n"] for step in first["steps"]] == list(range(1, 41))
        page = Following(address, after=40, strings=len(first["strings"]))
        growing.grow(20, more='{"step": 61, "in')
        page.until(20)
        growing.grow(0, more='put": "wait 1", "at": 99999}\n')
        growing.next_line()
        page.until(21)
        texts = first["strings"] + page.strings
        assert texts[page.steps[-1]["title"]] == "Input: wait 1"
        assert [step["n"] for step in page.steps] == list(range(41, 62))
        growing.finish()
        assert [news for news in page.events() if "ended" in news] == [{"ended": True}]
        whole = document(address)
        assert whole["live"] is False and len(whole["steps"]) == growing.steps
        assert whole["verdict"]["property"] == "NoBlackHoles"


def test_what_is_served_at_the_end_is_what_a_file_would_have(growing: Growing) -> None:
    growing.grow(10)
    with serving(growing.folder) as (address, _):
        page = Following(address)
        growing.finish()
        assert list(page.events())[-1] == {"ended": True}
        served = document(address)
    assert served.pop("served") is True
    assert served == json.loads(report_on(growing.folder).as_text())
    assert served["states"] is True


def test_a_page_that_comes_back_gets_only_what_it_misses(growing: Growing) -> None:
    growing.grow(101)
    with serving(growing.folder) as (address, _):
        whole = document(address)
        page = Following(address, after=90, strings=len(whole["strings"]))
        page.until(10)
        assert page.steps == whole["steps"][90:] and page.strings == []
        fresh = Following(address)
        fresh.until(100)
        assert fresh.steps == whole["steps"] and fresh.strings == whole["strings"]


def test_a_minimisation_is_followed_to_its_result(run: Path, tmp_path: Path) -> None:
    folder = tmp_path / run.name
    shutil.copytree(run, folder)
    progress = (run / "progress.jsonl").read_text().splitlines(keepends=True)
    shutil.move(folder / "minimal", tmp_path / "kept")
    (folder / "progress.jsonl").write_text("".join(progress[:4]))
    with serving(folder) as (address, _):
        first = document(address)
        assert first["live"] is True and first["minimised"]["after"] is None
        assert first["minimised"]["replays"] == 3
        page = Following(address, after=first["steps"][-1]["n"], strings=len(first["strings"]))
        told = page.events()
        next(told)
        with (folder / "progress.jsonl").open("a") as file:
            file.write("".join(progress[4:]))
        next(told)
        assert page.facts["minimised"]["replays"] == len(progress) - 1 and page.steps == []
        shutil.copytree(tmp_path / "kept", folder / "minimal", copy_function=shutil.copy)
        assert list(told)[-1] == {"ended": True}
        assert document(address)["minimised"]["after"]["inputs"] == 2


def test_a_trace_that_is_whole_is_served_as_it_is(search: Path) -> None:
    with serving(search) as (address, _):
        found = document(address)
        assert found["live"] is False and len(found["steps"]) == 20
        page = asked(address, "/")
        text = page.read().decode()
        assert page.status == 200 and page.headers["Content-Type"] == "text/html; charset=utf-8"
        assert "NoBlackHolesMobile" in text and "connect-src 'self'" in text
        assert list(Following(address).events()) == [{"ended": True}]


def test_nobody_else_is_answered(search: Path) -> None:
    with serving(search) as (address, _):
        port = urlsplit(address).port
        assert address == f"http://127.0.0.1:{port}/"
        assert asked(address, "/", Host=f"localhost:{port}").status == 200
        for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", "localhost:1"):
            answer = asked(address, "/document.json", Host=host)
            assert (answer.status, answer.read()) == (403, b"This is not served under that name.\n")
        for method in ("POST", "PUT", "DELETE", "OPTIONS"):
            assert asked(address, "/document.json", method).status == 501
        for path in ("/../etc/passwd", "/trace.jsonl", "/document.json/", "/events/"):
            assert asked(address, path).status == 404
        assert asked(address, "/").headers["X-Content-Type-Options"] == "nosniff"


def test_odd_questions_are_answered_from_the_beginning(growing: Growing) -> None:
    growing.grow(6)
    with serving(growing.folder) as (address, _):
        stream = asked(address, "/events?after=-1&strings=x&after=9999999999999999")
        line = stream.readline()
        assert len(json.loads(line[len(b"data: ") :])["steps"]) == 5


def test_a_port_that_is_taken_is_told(search: Path) -> None:
    with (
        serving(search) as (address, _),
        pytest.raises(PenstockError, match="give another with --port"),
        serving(search, port=urlsplit(address).port or 0),
    ):
        pass


def test_a_server_that_ends_leaves_nobody_waiting(growing: Growing) -> None:
    growing.grow(6)
    with serving(growing.folder) as (address, _):
        page = Following(address)
        page.until(5)
    assert list(page.events()) == []
