"""What a program finds in place of modules that would open sockets or start threads.

`os_ken.lib.hub` is made of this package's green threads; its servers and sockets exist, accept
whatever they are told, and never hear from anybody.  `eventlet` and `tinyrpc`, which Ryu's web
server imports, have just the names it asks for, since nobody ever connects to it.
"""

from __future__ import annotations

import socket
import ssl
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, Final

from penstock._controllers.osken import hub, waiting

HUB: Final = "os_ken.lib.hub"


class DeafSocket:
    """A socket that nobody is at the other end of."""

    def __init__(self, *_args: Any, **_kwargs: Any) -> None:
        self.waiters: tuple[hub.Task, ...] = ()

    def _wait(self, *_args: Any, **_kwargs: Any) -> Any:
        """Wait for ever."""
        while True:
            hub.current().wait_at(self)

    accept = recv = recvfrom = recv_into = serve_forever = _wait

    def _accept_anything(self, *_args: Any, **_kwargs: Any) -> None:
        """Do nothing."""

    bind = listen = connect = close = shutdown = settimeout = setblocking = _accept_anything
    setsockopt = sendall = sendto = stop = _accept_anything

    def send(self, data: bytes, *_args: Any) -> int:
        """Take any data."""
        return len(data)

    def connect_loop(self, *_args: Any) -> None:
        """Never connect."""


class StreamServer(DeafSocket):
    """A server that nobody connects to."""


class StreamClient(DeafSocket):
    """A client of nobody."""


class WSGIServer(StreamServer):
    """A web server that nobody asks anything."""


class LoggingWrapper:
    """Where a web server would write its log."""

    def write(self, message: str) -> None:
        """Drop a line."""


class WebSocketWSGI:
    """A web socket that is never opened."""

    def __init__(self, handler: Callable[..., Any]) -> None:
        self.handler = handler


def _sockets() -> ModuleType:
    """Return a module like `socket` whose sockets are deaf."""
    module = ModuleType("socket", socket.__doc__)
    vars(module).update({name: value for name, value in vars(socket).items() if not name.startswith("__")})
    vars(module).update(socket=DeafSocket, create_connection=DeafSocket)
    return module


def _do_nothing(**_options: Any) -> None:
    """Take the place of what changes modules for the sake of green threads."""


def _deaf(*_args: Any, **_kwargs: Any) -> DeafSocket:
    return DeafSocket()


_HUB_NAMES: Final[dict[str, Any]] = {
    "HUB_TYPE": "penstock",
    "getcurrent": lambda: hub.current().current_task(),
    "patch": _do_nothing,
    "sleep": lambda seconds=0: hub.current().sleep(seconds),
    "spawn": lambda *args, **kwargs: hub.current().spawn(*args, **kwargs),
    "spawn_after": lambda *args, **kwargs: hub.current().spawn_after(*args, **kwargs),
    "kill": lambda task: hub.current().kill(task),
    "joinall": waiting.joinall,
    "listen": _deaf,
    "connect": _deaf,
    "Queue": waiting.Queue,
    "QueueEmpty": waiting.QueueEmpty,
    "Semaphore": waiting.Semaphore,
    "BoundedSemaphore": waiting.BoundedSemaphore,
    "Event": waiting.Event,
    "HubEvent": waiting.Event,
    "Timeout": hub.Timeout,
    "TaskExit": hub.TaskExit,
    "StreamServer": StreamServer,
    "StreamClient": StreamClient,
    "WSGIServer": WSGIServer,
    "WebSocketWSGI": WebSocketWSGI,
    "LoggingWrapper": LoggingWrapper,
    "ssl": ssl,
    "socket": _sockets(),
}


def install_hub() -> None:
    """Put the hub in place of os-ken's, for whoever has imported that already as well."""
    import os_ken.lib

    module = sys.modules.get(HUB) or ModuleType(HUB, hub.__doc__)
    vars(module).update(_HUB_NAMES)
    sys.modules[HUB] = module
    os_ken.lib.hub = module


class _Absent:
    """Stands for a class of a library that is never used."""

    def __init__(self, *_args: Any, **_kwargs: Any) -> None:
        """Be made from anything."""


def _public(function: Any) -> Any:
    return function


_ABSENT: Final[dict[str, dict[str, Any]]] = {
    "eventlet": {},
    "eventlet.wsgi": {"ALREADY_HANDLED": object()},
    "tinyrpc": {},
    "tinyrpc.client": {"RPCClient": type("RPCClient", (_Absent,), {})},
    "tinyrpc.dispatch": {"RPCDispatcher": type("RPCDispatcher", (_Absent,), {}), "public": _public},
    "tinyrpc.exc": {"InvalidReplyError": type("InvalidReplyError", (Exception,), {})},
    "tinyrpc.protocols": {},
    "tinyrpc.protocols.jsonrpc": {"JSONRPCProtocol": type("JSONRPCProtocol", (_Absent,), {})},
    "tinyrpc.server": {"RPCServer": type("RPCServer", (_Absent,), {})},
    "tinyrpc.transports": {
        "ServerTransport": type("ServerTransport", (_Absent,), {}),
        "ClientTransport": type("ClientTransport", (_Absent,), {}),
    },
}


@contextmanager
def absent_libraries() -> Iterator[None]:
    """Let imports of libraries that need no more than a name succeed, inside this block."""
    tops = {name.partition(".")[0] for name in _ABSENT}
    real = {name: module for name, module in sys.modules.items() if name.partition(".")[0] in tops}
    for name in real:
        del sys.modules[name]
    for name, content in _ABSENT.items():
        module = ModuleType(name)
        module.__path__ = []
        vars(module).update(content)
        sys.modules[name] = module
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], child, module)
    try:
        yield
    finally:
        for name in _ABSENT:
            sys.modules.pop(name, None)
        sys.modules.update(real)
