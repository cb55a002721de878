"""What a program is kept from in a worker, and how it shows that one has run into that.

A network: in a search a program has one of its own that leads nowhere (`penstock._worker.containment`).  The
kernel counts, for each network, the calls that it turns away.  So it shows whoever makes them, be it another
thread, a child process, a library in C or a resolver, and a program that reaches a server of its own does not
count.  What is asked and not counted, a watcher notes (`penstock._worker.syscalls`).  What a program did when
it was turned away says nothing about what it does where it is not.

More than so many processes, open files, bytes in a file or in memory.  A search calls a program thousands of
times in one process, and what one run of it would not use up, all of them together may.  What fails for that
is no failure of the program's.
"""

from __future__ import annotations

import errno
import os
import resource
import signal
from collections.abc import Iterator
from enum import Enum
from mmap import PAGESIZE, mmap
from pathlib import Path
from typing import Final

from penstock._world.component import Event

_TURNED_AWAY: Final = (
    ("an address that no route leads to", ("IpOutNoRoutes", "Ip6OutNoRoutes")),
    (
        "a port of this machine at which nothing of its own listens",
        ("TcpAttemptFails", "UdpNoPorts", "Udp6NoPorts", "UdpLiteNoPorts", "UdpLite6NoPorts"),
    ),
)
"""What is called in vain, and the counters of the kernel that count such calls."""


class Asked(Enum):
    """What is asked for without being counted, in words, with its place on the page."""

    INTERFACES = (0, "a question about network interfaces")
    RAW = (1, "a socket for packets of any kind")
    GROUP = (2, "a call to join a group, or to use an interface by its name")
    NAME = (3, "a call to an abstract socket that nothing of its own has")
    RING = (4, "a ring of calls that nobody sees (io_uring)")


_page: mmap | None = None
"""What the watcher has noted, in memory that it shares with us and with the worker."""
_is_apart = False
_recalled = ""


def new_page() -> mmap:
    """Return memory for what is noted of a worker; those who are forked from here share it."""
    return mmap(-1, PAGESIZE)


def withhold_network(recalled: str = "", page: mmap | None = None) -> None:
    """Note that this process is cut off from the network; `recalled` is what others before it asked for."""
    global _is_apart, _recalled, _page
    _is_apart, _recalled = True, recalled
    _page = _page if page is None else page


def note(asked: Asked) -> None:
    """Note something that is not counted."""
    if _page is not None:
        _page[asked.value[0]] = 1


def _noted(page: mmap | None) -> str:
    return "" if page is None else " and ".join(each.value[1] for each in Asked if page[each.value[0]])


def is_apart() -> bool:
    """Tell whether this process is cut off from the network."""
    return _is_apart


def asked_for() -> str:
    """Return what programs here have asked a network for that they do not have; "" if nothing."""
    return (_recalled or asked_in("self", _page)) if _is_apart else ""


def asked_in(process: int | str, page: mmap | None) -> str:
    """Return what was asked for in the network of a process, of which a page has what was noted."""
    return " and ".join(filter(None, (_counted(process), _noted(page))))


def _counted(process: int | str) -> str:
    """Return which calls the kernel has turned away in the network of a process; "" if none."""
    counts = {**_counts(process, "snmp"), **_counts6(process)}
    found = ((sum(counts.get(name, 0) for name in names), what) for what, names in _TURNED_AWAY)
    return " and ".join(f"{times:,} call{'s' * (times != 1)} to {what}" for times, what in found if times)


# Limits.


_used_up = ""
_most_processes = 0


def limit_processes(most: int) -> None:
    """Note how many processes there may be here."""
    global _most_processes
    _most_processes = most


def used_up(error: BaseException | None = None) -> str:
    """Return what programs here have used up of what there is for them; "" if nothing.

    It is looked at now, perhaps because of an error; and once something was used up, it stays told.
    """
    global _used_up
    if not _used_up:
        _used_up = _processes() or _files() or _told_by(error)
    return _used_up


def crashed(name: str, said: str, text: str, error: BaseException | None = None) -> Event:
    """Return the event of a program's failure; one for want of what was used up is none of its own."""
    if what := used_up(error):
        return Event("log", (name, f"It failed ({said}) when all was used up that there is for it: {what}."))
    return Event("crashed", (name, said, text))


def _processes() -> str:
    """Return how many processes there may be, if there can be no more."""
    try:
        # This begins a process and no more: the quickest way to see whether one can be begun.
        os.posix_spawn("/nonexistent/program", ["program"], {})
    except OSError as failed:
        if failed.errno == errno.EAGAIN:
            return f"{_most_processes:,} processes at a time" if _most_processes else "processes"
    return ""


def _files() -> str:
    """Return how many files may be open, if no more can be."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as failed:
        if failed.errno in (errno.EMFILE, errno.ENFILE):
            return f"{resource.getrlimit(resource.RLIMIT_NOFILE)[0]:,} open files"
    return ""


def _told_by(error: BaseException | None) -> str:
    """Return what an error says that there is no more of."""
    for each in _chain(error):
        is_ended = getattr(each, "returncode", None) == -signal.SIGXFSZ
        if is_ended or (isinstance(each, OSError) and each.errno == errno.EFBIG):
            return f"{resource.getrlimit(resource.RLIMIT_FSIZE)[0]:,} bytes in a file"
        if isinstance(each, OSError) and each.errno in (errno.EMFILE, errno.ENFILE):
            # Some may have been closed since.
            return f"{resource.getrlimit(resource.RLIMIT_NOFILE)[0]:,} open files"
        if isinstance(each, MemoryError) and _ADDRESS_SPACE != resource.RLIM_INFINITY:
            return f"{_ADDRESS_SPACE >> 20:,} MB of address space"
    return ""


_ADDRESS_SPACE: Final = resource.getrlimit(resource.RLIMIT_AS)[0]
"""How much memory we were given ourselves; a program may give itself less, and that is its own doing."""


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and those that it comes from; programs may have made a circle of them."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _counts(process: int | str, file: str) -> dict[str, int]:
    """Return counters that are told in pairs of lines, the first of which has their names."""
    try:
        lines = Path(f"/proc/{process}/net/{file}").read_text().splitlines()
    except OSError:
        return {}
    return {
        f"{names.partition(':')[0]}{name}": int(number)
        for names, numbers in zip(lines[::2], lines[1::2], strict=False)
        for name, number in zip(names.split()[1:], numbers.split()[1:], strict=False)
    }


def _counts6(process: int | str) -> dict[str, int]:
    """Return counters that are told one in a line; there are none without IPv6."""
    try:
        lines = Path(f"/proc/{process}/net/snmp6").read_text().splitlines()
    except OSError:
        return {}
    return {name: int(number) for name, number in (line.split() for line in lines)}
