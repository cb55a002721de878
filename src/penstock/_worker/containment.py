"""A process that can do nothing to us, and of which nothing is left when it ends.

    we ── warden ── init ── worker ── whatever the program starts

The worker is forked, so that it has all that we have in memory.  Where the kernel allows it, it lives in a
namespace of processes: there it sees no process but its own, and when `init` ends the kernel ends all that
are in there.  Elsewhere `init` inherits the orphans and ends them one by one.  If we are killed, the kernel
tells the warden, which ends everything and removes the folder in which the worker keeps what is temporary.
"""

from __future__ import annotations

import ctypes
import faulthandler
import fcntl
import os
import resource
import select
import shutil
import signal
import socket
import struct
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from functools import partial
from mmap import mmap
from pathlib import Path
from threading import current_thread, main_thread
from types import FrameType
from typing import Final, NoReturn

from penstock._base.files import reserve_open_files
from penstock._base.garbage import collect_seldom
from penstock._controllers import confined
from penstock._worker import syscalls
from penstock.errors import PenstockError

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36
_PR_SET_NO_NEW_PRIVS: Final = 38
_CLONE_NEWUSER: Final = 0x10000000
_CLONE_NEWPID: Final = 0x20000000
_CLONE_NEWNET: Final = 0x40000000
_SIOCGIFFLAGS: Final = 0x8913
_SIOCSIFFLAGS: Final = 0x8914
_IFF_UP: Final = 1
_FLAGS_OF: Final = struct.Struct("16sH14x")
"""The beginning of a `struct ifreq` that is asked for an interface's flags."""

_ANY_ADDRESS: Final = tuple(f"/proc/sys/net/{version}/ip_nonlocal_bind" for version in ("ipv4", "ipv6"))
"""What lets a program listen at addresses that a network does not have."""

MOST_FILE_BYTES: Final = 8 << 30
"""How large a file may become that the worker, or anything that it starts, writes."""
MOST_PROCESSES: Final = 512
"""How many processes the program may have at a time; where the user is root only newer kernels see to it."""

_OWN_PID_MAX: Final = (6, 14)
"""The version of Linux from which on each namespace has a `pid_max` of its own; before, it is everybody's."""

_CLEANING_S: Final = 5.0
"""How long the warden may take to end what is left."""

_STATUS: Final = struct.Struct("i")
_LONGEST_TOLD: Final = 1024
"""How much may be told of a worker's end: what fits into a pipe at once."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a process ended: by itself with a status, or by a signal."""

    status: int
    asked: str = ""
    """What it had asked the network for, from which it was cut off."""
    used_up: str = ""
    """What it had used up of what there is for it."""

    @property
    def signal(self) -> int:
        """The signal that ended it, or 0."""
        return os.WTERMSIG(self.status) if os.WIFSIGNALED(self.status) else 0

    def __str__(self) -> str:
        if self.signal:
            return f"ended by {_signal_name(self.signal)}"
        return f"exit status {os.waitstatus_to_exitcode(self.status)}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


class Terminal(Enum):
    """What a worker has of our terminal."""

    NONE = "none"
    """What it prints comes to us."""
    SCREEN = "screen"
    """It prints there, and reads nothing."""
    WHOLE = "whole"
    """It is in the foreground: what is typed, Ctrl-C too, is for the worker."""


@dataclass(slots=True)
class Contained:
    """A worker as we see it."""

    warden: int
    """The warden's process number."""
    reports: int
    """The file from which all is read that the worker tells."""
    status: int
    """The file from which it is read how the worker ended."""
    printed: int
    """The file from which all is read that the worker prints."""
    faults: int
    """The file in which Python tells where it was when the worker died of a signal."""
    scratch: str
    """The folder for what is temporary."""
    terminal: Terminal
    process: int = 0
    """The worker's own process number, once it has told it."""
    page: mmap | None = None
    """What is noted of what it asks a network for, if it has none."""

    def send(self, number: signal.Signals) -> None:
        """Send the worker a signal."""
        if self.process:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(self.process, number)

    def asked_for(self) -> str:
        """Return what it has asked the network for by now, from which it is cut off."""
        return "" if self.page is None else confined.asked_in(self.process, self.page)

    def how_it_ended(self) -> Ended | None:
        """Return how it ended, once it has; None if nobody could tell."""
        told = os.read(self.status, _LONGEST_TOLD)
        if len(told) < _STATUS.size:
            return None
        asked, _, used_up = told[_STATUS.size :].decode().partition("\n")
        return Ended(_STATUS.unpack_from(told)[0], asked, used_up)

    def last_words(self) -> str:
        """Return where Python was when the worker died of a signal, if it could tell."""
        size = min(os.fstat(self.faults).st_size, 1 << 16)
        return os.pread(self.faults, size, 0).decode(errors="replace")

    def end(self, patience: float = 0.0) -> None:
        """End it, with all that it has started, and wait until nothing of it is left.

        What a process has used is counted with its parent's if that has seen it end.  So one that has done
        its work is given a little time to end by itself, or nobody would know what the work took.
        """
        if patience:
            # Unlike `select.select`, this takes any number of a file.
            ended = select.poll()
            ended.register(self.status, select.POLLIN)
            ended.poll(patience * 1000)
        # Where there is no namespace, it is the warden who ends what the program has started.
        os.kill(self.warden, signal.SIGTERM)
        until = time.monotonic() + _CLEANING_S
        while os.waitpid(self.warden, os.WNOHANG)[0] == 0:
            if time.monotonic() > until:
                os.kill(self.warden, signal.SIGKILL)
                os.waitpid(self.warden, 0)
                break
            time.sleep(0.001)
        for file in (self.reports, self.status, self.printed, self.faults):
            os.close(file)
        shutil.rmtree(self.scratch, ignore_errors=True)
        if self.terminal is Terminal.WHOLE:
            _take_terminal(os.getpgrp())


Work = Callable[[int], None]
"""What a worker does; it is given the file to tell things by."""


def start(work: Work, terminal: Terminal = Terminal.NONE, *, apart: bool = False) -> Contained:
    """Have a worker do something; `apart` has it without a network, if the kernel allows that.

    Whatever is waiting to be printed is printed first, or it would be printed twice.
    """
    for stream in (sys.stdout, sys.stderr):
        # Whoever started us may have closed them.
        if stream is not None:
            stream.flush()
    if current_thread() is main_thread() and signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN:
        # Nobody would hear how a process ended.
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        reports, report = os.pipe2(os.O_CLOEXEC)
        status, tell_status = os.pipe2(os.O_CLOEXEC)
        printed, output = os.pipe2(os.O_CLOEXEC)
        faults = os.memfd_create("faults", os.MFD_CLOEXEC)
        scratch = tempfile.mkdtemp(prefix="penstock-")
        page = confined.new_page() if apart else None
        with warnings.catch_warnings():
            # The worker has one thread, ours, and begins nothing that another of ours was in the middle of.
            warnings.simplefilter("ignore", DeprecationWarning)
            warden = os.fork()
    except OSError as error:
        # Python's own words for the first list all the folders that it has tried.
        is_folder = isinstance(error, FileNotFoundError)
        reason = "no temporary folder can be written" if is_folder else error.strerror or str(error)
        raise PenstockError(
            f"No process can be started for the program under test ({reason}): allow more open files, "
            "processes or memory (ulimit -a), and a folder for what is temporary (TMPDIR)."
        ) from None
    if warden:
        for file in (report, tell_status, output):
            os.close(file)
        return Contained(warden, reports, status, printed, faults, scratch, terminal, page=page)
    try:
        for file in (reports, status, printed):
            os.close(file)
        _guard(scratch, tell_status, report, partial(_enter, output, faults, scratch, terminal), work, page)
    finally:
        os._exit(70)


def _guard(
    scratch: str,
    tell_status: int,
    report: int,
    enter: Callable[[], None],
    work: Work,
    page: mmap | None,
) -> NoReturn:
    """Be the warden, and start the rest; with a page for what is noted it has no network."""
    ours = os.getppid()
    # If we are killed before the warden knows what to do then, it hears of that when it does.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    _hear_of_parent(signal.SIGTERM)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if _isolate() and (init := os.fork()):
        for file in (tell_status, report):
            os.close(file)
        _clean_up_after(ours, scratch, partial(_end_namespace, init))
        os.waitpid(init, 0)
        os._exit(0)
    if os.getpid() == 1:
        _hear_of_parent(signal.SIGKILL)
    else:
        _clean_up_after(ours, scratch, _end_children)
    _limit_processes()
    if page is not None and _leave_network():
        # Here, since this process is still there when the worker has died, and can tell what it asked for.
        confined.withhold_network(page=page)
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    ours_of_line, line = socket.socketpair()
    worker = os.fork()
    if worker:
        os.close(report)
        line.close()
        _be_init(worker, tell_status, ours_of_line)
    ours_of_line.close()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    _hear_of_parent(signal.SIGKILL)
    os.close(tell_status)
    try:
        enter()
        if confined.is_apart():
            syscalls.have_told(line)
        line.close()
        work(report)
    finally:
        # Threads of the program that are left, and what it has registered for the end, are not waited for.
        os._exit(0)


def _end_namespace(init: int) -> None:
    """End a namespace by its first process; when that is gone, all others are."""
    os.kill(init, signal.SIGKILL)
    os.waitpid(init, 0)


def _limit_processes() -> None:
    """Have the namespace hold few processes, where it has a limit of its own; root obeys no other."""
    if os.getpid() == 1 and syscalls.release() >= _OWN_PID_MAX:
        with suppress(OSError):
            Path("/proc/sys/kernel/pid_max").write_text(str(MOST_PROCESSES))
            confined.limit_processes(MOST_PROCESSES)


def _be_init(worker: int, tell_status: int, line: socket.socket) -> NoReturn:
    """Take in orphans until the worker has ended, then end what is left; note what is told of them."""
    status = None
    woken, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    listener = syscalls.receive(line)
    line.close()
    ready = select.poll()
    ready.register(woken, select.POLLIN)
    if listener is not None:
        ready.register(listener, select.POLLIN)
    while True:
        while (ended := _ended_child()) is not None:
            if ended[0] == worker:
                status = ended[1]
        if status is not None:
            break
        for file, events in ready.poll():
            if file == woken:
                with suppress(BlockingIOError):
                    os.read(woken, 1 << 12)
            elif not events & select.POLLIN or not syscalls.note_one(file):
                # All who could make such calls have ended.
                ready.unregister(file)
    # What it has begun is still there.
    words = f"{confined.asked_for()}\n{confined.used_up()}"
    os.write(tell_status, _STATUS.pack(status) + words.encode())
    _end_children()
    os._exit(0)


def _ended_child() -> tuple[int, int] | None:
    """Return a child that has ended, and how; None if none has by now."""
    with suppress(ChildProcessError):
        process, status = os.waitpid(-1, os.WNOHANG)
        return (process, status) if process else None
    return None


def _end_children() -> None:
    """End all processes that were left to this one, and those that are left to it by their ends."""
    me = str(os.getpid()) if os.getpid() != 1 else ""
    while me:
        children = [int(name) for name in _children_of(me)]
        if not children:
            return
        for child in children:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(-1, 0)


def _children_of(process: str) -> list[str]:
    found = []
    for place in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            # The name in parentheses may have spaces in it.
            if place.read_text().rpartition(")")[2].split()[1] == process:
                found.append(place.parent.name)
    return found


_libc: Final = ctypes.CDLL(None, use_errno=True)


def _hear_of_parent(number: signal.Signals) -> None:
    """Have the kernel send this process a signal when its parent ends."""
    _libc.prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)


def _clean_up_after(parent: int, scratch: str, end: Callable[[], None]) -> None:
    """Leave nothing behind when the parent is killed, be it already now."""

    def clean_up(_signal: int, _frame: FrameType | None) -> NoReturn:
        with suppress(ProcessLookupError):
            end()
        shutil.rmtree(scratch, ignore_errors=True)
        os._exit(0)

    signal.signal(signal.SIGTERM, clean_up)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    if os.getppid() != parent:
        clean_up(0, None)


def _isolate() -> bool:
    """Have the next process be the first of a namespace, if the kernel allows it."""
    if os.geteuid() == 0:
        return bool(_libc.unshare(_CLONE_NEWPID) == 0)
    user, group = os.geteuid(), os.getegid()
    if _libc.unshare(_CLONE_NEWUSER | _CLONE_NEWPID) != 0:
        return False
    with suppress(OSError):
        # The user stays who it is, also in the new namespace.
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    return True


def _leave_network() -> bool:
    """Leave this process with a network of its own that leads nowhere, if the kernel allows it.

    A search makes the same call of a program thousands of times, which no server of the user's expects.
    """
    if _libc.unshare(_CLONE_NEWNET) != 0:
        return False
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        # A program that has both ends of a connection to itself is not disturbed.
        asked = _FLAGS_OF.pack(b"lo", 0)
        _, flags = _FLAGS_OF.unpack(fcntl.ioctl(any_socket, _SIOCGIFFLAGS, asked))
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, _FLAGS_OF.pack(b"lo", flags | _IFF_UP))
    for file in _ANY_ADDRESS:
        # Nor is one that listens at an address of the machine's, which nothing would count.
        with suppress(OSError):
            Path(file).write_text("1")
    return True


def _enter(output: int, faults: int, scratch: str, terminal: Terminal) -> None:
    """Be the worker: with as little of the terminal as it needs, and with limits."""
    _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    tempfile.tempdir = os.environ["TMPDIR"] = scratch
    if terminal is Terminal.WHOLE:
        _come_to_foreground()
    else:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
    if terminal is Terminal.NONE:
        os.dup2(output, 1)
        os.dup2(output, 2)
    os.close(output)
    faulthandler.enable(faults, all_threads=False)
    collect_seldom()
    reserve_open_files()
    _lower(resource.RLIMIT_FSIZE, MOST_FILE_BYTES)
    _lower(resource.RLIMIT_CORE, 0)
    if os.getuid():
        most = MOST_PROCESSES + _processes_of_user()
        _lower(resource.RLIMIT_NPROC, most)
        confined.limit_processes(resource.getrlimit(resource.RLIMIT_NPROC)[0])


def _come_to_foreground() -> None:
    """Be the process group that the terminal listens to, if there is a terminal."""
    os.setpgid(0, 0)
    _take_terminal(os.getpgrp())


def _take_terminal(group: int) -> None:
    # Who is not in the foreground is stopped for asking to be, unless it ignores that.
    before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    with suppress(OSError, ValueError):
        os.tcsetpgrp(sys.__stdin__.fileno() if sys.__stdin__ is not None else 0, group)
    signal.signal(signal.SIGTTOU, before)


def _processes_of_user() -> int:
    """Return about how many processes the user has besides."""
    mine = os.getuid()
    return sum(1 for place in Path("/proc").glob("[0-9]*") if _owner(place) == mine)


def _owner(place: Path) -> int:
    try:
        return place.stat().st_uid
    except OSError:
        return -1


def _lower(limit: int, value: int) -> None:
    _, most = resource.getrlimit(limit)
    with suppress(ValueError, OSError):
        lower = value if most < 0 else min(value, most)
        resource.setrlimit(limit, (lower, lower))
