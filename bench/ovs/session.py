"""The controller's side of OpenFlow sessions with Open vSwitch, over unix sockets."""

from __future__ import annotations

import contextlib
import socket
from pathlib import Path
from typing import Final

from penstock.errors import PenstockError
from penstock.openflow.messages import BarrierReply, BarrierRequest, Hello
from penstock.openflow.wire import Framer, encode

PATIENCE_S: Final = 20.0
_HELLO: Final = 0
_MARK: Final = 0xFEEDBEEF
"""The transaction of the harness's own barriers."""


class Session:
    """A socket that a bridge calls, and the OpenFlow session over it once `accept` has returned."""

    def __init__(self, path: Path, version: int) -> None:
        self._path = path
        self._version = version
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.settimeout(PATIENCE_S)
        self._listener.bind(str(path))
        self._listener.listen(1)
        self._socket: socket.socket | None = None
        self._framer = Framer()
        self._waiting: list[bytes] = []
        self._barrier = encode(BarrierRequest(xid=_MARK), version)
        self._end = encode(BarrierReply(xid=_MARK), version)

    @property
    def target(self) -> str:
        """What a bridge is told to call."""
        return f"unix:{self._path}"

    def accept(self) -> None:
        """Take the bridge's call and exchange greetings."""
        try:
            self._socket, _ = self._listener.accept()
        except TimeoutError:
            raise PenstockError("Open vSwitch did not call its controller: see whether it runs.") from None
        self._socket.settimeout(PATIENCE_S)
        self.send(encode(Hello(), self._version))
        while self.receive()[1] != _HELLO:
            pass

    def send(self, data: bytes) -> None:
        """Send bytes to the bridge."""
        assert self._socket is not None
        self._socket.sendall(data)

    def receive(self) -> bytes:
        """Return the next message of the bridge."""
        assert self._socket is not None
        while not self._waiting:
            try:
                data = self._socket.recv(1 << 16)
            except TimeoutError:
                raise PenstockError(
                    "Open vSwitch does not answer: try again on a less busy machine."
                ) from None
            if not data:
                raise PenstockError("Open vSwitch closed the OpenFlow session: see what was sent last.")
            self._waiting = self._framer.feed(data)
        return self._waiting.pop(0)

    def ask_for_end(self) -> None:
        """Ask the bridge to say when it has finished everything sent before."""
        self.send(self._barrier)

    def until_end(self) -> list[bytes]:
        """Return the messages before the answer to `ask_for_end`."""
        arrived = []
        while (message := self.receive()) != self._end:
            arrived.append(message)
        return arrived

    def close(self) -> None:
        """Hang up and remove the socket."""
        if self._socket is not None:
            self._socket.close()
        self._listener.close()
        with contextlib.suppress(FileNotFoundError):
            self._path.unlink()
