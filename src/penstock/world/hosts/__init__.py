"""The hosts: what sends and answers packets at the edge of the network.

`Host` answers ARP and ping and is the base of all others, a user's own included.  `host("ping",
to="h2")` names one for a network to make; any class of the same kind can be given in place of the
name.
"""

from penstock.world.hosts.curious import CuriousHost
from penstock.world.hosts.host import Address, Directory, Host, HostState, Turn
from penstock.world.hosts.kinds import KINDS, HostMaker, host
from penstock.world.hosts.neighbours import ASK
from penstock.world.hosts.ping import Ping
from penstock.world.hosts.tcp import TcpClient, TcpServer
from penstock.world.hosts.traffic import Client, Sender, Server

__all__ = [
    "ASK",
    "KINDS",
    "Address",
    "Client",
    "CuriousHost",
    "Directory",
    "Host",
    "HostMaker",
    "HostState",
    "Ping",
    "Sender",
    "Server",
    "TcpClient",
    "TcpServer",
    "Turn",
    "host",
]
