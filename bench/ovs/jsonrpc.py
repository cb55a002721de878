"""A lasting JSON-RPC connection, the way Open vSwitch's daemons speak it.

Both the daemons' control sockets and the configuration database take JSON-RPC 1.0 objects one
after the other with nothing between them.  Keeping one connection open saves a process per
command, which is what makes thousands of commands a second possible.
"""

from __future__ import annotations

import codecs
import json
import socket
from collections.abc import Callable
from typing import Any

from penstock.errors import PenstockError


class CommandFailed(Exception):
    """The daemon refused a command; the text is its own."""


class JsonRpc:
    """One connection to a daemon's socket; `why_gone` is asked for the reason when the daemon goes."""

    def __init__(self, path: str, timeout: float, why_gone: Callable[[], str]) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(timeout)
        self._socket.connect(path)
        self._decoder = json.JSONDecoder()
        # Open vSwitch quotes names and packets as they are, which need not be UTF-8.
        self._letters = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._text = ""
        self._next_id = 0
        self._why_gone = why_gone

    def call(self, method: str, *params: Any) -> Any:
        """Send a command and return its result."""
        self.send(method, *params)
        return self.receive()

    def send(self, method: str, *params: Any) -> None:
        """Send a command without waiting for its result."""
        self._next_id += 1
        self._write({"id": self._next_id, "method": method, "params": list(params)})

    def receive(self) -> Any:
        """Return the result of the last command sent, once it is there."""
        while True:
            message = self._read()
            if message.get("method") == "echo":
                self._write({"id": message["id"], "result": message["params"], "error": None})
            elif message.get("id") == self._next_id:
                if message.get("error") is not None:
                    raise CommandFailed(str(message["error"]).strip())
                return message["result"]

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def _write(self, message: dict[str, Any]) -> None:
        try:
            self._socket.sendall(json.dumps(message).encode())
        except ConnectionError:
            raise PenstockError(f"Open vSwitch has gone: {self._why_gone()}") from None

    def _receive_some(self) -> bytes:
        try:
            data = self._socket.recv(1 << 16)
        except TimeoutError:
            raise PenstockError("Open vSwitch does not answer: try again on a less busy machine.") from None
        except ConnectionError:
            data = b""
        if not data:
            raise PenstockError(f"Open vSwitch has gone: {self._why_gone()}")
        return data

    def _read(self) -> dict[str, Any]:
        while True:
            try:
                message, end = self._decoder.raw_decode(self._text)
            except ValueError:
                data = self._receive_some()
                self._text = (self._text + self._letters.decode(data)).lstrip()
                continue
            self._text = self._text[end:].lstrip()
            answer: dict[str, Any] = message
            return answer
