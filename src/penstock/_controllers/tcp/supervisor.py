"""A small process between Penstock and a controller, which leaves nothing running.

    python -I -S supervisor.py REPORT_FD PROGRAM [ARGUMENT…]

It runs the command in a process group of its own, and adopts whatever the command's
processes leave behind (`PR_SET_CHILD_SUBREAPER`).  On standard input it takes single letters: `t` asks
the group to end, `k` kills everything.  The end of that input means that Penstock is gone, however it went,
and is a `k`.  On the descriptor for reports it writes `pid N` first and `ended N` last, N as `subprocess`
has it: the exit status, or a signal's number made negative.

The command itself is killed by the kernel should this process be killed (`PR_SET_PDEATHSIG`).  What the
command had started is then for Penstock to find (see `process`); only when both are killed at once may a
controller's own children survive.

It imports nothing of Penstock, since it must start at once.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import sys
from typing import NoReturn

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def parents() -> dict[int, int]:
    """Return the parent of each process there is."""
    found: dict[int, int] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 - pathlib would double the time to start
        if name.isdecimal():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                # The second field is the program's name in brackets, which may hold anything.
                found[int(name)] = int(file.read().rpartition(b")")[2].split()[1])
    return found


def descendants(ancestor: int) -> set[int]:
    """Return the processes that come from a process."""
    children: dict[int, list[int]] = {}
    for process, parent in parents().items():
        children.setdefault(parent, []).append(process)
    found: set[int] = set()
    waiting = [ancestor]
    while waiting:
        new = [process for process in children.get(waiting.pop(), ()) if process not in found]
        found.update(new)
        waiting += new
    return found


def _kill_all() -> None:
    """Kill whatever comes from this process, until there is nothing left to wait for."""
    while True:
        for process in descendants(os.getpid()):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _become(command: list[str], report: int, supervisor: int) -> NoReturn:
    """Turn into the command; the kernel kills it should the supervisor go."""
    try:
        os.setpgid(0, 0)
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.close(report)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        if os.getppid() == supervisor:
            os.execvp(command[0], command)
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
    finally:
        os._exit(126)


def _reap(child: int) -> int | None:
    """Wait for whoever has ended; return how the command did, if it has."""
    ended = None
    with contextlib.suppress(ChildProcessError):
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            if found[0] == child:
                ended = os.waitstatus_to_exitcode(found[1])
    return ended


def _obey(child: int, wake: int) -> int:
    """Do as told on standard input until the command has ended; return how."""
    sources = [0, wake]
    while True:
        ready, _, _ = select.select(sources, [], [])
        if wake in ready:
            os.read(wake, 512)
            ended = _reap(child)
            if ended is not None:
                return ended
        if 0 in ready:
            orders = os.read(0, 64)
            if not orders or b"k" in orders:
                return -signal.SIGKILL
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGTERM)


def main(report: int, command: list[str]) -> None:
    """Run the command until it ends or is to end, then leave nothing of it."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
    wake, alarm = os.pipe()
    os.set_blocking(alarm, False)
    signal.set_wakeup_fd(alarm, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))
    supervisor = os.getpid()
    child = os.fork()
    if child == 0:
        _become(command, report, supervisor)
    try:
        os.write(report, b"pid %d\n" % child)
        ended = _obey(child, wake)
    finally:
        _kill_all()
    os.write(report, b"ended %d\n" % ended)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
