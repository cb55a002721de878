"""Calls of the kernel that a program without a network makes, told to the process that watches over it.

The kernel counts most of what it turns away (`penstock._controllers.confined`).  It does not count who asks
which interfaces there are, sends packets of his own making, joins a group of receivers, names an interface,
or calls a socket that has a name instead of a file.  So such calls wait, whoever makes them in whatever
language, until the watcher has noted them; then the kernel goes on with them.  All others, and what is done
with files, go on at once.  A ring of calls (io_uring) passes by all of that, which is noted.
"""

from __future__ import annotations

import array
import ctypes
import errno
import fcntl
import os
import platform
import socket
import struct
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from penstock._controllers import confined
from penstock._controllers.confined import Asked


class _Machine(NamedTuple):
    """What calls are named by on a kind of machine."""

    audit: int
    seccomp: int
    socket: int
    connect: int
    sendto: int
    sendmsg: int
    ioctl: int
    setsockopt: int
    io_uring_setup: int


_MACHINES: Final = {
    "x86_64": _Machine(0xC000003E, 317, 41, 42, 44, 46, 16, 54, 425),
    "aarch64": _Machine(0xC00000B7, 277, 198, 203, 206, 211, 29, 208, 425),
}

_SET_MODE_FILTER: Final = 1
_NEW_LISTENER: Final = 1 << 3
_WAIT_KILLABLE: Final = 1 << 5
"""Else a signal, as that of our watchdog, may have the call fail that waits: where the kernel is too old."""

_LETS_GO_ON: Final = (5, 5)
"""The version of Linux from which on a call that waited can go on; before, it would wait for ever."""

_LOAD, _AND, _EQUAL, _RETURN = 0x20, 0x54, 0x15, 0x06
_TELL, _GO_ON = 0x7FC00000, 0x7FFF0000
_NUMBER, _ARCHITECTURE = 0, 4
_ARGUMENTS: Final = 16
"""Where the arguments of a call begin, each of eight bytes, of which the first four tell them apart here."""

_RECEIVE: Final = 0xC0502100
_ANSWER: Final = 0xC0182101
_CALL: Final = struct.Struct("=QIIiIQ6Q")
_REPLY: Final = struct.Struct("=QqiI")
_CONTINUE: Final = 1

_HANDING_OVER: Final = socket.MSG_EOR | socket.MSG_DONTROUTE | socket.MSG_CONFIRM
"""How the watcher is handed the file by which it is told: it cannot be told of that.  Nobody else does so."""

_INTERFACES: Final = 0x8900
"""The requests to a socket that are about interfaces, without their last byte."""
_JOINING: Final = {
    socket.IPPROTO_IP: (32, 35, 36, 39, 42, 46, 50),
    socket.IPPROTO_IPV6: (17, 20, 27, 42, 46, 76),
    socket.SOL_SOCKET: (socket.SO_BINDTODEVICE, 62),
}
"""Settings of sockets that name an interface, or a group that is reached by one, by their levels."""

_LONGEST_NAME: Final = 110

_libc: Final = ctypes.CDLL(None, use_errno=True)


class _Program:
    """A filter: instructions, in which a jump leads to a name until all are there."""

    def __init__(self) -> None:
        self._lines: list[tuple[int, str, str, int]] = []
        self._names: dict[str, int] = {}

    def name(self, name: str) -> None:
        """Name the place of the next instruction."""
        self._names[name] = len(self._lines)

    def load(self, offset: int) -> None:
        """Have a number of the call at hand."""
        self._lines.append((_LOAD, "", "", offset))

    def mask(self, bits: int) -> None:
        """Keep some bits of the number at hand."""
        self._lines.append((_AND, "", "", bits))

    def jump_if(self, value: int, then: str, otherwise: str = "") -> None:
        """Go somewhere if the number at hand is a value, and somewhere else otherwise."""
        self._lines.append((_EQUAL, then, otherwise, value))

    def end(self, action: int) -> None:
        """Decide what becomes of the call."""
        self._lines.append((_RETURN, "", "", action))

    def assembled(self) -> bytes:
        """Return it as the kernel takes it."""
        data = b""
        for place, (code, then, otherwise, value) in enumerate(self._lines):
            near = [self._names[name] - place - 1 if name else 0 for name in (then, otherwise)]
            data += struct.pack("=HBBI", code, *near, value)
        return data


def _program(machine: _Machine) -> bytes:
    """Return the filter: which calls are to be told."""
    made = _Program()
    made.load(_ARCHITECTURE)
    made.jump_if(machine.audit, "", "go on")
    made.load(_NUMBER)
    for number in (machine.connect, machine.io_uring_setup):
        made.jump_if(number, "tell")
    made.jump_if(machine.sendmsg, "sendmsg")
    made.jump_if(machine.sendto, "sendto")
    made.jump_if(machine.socket, "socket")
    made.jump_if(machine.ioctl, "ioctl")
    made.jump_if(machine.setsockopt, "setsockopt", "go on")
    made.name("sendmsg")
    made.load(_ARGUMENTS + 16)
    made.jump_if(_HANDING_OVER, "go on", "tell")
    made.name("sendto")
    # Only with an address; it is a pointer of two halves.
    made.load(_ARGUMENTS + 32)
    made.jump_if(0, "", "tell")
    made.load(_ARGUMENTS + 36)
    made.jump_if(0, "go on", "tell")
    made.name("socket")
    made.load(_ARGUMENTS)
    made.jump_if(socket.AF_UNIX, "go on")
    made.jump_if(socket.AF_INET, "kind")
    made.jump_if(socket.AF_INET6, "kind", "tell")
    made.name("kind")
    made.load(_ARGUMENTS + 8)
    made.mask(0xF)
    made.jump_if(socket.SOCK_STREAM, "go on")
    made.jump_if(socket.SOCK_DGRAM, "go on", "tell")
    made.name("ioctl")
    made.load(_ARGUMENTS + 8)
    made.mask(0xFFFFFF00)
    made.jump_if(_INTERFACES, "tell", "go on")
    made.name("setsockopt")
    made.load(_ARGUMENTS + 8)
    for level in _JOINING:
        made.jump_if(level, f"level {level}")
    made.jump_if(0xFFFFFFFF, "go on", "go on")
    for level, options in _JOINING.items():
        made.name(f"level {level}")
        made.load(_ARGUMENTS + 16)
        for option in options:
            made.jump_if(option, "tell")
        made.jump_if(0xFFFFFFFF, "go on", "go on")
    made.name("go on")
    made.end(_GO_ON)
    made.name("tell")
    made.end(_TELL)
    return made.assembled()


def release() -> tuple[int, ...]:
    """Return the version of Linux, as far as it says which calls there are."""
    return tuple(int(part) for part in os.uname().release.split("-")[0].split(".")[:2] if part.isdecimal())


def have_told(line: socket.socket) -> None:
    """Have told from now on what this thread, and all that it starts, asks of the kernel; for good.

    Who is to be told gets a file by the line.  Where the kernel cannot do that, there is only what it counts.
    """
    machine = _MACHINES.get(platform.machine())
    if machine is None:
        return
    instructions = ctypes.create_string_buffer(_program(machine))
    count = (len(instructions) - 1) // 8
    program = ctypes.create_string_buffer(struct.pack("@HP", count, ctypes.addressof(instructions)))
    ways = [_NEW_LISTENER | _WAIT_KILLABLE, *([_NEW_LISTENER] if release() >= _LETS_GO_ON else [])]
    for flags in ways:
        listener = _libc.syscall(machine.seccomp, _SET_MODE_FILTER, flags, ctypes.byref(program))
        if listener >= 0:
            break
    else:
        return
    handed = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [listener]))]
    # Not `socket.send_fds`, which forgets its flags.
    line.sendmsg([b"x"], handed, _HANDING_OVER)
    os.close(listener)


def receive(line: socket.socket) -> int | None:
    """Return the file by which calls are told, when it has come; None if it never will."""
    with suppress(OSError):
        _, files, _, _ = socket.recv_fds(line, 1, 1)
        if files:
            return files[0]
    return None


def note_one(listener: int) -> bool:
    """Note a call that waits, and let it go on; tell whether there can be more."""
    data = bytearray(_CALL.size)
    try:
        fcntl.ioctl(listener, _RECEIVE, data)
    except OSError as error:
        # Whoever called may be gone already.
        return error.errno in (errno.ENOENT, errno.EINTR)
    token, process, _, number, _, _, *arguments = _CALL.unpack(data)
    try:
        if (asked := _asked_by(process, number, arguments)) is not None:
            confined.note(asked)
    finally:
        with suppress(OSError):
            fcntl.ioctl(listener, _ANSWER, bytearray(_REPLY.pack(token, 0, 0, _CONTINUE)))
    return True


def _asked_by(process: int, number: int, arguments: list[int]) -> Asked | None:
    """Return what a call asks for; None if it can be had without a network."""
    machine = _MACHINES[platform.machine()]
    if number == machine.connect:
        return _called_by_name(process, arguments[1], arguments[2])
    if number == machine.sendto:
        return _called_by_name(process, arguments[4], arguments[5])
    if number == machine.sendmsg:
        header = _read(process, arguments[1], _HEADER.size)
        if header is None or len(header) < _HEADER.size:
            return Asked.NAME
        place, length = _HEADER.unpack(header)
        return _called_by_name(process, place, length) if place else None
    if number == machine.socket:
        return Asked.INTERFACES if arguments[0] == socket.AF_NETLINK else Asked.RAW
    if number == machine.io_uring_setup:
        return Asked.RING
    return Asked.INTERFACES if number == machine.ioctl else Asked.GROUP


_HEADER: Final = struct.Struct("=QI")
"""The beginning of a `struct msghdr`: where the address is, and its length."""


class _Piece(ctypes.Structure):
    _fields_ = (("place", ctypes.c_void_p), ("length", ctypes.c_size_t))


def _read(process: int, place: int, length: int) -> bytes | None:
    """Return what is in the memory of a process; None if that cannot be seen."""
    buffer = ctypes.create_string_buffer(length)
    ours = _Piece(ctypes.addressof(buffer), length)
    theirs = _Piece(place, length)
    read = _libc.process_vm_readv(process, ctypes.byref(ours), 1, ctypes.byref(theirs), 1, 0)
    return None if read < 0 else buffer.raw[:read]


def _called_by_name(process: int, place: int, length: int) -> Asked | None:
    """Return whether a process calls a socket by a name that nobody here has; they belong to networks."""
    # Only the lower half of a length is the kernel's business.
    address = _read(process, place, min(length & 0xFFFFFFFF, _LONGEST_NAME))
    if address is None:
        # What cannot be seen may be such a call.
        return Asked.NAME
    family, name = address[:2], address[2:]
    if family != array.array("H", [socket.AF_UNIX]).tobytes() or not name.startswith(b"\0"):
        return None
    called = b"@" + name[1:].replace(b"\0", b"@")
    try:
        lines = Path("/proc/self/net/unix").read_bytes().splitlines()
    except OSError:
        return Asked.NAME
    return None if any(line.endswith(b" " + called) for line in lines) else Asked.NAME
