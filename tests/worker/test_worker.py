"""Programs in a worker, from Python: how they end is told in the story, and nothing of them is left.

What programs try against the commands is in `bench/hostile`.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from bench.hostile.apps import line_of, write_app

from penstock._api import check, fuzz, verify
from penstock._controllers import watchdog
from penstock._verdict.verdict import Result
from penstock.errors import PenstockError


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("os._exit(0)", "ProcessEnded: exit status 0"),
        ("os._exit(3)", "ProcessEnded: exit status 3"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "ProcessEnded: ended by SIGKILL"),
        ("ctypes.string_at(0)", "ProcessEnded: ended by SIGSEGV"),
        ("sys.exit(0)", "SystemExit: 0"),
    ],
)
def test_a_program_that_ends_its_process_has_crashed(tmp_path: Path, code: str, told: str) -> None:
    app = write_app(tmp_path, "packet", code)
    result = check(app, topology="single,2", output=tmp_path / "traces")
    assert result.verdict.result is Result.VIOLATED, result
    (violation,) = result.violations
    assert violation.property == "ControllerCrash"
    assert told in violation.story
    assert f"Code: app.py:{line_of(app, code)} in packet_comes" in violation.story


def test_a_handler_that_waits_for_what_never_comes_hangs(tmp_path: Path) -> None:
    app = write_app(tmp_path, "packet", "os.read(os.pipe()[0], 1)")
    (violation,) = check(app, topology="single,2", output=tmp_path / "traces").violations
    assert violation.property == "ControllerHang"
    assert "waited for more than 2 s" in violation.story


@pytest.mark.parametrize("place", ["load", "init"])
def test_an_app_that_ends_its_process_when_it_is_started_is_bad_input(tmp_path: Path, place: str) -> None:
    app = write_app(tmp_path, place, "os._exit(0)")
    with pytest.raises(PenstockError, match=r"it ended its process \(exit status 0\) in app\.py:\d+"):
        check(app, topology="single,2", output=tmp_path)


def test_a_process_that_ends_otherwise_when_the_same_is_done_again_proves_nothing(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    code = f"os.path.exists({str(mark)!r}) or (open({str(mark)!r}, 'w').close(), os._exit(0))"
    app = write_app(tmp_path, "packet", code)
    result = check(app, topology="single,2", output=tmp_path / "traces")
    assert result.verdict.result is Result.BOUNDED
    assert any("not when the same was done again" in reason for reason in result.left_out)


def test_a_proof_and_a_fuzzing_run_tell_it_too(tmp_path: Path) -> None:
    app = write_app(tmp_path, "packet", "os._exit(0)")
    proof = verify(app, topology="single,2", output=tmp_path / "traces", properties=["ControllerCrash"])
    assert [violation.property for violation in proof.violations] == ["ControllerCrash"]
    run = fuzz(app, topology="single,2", output=tmp_path / "runs", events=200, profile="traffic")
    assert [violation.property for violation in run.violations] == ["ControllerCrash"]
    assert len(list((tmp_path / "runs").iterdir())) == 1


def test_a_process_that_a_handler_forks_is_no_second_search(tmp_path: Path) -> None:
    app = write_app(tmp_path, "packet", "os.fork()")
    result = check(app, topology="single,2", output=tmp_path / "traces", seconds=60)
    assert result.verdict.result is Result.BOUNDED
    assert any("in other processes" in reason for reason in result.left_out)


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


def test_nothing_is_left_of_a_command_that_is_killed(tmp_path: Path) -> None:
    number = 100_000 + os.getpid()
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    write_app(tmp_path, "packet", f"subprocess.Popen(['sleep', '{number}']); time.sleep(0.1)")
    command = subprocess.Popen(
        [sys.executable, "-m", "penstock", "check", "app.py", "--topo", "linear,3"],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(temporary)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while not processes_with(f"sleep {number}"):
        assert command.poll() is None
        time.sleep(0.05)
    command.kill()
    command.wait()
    until = time.monotonic() + 30
    while processes_with(f"sleep {number}") or any(temporary.iterdir()):
        assert time.monotonic() < until
        time.sleep(0.05)


@contextmanager
def server() -> Iterator[socket.socket]:
    """Listen on this machine."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        yield listening


def calling(listening: socket.socket) -> str:
    return f"socket.create_connection({listening.getsockname()!r}, 5).close()"


def was_called(listening: socket.socket) -> bool:
    try:
        listening.accept()[0].close()
    except BlockingIOError:
        return False
    return True


needs_namespaces = pytest.mark.skipif(
    subprocess.run(
        ["unshare", "--map-current-user", "--net", "true"], capture_output=True, check=False
    ).returncode
    != 0,
    reason="the kernel gives no network of one's own",
)


@needs_namespaces
@pytest.mark.parametrize("place", ["packet", "join"])
def test_a_search_calls_no_server_of_the_users_and_what_comes_of_that_is_no_violation(
    tmp_path: Path, place: str
) -> None:
    with server() as listening:
        code = calling(listening)
        app = write_app(tmp_path, place, code)
        found = check(app, topology="single,2", output=tmp_path / "traces")
        proof = verify(app, topology="single,2", output=tmp_path / "traces", properties=["ControllerCrash"])
        assert not was_called(listening)
    for result in (found, proof):
        assert result.verdict.result is Result.BOUNDED
        assert not result.violations
        line = line_of(app, code)
        assert any(f"asked for the network (app.py:{line};" in reason for reason in result.left_out)
        assert any("--network" in str(step) for step in result.next_steps)


@needs_namespaces
def test_an_app_that_cannot_start_without_a_network_says_so(tmp_path: Path) -> None:
    with server() as listening:
        app = write_app(tmp_path, "init", calling(listening))
        with pytest.raises(PenstockError, match=r"app\.py failed to start: .*allow it with --network\."):
            check(app, topology="single,2", output=tmp_path)


def test_a_program_that_may_reach_the_network_does(tmp_path: Path) -> None:
    with server() as listening:
        app = write_app(tmp_path, "packet", calling(listening))
        result = check(app, topology="single,2", output=tmp_path / "traces", network=True)
        assert was_called(listening)
    assert result.verdict.result is Result.BOUNDED
    assert any("in sockets (app.py:" in reason for reason in result.left_out)


@needs_namespaces
def test_a_program_that_calls_itself_is_not_disturbed(tmp_path: Path) -> None:
    code = "s = socket.create_server(('127.0.0.1', 0)); socket.create_connection(s.getsockname(), 5).close()"
    app = write_app(tmp_path, "packet", code)
    result = check(app, topology="single,2", output=tmp_path / "traces")
    assert result.verdict.result is Result.BOUNDED
    assert not any("violation" in reason for reason in result.left_out)


def test_calls_in_haste_are_given_less_time() -> None:
    class Late(Exception):
        pass

    def bark(what: str) -> None:
        raise Late(what)

    def waits() -> str:
        try:
            with watchdog.limit(60.0, bark):
                while True:
                    pass
        except Late as late:
            return str(late)

    with watchdog.hurrying(0.2):
        assert waits() == "it computed for more than 0.2 s"
