"""What a program does to the world outside of its own memory, noticed and named.

A state can be saved and put back as long as it is in memory.  A file that is written, a socket, a
data base, a child process, a call of a C library is not.  Python tells of most of that by its audit
events, and the few functions that it does not tell of are swapped for ones that do (`told_of`).  An
audit hook stays for the life of the process, so there is one, and it listens only inside of
`watching`, in the thread that does the watching.
"""

from __future__ import annotations

import gc
import importlib
import os
import re
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Final

from penstock._controllers import confined

Note = Callable[[str, str], None]
"""Takes what was done and where: `app.py:12`."""

_WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

_FILES: Final = "files"
SOCKETS: Final = "sockets"
_PROCESSES: Final = "other processes"

NO_NETWORK: Final = "the network"
"""What a program asked for that has no network."""

_EVENTS: Final = {
    **dict.fromkeys(
        (
            *("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate"),
            *("os.chmod", "os.chown", "os.lchown", "os.chflags", "os.utime", "os.setxattr"),
            *("os.removexattr", "os.chdir", "os.fchdir", "shutil.move", "shutil.rmtree", "shutil.copyfile"),
            *("tempfile.mkstemp", "tempfile.mkdtemp", "fcntl.flock", "fcntl.lockf"),
        ),
        _FILES,
    ),
    **dict.fromkeys(
        (
            *("os.fork", "os.forkpty", "os.posix_spawn", "os.exec", "os.spawn", "os.system", "os.startfile"),
            *("subprocess.Popen", "pty.spawn", "os.kill", "os.killpg", "signal.pthread_kill"),
        ),
        _PROCESSES,
    ),
    **dict.fromkeys(
        (
            *("socket.__new__", "socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg"),
            *("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "socket.sethostname"),
            *("ftplib.connect", "http.client.connect", "imaplib.open", "poplib.connect", "smtplib.connect"),
            *("telnetlib.Telnet.open", "urllib.Request", "syslog.openlog", "syslog.syslog"),
        ),
        SOCKETS,
    ),
    "sqlite3.connect": "a data base",
    "ctypes.dlopen": "a C library",
    "ctypes.dlsym": "a C library",
}
"""Audit events by which a program reaches outside, and what is there."""

_UNTOLD: Final = (
    *(("os", name, _FILES) for name in ("read", "write", "pread", "pwrite", "lseek", "pipe", "pipe2")),
    *(("os", name, _FILES) for name in ("dup", "dup2", "memfd_create", "eventfd", "openpty", "sendfile")),
    *(("os", name, "settings of the process") for name in ("umask", "nice", "setpriority", "setsid")),
    *(("signal", name, "signal handlers") for name in ("signal", "alarm", "setitimer")),
    ("locale", "setlocale", "the locale"),
    ("resource", "setrlimit", "settings of the process"),
    ("atexit", "register", "what is done when Python ends"),
    ("dbm.gnu", "open", "a data base"),
    ("dbm.ndbm", "open", "a data base"),
    ("_gdbm", "open", "a data base"),
    ("_dbm", "open", "a data base"),
)
"""Functions that reach outside and raise no event."""

_KEPT_IN_C: Final = (
    ("abc", "_abc_register", "what abstract classes take for theirs"),
    ("csv", "register_dialect", "the dialects of csv"),
    ("csv", "unregister_dialect", "the dialects of csv"),
    ("csv", "field_size_limit", "settings of csv"),
    ("codecs", "register", "codecs"),
    ("codecs", "register_error", "codecs"),
    ("codecs", "unregister", "codecs"),
    ("sys", "setprofile", "profilers"),
    ("sys", "settrace", "tracers"),
    ("sys", "set_asyncgen_hooks", "settings of Python"),
    ("sys", "addaudithook", "audit hooks"),
    ("threading", "setprofile", "profilers"),
    ("threading", "settrace", "tracers"),
    ("faulthandler", "enable", "settings of Python"),
    ("faulthandler", "register", "signal handlers"),
    ("tracemalloc", "start", "settings of Python"),
    ("gc", "freeze", "the garbage collector"),
    ("gc", "set_debug", "the garbage collector"),
    ("time", "tzset", "the time zone"),
)
"""Functions by which steps leave something in C that nobody sees; what is done when a program is loaded is
there for good."""

_CHANGING: Final = ("/proc/", "/sys/", "/dev/random", "/dev/urandom")
"""Files whose contents change by themselves, so that reading them is noticed too."""

_IMPORTS: Final = "<frozen importlib."

_PENSTOCK: Final = str(Path(__file__).resolve().parent.parent) + os.sep

_CONTROLLERS: Final = str(Path(__file__).resolve().parent) + os.sep

_CALLERS: Final = ("hub.py", "native.py", "program.py")
"""The files of Penstock that call a program; other frames of Penstock are between it and what it calls."""

_REACHING: Final = (
    *("socket.connect", "socket.sendto", "socket.sendmsg"),
    *("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"),
)
"""Those of the events by which a program asks for somebody else on the network."""

_OF_NETWORKS: Final = re.compile(r"/proc/(?:[0-9]+/|self/|thread-self/)?net/")
"""Where the kernel's files are about the network that a process is in."""

_note: Note | None = None
_thread = 0
_loading = False


@contextmanager
def watching(note: Note, *, loading: bool = False) -> Iterator[None]:
    """Have told what is done outside by this thread inside this block; perhaps a program is `loading`."""
    global _note, _thread, _loading
    _install()
    before = _note, _thread, _loading
    _note, _thread, _loading = note, threading.get_ident(), loading
    try:
        yield
    finally:
        _note, _thread, _loading = before


_installed = False


def _install() -> None:
    global _installed
    if not _installed:
        _installed = True
        sys.addaudithook(_hear)


def _is_cut_off(event: str, arguments: tuple[Any, ...]) -> bool:
    """Tell whether a program asks for something that it would get if it had a network, perhaps.

    Whether it was turned away, the kernel counts (`confined`); this is where in the program it was.
    """
    if not confined.is_apart():
        return False
    if event == "open":
        return isinstance(arguments[0], str) and _OF_NETWORKS.match(arguments[0]) is not None
    if event not in _REACHING:
        return False
    # Sockets that are files have nothing to do with networks.
    return not (isinstance(arguments[0], socket.socket) and arguments[0].family == socket.AF_UNIX)


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    if _note is None or threading.get_ident() != _thread:
        return
    what = NO_NETWORK if _is_cut_off(event, arguments) else _EVENTS.get(event)
    if what is None and not (event == "open" and _is_written(*arguments)):
        return
    frame = sys._getframe(1)
    if not _is_importing(frame) and _tell(what or _FILES, frame) and what == NO_NETWORK and event == "open":
        # Nobody else sees that: to the kernel it is a file like any other.
        confined.note(confined.Asked.INTERFACES)


def _is_loaded(frame: FrameType | None) -> bool:
    """Tell whether what is done is part of loading a module."""
    while frame is not None and not frame.f_code.co_filename.startswith(_CONTROLLERS):
        # A library is loaded once, whenever that is; the program's own code may run again.
        if frame.f_code.co_name == "<module>" and (
            _loading or frame.f_code.co_filename.startswith(_LIBRARIES)
        ):
            return True
        frame = frame.f_back
    return False


def _is_importing(frame: FrameType | None) -> bool:
    """Tell whether it is an import that does something, and not the code that is imported.

    A module's first import writes it compiled, in a folder that may be made for it; so do other loaders than
    Python's, such as that of pytest.
    """
    while frame is not None and frame.f_code.co_name != "<module>":
        if frame.f_code.co_filename.startswith(_IMPORTS):
            return True
        frame = frame.f_back
    return False


def _is_written(path: Any, mode: Any, flags: Any) -> bool:
    """Tell whether a file is opened that changes."""
    if isinstance(path, str | bytes) and os.fsdecode(path).endswith(os.devnull):
        return False
    if isinstance(path, str) and path.startswith(_CHANGING):
        return True
    writes = any(letter in mode for letter in "wax+") if isinstance(mode, str) else False
    return writes or (isinstance(flags, int) and bool(flags & _WRITING))


def _tell(what: str, frame: FrameType | None) -> bool:
    """Have told what is done outside; tell whether it was a program's doing."""
    global _note
    if frame is not None and frame.f_code.co_filename.startswith(_CONTROLLERS):
        return False
    note, _note = _note, None
    try:
        if note is None or not (where := place_of(frame)):
            return False
        note(what, where)
        return True
    finally:
        _note = note


def place_of(frame: FrameType | None) -> str:
    """Return where in a program's own code a call came from; "" if Penstock called by itself."""
    first = ""
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(_PENSTOCK):
            if file.endswith(_CALLERS):
                break
        elif not file.startswith(("<", *_LIBRARIES)):
            return f"{Path(file).name}:{frame.f_lineno}"
        elif not first and not file.startswith("<"):
            first = f"{Path(file).name}:{frame.f_lineno}"
        frame = frame.f_back
    return first


def is_library_import(frame: FrameType | None) -> bool:
    """Tell whether a library does something because it is imported, which it does once for all programs."""
    while frame is not None and frame.f_code.co_filename.startswith(("<", _PENSTOCK, *_LIBRARIES)):
        code = frame.f_code
        if code.co_name == "<module>" and code.co_filename.startswith(_LIBRARIES):
            return True
        frame = frame.f_back
    return False


_LIBRARIES: Final = tuple(
    {str(Path(os.__file__).parent) + os.sep, *(f"{path}{os.sep}" for path in sys.path if "-packages" in path)}
)


def told_of() -> Iterator[tuple[Any, str, Any]]:
    """Yield functions that reach outside without an event, as modules, names and what to put there."""
    for home, name, what in (*_UNTOLD, *_KEPT_IN_C):
        try:
            module = importlib.import_module(home)
        except ImportError:
            continue
        if hasattr(module, name):
            loaded = (home, name, what) in _KEPT_IN_C
            yield module, name, _telling(getattr(module, name), what, loaded=loaded)


def _telling(original: Callable[..., Any], what: str, *, loaded: bool) -> Callable[..., Any]:
    """Return a function that tells that it was called; if `loaded`, not by modules that are being loaded."""

    def tell(*arguments: Any, **options: Any) -> Any:
        frame = sys._getframe(1)
        if _note is not None and threading.get_ident() == _thread and not (loaded and _is_loaded(frame)):
            _tell(what, frame)
        return original(*arguments, **options)

    return tell


def _stack_size() -> int:
    """Return how large the stacks of threads are; to ask for it sets it to what it is by default."""
    size = threading.stack_size()
    threading.stack_size(size)
    return size


class Settings:
    """What Python can be set to, as part of a program's state."""

    @staticmethod
    def read() -> tuple[Any, ...]:
        """Return how Python is set."""
        return (
            sys.getrecursionlimit(),
            sys.getswitchinterval(),
            sys.get_int_max_str_digits(),
            gc.get_threshold(),
            gc.isenabled(),
            socket.getdefaulttimeout(),
            sys.getdlopenflags(),
            sys.get_coroutine_origin_tracking_depth(),
            _stack_size(),
        )

    @staticmethod
    def write(settings: tuple[Any, ...]) -> None:
        """Set Python as it was."""
        limit, interval, digits, threshold, collects, timeout, flags, depth, stack = settings
        sys.setrecursionlimit(limit)
        sys.setswitchinterval(interval)
        sys.set_int_max_str_digits(digits)
        gc.set_threshold(*threshold)
        (gc.enable if collects else gc.disable)()
        socket.setdefaulttimeout(timeout)
        sys.setdlopenflags(flags)
        sys.set_coroutine_origin_tracking_depth(depth)
        threading.stack_size(stack)
