"""`penstock step` in a real terminal, and where there is none."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import termios
import time
from fcntl import ioctl
from pathlib import Path
from struct import pack

import pytest
from tests.cli.stepper.stepper_lab import loop_scenario

from penstock._check.check import check
from penstock._scenario.scenario import load_scenario

PENSTOCK = (sys.executable, "-m", "penstock")
PATIENCE = 120.0
"""How many seconds a program may take for what takes it about one."""


_SIZES = ("COLUMNS", "LINES")
_ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in _SIZES} | {
    "TERM": "xterm-256color",
    "PYTHONUTF8": "1",
}
"""What a terminal's program finds; its size is what the terminal says, whatever surrounds the tests."""


class Terminal:
    """A pseudo terminal with a program in it."""

    def __init__(self, folder: Path, *arguments: str, size: tuple[int, int] = (110, 36)) -> None:
        self._ours, self._theirs = pty.openpty()
        columns, lines = size
        ioctl(self._theirs, termios.TIOCSWINSZ, pack("HHHH", lines, columns, 0, 0))
        self.before = termios.tcgetattr(self._theirs)
        self.written = b""
        self.program = subprocess.Popen(
            [*PENSTOCK, *arguments],
            cwd=folder,
            stdin=self._theirs,
            stdout=self._theirs,
            stderr=self._theirs,
            env=_ENVIRONMENT,
        )

    def wait_for(self, text: str) -> None:
        """Wait until the program has written a text."""
        end = time.monotonic() + PATIENCE
        while text.encode() not in self.written:
            assert time.monotonic() < end, self.written[-2000:].decode(errors="replace")
            self._read(0.2)

    def press(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def end(self) -> int:
        """Wait until the program has ended; return its status."""
        end = time.monotonic() + PATIENCE
        while self.program.poll() is None:
            assert time.monotonic() < end, "the program does not end"
            self._read(0.2)
        self._read(0.0)
        return self.program.returncode

    @property
    def after(self) -> list[object]:
        """How the terminal is set."""
        return list(termios.tcgetattr(self._theirs))

    def _read(self, seconds: float) -> None:
        while select.select([self._ours], [], [], seconds)[0]:
            self.written += os.read(self._ours, 65536)
            seconds = 0.0

    def close(self) -> None:
        if self.program.poll() is None:
            self.program.kill()
            self.program.wait()
        os.close(self._ours)
        os.close(self._theirs)


def test_a_terminal_is_left_as_it_was(tmp_path: Path) -> None:
    loop_scenario(tmp_path)
    terminal = Terminal(tmp_path, "step", "loop.toml")
    try:
        terminal.wait_for("can happen next")
        assert terminal.after != terminal.before, "the program reads keys as they are pressed"
        terminal.press("\r")
        terminal.wait_for("step 1")
        terminal.press("q")
        assert terminal.end() == 0
        assert terminal.after == terminal.before
    finally:
        terminal.close()
    entered, left = terminal.written.count(b"\x1b[?1049h"), terminal.written.count(b"\x1b[?1049l")
    assert (entered, left) == (1, 1)
    assert terminal.written.rfind(b"\x1b[?25h") > terminal.written.rfind(b"\x1b[?25l"), "the cursor is back"
    assert b"Traceback" not in terminal.written


def test_with_plain_a_terminal_is_asked_line_by_line(tmp_path: Path) -> None:
    loop_scenario(tmp_path)
    terminal = Terminal(tmp_path, "step", "loop.toml", "--plain")
    try:
        terminal.wait_for("step: ")
        terminal.press("1\nback\nredo\nsave mine.jsonl\nquit\n")
        assert terminal.end() == 0
    finally:
        terminal.close()
    assert b"\x1b[?1049h" not in terminal.written
    assert terminal.written.count(b"1. h1 sends h1#1") == 2
    assert (tmp_path / "mine.jsonl").is_file()


def test_without_a_terminal_lines_are_read_and_a_trace_is_opened_where_asked(tmp_path: Path) -> None:
    check(load_scenario(loop_scenario(tmp_path)), output=tmp_path)
    trace = "loop-1.jsonl"
    done = subprocess.run(
        [*PENSTOCK, "step", trace, "--at", "2"],
        cwd=tmp_path,
        input="story\nredo\ndrop c0:s1\nquit\n",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    assert "  2. s1 gets h1#1" in done.stdout
    assert "  3. Controller c0 handles" in done.stdout
    assert "'drop c0:s1' cannot happen now" in done.stdout
    refused = subprocess.run(
        [*PENSTOCK, "step", trace, "--topo", "linear,2"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert refused.returncode == 2
    assert "is a trace and includes its scenario" in refused.stderr


@pytest.mark.parametrize("lines", [60, 12])
def test_a_check_draws_what_it_found_if_it_fits_on_the_screen(tmp_path: Path, lines: int) -> None:
    loop_scenario(tmp_path)
    terminal = Terminal(tmp_path, "check", "loop.toml", size=(100, lines))
    try:
        assert terminal.end() == 1
    finally:
        terminal.close()
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.written.decode())
    assert "NoForwardingLoops is violated: h1#1" in text
    assert ("├───►●" in text) == (lines == 60)


def test_show_draws_a_trace_if_asked(tmp_path: Path) -> None:
    check(load_scenario(loop_scenario(tmp_path)), output=tmp_path)
    shown = [
        subprocess.run(
            [*PENSTOCK, "show", "loop-1.jsonl", *more],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "COLUMNS": "70", "PYTHONUTF8": "1"},
        ).stdout
        for more in ((), ("--picture",))
    ]
    told, drawn = shown
    assert drawn.startswith(told)
    picture = drawn.removeprefix(told).splitlines()[1:]
    assert picture[0].split()[0] == "h1"
    assert picture[0].split()[-1] == "c0"
    assert any("✗" in line for line in picture)
    assert all(len(line) <= 70 for line in picture)
