"""`penstock report`: what it writes, what it prints, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest
from click.testing import CliRunner, Result

from penstock._check.check import check
from penstock._cli.reporting import report_command
from penstock._scenario.scenario import load_scenario

ROOT = Path(__file__).parents[2]
LIMIT_S = 60


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    scenario = load_scenario(ROOT / "examples" / "nice" / "bug_01.toml")
    (finding,) = check(scenario, output=tmp_path_factory.mktemp("traces")).findings
    assert finding.trace is not None
    return finding.trace


def report(*words: str | Path) -> Result:
    return CliRunner().invoke(report_command, [*map(str, words)])


def test_a_page_is_written_beside_the_trace_and_told_in_one_line(trace: Path) -> None:
    page = trace.with_suffix(".html")
    result = report(trace)
    assert result.exit_code == 0 and result.output == f"The report is in {page}\n"
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>") and "NoBlackHolesMobile" in text
    assert not list(trace.parent.glob("*.part"))


def test_a_file_can_be_named_in_a_folder_that_is_not_there_yet(trace: Path, tmp_path: Path) -> None:
    page = tmp_path / "out" / "mine.html"
    assert report(trace, "-o", page, "--no-states").exit_code == 0
    assert "States are left out, as --no-states asks." in page.read_text(encoding="utf-8")


def test_the_report_is_printed_as_data(trace: Path, tmp_path: Path) -> None:
    printed = json.loads(report(trace, "--json").output)
    assert printed["format"] == "penstock-report" and len(printed["steps"]) == 20
    file = tmp_path / "report.json"
    assert report(trace, "--json", "-o", file).output == f"The report is in {file}\n"
    assert json.loads(file.read_text()) == printed


def test_without_running_no_app_is_loaded(trace: Path, tmp_path: Path) -> None:
    lines = trace.read_text().splitlines()
    header = json.loads(lines[0])
    header["scenario"]["controller"] = {"native": "tell.py:Tell"}
    header["folder"] = "."
    (tmp_path / "tell.py").write_text("open('loaded', 'w').close()\n")
    copy = tmp_path / "copy.jsonl"
    copy.write_text("\n".join([json.dumps(header), *lines[1:]]) + "\n")
    before = Path.cwd()
    os.chdir(tmp_path)
    try:
        assert report(copy, "--no-run").exit_code == 0
        assert not (tmp_path / "loaded").exists()
        assert report(copy).exit_code == 0
        assert not (tmp_path / "loaded").exists()
        assert report(copy, "--run").exit_code == 0
        assert (tmp_path / "loaded").exists()
    finally:
        os.chdir(before)


def test_a_folder_that_cannot_be_written_to_is_told(trace: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = report(trace, "--no-run", "-o", tmp_path / "file" / "report.html")
    assert "The report cannot be written to" in str(result.exception)


def test_a_server_writes_no_file(trace: Path) -> None:
    result = report(trace, "--serve", "--json")
    assert str(result.exception) == "--serve writes no file: leave out --json and -o."


def test_a_server_runs_until_it_is_interrupted(trace: Path) -> None:
    code = "from penstock._cli.reporting import report_command; report_command()"
    command = [sys.executable, "-u", "-c", code, str(trace), "--serve", "--no-open", "--no-run"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None and server.stderr is not None
        try:
            line = server.stdout.readline()
            assert line.startswith("The report is at http://127.0.0.1:") and line.endswith(" until Ctrl-C.\n")
            with urlopen(line.split()[4], timeout=LIMIT_S) as answer:
                assert b"NoBlackHolesMobile" in answer.read()
            server.send_signal(signal.SIGINT)
            assert server.wait(LIMIT_S) == 0
            assert server.stderr.read() == ""
        finally:
            server.kill()
