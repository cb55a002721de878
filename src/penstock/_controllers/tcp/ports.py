"""Which TCP ports are listened on, and by whom, as Linux tells it without anybody being disturbed.

Trying to connect would be seen by the controller, and would not tell who else has the port.  The kernel is
asked for listening sockets alone (`sock_diag`): its tables below `/proc` list every socket, and thousands may
linger after a run with many sessions.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterable, Iterator
from struct import Struct
from typing import Final

_SOCK_DIAG: Final = 4
_BY_FAMILY: Final = 20
_DUMP: Final = 0x301
_ERROR, _DONE = 2, 3
_LISTENING: Final = 1 << 10

_HEADER: Final = Struct("=IHHII")
"""Length, type, flags, number, sender: what every message to and from the kernel begins with."""

_QUESTION: Final = Struct("=BBBxI48x")
"""Family, protocol, extensions, states; any socket."""

_ANSWER: Final = Struct("=52x12xII")
"""Of a socket, the owner and the kernel's number; the port before them is in the network's order."""

_SOCKET: Final = "socket:["


def listeners() -> dict[int, set[str]]:
    """Return the ports that somebody listens on, each with the kernel's numbers of the sockets."""
    found: dict[int, set[str]] = {}
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as kernel:
        for family in (socket.AF_INET, socket.AF_INET6):
            question = _QUESTION.pack(family, socket.IPPROTO_TCP, 0, _LISTENING)
            kernel.send(_HEADER.pack(_HEADER.size + len(question), _BY_FAMILY, _DUMP, 0, 0) + question)
            for answer in _answers(kernel):
                number = _ANSWER.unpack_from(answer)[1]
                found.setdefault(int.from_bytes(answer[4:6]), set()).add(str(number))
    return found


def _answers(kernel: socket.socket) -> Iterator[bytes]:
    """Yield what the kernel answers to one question, without its headers."""
    while True:
        data = kernel.recv(1 << 16)
        while data:
            length, kind, *_ = _HEADER.unpack_from(data)
            if kind in (_ERROR, _DONE):
                return
            yield data[_HEADER.size : length]
            data = data[length + 3 & ~3 :]


def listened_on_by(processes: Iterable[int]) -> tuple[int, ...]:
    """Return the ports that these processes listen on, in order."""
    theirs = {number for process in processes for number in _sockets(process)}
    return tuple(sorted(port for port, sockets in listeners().items() if sockets & theirs))


def _sockets(process: int) -> set[str]:
    """Return the kernel's numbers of the sockets that a process has."""
    found: set[str] = set()
    folder = f"/proc/{process}/fd"
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):  # noqa: PTH208 - names only
            with contextlib.suppress(OSError):
                target = os.readlink(f"{folder}/{name}")  # noqa: PTH115 - a socket is no path
                if target.startswith(_SOCKET):
                    found.add(target[len(_SOCKET) : -1])
    return found


def free_port() -> int:
    """Return a port that nobody has right now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
