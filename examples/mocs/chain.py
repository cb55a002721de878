"""Networks of the MOCS paper's examples: switches in a row, a client at one end and a server at the other.

What comes in by port 1 of a switch is on its way to the server, which is at port 2 of the last one.
"""

from itertools import pairwise

from mininet.topo import Topo


class Chain(Topo):
    """Two switches, h1 at s1:1 and h2 at s2:2."""

    def build(self, switches=2):
        """Draw it."""
        client, server = self.addHost("h1"), self.addHost("h2")
        names = [self.addSwitch(f"s{number}") for number in range(1, switches + 1)]
        self.addLink(client, names[0], port2=1)
        self.addLink(server, names[-1], port2=2)
        for one, other in pairwise(names):
            self.addLink(one, other, port1=2, port2=1)


class Replica(Chain):
    """One switch between h1 and h2."""

    def build(self):
        """Draw it."""
        super().build(switches=1)


topos = {"chain": Chain, "replica": Replica}
