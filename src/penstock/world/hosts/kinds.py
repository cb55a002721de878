"""Naming a kind of host with its options, before the network gives it a name and addresses."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from penstock.errors import PenstockError
from penstock.world.hosts.curious import CuriousHost
from penstock.world.hosts.host import Host
from penstock.world.hosts.ping import Ping
from penstock.world.hosts.tcp import TcpClient, TcpServer
from penstock.world.hosts.traffic import Client, Server

HostMaker = Callable[..., Host]
"""Makes a host from its name, mac, ip, directory and port, given by these keywords."""

KINDS: Final[Mapping[str, type[Host]]] = {
    "host": Host,
    "ping": Ping,
    "client": Client,
    "server": Server,
    "tcp-client": TcpClient,
    "tcp-server": TcpServer,
    "curious": CuriousHost,
}


def host(kind: str | type[Host], **options: Any) -> HostMaker:
    """Return what makes a host of a kind (a name of `KINDS`, or a subclass of `Host`) with these options."""
    made = KINDS.get(kind) if isinstance(kind, str) else kind
    if not (isinstance(made, type) and issubclass(made, Host)):
        raise PenstockError(
            f"There is no kind of host {kind!r}: use one of {', '.join(KINDS)}, or a subclass of Host."
        )
    try:
        inspect.signature(made).bind_partial(**options)
    except TypeError as error:
        known = [name for name in inspect.signature(made).parameters if name not in _GIVEN]
        raise PenstockError(
            f"A {made.__name__} cannot be made with {', '.join(options)}, because of {error}: "
            f"its options are {', '.join(known)}."
        ) from None
    return partial(made, **options)


_GIVEN: Final = ("name", "mac", "ip", "directory", "port")
"""What the network gives every host, so no option of the user's."""
