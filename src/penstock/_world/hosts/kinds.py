"""Naming a kind of host with its options, before the network gives it a name and addresses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from penstock._base.text import hint
from penstock._base.typed import fit_options
from penstock._world.hosts.host import GIVEN, Host
from penstock._world.hosts.symbolic_host import SymbolicHost
from penstock._world.hosts.tcp import TcpClient, TcpServer
from penstock._world.hosts.traffic import Client, Ping, Server
from penstock.errors import PenstockError

HostMaker = Callable[..., Host]
"""Makes a host from its name, mac, ip, directory and port, given by these keywords."""

KINDS: Final[Mapping[str, type[Host]]] = {
    "host": Host,
    "ping": Ping,
    "client": Client,
    "server": Server,
    "tcp-client": TcpClient,
    "tcp-server": TcpServer,
    "curious": SymbolicHost,
}


def host(kind: str | type[Host], where: str = "", /, **options: Any) -> HostMaker:
    """Return what makes a host of a kind (a name of `KINDS`, or a subclass of `Host`) with these options.

    `where` says where they come from, for the sentence about one that does not fit.
    """
    made = KINDS.get(kind) if isinstance(kind, str) else kind
    if not (isinstance(made, type) and issubclass(made, Host)):
        otherwise = f"use one of {', '.join(KINDS)}, file.py:Class, or a subclass of Host."
        raise PenstockError(f"unknown kind of host {kind!r}: {hint(kind, KINDS, otherwise)}")
    return partial(made, **fit_options(made, options, where or f"a {made.__name__}", GIVEN))
