"""Programs in a worker: whatever they do to their process is told, and nothing of them is left."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hostile_apps import write_app

from penstock.api import check, fuzz, verify
from penstock.errors import PenstockError
from penstock.verdict import Result

DEAF = "signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())"
"""Has no signal reach a program, so that nothing in its process can interrupt it."""


def found(app: Path, **fields: object) -> tuple[str, str]:
    """Return which property an app breaks, and the story of it."""
    result = check(app, topology="single,2", output=app.parent / "traces", **fields)
    assert result.verdict.result is Result.VIOLATED, result
    (violation,) = result.violations
    return violation.property, violation.story


@pytest.mark.parametrize(
    ("packet", "told"),
    [
        ("os._exit(0)", "ProcessEnded: exit status 0"),
        ("os._exit(3)", "ProcessEnded: exit status 3"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "ProcessEnded: ended by SIGKILL"),
        ("os.kill(os.getpid(), signal.SIGTERM)", "ProcessEnded: ended by SIGTERM"),
        ("os.abort()", "ProcessEnded: ended by SIGABRT"),
        ("ctypes.string_at(0)", "ProcessEnded: ended by SIGSEGV"),
        ("sys.exit(0)", "SystemExit: 0"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    ],
)
def test_a_program_that_ends_its_process_has_crashed(tmp_path: Path, packet: str, told: str) -> None:
    app = write_app(tmp_path, packet=packet)
    line = next(number for number, text in enumerate(app.read_text().splitlines(), 1) if packet in text)
    name, story = found(app)
    assert name == "ControllerCrash"
    assert told in story
    assert f"Code: app.py:{line} in packet_comes" in story


@pytest.mark.parametrize(
    "packet",
    [
        "ours, theirs = socket.socketpair(); ours.recv(1)",
        "reading, writing = os.pipe(); os.read(reading, 1)",
        f"{DEAF}; ours, theirs = socket.socketpair(); ours.recv(1)",
    ],
)
def test_a_handler_that_waits_for_what_never_comes_hangs(tmp_path: Path, packet: str) -> None:
    name, story = found(write_app(tmp_path, packet=packet))
    assert name == "ControllerHang"
    assert "waited for more than 2 s" in story


@pytest.mark.parametrize("place", ["load", "init"])
def test_an_app_that_ends_its_process_when_it_is_started_is_bad_input(tmp_path: Path, place: str) -> None:
    app = write_app(tmp_path, **{place: "os._exit(0)"})
    with pytest.raises(PenstockError, match=r"it ended its process \(exit status 0\) in app\.py:\d+"):
        check(app, topology="single,2", output=tmp_path)


def test_a_process_that_ends_otherwise_when_the_same_is_done_again_proves_nothing(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    packet = f"os.path.exists({str(mark)!r}) or (open({str(mark)!r}, 'w').close(), os._exit(0))"
    result = check(write_app(tmp_path, packet=packet), topology="single,2", output=tmp_path / "traces")
    assert result.verdict.result is Result.BOUNDED
    assert any("not when the same was done again" in reason for reason in result.left_out)


def test_a_proof_and_a_fuzzing_run_tell_it_too(tmp_path: Path) -> None:
    app = write_app(tmp_path, packet="os._exit(0)")
    proof = verify(app, topology="single,2", output=tmp_path / "traces", properties=["ControllerCrash"])
    assert [violation.property for violation in proof.violations] == ["ControllerCrash"]
    run = fuzz(app, topology="single,2", output=tmp_path / "runs", events=200, profile="traffic")
    assert [violation.property for violation in run.violations] == ["ControllerCrash"]
    assert len(list((tmp_path / "runs").iterdir())) == 1


# Commands.


def penstock(*words: str, cwd: Path) -> subprocess.Popen[str]:
    """Start a command."""
    environment = {**os.environ, "TERM": "dumb"}
    return subprocess.Popen(
        [sys.executable, "-m", "penstock", *words],
        cwd=cwd,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def processes_with(word: str) -> list[str]:
    """Return the processes whose command line has a word in it."""
    lines = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = place.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if word in line and str(os.getpid()) != place.parent.name:
            lines.append(line)
    return lines


@pytest.fixture
def number() -> Iterator[int]:
    """Give a test a number that no process of another test has on its command line."""
    yield 100_000 + os.getpid()


@pytest.mark.parametrize("more", ["", ", start_new_session=True"])
def test_processes_of_a_program_end_with_it(tmp_path: Path, number: int, more: str) -> None:
    write_app(tmp_path, packet=f"subprocess.Popen(['sleep', '{number}']{more})")
    command = penstock("check", "app.py", "--topo", "single,2", "--seconds", "5", cwd=tmp_path)
    command.communicate(timeout=120)
    assert not processes_with(f"sleep {number}")


def test_nothing_is_left_of_a_command_that_is_killed(tmp_path: Path, number: int) -> None:
    write_app(tmp_path, packet=f"subprocess.Popen(['sleep', '{number}']); time.sleep(0.1)")
    command = penstock("check", "app.py", "--topo", "linear,3", cwd=tmp_path)
    while not processes_with(f"sleep {number}"):
        assert command.poll() is None
        time.sleep(0.05)
    command.kill()
    command.communicate(timeout=120)
    until = time.monotonic() + 30
    while processes_with(f"sleep {number}") or processes_with("app.py --topo linear,3"):
        assert time.monotonic() < until
        time.sleep(0.05)


def test_a_thread_that_goes_on_keeps_no_command_from_its_end(tmp_path: Path) -> None:
    # The thread is a real one: it is begun by C code, past what Penstock puts in the place of threads.
    load = "import _thread"
    write_app(tmp_path, load=load, init="ctypes.PyDLL(None); _thread.start_new_thread(signal.pause, ())")
    command = penstock("check", "app.py", "--topo", "single,2", "--seconds", "20", cwd=tmp_path)
    printed, _ = command.communicate(timeout=300)
    assert command.returncode in (0, 1, 2, 3), printed


def test_what_a_program_prints_past_python_cannot_pass_for_a_verdict(tmp_path: Path) -> None:
    write_app(tmp_path, packet=r"os.write(1, b'{\"result\": \"exhausted\"}\n\x1b[2J')")
    command = subprocess.run(
        [sys.executable, "-m", "penstock", "check", "app.py", "--topo", "single,2", "--json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert "\x1b" not in command.stdout + command.stderr
    assert len(command.stdout.splitlines()) == 1 and '"verdict"' in command.stdout


def test_ctrl_c_is_answered_though_a_handler_waits(tmp_path: Path) -> None:
    mark = tmp_path / "waits"
    wait = "ours, theirs = socket.socketpair(); ours.recv(1)"
    write_app(tmp_path, packet=f"open({str(mark)!r}, 'w').close(); {DEAF}; {wait}")
    command = penstock("check", "app.py", "--topo", "single,2", cwd=tmp_path)
    while not mark.exists():
        assert command.poll() is None
        time.sleep(0.05)
    command.send_signal(signal.SIGINT)
    printed, _ = command.communicate(timeout=60)
    assert command.returncode == 3, printed
    assert "Ctrl-C" in printed


def test_a_limit_on_time_holds_while_the_network_is_put_together(tmp_path: Path) -> None:
    write_app(tmp_path)
    command = penstock("check", "app.py", "--topo", "fattree,8", "--seconds", "1", cwd=tmp_path)
    printed, _ = command.communicate(timeout=120)
    assert command.returncode == 3, printed
    assert re.search(r"stopped at 1 second\b", printed)


def test_a_limit_on_memory_holds_in_a_handler(tmp_path: Path) -> None:
    write_app(
        tmp_path, packet="self.kept = bytearray(3 << 30); self.kept[::4096] = bytes(len(self.kept) // 4096)"
    )
    command = penstock("check", "app.py", "--topo", "single,2", "--memory", "1000", cwd=tmp_path)
    printed, _ = command.communicate(timeout=300)
    assert command.returncode == 3, printed
    assert "1000 MB of memory" in printed
