"""A program's sessions with switches: os-ken's own `Datapath`, on a line that is no socket.

What arrives is bytes and goes through os-ken's own receive loop: its parser, its observers, its
handlers and its states.  What the program sends is caught as bytes.  os-ken's queue of messages to
send, which makes a task wait when it holds sixteen, and its echo requests are left out.

Transaction numbers are handed out anew in each step, from 1, so that messages do not differ only by
how many were sent before.  A number that the program remembers is not handed out again: numbers
are given out as `Xid`, and where one is found in a snapshot of the program's state it is *held*.
So a number is unique among those of a step and those that the program may still wait for.  Only a
program that computes with the numbers, or remembers them as text, could tell.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from penstock._controllers import origins
from penstock._controllers.osken import hub
from penstock._controllers.snapshot import Snapshot, Treatment, Walk

ADDRESS: Final = "127.0.0.1"


class Xid(int):
    """A transaction number that a datapath gave out."""


def held_xids(snapshot: Snapshot) -> frozenset[int]:
    """Return the transaction numbers that a program remembers."""
    return frozenset(int(note) for note in snapshot.notes if isinstance(note, Xid))


def _write_xid(walk: Walk, xid: Xid) -> None:
    walk.notes.append(xid)
    walk.out.append(f"xid:{int(xid)}")


TREATMENTS: Final[Mapping[type, Treatment]] = {Xid: _write_xid}
"""How transaction numbers are written, for a `Heap`."""


class Exchange:
    """What one step sends, and the numbers it gives out."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, bytes]] = []
        self.code: list[str] = []
        """Which code sent each of them, if that is to be noted."""
        self._held: frozenset[int] = frozenset()
        self._last: dict[Line, int] = {}

    def begin(self, held: frozenset[int]) -> None:
        """Begin a step in which these transaction numbers are taken."""
        self.sent = []
        self.code = []
        self._held = held
        self._last.clear()

    def next_xid(self, line: Line) -> Xid:
        """Give out a transaction number."""
        number = self._last.get(line, 0) + 1
        while number in self._held:
            number += 1
        self._last[line] = number
        return Xid(number)


class Line:
    """What a datapath takes for its socket.  It holds nothing between steps."""

    def __init__(self, switch: str, exchange: Exchange) -> None:
        self.switch = switch
        self.exchange = exchange
        self._arrived = b""

    def feed(self, data: bytes) -> None:
        """Have bytes arrive."""
        self._arrived = data

    def recv(self, size: int) -> bytes:
        """Return what has arrived; after the last of it, os-ken is to stop asking."""
        if not self._arrived:
            raise BlockingIOError
        data, self._arrived = self._arrived[:size], self._arrived[size:]
        return data

    def _ignore(self, *_: Any) -> None:
        """Do nothing."""

    setsockopt = settimeout = shutdown = close = _ignore


def _send(datapath: Any, data: bytes, close_socket: bool = False) -> bool:
    if datapath.send_q is None:
        return False
    line: Line = datapath.socket
    line.exchange.sent.append((line.switch, bytes(data)))
    if origins.is_recording():
        line.exchange.code.append(origins.calling_code())
    if close_socket:
        datapath.close()
    return True


def _set_xid(datapath: Any, message: Any) -> Xid:
    line: Line = datapath.socket
    xid = line.exchange.next_xid(line)
    message.set_xid(xid)
    return xid


def datapath_class() -> Any:
    """Return os-ken's Datapath, on a line."""
    from os_ken.controller import controller

    changes = {"__module__": controller.__name__, "send": _send, "set_xid": _set_xid}
    return type(controller.Datapath.__name__, (controller.Datapath,), changes)


def open_session(datapath_class: Any, line: Line, number: int) -> Any:
    """Return the datapath of a new session, as os-ken makes it when a switch connects."""
    datapath = datapath_class(line, (ADDRESS, number))
    datapath.xid = 0
    datapath.send_msg(datapath.ofproto_parser.OFPHello(datapath))
    return datapath


def receive(datapath: Any, data: bytes) -> None:
    """Have a datapath take in bytes; a failure in os-ken's own handlers ends its session."""
    datapath.socket.feed(data)
    try:
        datapath._recv_loop()
    except hub.NOT_FOR_PROGRAMS:
        raise
    except BaseException as error:
        hub.current().crashed(error)
        datapath.close()


def close_session(datapath: Any) -> None:
    """End a session, as os-ken does when the connection is gone."""
    datapath.send_q = None
    datapath.is_active = False
    datapath.close()
