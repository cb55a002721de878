"""The hosts: what sends and answers packets at the edge of the network.

`Host` answers ARP and ping and is the base of all others, a user's own included.  `host("ping",
to="h2")` names one for a network to make; any class of the same kind can be given in place of the
name.
"""

from penstock._world.hosts.host import ASK, Address, Directory, Host, HostState, Turn
from penstock._world.hosts.kinds import KINDS, HostMaker, host
from penstock._world.hosts.symbolic_host import SymbolicHost
from penstock._world.hosts.tcp import ClientConnection, TcpClient, TcpServer
from penstock._world.hosts.traffic import Client, Ping, Sender, Server

__all__ = [
    "ASK",
    "KINDS",
    "Address",
    "Client",
    "ClientConnection",
    "Directory",
    "Host",
    "HostMaker",
    "HostState",
    "Ping",
    "Sender",
    "Server",
    "SymbolicHost",
    "TcpClient",
    "TcpServer",
    "Turn",
    "host",
]
