"""What a program is kept from in a worker, and how it shows that one has run into that.

A network: in a search a program has one of its own that leads nowhere (`penstock._worker.containment`).  The
kernel counts, for each network, the calls that it turns away.  So it shows whoever makes them, be it another
thread, a child process, a library in C or a resolver, and a program that reaches a server of its own does not
count.  What is asked and not counted, a watcher notes (`penstock._worker.syscalls`).  What a program did when
it was turned away says nothing about what it does where it is not.
"""

from __future__ import annotations

from enum import Enum
from mmap import PAGESIZE, mmap
from pathlib import Path
from typing import Final

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


_page: mmap | None = None
"""What the watcher has noted, in memory that it shares."""
_is_apart = False
_recalled = ""


def withhold_network(recalled: str = "") -> None:
    """Note that this process is cut off from the network; `recalled` is what others before it asked for."""
    global _is_apart, _recalled, _page
    _is_apart, _recalled = True, recalled
    _page = mmap(-1, PAGESIZE) if _page is None else _page


def note(asked: Asked) -> None:
    """Note something that is not counted."""
    if _page is not None:
        _page[asked.value[0]] = 1


def _noted() -> str:
    return "" if _page is None else " and ".join(each.value[1] for each in Asked if _page[each.value[0]])


def is_apart() -> bool:
    """Tell whether this process is cut off from the network."""
    return _is_apart


def asked_for() -> str:
    """Return what programs here have asked a network for that they do not have; "" if nothing."""
    return (_recalled or " and ".join(filter(None, (counted(), _noted())))) if _is_apart else ""


def counted(process: int | str = "self") -> str:
    """Return which calls the kernel has turned away in the network of a process; "" if none."""
    counts = {**_counts(process, "snmp"), **_counts6(process)}
    found = ((sum(counts.get(name, 0) for name in names), what) for what, names in _TURNED_AWAY)
    return " and ".join(f"{times:,} call{'s' * (times != 1)} to {what}" for times, what in found if times)


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
