"""What tests of real controllers share: small controllers as scripts, and a look at what is left running."""

import asyncio
import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from penstock._controllers.tcp import ports
from penstock._controllers.tcp.process import Program

LIMIT_S = 10.0

LISTEN = """\
import os, socket, struct, subprocess, sys, time
def listen(port):
    server = socket.socket()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind(("127.0.0.1", port))
    server.listen()
    return server
port = int(sys.argv[1])
"""


def script(folder: Path, body: str, name: str = "c0", patience_s: float = 5.0) -> Program:
    """Return a controller that is a small script; it knows `port`, and `listen(port)` gives a server."""
    file = folder / f"{name}_controller.py"
    file.write_text(LISTEN + dedent(body))
    command = (sys.executable, "-ISu", str(file), "{port}")
    return Program(name, command, ports.free_port(), folder, patience_s=patience_s)


def is_alive(process: int) -> bool:
    """Tell whether a process is there and no mere memory."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def wait_until(condition: Callable[[], object], what: str, limit_s: float = LIMIT_S) -> None:
    """Wait for a condition, but not for ever."""
    limit = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > limit:
            pytest.fail(f"It took too long until {what}.")
        time.sleep(0.01)


async def until(condition: Callable[[], object], what: str) -> None:
    """Wait for a condition while everything else goes on, but not for ever."""
    limit = time.monotonic() + LIMIT_S
    while not condition():
        if time.monotonic() > limit:
            pytest.fail(f"It took too long until {what}.")
        await asyncio.sleep(0.01)


def children() -> set[int]:
    """Return the processes that come from this one and still run."""
    from penstock._controllers.tcp.supervisor import descendants

    return {process for process in descendants(os.getpid()) if is_alive(process)}


def _descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


@contextlib.contextmanager
def nothing_left(*programs: Program) -> Iterator[None]:
    """Assert that a block leaves no process, no listening port and no open descriptor behind."""
    before, open_before = children(), _descriptors()
    yield
    wait_until(lambda: children() <= before, "all processes were gone")
    for program in programs:
        assert program.port not in ports.listeners()
    assert _descriptors() <= open_before
