"""A host of one's own: it tries a few TCP ports of another host and notes which are open.

    python examples/port_scanner.py

A host is a subclass of `Host` with up to four small methods.  What it remembers is an immutable
value; here, the ports still to try and those found open.  Addresses, ARP and names of packets are
the base class's business.
"""

from dataclasses import dataclass
from typing import NamedTuple

from penstock import ASK, Event, Host, StaticController, Turn, World, build_network, host, topology
from penstock.packet import TCP, Ethernet, TcpFlags, tcp_segment

SCANNER_PORT = 50000


class Found(NamedTuple):
    """What a scanner remembers."""

    to_try: tuple[int, ...]
    open: frozenset[int] = frozenset()


@dataclass(eq=False, kw_only=True)
class PortScanner(Host):
    """Sends a SYN to each of some ports, in any order, and notes which are answered."""

    to: str
    ports: tuple[int, ...] = (22, 80, 443)

    def start(self) -> Found:
        """Begin with every port to try."""
        return Found(self.ports)

    def offers(self, memory: Found) -> tuple[str, ...]:
        """Offer to try any of the ports that are left."""
        return tuple(f"try port {port}" for port in memory.to_try)

    def perform(self, memory: Found, action: str) -> Turn:
        """Send a SYN to the chosen port."""
        chosen = int(action.rpartition(" ")[2])
        syn = tcp_segment(
            eth_src=self.mac,
            eth_dst=ASK,
            ip_src=self.ip,
            ip_dst=self.find(self.to).ip,
            tcp_src=SCANNER_PORT,
            tcp_dst=chosen,
            flags=TcpFlags.SYN,
        )
        left = tuple(port for port in memory.to_try if port != chosen)
        return Turn(memory._replace(to_try=left), (syn,))

    def hear(self, memory: Found, packet: Ethernet) -> Turn:
        """Note a port that answers."""
        tcp = packet.find(TCP)
        if tcp is None or TcpFlags.SYN not in tcp.flags:
            return Turn(memory)
        found = Event("open-port", (self.to, tcp.src))
        return Turn(memory._replace(open=memory.open | {tcp.src}), (), (found,))


def scan() -> World:
    """Run a scanner on h1 against a web server on h3."""
    line = topology("linear,3")
    hosts = {"h1": host(PortScanner, to="h3"), "h3": host("tcp-server", server_port=80)}
    world = World(build_network(line, hosts=hosts, controllers=StaticController(line)))
    world.run()
    return world


if __name__ == "__main__":
    print("open ports of h3:", *sorted(scan().state("h1").memory.open))
