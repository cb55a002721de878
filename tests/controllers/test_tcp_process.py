"""A controller's process is started, watched and ended, and nothing of it is ever left running."""

import asyncio
import gc
import os
import signal
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.disk_lab import file_limit
from tests.tcp_lab import is_alive, nothing_left, script, until, wait_until

from penstock._controllers.tcp import ports
from penstock._controllers.tcp.process import GRACE_S, ControllerProcess, Program
from penstock.errors import PenstockError

SERVES = """
    print("ready on", port)
    server = listen(port)
    time.sleep(60)
"""

WITH_FAMILY = """
    # One child in the group, one in a session of its own, whose parent has gone.
    near = subprocess.Popen(["sleep", "61"])
    # One after the other, so that their lines do not meet half-way.
    far = subprocess.Popen(["sh", "-c", "setsid sleep 62 & echo family $!"])
    far.wait()
    print("family", near.pid)
    server = listen(port)
    time.sleep(60)
"""


def family(lines: list[str]) -> list[int]:
    return [int(line.split()[1]) for line in lines if line.startswith("family")]


def started(program: Program, grace_s: float = GRACE_S, **options: object) -> ControllerProcess:
    """Start a controller and end it again."""
    process = ControllerProcess(program, **options)  # type: ignore[arg-type]

    async def run() -> None:
        await process.start()
        await process.stop(grace_s)

    asyncio.run(run())
    return process


def test_it_runs_until_it_is_stopped_and_all_it_prints_is_kept(tmp_path: Path) -> None:
    program = script(tmp_path, SERVES)
    lines: list[str] = []
    with nothing_left(program):
        process = ControllerProcess(program, log=tmp_path / "c0.log", on_line=lines.append)

        async def run() -> None:
            await process.start()
            assert process.running
            assert process.pid is not None and os.getpgid(process.pid) == process.pid
            await process.stop()

        asyncio.run(run())
    assert not process.running
    assert process.ended == -signal.SIGTERM
    assert lines == [f"ready on {program.port}"]
    assert (tmp_path / "c0.log").read_text() == f"ready on {program.port}\n"


def test_one_that_does_not_heed_the_request_to_end_is_killed(tmp_path: Path) -> None:
    program = script(
        tmp_path, "    import signal\n    signal.signal(signal.SIGTERM, signal.SIG_IGN)" + SERVES
    )
    with nothing_left(program):
        assert started(program, grace_s=0.1).ended == -signal.SIGKILL


def test_killing_it_kills_all_that_it_has_started(tmp_path: Path) -> None:
    lines: list[str] = []
    process = ControllerProcess(script(tmp_path, WITH_FAMILY), on_line=lines.append)

    async def run() -> None:
        await process.start()
        await until(lambda: len(family(lines)) == 2, "the family had told its names")
        assert all(map(is_alive, family(lines)))
        await process.kill()
        assert not any(map(is_alive, family(lines)))

    with nothing_left(process.program):
        asyncio.run(run())


def test_its_death_is_noticed_and_what_it_had_started_goes_with_it(tmp_path: Path) -> None:
    lines: list[str] = []
    ends: list[str] = []
    process = ControllerProcess(
        script(tmp_path, WITH_FAMILY), on_line=lines.append, on_end=lambda: ends.append("ended")
    )

    async def run() -> None:
        await process.start()
        await until(lambda: len(family(lines)) == 2, "the family had told its names")
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        await until(lambda: ends, "the death was noticed")

    with nothing_left(process.program):
        asyncio.run(run())
        assert not any(map(is_alive, family(lines)))
    assert process.ended == -signal.SIGKILL
    assert process.end_story().startswith("c0 ended by signal 9; its last lines were: family")


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_one_that_is_called_off_while_it_starts_leaves_nothing(tmp_path: Path) -> None:
    program = script(tmp_path, SERVES)

    async def run(moments: int) -> None:
        process = ControllerProcess(program)
        starting = asyncio.create_task(process.start())
        for _ in range(moments):
            await asyncio.sleep(0)
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting
        assert not process.running

    with nothing_left(program):
        for moments in range(1, 12):
            asyncio.run(run(moments))
            gc.collect()


def test_it_can_be_started_again_on_the_same_port(tmp_path: Path) -> None:
    lines: list[str] = []
    process = ControllerProcess(script(tmp_path, SERVES), log=tmp_path / "log", on_line=lines.append)

    async def run() -> None:
        await process.start()
        first = process.pid
        await process.kill()
        await process.start()
        assert process.running and process.pid != first
        await process.kill()
        await process.start()
        await process.stop()

    with nothing_left(process.program):
        asyncio.run(run())
    assert lines == [f"ready on {process.port}"] * 3
    assert len((tmp_path / "log").read_text().splitlines()) == 3


def test_python_is_the_one_that_has_penstock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = str(Path(sys.executable).parent)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    program = script(tmp_path, "    print(os.environ['PATH'])" + SERVES)
    lines: list[str] = []
    with nothing_left(program):
        started(program, on_line=lines.append)
        started(replace(program, environment={"PATH": "/bin"}), on_line=lines.append)
    assert [line for line in lines if "bin" in line] == [f"{ours}:/usr/bin:/bin", "/bin"]


def test_a_log_that_is_full_is_told_of_and_keeps_nobody_from_going_on(tmp_path: Path) -> None:
    log = tmp_path / "c0.log"
    program = script(tmp_path, SERVES)
    lines: list[str] = []
    with file_limit(0), nothing_left(program):
        process = started(program, log=log, on_line=lines.append)
    assert process.ended == -signal.SIGTERM
    full = f"The log cannot be written to {log}: File too large; make room, or write elsewhere."
    assert lines == [full, lines[1]]
    assert lines[1] == f"ready on {program.port}"


def test_what_steers_terminals_is_spelt_out_in_the_log(tmp_path: Path) -> None:
    said = r"    sys.stdout.buffer.write(b'\x1b[2J\xff \xe2\x80\xae\n'); sys.stdout.flush()"
    program = script(tmp_path, "    import sys\n" + said + SERVES)
    with nothing_left(program):
        started(program, log=tmp_path / "c0.log")
    text = (tmp_path / "c0.log").read_text()
    assert r"\x1b[2J\xff" in text and r"\u202e" in text
    assert all(c in "\n\t" or c.isprintable() for c in text)


def test_a_log_that_cannot_be_begun_is_one_sentence(tmp_path: Path) -> None:
    program = script(tmp_path, SERVES)
    with nothing_left(program), pytest.raises(PenstockError, match=r"log cannot be written .*: No such file"):
        started(program, log=tmp_path / "nowhere" / "c0.log")


def test_one_that_never_listens_is_a_sentence_with_its_last_lines(tmp_path: Path) -> None:
    program = script(tmp_path, "for n in range(9): print('line', n)\ntime.sleep(60)", patience_s=1.5)
    with nothing_left(program), pytest.raises(PenstockError) as caught:
        started(program)
    assert str(caught.value) == (
        f"c0 did not listen on port {program.port} within 1.5 seconds; its last lines were: "
        f"line 4 | line 5 | line 6 | line 7 | line 8"
    )


def test_one_that_listens_elsewhere_is_told_where(tmp_path: Path) -> None:
    other = ports.free_port()
    program = script(tmp_path, f"server = listen({other})\ntime.sleep(60)", patience_s=1.5)
    with nothing_left(program), pytest.raises(PenstockError) as caught:
        started(program)
    assert f"did not listen on port {program.port} within 1.5 seconds but on {other}: give that port" in str(
        caught.value
    )
    assert other not in ports.listeners()


def test_one_that_ends_at_once_is_a_sentence_with_its_last_lines(tmp_path: Path) -> None:
    program = script(tmp_path, "print('no configuration')\nsys.exit(3)")
    with nothing_left(program), pytest.raises(PenstockError) as caught:
        started(program)
    assert str(caught.value) == (
        f"c0 ended with status 3 before it listened on port {program.port}; "
        f"its last lines were: no configuration"
    )


def test_a_program_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    program = replace(script(tmp_path, ""), command=("no-such-controller",))
    with nothing_left(program), pytest.raises(PenstockError, match="no-such-controller: No such file"):
        started(program)


def test_a_folder_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(PenstockError, match=r"c0 cannot run in .*nowhere: there is no such folder"):
        Program("c0", ("true",), 6653, tmp_path / "nowhere")


def test_a_port_that_somebody_has_is_a_sentence(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        program = replace(script(tmp_path, SERVES), port=port)
        with pytest.raises(PenstockError, match=f"c0 cannot be given port {port}, which another program has"):
            started(program)


# What happens to a controller when something between it and us is killed.

PENSTOCK = """
import asyncio, sys
from pathlib import Path
from penstock._controllers.tcp.process import ControllerProcess, Program

async def main():
    program = Program("c0", (sys.executable, "-ISu", sys.argv[1], "{port}"), int(sys.argv[2]))
    process = ControllerProcess(program, on_line=lambda line: print(line, flush=True))
    await process.start()
    print("family", process.pid, flush=True)
    print("started", flush=True)
    try:
        await asyncio.sleep(60)
    finally:
        print("closing", flush=True)
        await asyncio.sleep(60)

asyncio.run(main())
"""


def family_of_penstock(tmp_path: Path) -> tuple["subprocess.Popen[str]", list[int], int]:
    """Start a process that runs a controller; return it, and what must go when it goes."""
    program = script(tmp_path, WITH_FAMILY)
    penstock = subprocess.Popen(
        [sys.executable, "-c", PENSTOCK, program.command[2], str(program.port)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert penstock.stdout is not None
    lines: list[str] = []
    # What the controller prints is relayed as it comes, which can be after it is known to listen.
    while "started\n" not in lines or len(family(lines)) < 3:
        lines.append(penstock.stdout.readline())
        assert lines[-1], "it ended before it had started the controller and told its names"
    assert all(map(is_alive, family(lines)))
    return penstock, family(lines), program.port


def test_nothing_is_left_when_penstock_is_killed(tmp_path: Path) -> None:
    penstock, members, port = family_of_penstock(tmp_path)
    with penstock:
        penstock.kill()
    wait_until(lambda: not any(map(is_alive, members)), "the controller's processes were gone")
    assert port not in ports.listeners()


def test_nothing_is_left_after_two_interrupts(tmp_path: Path) -> None:
    penstock, members, port = family_of_penstock(tmp_path)
    with penstock:
        assert penstock.stdout is not None
        penstock.send_signal(signal.SIGINT)
        assert penstock.stdout.readline() == "closing\n"
        penstock.send_signal(signal.SIGINT)
    wait_until(lambda: not any(map(is_alive, members)), "the controller's processes were gone")
    assert port not in ports.listeners()


def test_nothing_is_left_when_the_process_between_is_killed(tmp_path: Path) -> None:
    lines: list[str] = []
    process = ControllerProcess(script(tmp_path, WITH_FAMILY), on_line=lines.append)

    async def run() -> None:
        await process.start()
        await until(lambda: len(family(lines)) == 2, "the family had told its names")
        assert process.pid is not None
        parent = int(Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(parent, signal.SIGKILL)
        await until(lambda: not process.running, "the death was noticed")
        members = [process.pid, *family(lines)]
        await until(lambda: not any(map(is_alive, members)), "the controller's processes were gone")

    with nothing_left(process.program):
        asyncio.run(run())


def test_the_ports_listened_on_are_those_of_the_kernels_tables() -> None:
    with socket.socket() as four, socket.socket(socket.AF_INET6) as six:
        for server, address in ((four, "127.0.0.1"), (six, "::1")):
            server.bind((address, 0))
            server.listen()
        rows = [
            line.split()
            for table in ("tcp", "tcp6")
            for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]
        ]
        expected = {
            (int(row[1].rpartition(":")[2], 16), row[9])
            for row in rows
            if row[3] == "0A" and row[9] in ports._sockets(os.getpid())
        }
        found = {(port, number) for port, numbers in ports.listeners().items() for number in numbers}
        ours = {four.getsockname()[1], six.getsockname()[1]}
        assert {port for port, _ in expected} == ours
        assert expected <= found
        assert set(ports.listened_on_by([os.getpid()])) == ours
