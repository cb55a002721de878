"""`penstock fuzz`, as a person or a script uses it: what it prints, how it ends, what it leaves behind."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tests.cli.command_lab import penstock as run_command
from tests.fuzz import fuzz_lab
from tests.tcp_lab import is_alive, wait_until

from penstock._cli.screen import Screen, picture
from penstock._controllers.tcp import ports
from penstock._controllers.tcp.supervisor import descendants
from penstock._fuzz.fuzzing import Fuzzing
from penstock._fuzz.inputs import input_of
from penstock._fuzz.invariants import invariants_of

ROOT = Path(__file__).parents[2]
SCRIPTED = ROOT / "tests" / "fuzz" / "scripted_controller.py"
LIMIT_S = 40
FILES = {"trace.jsonl", "scenario.json", "summary.json"}

SCENARIO = f"""
topology = "linear,2"

[controller]
native = "{ROOT / "examples" / "controllers" / "learning_switch.py"}:LearningSwitch"

[fuzz]
events = 40
profile = "traffic"
"""

FORGETFUL = SCENARIO.replace('profile = "traffic"', 'rates = {entry_loss = 5}\nprofile = "traffic"')


def live_scenario(*words: str, settle_ms: int = 1000) -> str:
    """Return a scenario with a controller that is a process."""
    command = json.dumps([sys.executable, "-u", str(SCRIPTED), "{port}", *words])
    return f"""
topology = "linear,2"
[controller]
cmd = {command}
port = {ports.free_port()}
[fuzz]
events = 100000
settle_ms = {settle_ms}
rates = {{controller_crash = 0}}
invariants = ["NoForwardingLoops"]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "calm.toml").write_text(SCENARIO)
    (tmp_path / "forgetful.toml").write_text(FORGETFUL)
    return tmp_path


def penstock(folder: Path, *arguments: str, status: int, typed: str = "") -> str:
    """Run `penstock fuzz` in a folder and return what it printed, errors included."""
    return run_command(folder, "fuzz", *arguments, status=status, typed=typed)


def test_a_run_that_finds_nothing_says_so_and_leaves_a_whole_folder(folder: Path) -> None:
    printed = penstock(folder, "calm.toml", status=3)
    assert "40 inputs (" in printed and "stopped by the number of events." in printed
    assert "No persistent violation was found, which proves nothing" in printed
    run = folder / "penstock-runs" / "calm-1"
    assert {file.name for file in run.iterdir()} == FILES
    assert len(fuzz_lab.fuzz_trace(run / "trace.jsonl").inputs) == 40


def test_a_run_ends_with_the_first_violation_that_lasts(folder: Path) -> None:
    printed = penstock(folder, "forgetful.toml", "--events", "200", status=1)
    assert "is violated after" in printed and "stopped by the first persistent violation." in printed
    summary = json.loads((folder / "penstock-runs" / "forgetful-1" / "summary.json").read_text())
    assert summary["result"] == "violation" and summary["inputs"] < 200
    assert summary["violations"][0]["steps"] == summary["inputs"]


def test_all_goes_on_to_the_end(folder: Path) -> None:
    printed = penstock(folder, "forgetful.toml", "--events", "200", "--all", status=1)
    assert "stopped by the number of events." in printed


def test_json_prints_one_object_which_is_also_the_summary(folder: Path) -> None:
    found = json.loads(penstock(folder, "calm.toml", "--json", "--seed", "7", "-o", "runs", status=3))
    assert found["result"] == "bounded" and found["seed"] == 7 and found["inputs"] == 40
    assert found["folder"] == "runs/calm-7"
    kept = json.loads((folder / "runs" / "calm-7" / "summary.json").read_text())
    assert {**kept, "peak_rss_mb": 0} == {**found, "peak_rss_mb": 0}


def test_the_same_seed_prints_the_same_run(folder: Path) -> None:
    for _ in range(2):
        penstock(folder, "calm.toml", "--seed", "5", status=3)
    runs = folder / "penstock-runs"
    first, again = (runs / name / "trace.jsonl" for name in ("calm-5", "calm-5.2"))
    assert first.read_bytes() == again.read_bytes()


def test_profile_topology_and_invariants_are_chosen_on_the_command_line(folder: Path) -> None:
    arguments = (
        "--profile",
        "links",
        "--topo",
        "ring,3",
        "-i",
        "NoForwardingLoops",
        "--events",
        "60",
        "--json",
    )
    found = json.loads(penstock(folder, "calm.toml", *arguments, "--all", status=1))
    assert {"fail", "recover"} <= set(found["by_kind"])
    assert {violation["property"] for violation in found["violations"]} == {"NoForwardingLoops"}
    kept = json.loads((folder / found["folder"] / "scenario.json").read_text())
    assert kept["topology"] == "ring,3" and kept["fuzz"]["invariants"] == ["NoForwardingLoops"]


def test_an_app_alone_is_enough(folder: Path) -> None:
    app = ROOT / "tests" / "fuzz" / "apps_monitor.py"
    found = json.loads(penstock(folder, str(app), "--events", "30", "--seed", "2", "--json", status=3))
    assert (found["scenario"], found["seed"], found["inputs"]) == ("apps_monitor", 2, 30)


def test_a_run_may_end_by_time_alone(folder: Path) -> None:
    found = json.loads(penstock(folder, "calm.toml", "--seconds", "0.3", "--json", status=3))
    assert found["stopped_by"] == "the time limit" and found["inputs"] > 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("nowhere.toml",), "nowhere.toml cannot be read"),
        (("calm.toml", "--profile", "storms"), "unknown profile 'storms'"),
        (("calm.toml", "-i", "NoLoop"), "unknown invariant 'NoLoop'"),
        (("calm.toml", "-i", "mine.py:rule"), "mine.py"),
        (("calm.toml", "--topo", "blob,3"), "blob"),
        (("calm.toml", "--events", "0"), "events"),
        (("calm.toml", "--seconds", "soon"), "soon"),
        (("calm.toml", "--output", "calm.toml"), "cannot be written to calm.toml"),
        (("calm.toml", "--colour"), "--colour"),
    ],
)
def test_bad_input_is_one_sentence(folder: Path, arguments: tuple[str, ...], sentence: str) -> None:
    printed = penstock(folder, *arguments, status=2)
    assert sentence in printed and printed.count("\n") == 1


def test_a_controller_that_cannot_be_started_is_one_sentence(folder: Path) -> None:
    (folder / "live.toml").write_text(live_scenario("dies"))
    printed = penstock(folder, "live.toml", status=2)
    assert "c0 ended with status 7" in printed and "cannot go on" in printed
    assert printed.count("\n") == 1


def test_the_console_takes_over_where_it_is_asked_for(folder: Path) -> None:
    typed = "can\nfail s1-s2\nflows s1\ndance\ngo 5\nquit\n"
    printed = penstock(folder, "calm.toml", "--interactive", status=3, typed=typed)
    assert "links up: h1-s1, h2-s2, s1-s2" in printed
    assert "is neither a command nor an input" in printed
    assert "stopped by the user." in printed
    run = folder / "penstock-runs" / "calm-1"
    assert fuzz_lab.fuzz_trace(run / "trace.jsonl").inputs[0].text == "fail s1-s2"
    assert {file.name for file in run.iterdir()} == FILES


# Ctrl-C.


class Running:
    """A `penstock fuzz` that goes on, to be interrupted."""

    def __init__(self, folder: Path, scenario: str, *arguments: str) -> None:
        (folder / "run.toml").write_text(scenario)
        self.folder = folder / "penstock-runs" / "run-1"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "penstock", "fuzz", "run.toml", *arguments],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        self.below: set[int] = set()

    def inputs(self) -> int:
        try:
            return (self.folder / "trace.jsonl").read_text().count('"input": ')
        except OSError:
            return 0

    def interrupt(self) -> None:
        self.below |= set(descendants(self.process.pid))
        self.process.send_signal(signal.SIGINT)

    def ended(self) -> tuple[int, str]:
        """Return the status and what was printed; nothing of it must be left running."""
        try:
            out, err = self.process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        wait_until(lambda: not any(map(is_alive, self.below)), "all processes were gone", LIMIT_S)
        assert "Traceback" not in err
        return self.process.returncode, out + err

    def has_stopped(self) -> bool:
        """Tell whether no more inputs are made."""
        before = self.inputs()
        time.sleep(0.3)
        return self.inputs() == before


@pytest.mark.parametrize("kind", ["virtual", "live"])
def test_ctrl_c_once_ends_the_run_and_keeps_a_whole_folder(folder: Path, kind: str) -> None:
    endless = SCENARIO.replace("events = 40", "seconds = 1000\nevents = 100000000")
    running = Running(folder, endless if kind == "virtual" else live_scenario())
    wait_until(lambda: running.inputs() > 20, "the run was under way", LIMIT_S)
    running.interrupt()
    status, printed = running.ended()
    summary = json.loads((running.folder / "summary.json").read_text())
    assert status == (1 if summary["violations"] else 3)
    assert "stopped by the user." in printed and summary["stopped_by"] == "the user"
    assert {file.name for file in running.folder.iterdir()} >= FILES
    trace = fuzz_lab.fuzz_trace(running.folder / "trace.jsonl")
    assert not trace.cut_short and len(trace.inputs) == summary["inputs"]
    assert running.below, "neither a controller nor a worker"


def test_ctrl_c_twice_ends_at_once_with_nothing_left_running(folder: Path) -> None:
    # It sends nothing, so that the network would be waited for until it rests, which is never.
    running = Running(folder, live_scenario("deaf", settle_ms=600_000))
    wait_until(lambda: running.inputs() > 5, "the run was under way", LIMIT_S)
    running.interrupt()
    wait_until(running.has_stopped, "the run had stopped", LIMIT_S)
    assert running.process.poll() is None and running.below
    running.interrupt()
    status, printed = running.ended()
    assert status == 3 and "penstock: stopped." in printed
    trace = fuzz_lab.fuzz_trace(running.folder / "trace.jsonl")
    assert not trace.cut_short and len(trace.inputs) > 5


def test_ctrl_c_before_the_network_is_ready_leaves_nothing_running(folder: Path) -> None:
    running = Running(folder, live_scenario("mute"))
    log = running.folder / "c0.log"
    wait_until(lambda: log.exists() and "heard Hello" in log.read_text(), "a switch had called", LIMIT_S)
    running.interrupt()
    status, printed = running.ended()
    assert status == 3 and "penstock: stopped." in printed and running.below


def test_ctrl_c_at_the_prompt_is_as_good_as_quit(folder: Path) -> None:
    running = Running(folder, SCENARIO, "--interactive")
    assert running.process.stdin is not None and running.process.stdout is not None
    assert "The network is ready" in running.process.stdout.readline()
    running.process.stdin.write("go 5\n")
    running.process.stdin.flush()
    assert "5 inputs so far" in running.process.stdout.readline()
    assert running.process.stdout.read(len("fuzz> ")) == "fuzz> "
    running.interrupt()
    # What is typed has no end of its own by then.
    running.process.wait(60)
    status, printed = running.ended()
    assert status == 3 and "stopped by the user." in printed
    assert (running.folder / "summary.json").exists()


# The screen.


def shown(run: Fuzzing) -> str:
    console = Console(record=True, width=140, force_terminal=True, file=StringIO())
    console.print(picture(run))
    return console.export_text()


@pytest.fixture
def run(tmp_path: Path) -> Any:
    stage = fuzz_lab.opened(tmp_path, fuzz_lab.scenario(topology="linear,2", fuzz={"events": 50}))
    return fuzz_lab.fuzzing(stage, invariants=invariants_of(stage))


def test_the_screen_shows_what_is_done_who_is_up_and_how_long_it_takes(run: Fuzzing) -> None:
    fresh = shown(run)
    assert "0 of 50" in fresh and "no violation so far" in fresh and "Ctrl-C stops the run" in fresh
    asyncio.run(run.run(until=20))
    later = shown(run)
    assert f"{run.outcome.inputs} of 50 (" in later and " s to go" in later
    assert "controllers" in later and "sessions" in later and "in flight" in later
    for verb, times in run.outcome.by_verb.most_common(3):
        assert any(line.split()[-2:] == [verb, str(times)] for line in later.splitlines())


def test_the_screen_tells_what_is_wrong(run: Fuzzing) -> None:
    for text in ("crash c0", "forget s1 1", "fail h2-s2"):
        asyncio.run(run.perform(input_of(text)))
    told = shown(run)
    assert "0 up, c0 down" in told and "h2-s2 cut" in told
    assert "0 persistent violations; the latest:" in told and "is violated (not yet persistent)" in told


def test_without_a_terminal_nothing_is_drawn(run: Fuzzing, capsys: pytest.CaptureFixture[str]) -> None:
    with Screen(quiet=False) as screen:
        screen.show(run)
    assert capsys.readouterr() == ("", "")
