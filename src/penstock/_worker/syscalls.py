"""Calls of the kernel that a program without a network makes, told to the process that watches over it.

The kernel counts most of what it turns away (`penstock._controllers.confined`).  It does not count who asks
which interfaces there are, sends packets of his own making, joins a group of receivers, or calls a socket
that has a name instead of a file.  So such calls wait, whoever makes them in whatever language, until the
watcher has noted them; then the kernel goes on with them.  All others, and what is done with files, go on at
once.
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
    ioctl: int
    setsockopt: int


_MACHINES: Final = {
    "x86_64": _Machine(0xC000003E, seccomp=317, socket=41, connect=42, ioctl=16, setsockopt=54),
    "aarch64": _Machine(0xC00000B7, seccomp=277, socket=198, connect=203, ioctl=29, setsockopt=208),
}

_SET_MODE_FILTER: Final = 1
_NEW_LISTENER: Final = 1 << 3
_WAIT_KILLABLE: Final = 1 << 5
"""Else a signal, as that of our watchdog, would have the call fail that waits."""

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

_INTERFACES: Final = 0x8900
"""The requests to a socket that are about interfaces, without their last byte."""
_JOINING: Final = {
    socket.IPPROTO_IP: (35, 36, 39, 42, 46),
    socket.IPPROTO_IPV6: (20, 27, 42, 46),
    socket.SOL_SOCKET: (socket.SO_BINDTODEVICE,),
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
    made.jump_if(machine.connect, "tell")
    made.jump_if(machine.socket, "socket")
    made.jump_if(machine.ioctl, "ioctl")
    made.jump_if(machine.setsockopt, "setsockopt", "go on")
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
    flags = _NEW_LISTENER | _WAIT_KILLABLE
    listener = _libc.syscall(machine.seccomp, _SET_MODE_FILTER, flags, ctypes.byref(program))
    if listener < 0:
        return
    socket.send_fds(line, [b"x"], [listener])
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
    machine = _MACHINES[platform.machine()]
    try:
        if number == machine.connect:
            if _is_call_to_nobody(process, arguments[1], arguments[2]):
                confined.note(Asked.NAME)
        elif number == machine.socket:
            confined.note(Asked.INTERFACES if arguments[0] == socket.AF_NETLINK else Asked.RAW)
        else:
            confined.note(Asked.INTERFACES if number == machine.ioctl else Asked.GROUP)
    finally:
        with suppress(OSError):
            fcntl.ioctl(listener, _ANSWER, bytearray(_REPLY.pack(token, 0, 0, _CONTINUE)))
    return True


class _Piece(ctypes.Structure):
    _fields_ = (("place", ctypes.c_void_p), ("length", ctypes.c_size_t))


def _is_call_to_nobody(process: int, place: int, length: int) -> bool:
    """Tell whether a process calls a socket by a name that nobody here has; they belong to networks."""
    buffer = ctypes.create_string_buffer(min(length, _LONGEST_NAME))
    ours = _Piece(ctypes.addressof(buffer), len(buffer))
    theirs = _Piece(place, len(buffer))
    read = _libc.process_vm_readv(process, ctypes.byref(ours), 1, ctypes.byref(theirs), 1, 0)
    if read < 0:
        # What cannot be seen may be such a call.
        return True
    family, name = buffer.raw[:2], buffer.raw[2:read]
    if family != array.array("H", [socket.AF_UNIX]).tobytes() or not name.startswith(b"\0"):
        return False
    called = b"@" + name[1:].replace(b"\0", b"@")
    lines = Path("/proc/self/net/unix").read_bytes().splitlines()
    return not any(line.endswith(b" " + called) for line in lines)
